"""The loop of the resident gate: hears hooks, decides one request at a time, and waits for nobody while it does."""

from __future__ import annotations

import faulthandler
import os
import selectors
import signal
import socket
import threading
import time
from collections import deque

from lockgate.errors import BadInputError
from lockgate.record import TYPE_CHECKING
from lockgate.resident import wire
from lockgate.resident.connection import Connection, most_connections
from lockgate.resident.deciding import Decider, NotHere, Work
from lockgate.resident.garbage import Garbage
from lockgate.resident.measures import Measures
from lockgate.resident.peers import peer_of, sees_the_same

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lockgate.deliberation import Need

STEP_SECONDS = 2.0
"""How long one step of a decision may take. A hook decides by itself before that, and refuses soon after."""
CONSULT_SECONDS = 3.0
"""What a hook is told to wait while somebody is asked who does not say for how long."""
_LATE = 0.8
"""A request that has waited for so long is declined: its hook is about to decide by itself."""
_MOST_CONSULTED = 256
_LOOK = 1.0
"""Seconds between two looks at whether to go on."""
_HANGS = 6.0
"""Seconds after which a loop that has not come round ends the process, from outside of the interpreter: code that never
returns from C hears no signal. Hooks decide by themselves meanwhile, and start another gate."""
_GROUP, _GROUP_SECONDS = 32, 0.005
"""Decisions that are committed together, and how long may be decided on them: the store is locked meanwhile."""
_BREATH = 0.01
"""Seconds of rest where the system has no more files."""


class TookTooLong(BaseException):
    """A step did not end. It is no ``Exception``, so that no code under way takes it for one of its own."""


