"""This machine as the gate sees it: what the analysis may look at, and how a call runs contained."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from lockgate.core.events import Context
from lockgate.core.model import ToolCall
from lockgate.core.record import TYPE_CHECKING
from lockgate.core.version import PACKAGE_FOLDER
from lockgate.resources.host_view import AnalysisRules, HostView, OwnDatabase, records_folder
from lockgate.system import caller
from lockgate.system.files import real_path
from lockgate.system.folders import Folders, outside_folders

if TYPE_CHECKING:
    from typing import Any

    from lockgate.containment.host import Host
    from lockgate.containment.registry_proxy.lookup import Wanted
    from lockgate.containment.rewriting import RunLaunch
    from lockgate.resources.host_view import Repository, ScriptFile

_VARIABLES = ("HOME", "TMPDIR", "PATH", "USER", "LOGNAME", "SHELL")
"""Variables of the hook's environment that a command's words may be resolved with."""
_SHELL_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
PORTS = "ports"
"""The folder of the state folder with a file for each port at which a person is answered, named by it."""
_SHELL_TOOL = "Bash"
_STAYING = frozenset({"cursor"})
"""Clients that run each command in the shell of the one before, or with all that it held. ``docs/clients.md`` says of
each how that is known."""
_RUNS_SKILLS = frozenset({"claude-code", "python"})
"""Clients that run the commands in a skill's text; in a program of one's own it may be the Claude Agent SDK."""
_LEAVING_OUT = frozenset({"claude-code"})
"""Clients whose ``Grep`` is the one that :mod:`lockgate.containment.left_out` speaks to."""
_CONTAIN, _LAUNCHER = "contain.py", "lockgate-contain"
"""The program that a contained command is rewritten to, and the native one that becomes it where it has to."""


def host_view_of(where: Folders, workspace: str, transcript: str, rules: AnalysisRules) -> HostView:
    """What the analysis may know of this machine."""
    return with_session(host_view_in(where, workspace), task_folders(), where, transcript)._replace(rules=rules)


def host_view_in(where: Folders, workspace: str) -> HostView:
    """What it may know in every session of a project."""
    asked = caller.environ()
    variables = {name: asked[name] for name in _VARIABLES if name in asked}
    variables["HOME"] = where.home
    files = _ProjectFiles(workspace)
    search_path = variables.get("PATH")
    return HostView(
        home=where.home,
        real_home=real_path(where.home),
        workspace=workspace,
        own_paths=own_paths(where),
        state_paths=_state_paths(where),
        own_ports=lambda: own_ports(where.state),
        own_database=lambda: _own_database(where.state),
        variables=variables,
        program_folders=() if search_path is None else _program_folders(search_path, workspace),
        exported=lambda name: name in caller.environ(),
        realpath=real_path,
        may_be_zsh=_may_be_zsh(),
        python_files=_python_files,
        is_git_folder=_is_git_folder,
        git_settings=files.git_settings,
        hook_folders=_hook_folders(where.home, workspace),
        read_script=files.read_script,
        read_skills=_skill_reader(where.home, workspace),
        nested_skills=_make_nested_skill_reader(workspace),
        shares_tasks=_shares_tasks(where.home),
        is_there=files.is_there,
        is_known_program=_is_known_program,
        names_in=files.names_in,
        find_below=files.find_below,
        repository=_repositories(where.home),
        copied=_find_copied,
        is_seen_by_contained_only=lambda path: _is_seen_by_contained_only(where.state, workspace, path),
    )


def _program_folders(search_path: str, workspace: str) -> tuple[str, ...]:
    """The folders of a ``PATH`` that lie in a project."""
    if not workspace:
        return ()
    root, found = real_path(workspace), []
    for folder in search_path.split(":"):
        if not os.path.isabs(folder):
            found.append(folder or ".")
        elif f"{folder}/".startswith(f"{workspace}/"):
            found.append(folder)
        elif f"{(real := _real_folder(folder))}/".startswith(f"{root}/"):
            found.append(workspace + real[len(root) :])
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=256)
def _real_folder(folder: str) -> str:
    """A folder of ``PATH`` with links resolved. One outside of the project no contained command can change."""
    return real_path(folder)


def _is_known_program(name: str) -> bool:
    from lockgate.shell.knowledge.lookup import lookup

    return lookup(name) is not None


def _is_seen_by_contained_only(state: str, workspace: str, path: str) -> bool:
    if os.path.lexists(path) or not os.path.isdir(os.path.join(state, "contained")):
        return False  # as nearly always, without the modules of the sandbox
    from lockgate.containment.leftovers import is_seen_by_contained_only

    return is_seen_by_contained_only(state, real_path(workspace), path)


def with_session(around: HostView, tasks: Sequence[str], where: Folders, transcript: str) -> HostView:
    """The same in one session; ``tasks`` are those of :func:`task_folders`."""
    # The folders of tasks stand for those for temporary files, in which they lie.
    beside = records_folder(transcript, (around.home, around.real_home, around.workspace, *tasks))
    return around._replace(
        client_paths=_client_paths(where, beside, tasks), session_results=_session_results(transcript, tasks)
    )


def with_client(around: HostView, client: str) -> HostView:
    """The same with a client, as far as it matters how it runs commands."""
    if client in _STAYING:
        return around._replace(shell_stays=True)
    return around._replace(skills_run=True) if client in _RUNS_SKILLS else around


def own_paths(where: Folders) -> tuple[str, ...]:
    """What belongs to the gate: state, configuration, code, and the environment that it is installed in."""
    package = PACKAGE_FOLDER
    states = _state_paths(where)
    paths = {*states, *(outside for state in states for outside in outside_folders(state)), where.config, package}
    environment = os.path.dirname(os.path.dirname(os.path.abspath(sys.executable)))
    if os.path.exists(os.path.join(environment, "pyvenv.cfg")):
        paths.add(environment)
    return tuple(sorted(paths | {real_path(path) for path in paths}))


def own_ports(state: str) -> frozenset[int]:
    """Ports at which a dashboard of this state listens on loopback, or has: a killed one has no time to say goodbye."""
    try:
        names = os.listdir(os.path.join(state, PORTS))
        return frozenset(int(name) for name in names if name.isascii() and name.isdigit())
    except OSError:
        return frozenset()


def _own_database(state: str) -> OwnDatabase | None:
    path = os.path.join(state, "store.json")
    if not os.path.lexists(path):
        return None
    from lockgate.store.postgres.settings import database_near

    near = database_near(path)
    return None if near is None else OwnDatabase(*near, os.uname().nodename)


def _state_paths(where: Folders) -> tuple[str, ...]:
    # A program may keep its state elsewhere: what the other gates of this user know is no agent's to read all the same.
    paths = {where.state, os.path.join(where.home, ".local", "state", "lockgate")}
    return tuple(sorted(paths | {real_path(path) for path in paths}))


def _may_be_zsh() -> bool:
    """Whether Claude Code would run commands with zsh: unless the environment asks for bash, it looks for zsh first."""
    environ = caller.environ()
    asked = environ.get("CLAUDE_CODE_SHELL") or environ.get("SHELL", "")
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


class _ProjectFiles:
    """The functions of :mod:`lockgate.gate.host.project_files` for one workspace; most commands need none of them."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace

    def git_settings(self, folder: str) -> str | None:
        from lockgate.gate.host.project_files import read_git_settings

        return read_git_settings(folder, self._workspace)

    def read_script(self, path: str) -> ScriptFile | None:
        from lockgate.gate.host.project_files import read_script

        return read_script(path, self._workspace)

    def is_there(self, path: str) -> bool:
        from lockgate.gate.host.project_files import is_there

        return is_there(path, self._workspace)

    def names_in(self, folder: str) -> tuple[str, ...] | None:
        from lockgate.gate.host.project_files import names_in

        return names_in(folder, self._workspace)

    def find_below(self, folder: str, name: str) -> tuple[str, ...] | None:
        from lockgate.gate.host.project_files import find_below

        return find_below(folder, name, self._workspace)


