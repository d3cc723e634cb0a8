"""Decides on one request in the resident gate, in steps. The results are those of a hook without a gate.

A step ends with an answer, or with a question to somebody else; then other requests are decided on until the answer to
it is there. Only the thread that made the :class:`Decider` takes steps.
"""

from __future__ import annotations

import time
from contextlib import suppress

from lockgate.clients.adapter import HookOutput
from lockgate.clients.hook.answer import EventRequest, has_rule, load_decoding
from lockgate.clients.hook.options import parse
from lockgate.core.errors import LockgateError, NotCompiledError, StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.host.assembly import load_deciding, open_parts
from lockgate.service.resident.identity import StoreIdentity
from lockgate.service.resident.recent_callers import RecentCallers
from lockgate.service.resident.request import Work, prolong
from lockgate.store.sqlite.group_commit import GroupingStore
from lockgate.system.error_log import describe, note, place_of
from lockgate.system.folders import Folders
from lockgate.system.ttl_cache import TtlCache

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lockgate.clients.hook.options import HookOptions
    from lockgate.clients.wire.resident import HookRequest
    from lockgate.core.events import Context
    from lockgate.core.questions import Deliberation, Need
    from lockgate.gate import Monitor
    from lockgate.service.resident.containment import PlanAnswer, Planner
    from lockgate.store.protocol import Store

REMEMBER = 1.0
"""Seconds for which files of the configuration are not looked at again."""
LOADING = 0.05
"""Seconds for which the pattern library may be waited for: nobody else is answered meanwhile."""
MOST_FAILURES = 3
"""Failures in a row after which a gate ends."""
_COMMAND_LINES = 64
"""Command lines of hooks that are remembered."""


class NotHere(Exception):  # noqa: N818 - it is no error: the hook decides by itself
    """A request for another gate, or one that this gate does not understand."""


class OtherCode(NotHere):
    """A request of other code than this. It must not be decided on here, and this gate ends to make room."""


