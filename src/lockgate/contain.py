"""The process that a contained command's text starts: it builds the sandbox and runs the command in it.

Like the hook it is run by absolute path in an isolated interpreter without site packages::

    /abs/python -I -S /abs/lockgate/contain.py --home=H --state=S --config=C --workspace=W [--folder-to=3]
        [--background] --shell COMMAND
    /abs/python -I -S /abs/lockgate/contain.py --home=H --state=S --config=C --workspace=W -- PROGRAM ARGUMENT...

Whatever keeps it from building the sandbox, the command is not run: exit status 125 and a line on stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from lockgate.analysis.surroundings import Rules
    from lockgate.folders import Folders

_VALUES = ("home", "state", "config", "workspace", "folder-to")
_SHELLS = ("bash", "zsh", "dash", "sh")
_NOT_RUN = 125
_ABSOLUTE = r"(?<![\w.~-])/[\w./+@%-]+"
"""What looks like an absolute path in a shell's text."""


def main(arguments: Sequence[str]) -> NoReturn:
    """Run one command contained and end as it ended."""
    try:
        options, command, text = _options(arguments)
    except BaseException as error:  # noqa: BLE001 - whatever it was, nothing was run, and that is said
        _refuse(error)
    end(options, command, text)


def end(options: Mapping[str, str], command: Sequence[str], text: str = "") -> NoReturn:
    """Run one command contained and end this process as it ended.

    Args:
        options: ``home``, ``state``, ``config``, ``workspace``; ``folder-to`` and ``background`` where they are given.
        command: The program and its arguments; empty where there is a shell's text.
        text: A shell's text.
    """
    try:
        folder_to = int(options.get("folder-to", "-1"))
        status, folder = _run(options, command, text)
    except BaseException as error:  # noqa: BLE001 - as above
        _refuse(error)
    if folder_to >= 0:
        os.write(folder_to, os.fsencode(folder if os.path.isdir(folder) else os.getcwd()))
    sys.stderr.flush()
    os._exit(status)


def _refuse(error: BaseException) -> NoReturn:
    from lockgate.errors import LockgateError
    from lockgate.text import visible

    why = str(error) if isinstance(error, LockgateError) else f"{type(error).__name__}: {error}"
    sys.stderr.write(f"lockgate: the command was not run, because it cannot be contained: {visible(why, 500)}\n")
    sys.stderr.flush()
    os._exit(_NOT_RUN)


def _options(arguments: Sequence[str]) -> tuple[dict[str, str], list[str], str]:
    """Options by name, the program with its arguments, or the shell's text."""
    from lockgate.errors import BadInputError

    options: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--" and rest:
            return options, rest, ""
        if word == "--shell" and len(rest) == 1:
            return options, [], rest[0]
        name, given, value = word.removeprefix("--").partition("=")
        if (
            not word.startswith("--")
            or (name not in _VALUES and word != "--background")
            or bool(given) == (name == "background")
        ):
            raise BadInputError(f"unknown argument {word!r}")
        options[name] = value
    raise BadInputError("there is no command")


def _run(options: Mapping[str, str], command: Sequence[str], text: str) -> tuple[int, str]:
    import re

    from lockgate.errors import ContainmentError
    from lockgate.escape.containment import host, supervise, ways
    from lockgate.escape.containment.host import forget
    from lockgate.escape.containment.layout import Run, lay_out
    from lockgate.folders import Folders
    from lockgate.machine import surroundings_of

    ways.check_descriptors()
    where = Folders(options["home"], options["state"], options["config"])
    able = host(where.state)
    if able.problem:
        raise ContainmentError(able.problem)
    workspace = os.path.realpath(options["workspace"])
    moves = "folder-to" in options
    layout = lay_out(
        Run(
            where.state,
            where.home,
            workspace,
            os.getcwd(),
            tuple(command) or _shell_command(text, moves=moves),
            dict(os.environ),
            surroundings_of(where, workspace, "", _rules_of(where, workspace)),
            named=tuple(re.findall(_ABSOLUTE, text)) or tuple(command),
            git="background" not in options and ("git" in text or bool(command)),
        )
    )
    status, folder = supervise.run(layout, able, tell_folder=moves)
    if status == supervise.NOT_RUN:
        forget(where.state)
    return status, folder


def _rules_of(where: Folders, workspace: str) -> Rules:
    """What the configuration of a workspace says to the analysis: with several policies, all of their paths."""
    from lockgate import configuration
    from lockgate.analysis.surroundings import Rules
    from lockgate.store.opening import open_store

    store = open_store(where.state)
    try:
        found = configuration.load(
            store, home=where.home, config_dir=where.config, workspace=workspace, state=where.state
        )
    finally:
        store.close()
    rules = [policy.rules for policy in found.policies]
    return Rules(
        protected_paths=tuple(dict.fromkeys(path for each in rules for path in each.protected_paths)),
        secret_paths=tuple(dict.fromkeys(path for each in rules for path in each.secret_paths)),
        persistent_paths=tuple(dict.fromkeys(path for each in rules for path in each.persistent_paths)),
    )


def _shell_command(text: str, *, moves: bool) -> tuple[str, ...]:
    """The command line that runs a shell's text as the client would have had it run."""
    shell = os.environ.get("SHELL", "")
    if os.path.basename(shell) not in _SHELLS or not os.access(shell, os.X_OK):
        shell = "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"
    start = _start_file()
    if not moves and not start:
        return (shell, "-c", text)
    script = f"eval {_quoted(text)}"
    if moves:
        script = f"{{ {script}; }} 9>&- && pwd -P >&9"
    return (shell, "-c", f". {_quoted(start)} 2>/dev/null || true; {script}" if start else script)


def _start_file() -> str:
    """The file with the person's functions and aliases, which Claude Code's shell has read before this process began.

    It is read in the sandbox, so that nothing rests on what it says. Empty where there is none.
    """
    import re

    try:
        with open(f"/proc/{os.getppid()}/cmdline", "rb") as file:
            words = os.fsdecode(file.read(1 << 20))
    except OSError:
        return ""
    found = re.search(r"\bsource (/[^\s\0';|&]+/shell-snapshots/snapshot-[\w-]+\.sh) ", words)
    return found[1] if found else ""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    main(sys.argv[1:])
