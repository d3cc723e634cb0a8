"""Putting the gate together on a real machine: the store, the configuration, the file system, the clock."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping

import lockgate
from lockgate import configuration
from lockgate.analysis.surroundings import Rules, ScriptFile, Surroundings
from lockgate.configuration import Configuration
from lockgate.deliberation import RuleSets
from lockgate.events import Context
from lockgate.folders import Folders
from lockgate.gate import Consultants, Guard, Monitor, Parts
from lockgate.guardrails.library import PatternGuard
from lockgate.model import ToolCall, Verdict
from lockgate.record import TYPE_CHECKING
from lockgate.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from lockgate.deliberation import JudgeQuestion, Opinion, PersonQuestion
    from lockgate.escape.containment.rewriting import Launch
    from lockgate.rules.consulting import Objectors
    from lockgate.store.protocol import Store

    _T = TypeVar("_T")

_VARIABLES = ("HOME", "TMPDIR", "PATH", "USER", "LOGNAME", "SHELL")
"""Variables of the hook's environment that a command's words may be resolved with."""
_NO_RULES = RuleSets()
_SHELL_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
_SHELL_TOOL = "Bash"
_LOADING = 1.5
"""Seconds that a hook waits for the pattern library to be compiled: half of its own deadline."""
_REMEMBERED = 256
"""Projects and transcripts of which a long-lived process remembers what it has looked up."""
_CONTAIN = "contain.py"
"""The program that a contained command is rewritten to."""


def open_gate(
    where: Folders,
    limit: Callable[[float], None] = lambda _: None,
    parents: Callable[[Context], tuple[str, ...]] = lambda _: (),
    history: Callable[[Context], bool] = lambda _: False,
    has_rule: Callable[[Context, ToolCall], bool] = lambda *_: False,
    prolong: Callable[[float], float] = float,
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

    Raises:
        StoreError: The state cannot be opened or trusted.
    """
    parts = open_parts(where, limit, has_rule, prolong=prolong)
    return Monitor(parts._replace(parents=parents, history=history))


def open_parts(
    where: Folders,
    limit: Callable[[float], None] = lambda _: None,
    has_rule: Callable[[Context, ToolCall], bool] = lambda *_: False,
    program: Mapping[str, Any] | None = None,
    remember: float = 0.0,
    prolong: Callable[[float], float] = float,
) -> Parts:
    """What a gate is made of on this machine.

    Args:
        where: The folders.
        limit: As for :func:`open_gate`.
        has_rule: As for :func:`open_gate`.
        program: What the program says that uses the gate in-process, as a layer of the configuration over all files.
        remember: Seconds for which files of the configuration are not looked at again. A hook lives too short for any.
        prolong: As for :func:`open_gate`.

    Raises:
        StoreError: The state cannot be opened or trusted.
    """
    store = SqliteStore.open(where.state)

    def read(context: Context) -> Configuration:
        return configuration.load(
            store, home=where.home, config_dir=where.config, workspace=context.workspace, program=program
        )

    def configure(context: Context) -> Configuration:
        found = look_up(context)
        if found.options.deadline_seconds is not None:
            limit(found.options.deadline_seconds)
        return found

    def around(context: Context) -> Surroundings:
        return surroundings_of(where, context.workspace, context.transcript, Rules())

    look_up = _remembering(read, remember) if remember else read
    look_around = _remembering(around, remember) if remember else around

    def surroundings(context: Context, rules: Rules) -> Surroundings:
        return look_around(context)._replace(rules=rules)

    contain, original = containing(where, has_rule)
    patterns = PatternGuard(store, where, _LOADING)
    guard = Guard(patterns.check_input, patterns.check_output, patterns.prepare)
    return Parts(
        store,
        configure,
        surroundings,
        time.time,
        contain=contain,
        original=original,
        guard=guard,
        write_kept=write_kept,
        consultants=consultants_of(where, store, prolong),
        timer=time.perf_counter,
    )


def containing(
    where: Folders, has_rule: Callable[[Context, ToolCall], bool]
) -> tuple[
    Callable[[Context, ToolCall], Mapping[str, Any] | None],
    Callable[[Context, ToolCall], ToolCall],
]:
    """How a call is rewritten so that it runs contained, and how the call that an agent made is told from that.

    Args:
        where: The folders.
        has_rule: As for :func:`open_gate`.
    """

    def contain(context: Context, call: ToolCall) -> Mapping[str, Any] | None:
        if call.tool != _SHELL_TOOL or has_rule(context, call):
            return None
        from lockgate.escape.containment.rewriting import contained_input

        return contained_input(call.tool_input, _launch(where, context))

    def original(context: Context, call: ToolCall) -> ToolCall:
        command = call.tool_input.get("command")
        if call.tool != _SHELL_TOOL or not isinstance(command, str) or _CONTAIN not in command:
            return call
        from lockgate.escape.containment.rewriting import original

        text = original(command, _launch(where, context))
        return call._replace(tool_input={**call.tool_input, "command": text})

    return contain, original


