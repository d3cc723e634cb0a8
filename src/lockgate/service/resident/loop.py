"""The resident gate's loop: decides one request at a time, and waits for nobody meanwhile."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import threading
import time

from lockgate.clients.adapter import HookOutput
from lockgate.clients.wire import resident
from lockgate.core.record import TYPE_CHECKING
from lockgate.service.resident.decider import Decider, NotHere, OtherCode
from lockgate.service.resident.listener import Listener
from lockgate.service.resident.metrics import Measures

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Any

    from lockgate.core.questions import Need
    from lockgate.service.resident.connection import Connection
    from lockgate.service.resident.request import Work

CONSULT_SECONDS = 3.0
"""What a hook is told to wait while somebody is asked who does not say for how long."""
CONTAIN = "@contain-"
"""How the questions of :mod:`lockgate.service.resident.containment` begin."""
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


class Serving:
    """A gate that listens."""

    def __init__(self, listening: socket.socket, decider: Decider, going_on: Callable[[Measures], bool]) -> None:
        """Hear nobody yet.

        Args:
            listening: The socket.
            decider: What decides.
            going_on: Asked now and then whether to go on listening, with what was measured so far.
        """
        self._decider = decider
        self._going_on = going_on
        self.measures = Measures()
        self._hooks = Listener(listening, self.measures, decider.key)
        self._consulting = 0
        self._held: list[tuple[Connection, Work, bytes]] | None = None
        """Answers that are given when what they tell of is committed; ``None`` outside of a group."""
        self._garbage = GarbageCollector()
        self.limit = Limit()
        """Its ``rang`` must be what SIGALRM calls."""
        self._watched_at = float("-inf")
        self._nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self.ending = False
        self.makes_room = False
        """Whether it ends because somebody of other code has asked."""

    # ------------------------------------------------------------ the loop
    def run(self) -> None:
        """Serve until it is time to end; then whoever is still connected decides by themselves."""
        self._hooks.begin()
        next_look = time.monotonic() + _LOOK
        try:
            while not self.ending:
                self._hooks.poll(next_look - time.monotonic())
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
        self._hooks.wakeup.wake()

    def _watch(self) -> None:
        """Say that the loop is alive: about once a second, as it takes a thread each time."""
        now = time.monotonic()
        if now - self._watched_at >= _LOOK:
            self._watched_at = now
            faulthandler.dump_traceback_later(_HANGS, exit=True, file=self._nowhere)

    def _end(self) -> None:
        self.limit.stop()
        faulthandler.cancel_dump_traceback_later()
        os.close(self._nowhere)
        self._hooks.end()

    def _look(self, now: float) -> None:
        self._watch()
        self._hooks.drop_late(now)
        if not self._hooks.ready:
            self._look_ahead()
        self._garbage.collect_if_idle()
        if self._consulting:
            self.measures.last_at = now  # somebody still waits for an answer
        if not self._going_on(self.measures):
            self.ending = True

    def _look_ahead(self) -> None:
        try:
            self.limit.begin()
            try:
                self._decider.refusals.record()
                self._decider.look_ahead()
            finally:  # inside: time can be up just here
                self.limit.end()
        except TookTooLong:
            self.ending = True
            self.measures.failed += 1

    # ------------------------------------------------------------ deciding
    def _work(self) -> None:
        while self._hooks.ready and not self.ending:
            if len(self._hooks.ready) == 1:
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
                self._hooks.decline(connection)
        return kept

    def _take(self, most: int) -> None:
        until = time.monotonic() + _GROUP_SECONDS
        while self._hooks.ready and not self.ending and most and time.monotonic() < until:
            most -= 1
            connection, asked = self._hooks.ready.popleft()
            if connection.closed:
                continue
            if time.monotonic() - connection.complete_at > _LATE:
                self._hooks.decline(connection)
            elif asked.arguments[:1] and asked.arguments[0].startswith("@"):
                self._control(connection, asked)
            else:
                self._begin(connection, asked)

    def _begin(self, connection: Connection, asked: resident.HookRequest) -> None:
        try:
            work = self._decider.begin(asked, connection.peer.pid)
        except OtherCode:
            self._make_room(connection)
            return
        except NotHere:
            self._hooks.decline(connection)
            return
        connection.work = work
        work.is_gone = connection.has_ended
        work.waiting.tell = lambda seconds: self._hooks.wakeup.call_in_loop(
            lambda: self._hooks.send(connection, resident.wait(seconds), last=False)
        )
        self._step(connection, work, None)

    def _make_room(self, connection: Connection) -> None:
        """Make a hook of other code decide by itself, and end: the next gate is of its code."""
        self._hooks.decline(connection)
        self.ending = self.makes_room = True

    def _step(self, connection: Connection, work: Work, said: Any) -> None:
        self._watch()
        try:
            self.limit.begin()
            try:
                found = self._decider.step(work, said)
            finally:  # inside: time can be up just here
                self.limit.end()
        except TookTooLong:
            # What was interrupted may be left in any state: this process must not decide on anything else.
            self.ending = True
            self.measures.failed += 1
            self._abandon_group()
            found = work.asked.spell_failure("the decision took too long")
            self._decider.refusals.keep(work, "the decision took too long")
        except NotHere:
            self._hooks.decline(connection)
            if self._decider.is_failing:
                self.ending = True
                self.measures.failed += 1
            return
        if isinstance(found, HookOutput):
            self._answer(connection, work, found)
        else:
            self._consult(connection, work, found)

    def _answer(self, connection: Connection, work: Work, output: HookOutput) -> None:
        connection.work = None
        if self._held is None:
            self._give(connection, work, resident.answer(*output))
        else:
            self._held.append((connection, work, resident.answer(*output)))

    def _abandon_group(self) -> None:
        """Make the hooks of a group decide by themselves: nothing is kept of what was decided for them."""
        held, self._held = self._held, None
        if held is not None:
            self._decider.abandon_group()
            for connection, _, _ in held:
                self._hooks.decline(connection)

    def _give(self, connection: Connection, work: Work, frame: bytes) -> None:
        self.measures.count_answer(work.spent)
        self._hooks.send(connection, frame, last=True)
        self._garbage.note_decision()

    def _control(self, connection: Connection, asked: resident.HookRequest) -> None:
        what = asked.arguments[0]
        if what.startswith(CONTAIN):
            self._plan(connection, asked)
        elif what == "@status":
            self._hooks.send(
                connection,
                resident.answer(self.measures.as_json(len(self._hooks), self._consulting, self._decider.code), "", 0),
                last=True,
            )
        elif what == "@stop":
            self._hooks.send(connection, resident.answer("", "", 0), last=True)
            self.ending = True
        else:
            self._hooks.decline(connection)

    def _plan(self, connection: Connection, asked: resident.HookRequest) -> None:
        """Answer the launcher of a contained command; where there is no answer it plans by itself."""
        self._watch()
        found = None
        try:
            self.limit.begin()
            try:
                found = self._decider.plan(asked, connection.peer.pid)
            finally:  # inside: time can be up just here
                self.limit.end()
        except OtherCode:
            self._make_room(connection)
            return
        except TookTooLong:
            self.ending = True
            self.measures.failed += 1
        if found is None:
            self._hooks.decline(connection)
        else:
            self.measures.last_at = time.monotonic()
            self._hooks.send(connection, resident.answer_in_bytes(*found), last=True)

    # ------------------------------------------------------------ others who are asked
    def _consult(self, connection: Connection, work: Work, need: Need) -> None:
        if self._consulting >= _MOST_CONSULTED:
            self._hooks.decline(connection)
            return
        if self._held is not None:  # whoever is asked looks at the store
            kept = self._end_group()
            self._begin_group()
            if not kept:  # and with the others' went what this one had written
                self._hooks.decline(connection)
                return
        self._consulting += 1
        self._hooks.send(connection, resident.wait(CONSULT_SECONDS), last=False)

        def ask() -> None:
            said = self._decider.consult(work, need)
            self._hooks.wakeup.call_in_loop(lambda: self._on_advice(connection, work, said))

        def ask_or_fail() -> None:
            try:
                ask()
            except BaseException:  # noqa: BLE001 - the hook decides by itself, and says what is wrong
                self._hooks.wakeup.call_in_loop(lambda: self._fail(connection))

        try:
            threading.Thread(target=ask_or_fail, name="lockgate-consult", daemon=True).start()
        except RuntimeError:  # there can be no more threads
            self._fail(connection)

    def _on_advice(self, connection: Connection, work: Work, said: Any) -> None:
        self._consulting -= 1
        if connection.has_ended() or self.measures.failed:  # a person's word is not used up for nobody
            self._hooks.decline(connection)
        elif not connection.closed:
            self._step(connection, work, said)

    def _fail(self, connection: Connection) -> None:
        self._consulting -= 1
        self._hooks.decline(connection)


_NEW = 1000
"""Decisions after which what is new is looked through."""
_ALL = 50_000
"""Decisions after which everything is, where there was no second without one."""


class GarbageCollector:
    """Stands in for the interpreter's own rule, which must be switched off (``gc.disable``).

    What decisions leave is freed at once, but for what points at itself. Looking through all that a gate remembers
    takes tens of milliseconds. Looking through what is new since the last time takes less than one.
    """

    def __init__(self) -> None:
        """Nothing was decided yet."""
        self._since_new = self._since_all = self._since_look = 0

    def note_decision(self) -> None:
        """Count an answer, and collect garbage where that is due."""
        self._since_new += 1
        self._since_all += 1
        self._since_look += 1
        if self._since_all >= _ALL:
            self._collect_all()
        elif self._since_new >= _NEW:
            self._since_new = 0
            gc.collect(1)

    def collect_if_idle(self) -> None:
        """Collect all garbage if nothing was decided since the last call. To be called once a second."""
        if self._since_all and not self._since_look:
            self._collect_all()
        self._since_look = 0

    def _collect_all(self) -> None:
        self._since_new = self._since_all = 0
        gc.collect()


STEP_SECONDS = 2.0
"""How long one step of a decision may take. A hook decides by itself before that, and refuses soon after."""
_AGAIN = 0.1
"""Seconds between two rings from then on: by so much more a step may take."""
_NONE = float("inf")


class TookTooLong(BaseException):
    """A step did not end. It is no ``Exception``, so that no code under way takes it for one of its own."""


class Limit:
    """Interrupts a step that does not end. A timer rings as long as there are steps, and looks at the one under way.

    To set a timer before each step, and to stop it afterwards, would be two calls of the system for each.
    """

    def __init__(self) -> None:
        """No step is under way."""
        self._began = _NONE
        self._rings = False

    def begin(self) -> None:
        """A step begins."""
        self._began = time.monotonic()  # first: a ring that sees no step is the last one
        if not self._rings:
            self._rings = True
            signal.setitimer(signal.ITIMER_REAL, STEP_SECONDS, _AGAIN)

    def end(self) -> None:
        """The step has ended."""
        self._began = _NONE

    def rang(self, *_: object) -> None:
        """What the signal calls.

        Raises:
            TookTooLong: The step under way has taken too long; once, as for a timer of its own.
        """
        if self._began == _NONE:
            self.stop()
        elif time.monotonic() - self._began >= STEP_SECONDS:
            self._began = _NONE
            raise TookTooLong

    def stop(self) -> None:
        """Stop the alarm until a step begins."""
        self._rings = False
        signal.setitimer(signal.ITIMER_REAL, 0)
