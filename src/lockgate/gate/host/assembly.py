"""Assembles the gate on a real machine: store, configuration, file system, clock."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock  # what threading.Lock is, without the rest of that module
from collections.abc import Callable, Hashable, Mapping, Sequence

from lockgate.configuration import load
from lockgate.configuration.load import Configuration
from lockgate.configuration.pattern_library.library import PatternGuard
from lockgate.core.errors import ApprovalError
from lockgate.core.events import Context
from lockgate.core.model import Analysis, EffectKind, Origin, ToolCall
from lockgate.core.questions import NO_DIALOG, RuleSets
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate import Consultants, Guard, Monitor, Parts
from lockgate.gate.host.host_view import (
    host_view_in,
    host_view_of,
    make_contain,
    make_end_rooms,
    make_leave_out,
    task_folders,
    with_client,
    with_session,
    write_kept,
)
from lockgate.resources.host_view import AnalysisRules, HostView
from lockgate.store.files import Sets
from lockgate.store.opening import open_existing, open_store
from lockgate.system import caller
from lockgate.system.folders import PAUSE, Folders

if TYPE_CHECKING:
    from typing import Any

    from lockgate.containment.registry_proxy.lookup import Wanted
    from lockgate.core.questions import JudgeQuestion, Opinion, PersonQuestion, ResultQuestion, TurnQuestion
    from lockgate.gate.monitor.file_labels import LabelledFiles
    from lockgate.gate.monitor.kept_files import EarlierFiles
    from lockgate.gate.objections import Objectors
    from lockgate.store.protocol import Store, Transaction
    from lockgate.system.ttl_cache import TtlCache

_TRACEPARENT = 55
"""Characters of the header's value."""
_NO_RULES = RuleSets()
_ANCESTORS = 12
_INSTALLERS = tuple(f"program:{it}" for it in ("pip", "uv", "npm", "pnpm", "yarn", "poetry"))
LOADING = 1.5
"""Seconds that a hook waits for the pattern library to be compiled: half of its own deadline."""


def open_gate(
    where: Folders,
    limit: Callable[[float], None] = lambda _: None,
    parents: Callable[[Context], tuple[str, ...]] = lambda _: (),
    history: Callable[[Context], bool] = lambda _: False,
    has_rule: Callable[[Context, ToolCall], bool] = lambda *_: False,
    prolong: Callable[[float], float] = float,
    turn_reader: Callable[[Context, str], Callable[[TurnQuestion], frozenset[str]] | None] = lambda *_: None,
    unattended: Callable[[Context, ToolCall, Folders], str] = lambda *_: NO_DIALOG,
    results_since: Callable[[Context, float], Sequence[str]] = lambda *_: (),
    results_before: Callable[[Context, float], Sequence[str]] = lambda *_: (),
    asking_tool: str = "",
) -> Monitor:
    """Open the gate on this machine's default store.

    Args:
        where: The folders.
        limit: Told the seconds that the configuration allows for a decision, once it is known.
        parents: Tells which sessions a forked one came from, where the client has written it.
        history: Tells whether a session has read something already.
        has_rule: Tells whether the client may have a rule of its own about a call, which it would not know again in
            another spelling.
        prolong: Told for how many seconds somebody else is about to be waited for; gives how many it may be.
        turn_reader: Given a context and the home folder: who tells which calls the model made in the same message.
        unattended: Tells why a question in the client's dialog may be answered by somebody else than the person.
        results_since: Tells the calls whose results a session's transcript holds that are newer than a time.
        results_before: Tells the same of those that are older.
        asking_tool: The client's tool by which an agent asks its person.

    Raises:
        StoreError: The state cannot be opened or trusted.
    """
    parts = open_parts(where, limit, has_rule, prolong=prolong)
    consultants = parts.consultants._replace(
        turn=lambda context: turn_reader(context, where.home),
        unattended=lambda context, call: unattended(context, call, where),
        asking_tool=asking_tool,
        window=window_of,
    )
    parts = parts._replace(parents=parents, history=history, consultants=consultants)
    return Monitor(parts._replace(results_since=results_since, results_before=results_before))


def processes_above(context: Context) -> tuple[str, ...]:
    """The processes that a client's own comes from, the nearest first, where the system tells them (Linux)."""
    pid, _, started = context.process.partition(":")
    found: list[str] = []
    process = caller.process(int(pid)) if started and pid.isdecimal() else None
    while process is not None and process.parent > 1 and len(found) < _ANCESTORS:
        above = process.parent
        process = caller.process(above)
        if process is not None:
            found.append(f"{above}:{process.started}")
    return tuple(found)


def window_of(context: Context) -> tuple[int, int] | None:
    """Rows and columns of the terminal that the client draws on, where the system tells it."""
    from lockgate.system.process_arguments import terminal_size

    return terminal_size(context.process)


