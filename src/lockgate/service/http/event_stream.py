"""Server-sent events: sends each new audit record to all listeners at once.

The format is that of https://html.spec.whatwg.org/multipage/server-sent-events.html. An event says what it is about and
no more: whoever hears it reads that anew, with the routes that are tested for it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from lockgate.core.errors import StoreError
from lockgate.service.http.approver_presence import ApproverPresence
from lockgate.service.http.auth.sessions import LASTS_SECONDS, ApiCaller
from lockgate.service.http.context import DashboardContext
from lockgate.service.http.problems import RequestRefused
from lockgate.service.http.schemas.access import EventNotice
from lockgate.service.http.views import record_values
from lockgate.store.rows import AuditRow

MOST_LISTENERS = 16
MOST_PROGRAMS = 12
"""How many of them may have a token: a person always finds room, whoever else listens."""
HEARTBEAT_SECONDS = 15.0
LOOK_SECONDS = 0.5
"""Between two reads of the store where nothing wakes it. One reads the head's number, within a millisecond."""
_TOKEN_SECONDS = 60.0
"""How long a program listens at once. It comes back by itself, if its token is still one."""
_MOST_WAITING = 512
"""Events that wait for a listener; one that is further behind is dropped, and comes back."""
_MOST_MISSED = 500
"""Events that are told one by one; where there are more, one says that everything is to be read anew."""
_SEND_SECONDS = 20.0
"""How long a listener may take to read what is sent."""
_DECISIONS = frozenset({"decision", "outcome"})
_APPROVALS = frozenset({"asked", "answered", "approve", "deny", "retract"})
RESET = "reset"
MEDIA_TYPE = "text/event-stream"

log = logging.getLogger("lockgate.service.http")