def consultants_of(where: Folders, store: Store, prolong: Callable[[float], float]) -> Consultants:
    """Whom the gate asks beside its tables on this machine: rules and plugins, a judge, a person elsewhere.

    Args:
        where: The folders.
        store: The store.
        prolong: To be told before each wait for somebody else: for how many seconds; gives how many it may be.
    """

    def wait(question: PersonQuestion) -> None:
        from lockgate.escape import telling, waiting

        most = prolong(max(question.expires_at - time.time(), 0.0))
        telling.start(where.state, question)
        waiting.wait(where.state, question, lambda: SqliteStore.open_existing(where.state), most=most)

    def attended(configuration: Configuration) -> bool:
        from lockgate.escape import waiting

        return waiting.attended(where.state, configuration.options.approvals)

    def can_judge(configuration: Configuration) -> bool:
        # Calls go to a model where a trusted layer says so: a project that nobody trusts cannot have them sent.
        if not configuration.policies[0].profile.says(Verdict.JUDGE):
            return False
        from lockgate.escape.judge.keys import can_be_asked

        return can_be_asked(configuration.options.judge, os.environ, where.state)

    def judge(question: JudgeQuestion) -> Opinion:
        from lockgate.escape.judge.judge import ask

        return ask(question, where.state, lambda: SqliteStore.open(where.state), os.environ, prolong)

    def log(plugin: str, kind: str, place: str) -> None:
        from lockgate.logs import note

        note(where.state, f"plugin {plugin}", kind, place)

    def rule_sets(configuration: Configuration) -> RuleSets:
        if not configuration.sets_rules:
            return _NO_RULES
        from lockgate.rules import consulting

        return consulting.rule_sets(configuration)

    kept: list[Objectors] = []

    def objectors() -> Objectors:
        from lockgate.rules.consulting import Objectors

        if not kept:
            kept.append(Objectors(where.home, log))
        return kept[0]

    return Consultants(
        lambda configuration: configuration.sets_rules,
        rule_sets,
        can_judge=can_judge,
        rules=lambda question: objectors().before(question),
        results=lambda question: objectors().after(question),
        judge=judge,
        wait=wait,
        attended=attended,
    )


def _remembering(read: Callable[[Context], _T], seconds: float) -> Callable[[Context], _T]:
    """The same look-up, which looks at the machine at most once in so many seconds for each project and transcript."""
    kept: dict[tuple[str, str], tuple[float, _T]] = {}

    def look_up(context: Context) -> _T:
        name = (context.workspace, context.transcript)
        now = time.monotonic()
        if name in kept and now - kept[name][0] <= seconds:
            return kept[name][1]
        if len(kept) >= _REMEMBERED:
            kept.clear()
        found = read(context)
        kept[name] = (now, found)
        return found

    return look_up


def write_kept(context: Context, path: str, change: Callable[[str], str]) -> None:
    """Rewrite the file in which the client keeps a long result. Raises ``OSError`` where it must not be touched."""
    from lockgate.kept_results import rewrite

    folder, _ = os.path.splitext(context.transcript)
    rewrite(path, [os.path.join(folder, "tool-results")] if _session_results(context.transcript) else [], change)


def _launch(where: Folders, context: Context) -> Launch:
    """How a contained run of this very installation is started."""
    from lockgate.escape.containment.rewriting import Launch

    program = os.path.join(os.path.dirname(os.path.abspath(lockgate.__file__)), _CONTAIN)
    return Launch(sys.executable, program, *where, context.workspace)


def surroundings_of(where: Folders, workspace: str, transcript: str, rules: Rules) -> Surroundings:
    """What the analysis may know of this machine."""
    variables = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    variables["HOME"] = where.home
    return Surroundings(
        home=where.home,
        workspace=workspace,
        own_paths=own_paths(where),
        client_paths=_client_paths(where, transcript),
        session_results=_session_results(transcript),
        variables=variables,
        realpath=os.path.realpath,
        may_be_zsh=_may_be_zsh(),
        python_files=_python_files,
        is_git_folder=_is_git_folder,
        git_settings=_git_settings(workspace),
        hook_folders=_hook_folders(where.home, workspace),
        read_script=_script_reader(workspace),
        is_there=_is_there(workspace),
        rules=rules,
    )