def open_parts(
    where: Folders,
    limit: Callable[[float], None] = lambda _: None,
    has_rule: Callable[[Context, ToolCall], bool] = lambda *_: False,
    program: Mapping[str, Any] | None = None,
    cache: TtlCache | None = None,
    prolong: Callable[[float], float] = float,
    loading: float = LOADING,
    groups: bool = False,
) -> Parts:
    """What a gate is made of on this machine.

    Args:
        where: The folders.
        limit: As for :func:`open_gate`.
        has_rule: As for :func:`open_gate`.
        program: What the program says that uses the gate in-process, as a layer of the configuration over all files.
        cache: For how long what was looked up holds. A hook lives too short for looking twice.
        prolong: As for :func:`open_gate`.
        loading: Seconds that a call waits for the pattern library to be compiled, where it is not yet.
        groups: As for :func:`lockgate.store.opening.open_store`.

    Raises:
        StoreError: The state cannot be opened or trusted.
    """
    store = open_store(where.state, groups=groups)
    contain, original = make_contain(where, has_rule)
    patterns = PatternGuard(store, where, loading, cache=cache)
    guard = Guard(patterns.check_input, patterns.check_output, patterns.prepare)
    return Parts(
        store,
        _make_configure(store, where, limit, program, cache),
        host_view_reader(where, cache),
        store.clock,
        above=processes_above,
        contain=contain,
        head=_head(where),
        installs=_installs(store, where),
        end_rooms=make_end_rooms(where),
        original=original,
        leave_out=make_leave_out(where),
        guard=guard,
        write_kept=write_kept,
        consultants=consultants_of(where, store, prolong),
        timer=time.perf_counter,
        trace=_trace,
        earlier=_earlier(store, where),
        read_file=_read_file,
    )


def _make_configure(
    store: Store,
    where: Folders,
    limit: Callable[[float], None],
    program: Mapping[str, Any] | None,
    cache: TtlCache | None,
) -> Callable[[Context], Configuration]:
    """The look-up of the configuration that holds for an event; the arguments are those of :func:`open_parts`."""

    def read(context: Context, before: Configuration | None = None) -> Configuration:
        return load.load(
            store,
            home=where.home,
            config_dir=where.config,
            workspace=context.workspace,
            state=where.state,
            program=program,
            before=before,
        )

    look_up: Callable[[Context], Configuration] = read
    if cache is not None:
        look_up = cache.remember(read, lambda context: context.workspace)

    def configure(context: Context) -> Configuration:
        found = _unless_paused(look_up(context), store, context, where.state)
        if found.options.deadline_seconds is not None:
            limit(found.options.deadline_seconds)
        store.sync_commits(found.options.store is not None and found.options.store.get("durability") == "power")
        return found

    return configure


def _unless_paused(found: Configuration, store: Store, context: Context, state: str) -> Configuration:
    """A configuration, or what it is while a person has paused the gate."""
    if not os.path.lexists(os.path.join(state, PAUSE)):  # as nearly always: nothing is loaded for that
        return found
    from lockgate.configuration import pause
    from lockgate.system.uptime import instant

    with store.reading() as tx:
        pauses = pause.look_at_pause(tx, state, instant())
    if pauses.problem:
        from lockgate.gate.session.forgeries import record_forged_pause

        with store.transaction() as tx:  # a second look: a person may be about to pause
            pauses = pause.look_at_pause(tx, state, instant())
            record_forged_pause(tx, context, pauses.problem, store.clock())
    return pause.pause_configuration(found) if pauses.until and pause.may_pause(found) else found


def host_view_reader(where: Folders, cache: TtlCache | None) -> Callable[[Context, AnalysisRules], HostView]:
    """The look-up of what is around an event on this machine, remembered for as long as a look holds."""
    if cache is None:
        return lambda context, rules: with_client(
            host_view_of(where, context.workspace, context.transcript, rules), context.client
        )

    def read_host_view(context: Context, _: object) -> tuple[HostView, list[str]]:
        return host_view_in(where, context.workspace), task_folders()

    look = cache.remember(read_host_view, lambda context: (context.workspace, caller.mark()))
    kept: dict[Hashable, tuple[object, HostView]] = {}
    """The view of this machine in a session of a client, with what it was made of."""

    def host_view(context: Context, rules: AnalysisRules) -> HostView:
        project = look(context)
        name = (context.workspace, context.transcript, context.client, caller.mark())
        made_of, found = kept.get(name, (None, None))
        if found is None or made_of is not project:
            if len(kept) >= cache.MOST:
                kept.clear()
            found = with_client(with_session(*project, where, context.transcript), context.client)
        elif found.rules is rules:
            return found
        found = found._replace(rules=rules)
        kept[name] = (project, found)
        return found

    return host_view


