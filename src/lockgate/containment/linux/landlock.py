"""Restricts with the kernel's Landlock which files a command may open for writing, and starts it.

A read-only mount keeps files and folders as they are. But a named pipe on it can be written to, and somebody outside
may read there. Landlock asks again, for pipes too. It is used where the kernel has it (5.19 or newer, and switched on);
a kernel without it is no reason not to contain. See landlock(7).

Bubblewrap cannot do this, so there it runs as a program, between bubblewrap and the command::

    python -I -S confining.py FOLDER... -- COMMAND ARGUMENT...

What bubblewrap itself has to say is no message of the command's: it has another descriptor 2, and the command's own is
handed on as :data:`ERRORS_DESCRIPTOR`.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys
from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1
_WRITE, _MOVE = 1 << 1, 1 << 13
"""``LANDLOCK_ACCESS_FS_WRITE_FILE``, and ``..._REFER``: without the latter no file could change its folder."""
_LEAST = 2
"""The version of Landlock that knows of moves."""
_BENEATH = 1
_NO_NEW_PRIVILEGES = 38
ERRORS_DESCRIPTOR = 8
"""The command's descriptor 2, until it begins."""

_libc = ctypes.CDLL(None, use_errno=True)


def restrict(folders: tuple[str, ...]) -> bool:
    """Let this process and all that it starts open files for writing in some folders only. There is no way back.

    What is open already stays so, and the standard descriptors may be opened again under their names.

    Args:
        folders: Absolute paths, as they are seen now.

    Returns:
        Whether the kernel does that.

    Raises:
        OSError: It could, and did not.
    """
    if _libc.syscall(_CREATE, None, 0, _VERSION) < _LEAST:
        return False
    handled = struct.pack("=Q", _WRITE | _MOVE)
    rules = _check(_libc.syscall(_CREATE, handled, len(handled), 0))
    for folder in folders:
        only_path: int = os.O_PATH  # type: ignore[attr-defined,unused-ignore] # Linux has it
        descriptor = os.open(folder, only_path | os.O_CLOEXEC)
        _check(_add(rules, _WRITE | _MOVE if os.path.isdir(folder) else _WRITE, descriptor))
        os.close(descriptor)
    for descriptor in (0, 1, 2):
        _add(rules, _WRITE, descriptor)  # a pipe or a socket is in no folder and needs no rule
    _check(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _check(_libc.syscall(_RESTRICT, rules, 0))
    os.close(rules)
    return True


def _add(rules: int, access: int, descriptor: int) -> int:
    return int(_libc.syscall(_ADD, rules, _BENEATH, struct.pack("=Qi", access, descriptor), 0))


def _check(done: int) -> int:
    if done < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot restrict what is written to: {os.strerror(number)}")
    return done


def execute(command: tuple[str, ...], environment: Mapping[str, str]) -> NoReturn:
    """Become a command as a shell would find it; end with a shell's status where there is none."""
    program = command[0]
    folders = environment.get("PATH", os.defpath).split(":")
    paths = [program] if "/" in program else [os.path.join(folder or ".", program) for folder in folders]
    code = 127
    for path in paths:
        try:
            os.execve(path, command, dict(environment))  # noqa: S606 - no shell is wanted
        except OSError as error:
            code = 126 if isinstance(error, PermissionError) else code
    os.write(2, f"lockgate: cannot run {program!a}\n".encode())
    os._exit(code)


if __name__ == "__main__":
    try:
        os.dup2(ERRORS_DESCRIPTOR, 2)
        os.close(ERRORS_DESCRIPTOR)
        end = sys.argv.index("--")
        restrict(tuple(sys.argv[1:end]))
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):  # as the interpreter wants them
            signal.signal(number, signal.SIG_DFL)
    except BaseException as error:  # noqa: BLE001 - the command must not run with less hold than was meant
        os.write(2, f"lockgate: the command was not run: {error}\n".encode("utf-8", "backslashreplace"))
        os._exit(125)
    execute(tuple(sys.argv[end + 1 :]), os.environ)