def _skill_reader(home: str, workspace: str) -> Callable[[str, str], tuple[str | None, ...]]:
    def read(name: str, cwd: str) -> tuple[str | None, ...]:
        from lockgate.gate.host.claude_skills import read_skills

        return read_skills(name, home, workspace, cwd)

    return read


def _make_nested_skill_reader(workspace: str) -> Callable[[str], tuple[str | None, ...] | None]:
    def read(name: str) -> tuple[str | None, ...] | None:
        from lockgate.gate.host.claude_skills import read_nested_skills

        return read_nested_skills(name, workspace)

    return read


def _shares_tasks(home: str) -> Callable[[], bool]:
    def shares() -> bool:
        from lockgate.gate.host.claude_skills import shares_tasks

        return shares_tasks(home)

    return shares


def _repositories(home: str) -> Callable[[str], Repository]:
    def find(folder: str) -> Repository:
        from lockgate.gate.host.repositories.repository import repository_at

        return repository_at(folder, home)

    return find


def _find_copied(folder: str) -> tuple[str, ...] | None:
    from lockgate.gate.host.project_files import all_below

    return all_below(folder)


def _is_git_folder(folder: str) -> bool:
    return all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))


def _hook_folders(home: str, workspace: str) -> Callable[[], tuple[str, ...]]:
    """Where the settings of the person and of the project let git look for hooks; found at the first question."""
    found: list[tuple[str, ...]] = []

    def folders() -> tuple[str, ...]:
        if not found:
            from lockgate.gate.host.project_files import git_hook_folders

            found.append(git_hook_folders(home, workspace))
        return found[0]

    return folders


