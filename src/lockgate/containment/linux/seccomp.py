"""Writes the system calls that a contained command is refused as a program for seccomp(2).

Namespaces keep a process from the network and from other processes. This keeps it from what no namespace parts: the
sockets of a hypervisor, the kernel's keyrings, a terminal's input queue, and calls that get past this very filter.
"""

from __future__ import annotations

import os
import struct

from lockgate.core.record import Record

_LOAD, _JUMP_EQUAL, _JUMP_ABOVE, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_NUMBER, _MACHINE, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in ``struct seccomp_data``, of the lower halves: both machines are little-endian."""

_FAMILIES = (1, 2, 10, 16)
"""Kinds of sockets that are of the sandbox's own: Unix, IPv4, IPv6, netlink."""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""``TIOCSTI`` and ``TIOCLINUX``: type into a terminal in somebody's place."""


class _Machine(Record):
    audit: int
    """``AUDIT_ARCH_...``, by which the kernel names the machine."""
    column: int
    """Which of the numbers in the tables of system calls are this machine's."""
    foreign: int = 0
    """The first number of another convention (x32), 0 where there is none."""


_MACHINES = {"x86_64": _Machine(0xC000003E, 0, 0x40000000), "aarch64": _Machine(0xC00000B7, 1)}
_SOCKET, _IOCTL = (41, 198), (16, 29)
_REFUSED = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "swapon": (167, 224),
    "acct": (163, 89),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "userfaultfd": (323, 282),
    "open_by_handle_at": (304, 265),
}
"""Calls that fail with ``EPERM``. ``ptrace`` of others is parted by the namespaces already."""
_MISSING = {
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
}
"""Calls that seem not to be there: programs then use the older ones."""


def program(machine: str = "") -> bytes | None:
    """The filter, as an array of ``struct sock_filter``; ``None`` for a machine whose calls are not known.

    Args:
        machine: As uname(2) names it; by default this one.
    """
    known = _MACHINES.get(machine or os.uname().machine)
    if known is None:
        return None
    code = [
        _op(_LOAD, _MACHINE),
        _op(_JUMP_EQUAL, known.audit, 1, 0),
        _error(_ENOSYS),
        _op(_LOAD, _NUMBER),
    ]
    if known.foreign:
        code += [_op(_JUMP_ABOVE, known.foreign, 0, 1), _error(_ENOSYS)]
    for numbers in _REFUSED.values():
        code += [_op(_JUMP_EQUAL, numbers[known.column], 0, 1), _error(_EPERM)]
    for numbers in _MISSING.values():
        code += [_op(_JUMP_EQUAL, numbers[known.column], 0, 1), _error(_ENOSYS)]
    code += _argument(_SOCKET[known.column], _FIRST, _FAMILIES, _op(_RETURN, _ALLOW), _error(_EAFNOSUPPORT))
    code += _argument(_IOCTL[known.column], _SECOND, _TERMINAL_INPUT, _error(_EPERM), _op(_RETURN, _ALLOW))
    return b"".join([*code, _op(_RETURN, _ALLOW)])


def _argument(number: int, offset: int, values: tuple[int, ...], then: bytes, other: bytes) -> list[bytes]:
    """For one call: ``then`` where the argument at ``offset`` is one of the values, else ``other``."""
    body = [_op(_LOAD, offset)]
    for value in values:
        body += [_op(_JUMP_EQUAL, value, 0, 1), then]
    body.append(other)
    return [_op(_JUMP_EQUAL, number, 0, len(body)), *body]


def _op(code: int, value: int, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, true, false, value)


def _error(number: int) -> bytes:
    return _op(_RETURN, _ERROR | number)