def rules_of(where: Folders, workspace: str) -> Rules:
    """What the configuration of a workspace says to the analysis: with several policies, all of their paths.

    Raises:
        StoreError: The state cannot be read.
    """
    store = SqliteStore.open(where.state)
    try:
        found = configuration.load(store, home=where.home, config_dir=where.config, workspace=workspace)
    finally:
        store.close()
    rules = [policy.rules for policy in found.policies]
    return Rules(
        protected_paths=tuple(dict.fromkeys(path for each in rules for path in each.protected_paths)),
        secret_paths=tuple(dict.fromkeys(path for each in rules for path in each.secret_paths)),
        persistent_paths=tuple(dict.fromkeys(path for each in rules for path in each.persistent_paths)),
    )


def _may_be_zsh() -> bool:
    """Whether Claude Code would run commands with zsh: unless the environment asks for bash, it looks for zsh first."""
    asked = os.environ.get("CLAUDE_CODE_SHELL") or os.environ.get("SHELL", "")
    if "bash" in asked or "zsh" in asked:
        return "zsh" in asked
    return any(os.path.exists(f"{folder}/zsh") for folder in _SHELL_FOLDERS)


def _python_files(folder: str) -> frozenset[str]:
    try:
        with os.scandir(folder) as entries:
            return frozenset(
                entry.name
                for entry in entries
                if "." in entry.name or os.path.exists(os.path.join(entry.path, "__init__.py"))
            )
    except OSError:
        return frozenset()


def _script_reader(workspace: str) -> Callable[[str], ScriptFile | None]:
    def read(path: str) -> ScriptFile | None:
        from lockgate.scripts import read_script

        return read_script(path, workspace)

    return read


def _is_there(workspace: str) -> Callable[[str], bool]:
    def there(path: str) -> bool:
        from lockgate.scripts import is_there

        return is_there(path, workspace)

    return there


def _is_git_folder(folder: str) -> bool:
    return all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))


def _hook_folders(home: str, workspace: str) -> Callable[[], tuple[str, ...]]:
    """Where the settings of the person and of the project let git look for hooks; found at the first question."""
    found: list[tuple[str, ...]] = []

    def folders() -> tuple[str, ...]:
        if not found:
            from lockgate.scripts import git_hook_folders

            found.append(git_hook_folders(home, workspace))
        return found[0]

    return folders


def _git_settings(workspace: str) -> Callable[[str], str | None]:
    def settings(folder: str) -> str | None:
        from lockgate.scripts import read_git_settings

        return read_git_settings(folder, workspace)

    return settings


def own_paths(where: Folders) -> tuple[str, ...]:
    """What belongs to the gate: state, configuration, code, and the environment that it is installed in."""
    package = os.path.dirname(os.path.abspath(lockgate.__file__))
    paths = {where.state, where.config, package}
    environment = os.path.dirname(os.path.dirname(os.path.abspath(sys.executable)))
    if os.path.exists(os.path.join(environment, "pyvenv.cfg")):
        paths.add(environment)
    return tuple(sorted(paths | {os.path.realpath(path) for path in paths}))


def _client_paths(where: Folders, transcript: str) -> tuple[str, ...]:
    """Folders of transcripts, and of the output of background tasks.

    The latter lie in ``<tmp>/claude-<uid>/<project>/<session>/tasks``.
    """
    paths = [os.path.join(where.home, ".claude", "projects")]
    if transcript:
        paths.append(os.path.dirname(transcript))
    return (*paths, *(f"{folder}/*/*/tasks" for folder in _task_folders()))


def _task_folders() -> list[str]:
    temporary = (os.environ.get("TMPDIR") or "/tmp", "/tmp")  # noqa: S108 - only looked at
    names = (name for folder in temporary for name in (os.path.normpath(folder), os.path.realpath(folder)))
    return [f"{folder}/claude-{os.getuid()}" for folder in dict.fromkeys(names)]


def _session_results(transcript: str) -> tuple[str, ...]:
    """Where a session's own results are kept: those too long for the context, and what background commands print.

    Claude Code names tasks of background commands ``b...``; those of sub-agents (``a...``) have labels of their own.
    """
    folder, suffix = os.path.splitext(transcript)
    session = os.path.basename(folder)
    if suffix != ".jsonl" or not os.path.isabs(folder) or not session.replace("-", "").isalnum():
        return ()
    kept = dict.fromkeys((os.path.normpath(folder), os.path.realpath(folder)))
    tasks = (f"{tasks}/*/{session}/tasks/b*.output" for tasks in _task_folders())
    return (*(f"{results}/tool-results/*" for results in kept), *tasks)