def _client_paths(where: Folders, beside: Sequence[str], tasks: Sequence[str]) -> tuple[str, ...]:
    """Folders of transcripts and other records, and of the output of background tasks.

    The latter lie in ``<tmp>/claude-<uid>/<project>/<session>/tasks``.
    """
    paths = (os.path.join(where.home, ".claude", "projects"), *beside)
    return (*paths, *(f"{folder}/*/*/tasks" for folder in tasks))


def task_folders() -> list[str]:
    """Folders in which the caller's client keeps what background commands print."""
    temporary = (caller.environ().get("TMPDIR") or "/tmp", "/tmp")  # noqa: S108 - only looked at
    names = (name for folder in temporary for name in (os.path.normpath(folder), real_path(folder)))
    return [f"{folder}/claude-{os.getuid()}" for folder in dict.fromkeys(names)]


def _session_results(transcript: str, task_folders: Sequence[str]) -> tuple[str, ...]:
    """Where a session's own results are kept: those too long for the context, and what background commands print.

    Claude Code names tasks of background commands ``b...``; those of sub-agents (``a...``) have labels of their own.
    """
    folder, suffix = os.path.splitext(transcript)
    session = os.path.basename(folder)
    if suffix != ".jsonl" or not os.path.isabs(folder) or not session.replace("-", "").isalnum():
        return ()
    kept = dict.fromkeys((os.path.normpath(folder), real_path(folder)))
    tasks = (f"{tasks}/*/{session}/tasks/b*.output" for tasks in task_folders)
    return (*(f"{results}/tool-results/*" for results in kept), *tasks)


def make_contain(
    where: Folders,
    has_rule: Callable[[Context, ToolCall], bool],
    able: Callable[[Context], Host] | None = None,
) -> tuple[
    Callable[..., Mapping[str, Any] | None],
    Callable[[Context, ToolCall], ToolCall],
]:
    """How a call is rewritten so that it runs contained, and how the call that an agent made is told from that.

    Args:
        where: The folders.
        has_rule: Tells whether the client may have a rule of its own about a call, which it would not know again in
            another spelling.
        able: What this machine can do. By default it is found out for each call.
    """

    def contain(
        context: Context, call: ToolCall, room: str = "", wanted: Wanted | None = None
    ) -> Mapping[str, Any] | None:
        if call.tool != _SHELL_TOOL or has_rule(context, call):
            return None
        from lockgate.containment.rewriting import contain_input

        launch = _launch(where, context)._replace(room=room)
        if wanted is not None and wanted != type(wanted)():
            from lockgate.containment.registry_proxy import lookup

            launch = launch._replace(registries=lookup.note(where.state, room, wanted))
        return contain_input(call.tool_input, launch, lambda: look(context))

    def original(context: Context, call: ToolCall) -> ToolCall:
        if call.tool == "Grep" and context.client in _LEAVING_OUT and "!**/" in str(call.tool_input.get("glob", "")):
            from lockgate.containment.left_out import as_given

            return call._replace(tool_input=as_given(call.tool_input, call.cwd, where.home, _state_paths(where)))
        command = call.tool_input.get("command")
        if call.tool != _SHELL_TOOL or not isinstance(command, str) or _CONTAIN not in command:
            return call
        from lockgate.containment.rewriting import original

        text = original(command, _launch(where, context))
        return call._replace(tool_input={**call.tool_input, "command": text})

    look = able or (lambda _: find_host(where))
    return contain, original


def make_leave_out(where: Folders) -> Callable[[Context, ToolCall], Mapping[str, Any] | None]:
    """How a search is told to leave the gate's state out."""

    def leave_out(context: Context, call: ToolCall) -> Mapping[str, Any] | None:
        if call.tool != "Grep" or context.client not in _LEAVING_OUT:
            return None
        from lockgate.containment.left_out import without_state

        return without_state(call.tool_input, call.cwd, where.home, _state_paths(where))

    return leave_out


def make_end_rooms(where: Folders) -> Callable[[Sequence[str]], object]:
    """How rooms of contained commands are ended."""

    def end(names: Sequence[str]) -> object:
        from lockgate.containment import rooms

        return rooms.end(where.state, names)

    return end


def find_host(where: Folders) -> Host:
    """What this machine can do to contain a command."""
    from lockgate.containment.host import host

    return host(where.state)


def _launch(where: Folders, context: Context) -> RunLaunch:
    """How a contained run of this very installation is started."""
    from lockgate.containment.rewriting import RunLaunch

    program = os.path.join(PACKAGE_FOLDER, _CONTAIN)
    launcher = os.path.join(os.path.dirname(program), _LAUNCHER)
    return RunLaunch(sys.executable, program, *where, context.workspace, launcher)


def write_kept(context: Context, path: str, change: Callable[[str], str]) -> None:
    """Rewrite the file in which the client keeps a long result. Raises ``OSError`` where it must not be touched."""
    from lockgate.system.files import rewrite

    folder, _ = os.path.splitext(context.transcript)
    rewrite(path, [os.path.join(folder, "tool-results")] if _session_results(context.transcript, ()) else [], change)
