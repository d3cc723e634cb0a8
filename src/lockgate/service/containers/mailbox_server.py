"""IPC by files, on the host: watches the folders of all groups, and puts an answer beside each request.

A request stays in its folder until it is answered. So a host that was killed finds it again, and a container that still
waits gets its answer.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress

from watchfiles import Change, awatch

from lockgate.clients.wire.mailbox import REPORT, SUFFIX
from lockgate.clients.wire.messages import LONGEST_WAIT
from lockgate.core.errors import RemoteError
from lockgate.service.containers.groups import ContainerGroup, Groups, lock
from lockgate.service.containers.handler import MOST_OF_A_GROUP, ContainerDecisions, make_waiting_note, refusal
from lockgate.service.containers.inbox import Inbox, MailboxFile

log = logging.getLogger("lockgate.service.containers")

_NOTE_AFTER = 1.0
"""Seconds after which a container is told that its answer takes longer."""
_LOOK_SECONDS = 1.0
"""Between two looks at everything, whatever was told to have changed."""
_ALIVE_SECONDS = 2.0
_CLEAN_SECONDS = 5.0
_POLL_MS = 20
"""Between two looks where the system does not tell of changes, in milliseconds."""
_MISSED = 0.5
"""Seconds after which a request that nobody told of shows that changes are not told here."""
_SMALL = 64 * 1024
"""Bytes of a request that is refused for being one too many; a larger one is only removed."""
_BACKLOG = 192
"""Requests beside those that are open which a group may have lying there."""
_UNHEARD = 30.0
"""Seconds after which nobody waits for a request of which it was not said that it takes longer."""
_REFUSALS = 16
"""Most refusals at one look."""
_REST = 20.0
"""How much longer than a look at a folder the time is until the next one: no group has more than its part of all."""
_KINDS = (SUFFIX, REPORT)
_FLOOD = "this container asks faster than it is answered; slow down"


class MailboxServer:
    """Serves all groups whose folders lie below one folder."""

    def __init__(self, folder: str, groups: Groups, decisions: ContainerDecisions, *, poll: bool = False) -> None:
        """Lock the folder, so that no other host answers in it.

        Args:
            folder: The folder that holds those of the groups.
            groups: Who they are.
            decisions: Decides.
            poll: Whether to look for changes instead of being told of them.

        Raises:
            RemoteError: The folder is not this user's alone, or another host has it.
        """
        self._folder = os.path.realpath(folder)
        self._groups = groups
        self._decisions = decisions
        self._poll = poll
        self._inboxes: dict[str, Inbox] = {}
        self._open: dict[str, set[MailboxFile]] = {}
        self._full: set[str] = set()
        self._next: dict[str, float] = {}
        self._later: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._version = -1
        self._changed = asyncio.Event()
        self._lock = lock(self._folder)

    def close(self) -> None:
        """Close everything, and tell the containers."""
        for task in self._tasks:
            task.cancel()
        for inbox in self._inboxes.values():
            inbox.close()
        self._inboxes.clear()
        os.close(self._lock)

    async def run(self) -> None:
        """Answer requests, until cancelled."""
        async with asyncio.TaskGroup() as both:
            both.create_task(self._do_upkeep())
            both.create_task(self._listen())

    # ---------------------------------------------------------------- who there is
    def refresh(self) -> None:
        """See which groups there are now."""
        version = self._groups.version()
        if version == self._version:
            return
        self._version = version
        wanted = {name: group for name, group in self._groups.all().items() if self._is_here(group)}
        for name in [name for name, inbox in self._inboxes.items() if wanted.get(name) != inbox.group]:
            self._inboxes.pop(name).close()
        for name, group in wanted.items():
            if name not in self._inboxes:
                try:
                    self._inboxes[name] = Inbox(group)
                except OSError as error:
                    log.error("no folders", extra={"facts": {"group": name, "why": error.strerror}})
                    continue
                self._inboxes[name].touch()
        self._changed.set()

    def _is_here(self, group: ContainerGroup) -> bool:
        return os.path.dirname(os.path.realpath(group.folder)) == self._folder

    async def _do_upkeep(self) -> None:
        """What has to be done from time to time."""
        turn = 0
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self.refresh()
            turn += 1
            for name, inbox in list(self._inboxes.items()):
                if turn % (_ALIVE_SECONDS / _LOOK_SECONDS) == 0:
                    inbox.touch()
                if turn % (_CLEAN_SECONDS / _LOOK_SECONDS) == 0:
                    inbox.clean()
                self._look(name, told=False)

    async def _listen(self) -> None:
        """Look where something has changed."""
        while True:
            self.refresh()
            self._changed.clear()
            for name in list(self._inboxes):
                self._look(name)
            async for names in self._changes():
                for name in names:
                    self._look(name)

    async def _changes(self) -> AsyncIterator[Iterable[str]]:
        """The groups in whose folders something has changed. Ends when there are other groups, or fewer folders."""
        places = {inbox.group.requests: name for name, inbox in self._inboxes.items()}
        places = {folder: name for folder, name in places.items() if os.path.isdir(folder)}
        if not places:
            await self._changed.wait()
            return
        try:
            async for names in self._watch_folders(places):
                yield names
        except FileNotFoundError:  # one folder went away since; the others are looked at as before
            log.warning("a folder went away")
            await asyncio.sleep(_LOOK_SECONDS)
        except OSError as error:
            if self._poll:
                raise
            log.warning("changes cannot be told here; looking for them instead", extra={"facts": {"why": str(error)}})
            self._poll = True

    async def _watch_folders(self, places: Mapping[str, str]) -> AsyncIterator[Iterable[str]]:
        watching = awatch(
            *places,
            watch_filter=None,
            debounce=20,
            step=1,
            rust_timeout=500,
            yield_on_timeout=True,
            stop_event=self._changed,
            recursive=False,
            force_polling=self._poll,
            poll_delay_ms=_POLL_MS,
        )
        async for changes in watching:
            # A request comes by a rename; drafts that are written and requests that go away are no news.
            new = {
                os.path.dirname(path) for change, path in changes if change is Change.added and path.endswith(_KINDS)
            }
            yield [places[folder] for folder in new if folder in places]

    # ---------------------------------------------------------------- requests
    def _look(self, name: str, *, told: bool = True) -> None:
        """Take up what lies in a group's folder, as far as there is room."""
        self.refresh()  # a key may be another one by now
        inbox = self._inboxes.get(name)
        if inbox is None or self._is_too_soon(name):
            return
        began = time.monotonic()
        self._look_into(inbox, told=told)
        now = time.monotonic()
        self._next[name] = now + (now - began) * _REST

    def _is_too_soon(self, name: str) -> bool:
        """Whether a group had its share of looks; then it is looked at later."""
        wait = self._next.get(name, 0.0) - time.monotonic()
        if wait <= 0:
            return False
        if name not in self._later:
            self._later.add(name)
            asyncio.get_running_loop().call_later(wait, self._look_later, name)
        return True

    def _look_later(self, name: str) -> None:
        self._later.discard(name)
        self._look(name)

    def _look_into(self, inbox: Inbox, *, told: bool) -> None:
        name = inbox.group.name
        busy = self._open.setdefault(name, set())
        try:
            waiting = [letter for letter in inbox.letters() if letter not in busy]
        except OSError as error:
            log.error("unreadable", extra={"facts": {"group": name, "why": error.strerror}})
            return
        room = 0 if inbox.is_crowded else max(MOST_OF_A_GROUP - len(busy), 0)
        for letter in waiting[:room]:
            self._take(inbox, letter, told=told)
        if len(waiting) > room:
            self._full.add(name)
        for letter in waiting[room + _BACKLOG :][:_REFUSALS]:
            self._refuse(inbox, letter)

    def _take(self, inbox: Inbox, letter: MailboxFile, *, told: bool) -> None:
        if inbox.was_answered(letter.id):
            inbox.discard(letter)  # the first request with an id is the one that counts
            return
        if not told and not self._poll and _MISSED < time.time() - letter.at < 2 * _LOOK_SECONDS:
            log.warning("changes are not told here; looking for them instead")
            self._poll = True
            self._changed.set()
        self._open[inbox.group.name].add(letter)
        task = asyncio.create_task(self._answer(inbox, letter))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, inbox: Inbox, letter: MailboxFile) -> None:
        group = inbox.group
        try:
            deciding = asyncio.create_task(self._decisions.decide(group, lambda: _message(inbox, letter), letter))
            if not letter.report:
                done, _ = await asyncio.wait({deciding}, timeout=_NOTE_AFTER)
                if not done:
                    self._note(inbox, letter)
            answer = await deciding
            if not letter.report:
                inbox.answer(letter, answer)
            inbox.discard(letter)
        except _GoneError:
            inbox.discard(letter)
        except RemoteError as error:
            log.error("not answered", extra={"facts": {"group": group.name, "id": letter.id, "why": str(error)}})
            await asyncio.sleep(_LOOK_SECONDS)  # it stays, and is taken up again
        finally:
            self._finish(group.name, letter)

    def _finish(self, name: str, letter: MailboxFile) -> None:
        busy = self._open[name]
        busy.discard(letter)
        if name in self._full and len(busy) <= MOST_OF_A_GROUP // 2:
            self._full.discard(name)
            self._look(name)

    def _note(self, inbox: Inbox, letter: MailboxFile) -> None:
        """Say that it takes longer, for the container waits no longer than it must for a host that is dead."""
        with suppress(RemoteError, _GoneError):
            note = make_waiting_note(inbox.group, _message(inbox, letter), letter.id)
            inbox.answer(letter, note, waiting=True)

    def _refuse(self, inbox: Inbox, letter: MailboxFile) -> None:
        with suppress(RemoteError, _GoneError):
            if letter.size <= _SMALL and not letter.report and not inbox.is_crowded:
                inbox.answer(letter, refusal(inbox.group, _message(inbox, letter), letter.id, _FLOOD))
        inbox.discard(letter)


class _GoneError(Exception):
    """A request is not there any more, or nobody waits for it, or it was never one."""


def _message(inbox: Inbox, letter: MailboxFile) -> bytes:
    # A report waits for as long as it takes: nobody waits for its answer.
    age = time.time() - letter.at
    if not letter.report and (age > LONGEST_WAIT or (age > _UNHEARD and not inbox.is_noted(letter))):
        raise _GoneError
    try:
        return inbox.read(letter)
    except FileNotFoundError:
        raise _GoneError from None
    except OSError as error:
        # There is nothing that an answer could be bound to: the container's side hears nothing, and refuses.
        why = error.strerror or "it cannot be read"
        log.warning("refused", extra={"facts": {"group": inbox.group.name, "id": letter.id, "why": why}})
        raise _GoneError from None