class Serving:
    """A gate that listens."""

    def __init__(self, listening: socket.socket, decider: Decider, going_on: Callable[[Measures], bool]) -> None:
        """Hear nobody yet.

        Args:
            listening: The socket.
            decider: What decides.
            going_on: Asked now and then whether to go on listening, with what was measured so far.
        """
        self._listening = listening
        self._decider = decider
        self._going_on = going_on
        self.measures = Measures()
        self._selector = selectors.DefaultSelector()
        self._ready: deque[tuple[Connection, wire.Request]] = deque()
        self._open: set[Connection] = set()
        self._told: deque[Callable[[], None]] = deque()
        """What other threads want done. Appending to it is atomic."""
        self._bell, self._ear = socket.socketpair()
        self._consulting = 0
        self._most = most_connections()
        self._held: list[tuple[Connection, Work, bytes]] | None = None
        """Answers that are given when what they tell of is committed; ``None`` outside of a group."""
        self._garbage = Garbage()
        self._watched_at = float("-inf")
        self._nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self.ending = False

    # ------------------------------------------------------------ the loop
    def run(self) -> None:
        """Serve until it is time to end; then whoever is still connected decides by themselves."""
        self._listening.setblocking(False)
        self._bell.setblocking(False)
        self._ear.setblocking(False)
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._selector.register(self._ear, selectors.EVENT_READ)
        next_look = time.monotonic() + _LOOK
        try:
            while not self.ending:
                for key, _ in self._selector.select(max(next_look - time.monotonic(), 0.0)):
                    self._heard(key.fileobj)
                self._work()
                now = time.monotonic()
                if now >= next_look:
                    next_look = now + _LOOK
                    self._look(now)
        finally:
            self._end()

    def stop(self) -> None:
        """End the loop soon. May be called in a signal handler."""
        self.ending = True
        self._ring()

    def _watch(self) -> None:
        """Say that the loop is alive: about once a second, as it takes a thread each time."""
        now = time.monotonic()
        if now - self._watched_at >= _LOOK:
            self._watched_at = now
            faulthandler.dump_traceback_later(_HANGS, exit=True, file=self._nowhere)

    def _end(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        os.close(self._nowhere)
        self._listening.close()
        for connection in list(self._open):
            self._drop(connection)
        self._selector.close()
        self._bell.close()
        self._ear.close()

    def _look(self, now: float) -> None:
        self._watch()
        for connection in [connection for connection in self._open if connection.until < now]:
            if connection.work is None:
                self._drop(connection)
        self._garbage.looked()
        if self._consulting:
            self.measures.last_at = now  # somebody still waits for an answer
        if not self._going_on(self.measures):
            self.ending = True

    # ------------------------------------------------------------ in and out
    def _heard(self, what: Any) -> None:
        if what is self._listening:
            self._accept()
        elif what is self._ear:
            self._do_told()
        else:
            self._continue(what)

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listening.accept()
            except BlockingIOError:
                return
            except OSError:  # the system has no more files; the listening socket stays ready, and must not be spun on
                time.sleep(_BREATH)
                return
            try:
                peer = peer_of(accepted)
                if peer.uid != os.geteuid() or not sees_the_same(peer) or len(self._open) >= self._most:
                    accepted.close()
                    continue
                connection = Connection(accepted, peer)
            except OSError:
                accepted.close()
                continue
            self._open.add(connection)
            self._continue(connection)
            if not (connection.closed or connection.complete_at):  # most hooks have said all by now
                self._listen(connection, selectors.EVENT_READ)

    def _listen(self, connection: Connection, events: int) -> None:
        """Look after a connection from now on."""
        if connection.closed:
            return
        if connection.is_watched:
            self._selector.modify(connection, events)
        else:
            self._selector.register(connection, events)
            connection.is_watched = True

    def _continue(self, connection: Connection) -> None:
        try:
            asked = connection.hear()
            if asked is not None:
                self._ready.append((connection, asked))
            elif connection.complete_at:
                self._say(connection, b"", last=False)
        except BadInputError:
            self._decline(connection)
        except OSError:
            self._drop(connection)

    def _say(self, connection: Connection, frame: bytes, *, last: bool) -> None:
        if connection.closed:
            return
        try:
            done = connection.say(frame, last=last)
            if done and connection.ends:
                self._drop(connection)
            else:
                self._listen(connection, selectors.EVENT_READ | (0 if done else selectors.EVENT_WRITE))
        except OSError:
            self._drop(connection)

    def _decline(self, connection: Connection) -> None:
        self.measures.declined += 1
        self._say(connection, wire.NOT_HERE, last=True)

    def _drop(self, connection: Connection) -> None:
        if connection in self._open:
            self._open.discard(connection)
            if connection.is_watched:
                self._selector.unregister(connection)
        connection.close()

    # ------------------------------------------------------------ deciding
    def _work(self) -> None:
        while self._ready and not self.ending:
            if len(self._ready) == 1:
                self._take(1)
                continue
            self._begin_group()
            self._take(_GROUP)
            self._end_group()

    def _begin_group(self) -> None:
        self._held = []
        self._decider.begin_group()

    def _end_group(self) -> bool:
        """Give the answers of a group, once what they tell of cannot be lost any more; whether it was kept."""
        held, self._held = self._held, None
        if held is None:
            return True
        began = time.perf_counter()
        kept = self._decider.end_group()
        took = time.perf_counter() - began
        for connection, work, frame in held:
            if kept:
                work.spent += took  # each has waited for it
                self._give(connection, work, frame)
            else:
                self._decline(connection)
        return kept

    def _take(self, most: int) -> None:
        until = time.monotonic() + _GROUP_SECONDS
        while self._ready and not self.ending and most and time.monotonic() < until:
            most -= 1
            connection, asked = self._ready.popleft()
            if connection.closed:
                continue
            if time.monotonic() - connection.complete_at > _LATE:
                self._decline(connection)
            elif asked.arguments[:1] and asked.arguments[0].startswith("@"):
                self._control(connection, asked.arguments[0])
            else:
                self._begin(connection, asked)

    def _begin(self, connection: Connection, asked: wire.Request) -> None:
        try:
            work = self._decider.begin(asked, connection.peer.pid)
        except NotHere:
            self._decline(connection)
            return
        connection.work = work
        work.tell_wait = lambda seconds: self._tell(lambda: self._say(connection, wire.wait(seconds), last=False))
        self._step(connection, work, None)

    def _step(self, connection: Connection, work: Work, said: Any) -> None:
        self._watch()
        signal.setitimer(signal.ITIMER_REAL, STEP_SECONDS)
        try:
            found = self._decider.step(work, said)
        except TookTooLong:
            # What was interrupted may be left in any state: this process must not decide on anything else.
            self.ending = True
            self.measures.failed += 1
            self._abandon_group()
            found = work.asked.refused("the decision took too long")
        except NotHere:
            self._decline(connection)
            return
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if isinstance(found, tuple) and len(found) == 3 and isinstance(found[0], str):
            self._answer(connection, work, found)
        else:
            self._consult(connection, work, found)

    def _answer(self, connection: Connection, work: Work, found: tuple[str, str, int]) -> None:
        connection.work = None
        if self._held is None:
            self._give(connection, work, wire.answer(*found))
        else:
            self._held.append((connection, work, wire.answer(*found)))

    def _abandon_group(self) -> None:
        """Have the hooks of a group decide by themselves: nothing is kept of what was decided for them."""
        held, self._held = self._held, None
        if held is not None:
            self._decider.abandon_group()
            for connection, _, _ in held:
                self._decline(connection)

    def _give(self, connection: Connection, work: Work, frame: bytes) -> None:
        self.measures.took(work.asked.name or "-", work.spent)
        self._say(connection, frame, last=True)
        self._garbage.decided()

    def _control(self, connection: Connection, what: str) -> None:
        if what == "@status":
            self._say(connection, wire.answer(self.measures.told(len(self._open), self._consulting), "", 0), last=True)
        elif what == "@stop":
            self._say(connection, wire.answer("", "", 0), last=True)
            self.ending = True
        else:
            self._decline(connection)

    # ------------------------------------------------------------ others who are asked
    def _consult(self, connection: Connection, work: Work, need: Need) -> None:
        if self._consulting >= _MOST_CONSULTED:
            self._decline(connection)
            return
        if self._held is not None:  # whoever is asked looks at the store
            kept = self._end_group()
            self._begin_group()
            if not kept:  # and with the others' went what this one had written
                self._decline(connection)
                return
        self._consulting += 1
        self._say(connection, wire.wait(CONSULT_SECONDS), last=False)

        def ask() -> None:
            said = self._decider.consult(work, need)
            self._tell(lambda: self._consulted(connection, work, said))

        def asking() -> None:
            try:
                ask()
            except BaseException:  # noqa: BLE001 - the hook decides by itself, and says what is wrong
                self._tell(lambda: self._failed(connection))

        threading.Thread(target=asking, name="lockgate-consult", daemon=True).start()

    def _consulted(self, connection: Connection, work: Work, said: Any) -> None:
        self._consulting -= 1
        if self.measures.failed:  # a step was interrupted: nothing is decided here any more
            self._decline(connection)
        elif not connection.closed:
            self._step(connection, work, said)

    def _failed(self, connection: Connection) -> None:
        self._consulting -= 1
        self._decline(connection)

    def _tell(self, what: Callable[[], None]) -> None:
        """Have something done by the loop. May be called in any thread."""
        self._told.append(what)
        self._ring()

    def _ring(self) -> None:
        try:
            self._bell.send(b"!")
        except OSError:  # it rings already, or all is over
            return

    def _do_told(self) -> None:
        try:
            while self._ear.recv(4096):
                pass
        except OSError:
            pass
        while self._told:
            self._told.popleft()()
