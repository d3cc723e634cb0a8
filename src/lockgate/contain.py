"""The process that a contained command's text starts: it builds the sandbox and runs the command in it.

Like the hook it is run by absolute path in an isolated interpreter without site packages::

    /abs/python -I -S /abs/lockgate/contain.py --home=H --state=S --config=C --workspace=W [--folder-to=3]
        [--background] [--again] --shell COMMAND
    /abs/python -I -S /abs/lockgate/contain.py --home=H --state=S --config=C --workspace=W -- PROGRAM ARGUMENT...

Whatever keeps it from building the sandbox, the command is not run: exit status 125 and a line on stderr.

The native launcher does the same with a plan of the resident gate, and becomes this process where it cannot: with
``--again`` where its sandbox could not be built. Where it has run a command and no gate answers any more, it asks which
of the new files are protected::

    /abs/python -I -S /abs/lockgate/contain.py --places OPTION... --shell COMMAND
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from lockgate.containment.layout import ContainedRun
    from lockgate.containment.request import RunCommandLine, RunContext

_NOT_RUN = 125
_PLACES = "--places"


def main(arguments: Sequence[str]) -> NoReturn:
    """Run one command contained and end as it ended."""
    try:
        from lockgate.containment.request import parse

        if arguments[:1] == [_PLACES]:
            _tell_places(parse(arguments[1:]))
        asked = parse(arguments)
    except BaseException as error:  # noqa: BLE001 - whatever it was, nothing was run, and that is said
        _refuse(error)
    end(asked)


def end(asked: RunCommandLine) -> NoReturn:
    """Run one command contained and end this process as it ended."""
    try:
        folder_to = int(asked.options.get("folder-to", "-1"))
        status, folder = _run(asked)
    except BaseException as error:  # noqa: BLE001 - as above
        _refuse(error)
    if folder_to >= 0:
        tell_folder(folder_to, folder)
    sys.stderr.flush()
    os._exit(status)


def tell_folder(descriptor: int, folder: str) -> None:
    """Tell the caller's shell where the command ended; nothing where that is gone: the status is told all the same."""
    try:
        os.write(descriptor, os.fsencode(folder if os.path.isdir(folder) else os.getcwd()))
    except OSError:
        return


def _refuse(error: BaseException) -> NoReturn:
    from lockgate.core.display_text import visible
    from lockgate.core.errors import LockgateError

    why = str(error) if isinstance(error, LockgateError) else f"{type(error).__name__}: {error}"
    sys.stderr.write(f"lockgate: the command was not run, because it cannot be contained: {visible(why, 500)}\n")
    sys.stderr.flush()
    os._exit(_NOT_RUN)


def _run(asked: RunCommandLine) -> tuple[int, str]:
    from lockgate.containment import backends, host, supervisor
    from lockgate.containment.host import forget
    from lockgate.containment.layout import lay_out
    from lockgate.core.errors import ContainmentError

    backends.check_descriptors()
    able = host(asked.options["state"])
    if able.problem:
        raise ContainmentError(able.problem)
    tries = 1 if "again" in asked.options else 2
    moves = "folder-to" in asked.options
    result = supervisor.run(lambda: lay_out(_read_run(asked)), able, tries, tell_folder=moves)
    if result.status == supervisor.NOT_RUN:
        forget(asked.options["state"])
    return result


def _read_run(asked: RunCommandLine) -> ContainedRun:
    """What is to run here, with what the configuration of the workspace says now."""
    from lockgate.configuration import load
    from lockgate.containment.request import paths_of, run_of
    from lockgate.gate.host.host_view import host_view_of
    from lockgate.store.opening import open_store
    from lockgate.system.folders import Folders

    where = Folders(asked.options["home"], asked.options["state"], asked.options["config"])
    workspace = os.path.realpath(asked.options["workspace"])
    store = open_store(where.state)
    try:
        found = load.load(store, home=where.home, config_dir=where.config, workspace=workspace, state=where.state)
    finally:
        store.close()
    around = host_view_of(where, workspace, "", paths_of(found.policies))
    return run_of(asked, where, _run_context(), around)


def _run_context() -> RunContext:
    from lockgate.containment.request import RunContext

    return RunContext(os.getcwd(), dict(os.environ), os.getppid())


def _tell_places(asked: RunCommandLine) -> NoReturn:
    """Read from standard input what is new, and write which of it is protected."""
    from lockgate.containment.layout import roots_of
    from lockgate.containment.linux.native_launcher import encode_protected, suspects
    from lockgate.resources.protected_paths import PathGuard

    run = _read_run(asked)
    roots = roots_of(run)
    guard = PathGuard(run.around)
    seen = suspects(sys.stdin.buffer.read(), (*roots, *guard.program_folders))
    sys.stdout.buffer.write(encode_protected(roots, seen, guard))
    sys.stdout.buffer.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    main(sys.argv[1:])