def frame(event: str, data: str, name: int | None = None) -> bytes:
    """One event as it is sent. A line break in the data would begin another field, so that it becomes another line."""
    lines = [] if name is None else [f"id: {name}"]
    lines.append(f"event: {event}")
    lines += [f"data: {line}" for line in data.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return ("\n".join(lines) + "\n\n").encode()


def kind_of(event: str) -> str:
    """Which kind of event a record is told as."""
    if event in _DECISIONS:
        return "decision"
    return "approval" if event in _APPROVALS else "session"


def encode_event(row: AuditRow) -> bytes:
    """The event of a record."""
    about = record_values.body_of(row.body)
    event = record_values.text(about.get("event"))
    notice = EventNotice(
        seq=row.seq,
        at=record_values.instant(row.at),
        session=record_values.text(about.get("session")),
        event=event,
        approval=record_values.text(about.get("approval")) or None,
    )
    return frame(kind_of(event), notice.model_dump_json(), row.seq)


def reset(seq: int) -> bytes:
    """The event that says that everything is to be read anew."""
    return frame(RESET, f'{{"seq": {seq}}}', seq)


class _StreamListener:
    """A connection that listens to events."""

    def __init__(self, caller: ApiCaller) -> None:
        self.caller = caller
        self.queue: asyncio.Queue[bytes] = asyncio.Queue(_MOST_WAITING)
        self.behind = False

    def put(self, data: bytes) -> None:
        try:
            self.queue.put_nowait(data)
        except asyncio.QueueFull:
            self.behind = True


class Feed:
    """All listeners. One task reads the store for all of them, and only while there are some."""

    def __init__(self, dashboard: DashboardContext) -> None:
        """Nobody listens yet."""
        self._dashboard = dashboard
        self._listeners: set[_StreamListener] = set()
        self._task: asyncio.Task[None] | None = None
        self._position = 0
        self._digest = ""
        """The head's at the last look: a state that is put in another's place has another one."""
        self._changed = asyncio.Event()
        self._turn = asyncio.Lock()
        self._watch = ApproverPresence(dashboard, self._changed.set, self._tell)
        dashboard.at_end.append(self._end)

    @asynccontextmanager
    async def join(self, caller: ApiCaller, last: int | None) -> AsyncIterator[_StreamListener]:
        """Listen, and hear first what came after the last event that is known."""
        programs = sum(not listener.caller.person for listener in self._listeners)
        if len(self._listeners) >= MOST_LISTENERS or (programs >= MOST_PROGRAMS and not caller.person):
            raise RequestRefused(429, "too many listen already", code="listeners", headers={"Retry-After": "5"})
        listener = _StreamListener(caller)
        try:
            async with self._turn:
                # The others hear first what there is, so that what this one has missed ends where its events begin.
                await self._look(fresh=self._task is None)
                for data in await asyncio.to_thread(self._read_missed, last, self._position):
                    listener.put(data)
                self._listeners.add(listener)
            self._update_presence()
            if self._task is None or self._task.done():  # a fault that nobody expected ends it
                self._task = asyncio.create_task(self._run())
            yield listener
        finally:
            self._listeners.discard(listener)
            self._update_presence()
            if not self._listeners and self._task is not None:
                self._task.cancel()
                self._task = None

    async def _run(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), LOOK_SECONDS)
            self._changed.clear()
            try:
                async with self._turn:
                    await self._look()
            except StoreError as error:
                log.warning("the state cannot be read", extra={"facts": {"error": str(error)[:300]}})

    async def _look(self, *, fresh: bool = False) -> None:
        """Tell all listeners what is new; afresh, only find out how far the records go."""
        self._position, frames = await asyncio.to_thread(self._news, None if fresh else self._position)
        for data in frames:
            for listener in self._listeners:
                listener.put(data)

    def _end(self) -> None:
        """End all listeners."""
        for listener in self._listeners:
            listener.behind = True
            listener.put(b"")

    def _update_presence(self) -> None:
        """Be there for questions as long as somebody listens who can answer them."""
        self._watch.set_wanted(wanted=any("approve" in listener.caller.scopes for listener in self._listeners))

    def _tell(self, approval: str) -> None:
        """Tell of a question that changed on another machine, whose records are its own."""
        notice = EventNotice(
            seq=self._position,
            at=record_values.instant(time.time()),
            session="",
            event="answered",
            approval=approval or None,
        )
        for listener in self._listeners:
            listener.put(frame("approval", notice.model_dump_json()))

    def _news(self, position: int | None) -> tuple[int, list[bytes]]:
        """The head's number, and the events since a position."""
        with self._dashboard.look() as tx:
            if tx is None:
                return 0, []
            (head, digest, _), before = tx.audit_head(), self._digest
            self._digest = digest
            if position is None or (head == position and before in ("", digest)):
                return head, []
            if head <= position or head - position > _MOST_MISSED:
                return head, [reset(head)]
            rows = tx.audit(after=position, limit=_MOST_MISSED)
            return (rows[-1].seq if rows else head), list(map(encode_event, rows))

    def _read_missed(self, last: int | None, upto: int) -> list[bytes]:
        if last is None or last == upto:
            return []
        if last > upto or upto - last > _MOST_MISSED:
            return [reset(upto)]
        with self._dashboard.look() as tx:
            rows = tx.audit(after=last, limit=upto - last) if tx is not None else []
        return [encode_event(row) for row in rows if row.seq <= upto]

    def lasts(self, listener: _StreamListener) -> bool:
        """Whether a listener is to go on: it keeps up, its session is not over, and somebody looks at the store."""
        looks = self._task is not None and not self._task.done()
        return looks and not listener.behind and self._dashboard.access.lasts(listener.caller)


class Stream(Response):
    """The answer to a listener: it ends when that goes away, falls behind, or has logged out."""

    media_type = MEDIA_TYPE

    def __init__(self, feed: Feed, caller: ApiCaller, last: int | None) -> None:
        """Answer one.

        Args:
            feed: Where the events come from.
            caller: Who listens.
            last: The number of the last event that is known, ``None`` where none is.
        """
        super().__init__()
        self._feed, self._caller, self._last = feed, caller, last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until there is an end."""
        async with self._feed.join(self._caller, self._last) as listener:
            headers = [(b"content-type", f"{MEDIA_TYPE}; charset=utf-8".encode()), (b"x-accel-buffering", b"no")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            sending = asyncio.create_task(self._send(listener, send))
            leaving = asyncio.create_task(_wait_until_gone(receive))
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            with suppress(Exception):
                await asyncio.wait_for(send({"type": "http.response.body", "body": b""}), 1.0)

    async def _send(self, listener: _StreamListener, send: Send) -> None:
        data = b"retry: 2000\n\n"
        until = time.monotonic() + (_TOKEN_SECONDS if not self._caller.person else LASTS_SECONDS)
        while self._feed.lasts(listener) and time.monotonic() < until:
            message: Message = {"type": "http.response.body", "body": data, "more_body": True}
            await asyncio.wait_for(send(message), _SEND_SECONDS)
            try:
                data = await asyncio.wait_for(listener.queue.get(), HEARTBEAT_SECONDS)
            except TimeoutError:
                data = b": still here\n\n"


async def _wait_until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