def _earlier(store: Store, where: Folders) -> Callable[[Context, HostView], HostView]:
    """What earlier calls have left on this machine, looked up once for each decision."""

    def earlier(context: Context, around: HostView) -> HostView:
        left = _LeftByCalls(store, where.home)
        return around._replace(
            keeps_any=lambda: left.look().any(),
            kept_files=lambda: left.look().files(),
            kept_content=lambda path: left.look().content(path),
            labelled_files=lambda: found.files() if (found := left.look_at_labels()) else {},
            labelled_content=lambda path: found.content(path) if (found := left.look_at_labels()) else "",
            outgoing=left.read_outgoing,
            contained_ports=lambda: _find_contained_ports(store, where.state, context.subject.session),
        )

    return earlier


class _LeftByCalls:
    """What earlier calls have left on this machine. It is looked up once, when it is first asked for."""

    def __init__(self, store: Store, home: str) -> None:
        self._store, self._home = store, home
        self._seen: list[EarlierFiles] = []
        self._labels: list[LabelledFiles | None] = []

    def look(self) -> EarlierFiles:
        if not self._seen:
            from lockgate.gate.monitor.kept_files import look

            self._seen.append(look(self._store, _read_file, os.path.lexists))
        return self._seen[0]

    def look_at_labels(self) -> LabelledFiles | None:
        if not self._labels:
            with self._store.reading() as tx:
                any_labelled = tx.has_in_set(Sets.FILE_LABELS)
            if any_labelled:
                from lockgate.gate.monitor import file_labels

                self._labels.append(file_labels.look(self._store, _read_file, os.path.isfile))
            else:
                self._labels.append(None)
        return self._labels[0]

    def read_outgoing(self, folder: str, remote: str, revision: str) -> Mapping[str, tuple[Origin, ...]] | None:
        from lockgate.gate.host.repositories.repository import find_outgoing

        files, blobs = find_outgoing(folder, self._home, remote, revision), self.look().blobs()
        return None if files is None else {path: blobs.get(content, ()) for path, content in files.items()}


def _installs(
    store: Store, where: Folders
) -> Callable[[Context, Sequence[Analysis]], tuple[list[Analysis], Wanted | None]]:
    """What a call's installs may ask package indexes for; nearly all calls have none, and load nothing for that."""

    def look(context: Context, analyses: Sequence[Analysis]) -> tuple[list[Analysis], Wanted | None]:
        found, wanted = list(analyses), None
        effects = [effect for analysis in analyses for effect in analysis.effects]
        if any(effect.rule.startswith(_INSTALLERS) for effect in effects):
            from lockgate.gate.host.installs import look_into_installs

            found, wanted = look_into_installs(store, where, context, analyses)
        if any(effect.kind is EffectKind.EXECUTE for effect in effects) and _has_packages(store):
            from lockgate.gate.host.installed_packages import restrict_by_packages

            found = restrict_by_packages(store, where, context, found, wanted)
        return found, wanted

    return look


def _has_packages(store: Store) -> bool:
    """Whether packages are kept that an untrusted session has installed."""
    with store.reading() as tx:
        return tx.has_in_set(Sets.PACKAGES)


def _head(where: Folders) -> Callable[[Context], tuple[str, str]]:
    def head(context: Context) -> tuple[str, str]:
        from lockgate.gate.host.installs import head_of

        return head_of(where.home, context.workspace)

    return head


def _find_contained_ports(store: Store, state: str, session: str) -> frozenset[int]:
    """Ports at which what contained commands of a session have left listens, each in its own network."""
    if not os.path.isdir(os.path.join(state, "rooms")):  # as nearly always: nothing is loaded for that
        return frozenset()
    from lockgate.containment import rooms
    from lockgate.gate.monitor.rooms import names_in

    with store.reading() as tx:
        names = [name for name, _, _ in names_in(tx, session)]
    return rooms.ports(state, names)


def _read_file(path: str) -> bytes | None:
    from lockgate.gate.monitor.kept_files import LARGEST
    from lockgate.system.files import read_regular

    try:
        return read_regular(path, LARGEST)
    except (OSError, ValueError):
        return None


def _trace() -> str:
    """The trace that the caller's process is a part of, as it was handed to the client in its environment."""
    found = caller.environ().get("TRACEPARENT", "")
    # https://www.w3.org/TR/trace-context/#traceparent-header, version 00
    if len(found) != _TRACEPARENT:
        return ""
    match found.split("-"):
        case ["00", trace, span, flags] if (len(trace), len(span), len(flags)) == (32, 16, 2):
            known = set(trace + span + flags) <= set("0123456789abcdef")
            return found if known and trace.strip("0") and span.strip("0") else ""
    return ""