class Decider:
    """The gate of one state folder, for all clients."""

    def __init__(self, where: Folders) -> None:
        """Open the gate.

        Raises:
            StoreError: The state cannot be opened or trusted.
        """
        self._where = where
        self._cache = TtlCache(REMEMBER)
        self._parts = open_parts(where, self._limit, cache=self._cache, prolong=prolong, loading=LOADING, groups=True)
        self._groups = self._parts.store if isinstance(self._parts.store, GroupingStore) else None
        self.state = StoreIdentity(where.state)
        self.key = self._parts.store.key
        """The installation's key. The process ends where another one takes its place."""
        self._lately = RecentCallers(where.state, self._cache, self.state)
        self._together = False
        """Whether steps form a group. What holds for all of them is checked once, before they are committed."""
        self.is_stale: Callable[[], bool] = lambda: False
        """Whether another version of this code has been installed."""
        self.is_own_code: Callable[[str], bool | None] = lambda _: True
        """Whether a request names this very code; ``None`` where it names none."""
        self.code = ""
        """The identity of this code, as its hooks send it."""
        self._failures = 0
        self.is_failing = False
        """Whether it has failed so often in a row that it must not go on."""
        self._monitors: dict[str, Monitor] = {}
        self._parsed: dict[tuple[str, ...], HookOptions] = {}
        self._current: Work | None = None
        self._planner: Planner | None = None
        """Plans contained runs; made when the first launcher asks."""
        self.refusals = Refusals(where.state, self._parts.store)

    def close(self) -> None:
        """Close the store."""
        self._parts.store.close()

    def start_upkeep(self) -> Callable[[], None]:
        """Start the thread that tends the store; gives the function that ends it."""
        if self._groups is None:
            return lambda: None
        from lockgate.core.events import Context
        from lockgate.core.model import Subject
        from lockgate.store.sqlite.checkpoint import start_checkpoints
        from lockgate.store.sqlite.head_anchors import HeadAnchors

        self._groups.leave_log()
        audit = self._parts.configure(Context("", Subject("-"))).options.audit
        ends = (
            start_checkpoints(self._where.state),
            HeadAnchors(self._where.state, self._where.home, audit).start_comparisons(),
        )

        def end() -> None:
            for each in ends:
                each()

        return end

    def begin_group(self) -> None:
        """Commit what the next steps write together. None of their answers may be given before ``end_group``."""
        if self._groups is not None:
            self._together = True
            self._groups.begin_group()

    def end_group(self) -> bool:
        """Commit; whether that could be done. Where not, nothing of what the steps wrote is kept.

        It is not where the state folder has another store by now: nobody would ever read what this one is told.
        """
        if self._groups is None:
            return True
        self._together = False
        if self.state.has_changed():
            self._groups.abandon_group()
            return False
        try:
            self._groups.end_group()
        except LockgateError as error:
            note(self._where.state, "group", type(error).__name__, place_of(error))
            return False
        return True

    def abandon_group(self) -> None:
        """Keep nothing of what the steps of a group wrote."""
        if self._groups is not None:
            self._together = False
            self._groups.abandon_group()

    def begin(self, request: HookRequest, pid: int) -> Work:
        """Take a request on.

        Raises:
            OtherCode: Who asks is of other code than this.
            NotHere: It is for another gate, or for none.
        """
        try:
            options = self._parse_options(request.arguments)
            where = options.where(request.environ)
            if where != self._where or options.remote:
                raise NotHere
            self._look_at_code(request)
            return Work(EventRequest(options, where), request, pid)
        except OtherCode:
            raise
        except Exception as error:
            raise NotHere from error  # whatever is wrong with it, the hook itself says so

    def _look_at_code(self, request: HookRequest) -> None:
        is_own = self.is_own_code(request.code)
        if not is_own:
            raise NotHere if is_own is None else OtherCode

    def _parse_options(self, arguments: tuple[str, ...]) -> HookOptions:
        """Read a command line, which is the same for all hooks of one client's event."""
        found = self._parsed.get(arguments)
        if found is None:
            if len(self._parsed) >= _COMMAND_LINES:
                self._parsed.clear()
            found = self._parsed[arguments] = parse(arguments)
        return found

    def step(self, work: Work, said: Any = None) -> Need | HookOutput:
        """Go on with a request: to the next who has to be asked, or to the answer.

        Raises:
            NotHere: The pattern library is being compiled, and the hook can wait for that; the state folder has
                another store by now; something fails while this process's code is being replaced; or a refusal cannot
                be spelt.
        """
        if not self._together and self.state.has_changed():
            raise NotHere
        self._current = work
        began = time.perf_counter()
        try:
            found = work.context.run(self._step, work, said)
        except NotCompiledError as error:
            raise NotHere from error
        except LockgateError as error:
            self._note(work, error)
            if isinstance(error, StoreError):
                self._count_failure()
            return self._refuse(work, str(error))
        except Exception as error:
            self._note(work, error)
            if self.is_stale():  # what is loaded late then fits nothing that was loaded before
                raise NotHere from error
            self._count_failure()
            return self._refuse(work, describe(error))
        finally:
            self._current = None
            work.spent += time.perf_counter() - began
        self._failures = 0
        if work.spent > work.allowed:
            return self._refuse(work, f"the decision took longer than {work.allowed:g} s")
        return found

    def _count_failure(self) -> None:
        """Count a failure of this process. Hooks decide by themselves, and may fare better, so it does not go on."""
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            self.is_failing = True
            raise NotHere

    def _refuse(self, work: Work, because: str) -> HookOutput:
        """Spell a refusal. Where even that fails the hook decides by itself, and has a last resort."""
        try:
            found = work.asked.spell_failure(because)
        except Exception as error:
            self._note(work, error)
            raise NotHere from error
        self.refusals.keep(work, because)
        return found

    def plan(self, asked: HookRequest, pid: int) -> PlanAnswer | None:
        """Answer the launcher of a contained command; ``None`` where it has to plan by itself.

        Raises:
            OtherCode: It is of other code than this.
        """
        is_own = self.is_own_code(asked.code)
        if is_own is False:
            raise OtherCode
        if not is_own or self.state.has_changed():
            return None
        if self._planner is None:
            from lockgate.service.resident.containment import Planner

            self._planner = Planner(self._where, self._parts.configure, self._cache)
        return self._planner.answer(asked, pid)

    def consult(self, work: Work, need: Need) -> Any:
        """Ask the one that a question is for, and wait for the answer. In any thread."""
        return work.context.copy().run(work.consult, need)

    def _step(self, work: Work, said: Any) -> Need | HookOutput:
        if work.deliberation is None:
            if not work.read():
                return HookOutput("")
            work.deliberation = self._begin(work)
        try:
            return work.deliberation.send(said)
        except StopIteration as end:
            work.deliberation = None
            output = work.asked.spell(end.value)
            self.refusals.has_written = True
            return output

    def _begin(self, work: Work) -> Deliberation:
        event = work.asked.event
        assert event is not None
        self._lately.note(work.caller, event.context)
        monitor = self._monitor(work.asked)
        work.consultants = monitor.parts.consultants  # the client's own objections are theirs to say
        for told_late in work.asked.client.find_missed(event):
            monitor.handle(told_late)
        return monitor.deliberate(event)

    def _monitor(self, asked: EventRequest) -> Monitor:
        name = asked.options.client
        if name not in self._monitors:
            self._monitors[name] = self._make_monitor(asked)
        return self._monitors[name]

    def _make_monitor(self, asked: EventRequest) -> Monitor:
        from lockgate.gate import Monitor
        from lockgate.gate.host.assembly import window_of
        from lockgate.gate.host.host_view import find_host, make_contain

        client = asked.client
        able = self._cache.remember(lambda *_: find_host(self._where), lambda _: "")
        contain, original = make_contain(self._where, has_rule(client, self._where), able)
        parts = self._parts._replace(
            contain=contain,
            original=original,
            parents=client.parents_of,
            history=client.has_history,
            results_since=client.make_reader_of_newer(self._where.state, stays=True),
            results_before=client.make_reader_of_older(self._where.state, stays=True),
            consultants=self._parts.consultants._replace(
                turn=lambda context: client.turn_reader(context, self._where.home),
                unattended=lambda context, call: client.why_unattended(context, call, self._where),
                asking_tool=client.ASKING_TOOL,
                window=window_of,
            ),
        )
        monitor = Monitor(parts)
        if client.OBJECTS:
            from lockgate.clients.hook.answer import with_objections

            return with_objections(monitor, client.objections)
        return monitor

    def _limit(self, allowed: float) -> None:
        if self._current is not None:
            self._current.allowed = min(self._current.allowed, allowed)

    def _note(self, work: Work, error: BaseException) -> None:
        note(self._where.state, work.asked.name or "-", type(error).__name__, place_of(error))

    def warm(self) -> None:
        """Load what the first decisions will need."""
        from lockgate.core.events import Context
        from lockgate.core.model import Subject

        load_decoding()
        load_deciding()
        context = Context("claude-code", Subject("-"), self._where.home, self._where.home)
        self._parts.guard.prepare(context)
        with suppress(NotCompiledError):  # until it is compiled, hooks decide by themselves
            self._exercise(context)

    def look_ahead(self) -> None:
        """Refresh what recent callers need of the machine, so that their next question does not wait for it.

        To be called about as often as a look holds, while nobody waits. A shared store is not asked for that: it may be
        far away, or lost.
        """
        if self._groups is not None:
            self._lately.look_ahead(self._exercise)

    def _exercise(self, context: Context) -> None:
        """Read everything that a decision asks of the machine, and run the code that does so."""
        from lockgate.core.model import ToolCall

        call = ToolCall("Bash", {"command": "git status | head"}, context.cwd)
        self._parts.analyse(context, call, self._parts.configure(context))
        self._parts.guard.check_input(context, call)


class Refusals:
    """The refusals in a state folder that wait to be recorded, until the store can be written."""

    def __init__(self, state: str, store: Store) -> None:
        """Use a state folder and its store."""
        self._state = state
        self._store = store
        self.has_written = False
        """Whether the store was written since the refusals were last recorded."""

    def keep(self, work: Work, because: str) -> None:
        """Keep a refusal of this gate."""
        from lockgate.store.audit.refusals import Refusal

        asked, refusal = work.asked, Refusal(self._state, "gate")
        refusal.about(asked.options.client, asked.name or "", asked.client.names(asked.payload))
        refusal.keep(because)
        self.has_written = False

    def record(self) -> None:
        """Record what hooks and this gate have kept, if the store has been written since."""
        if not self.has_written:
            return
        self.has_written = False
        from lockgate.store.audit.refusals import sweep

        try:
            sweep(self._state, self._store)
        except LockgateError as error:
            note(self._state, "refusals", type(error).__name__, place_of(error))
