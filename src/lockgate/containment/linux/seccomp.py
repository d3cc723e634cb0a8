"""The system calls that a contained command is refused, as a program for seccomp(2).

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
    socket: int
    ioctl: int
    refused: tuple[int, ...]
    missing: tuple[int, ...]
    foreign: int = 0
    """The first number of another convention (x32), 0 where there is none."""


_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        41,
        16,
        # add_key, request_key, keyctl, bpf, perf_event_open, setns, mount, umount2, pivot_root, chroot, swapon, acct,
        # kexec_load, init_module, finit_module, userfaultfd, open_by_handle_at, ptrace of others is parted already
        (248, 249, 250, 321, 298, 308, 165, 166, 155, 161, 167, 163, 246, 175, 313, 323, 304),
        # io_uring_setup, io_uring_enter, io_uring_register; open_tree, move_mount, fsopen, fsconfig, fsmount, fspick,
        # mount_setattr: programs take them for not being there, and use the older calls
        (425, 426, 427, 428, 429, 430, 431, 432, 433, 442),
        0x40000000,
    ),
    "aarch64": _Machine(
        0xC00000B7,
        198,
        29,
        (217, 218, 219, 280, 241, 268, 40, 39, 41, 51, 224, 89, 104, 105, 273, 282, 265),
        (425, 426, 427, 428, 429, 430, 431, 432, 433, 442),
    ),
}


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
    for number in known.refused:
        code += [_op(_JUMP_EQUAL, number, 0, 1), _error(_EPERM)]
    for number in known.missing:
        code += [_op(_JUMP_EQUAL, number, 0, 1), _error(_ENOSYS)]
    code += _argument(known.socket, _FIRST, _FAMILIES, _op(_RETURN, _ALLOW), _error(_EAFNOSUPPORT))
    code += _argument(known.ioctl, _SECOND, _TERMINAL_INPUT, _error(_EPERM), _op(_RETURN, _ALLOW))
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