def consultants_of(where: Folders, store: Store, prolong: Callable[[float], float]) -> Consultants:
    """The consultants of the gate on this machine: rules and plugins, a judge, a person at another window.

    Args:
        where: The folders.
        store: The store.
        prolong: To be told before each wait for somebody else: for how many seconds; gives how many it may be.
    """
    asked = _Asked(where, store, prolong)
    return Consultants(
        lambda configuration: configuration.sets_rules,
        _rule_sets,
        can_judge=asked.can_judge,
        rules=lambda question: asked.objectors().before(question),
        results=lambda question: asked.objectors().after(question),
        authors=asked.authors,
        judge=asked.judge,
        wait=asked.wait,
        waits_for_person=asked.waits_for_person,
        is_heard=asked.is_heard,
        is_waited=asked.is_waited,
    )


def load_deciding() -> None:
    """Load what the first decision would have to load."""
    import lockgate.gate.messages.calls  # noqa: F401
    from lockgate.gate.monitor import answer, calls, context_text, lifetimes, results  # noqa: F401


def _load_what_follows_an_answer() -> None:
    """Load what is needed once a person has answered: its files may be another version's by then."""
    from lockgate.gate.messages import calls, objections  # noqa: F401
    from lockgate.gate.monitor import denied_before  # noqa: F401
    from lockgate.store.opening import load_late_modules

    load_late_modules()


class _Asked:
    """The consultants' functions. Each loads its part when it is first asked."""

    def __init__(self, where: Folders, store: Store, prolong: Callable[[float], float]) -> None:
        self._where = where
        self._store = store
        self._prolong = prolong
        self._objectors: Objectors | None = None
        self._making = allocate_lock()
        """Held while they are made: several threads may ask first, and must not each load every plugin."""

    def wait(self, question: PersonQuestion) -> None:
        """Notify a person, and wait for their answer."""
        from lockgate.gate.approvals import notification_text, waiting

        state = self._where.state
        most = self._prolong(max(question.expires_at - self._store.clock(), 0.0))
        notification_text.start(self._where, question)
        _load_what_follows_an_answer()
        waiting.wait(state, question, lambda: open_existing(state), most=most, is_gone=caller.is_gone)
        if caller.is_gone():
            raise ApprovalError("nobody waits for the answer any more")

    def is_waited(self, approval: str) -> bool:
        """Whether a process of this machine waits for the answer to a question."""
        from lockgate.gate.approvals import wakeups

        return wakeups.is_waited_for(self._where.state, approval)

    def waits_for_person(self, configuration: Configuration) -> bool:
        """Whether some person can hear of a question."""
        from lockgate.gate.approvals import waiting

        return waiting.waits_for_person(self._where.state, configuration.options.approvals, self._store.is_watched)

    def is_heard(self, configuration: Configuration, tx: Transaction) -> bool:
        """Whether some person is known to hear of a question."""
        from lockgate.gate.approvals import waiting

        told = waiting.was_told(tx, self._store.clock())
        return waiting.is_listened_to(self._where.state, configuration.options.approvals, told, self._store.is_watched)

    def can_judge(self, configuration: Configuration) -> bool:
        """Whether the configured judge can be asked."""
        # Calls go to a model where a trusted layer says so: a project that nobody trusts cannot have them sent.
        if not configuration.judges:
            return False
        from lockgate.gate.judge.api_key import can_be_asked

        return can_be_asked(configuration.options.judge, caller.environ(), self._where.state)

    def judge(self, question: JudgeQuestion) -> Opinion:
        """Ask the judge."""
        from lockgate.gate.judge.judge import ask

        state = self._where.state
        return ask(question, state, lambda: open_store(state), caller.environ(), self._prolong)

    def authors(self, question: ResultQuestion) -> None:
        """Ask services whose words a result is."""
        from lockgate.gate.authors.lookup import Lookup

        try:
            store = open_store(self._where.state)
            try:
                Lookup(store, caller.environ()).ask(question.context, question.objects, question.trust)
            finally:
                store.close()
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the words are a stranger's
            from lockgate.system.error_log import note, place_of

            note(self._where.state, "authors", type(error).__name__, place_of(error))

    def objectors(self) -> Objectors:
        """Rule sets and plugins, each loaded once."""
        with self._making:
            if self._objectors is None:
                from lockgate.gate.objections import Objectors

                self._objectors = Objectors(self._where.home, self._log)
            return self._objectors

    def _log(self, plugin: str, kind: str, place: str) -> None:
        from lockgate.system.error_log import note

        note(self._where.state, f"plugin {plugin}", kind, place)


def _rule_sets(configuration: Configuration) -> RuleSets:
    if not configuration.sets_rules:
        return _NO_RULES
    from lockgate.gate import objections

    return objections.rule_sets(configuration)
