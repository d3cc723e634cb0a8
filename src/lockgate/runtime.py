"""Putting the gate together on a real machine: the store, the configuration, the file system, the clock."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

import lockgate
from lockgate import configuration
from lockgate.analysis.surroundings import Rules, ScriptFile, Surroundings
from lockgate.configuration import Configuration
from lockgate.events import Context
from lockgate.folders import Folders
from lockgate.gate import Gate, Parts
from lockgate.store.sqlite import SqliteStore

_VARIABLES = ("HOME", "TMPDIR", "PATH", "USER", "LOGNAME", "SHELL")
"""Variables of the hook's environment that a command's words may be resolved with."""


def open_gate(
    where: Folders,
    limit: Callable[[float], None] = lambda _: None,
    parents: Callable[[Context], tuple[str, ...]] = lambda _: (),
    history: Callable[[Context], bool] = lambda _: False,
) -> Gate:
    """Open the gate on this machine's default store.

    Args:
        where: The folders.
        limit: Told the seconds that the configuration allows for a decision, once it is known.
        parents: Tells which sessions a forked one came from, where the client has written it.
        history: Tells whether a session has read something already.

    Raises:
        StoreError: The state cannot be opened or trusted.
    """
    store = SqliteStore.open(where.state)

    def configure(context: Context) -> Configuration:
        found = configuration.load(store, home=where.home, config_dir=where.config, workspace=context.workspace)
        if found.options.deadline_seconds is not None:
            limit(found.options.deadline_seconds)
        return found

    def surroundings(context: Context, rules: Rules) -> Surroundings:
        return surroundings_of(where, context.workspace, context.transcript, rules)

    return Gate(Parts(store, configure, surroundings, time.time, parents, history))


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
        python_files=_python_files,
        is_git_folder=_is_git_folder,
        read_script=_script_reader(workspace),
        rules=rules,
    )


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


def _is_git_folder(folder: str) -> bool:
    return all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))


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
