"""Asks the kernel which process is at the other end of a Unix socket."""

from __future__ import annotations

import os
import socket
import sys

from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from _socket import socket as Socket  # noqa: N812 - the name of the class that it is

_XUCRED = 76
_LOCAL_PEERCRED, _LOCAL_PEERPID = 1, 2
"""Options of level 0 on macOS: see unix(4) there, and ``struct xucred`` in sys/ucred.h."""
_OWN: list[tuple[str, int, int]] = []
"""What this process sees, which does not change: it enters no other namespace."""


class Peer(Record):
    """A process."""

    uid: int
    pid: int


def peer_of(connection: Socket) -> Peer:
    """The process that connected. Raises ``OSError`` where the system does not tell."""
    if sys.platform == "linux":
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)  # unix(7): pid, uid, gid
        return Peer(_number(found[4:8]), _number(found[:4]))
    else:  # noqa: RET505 - a type checker looks at one of the two
        found = connection.getsockopt(0, _LOCAL_PEERCRED, _XUCRED)
        return Peer(_number(found[4:8]), _number(connection.getsockopt(0, _LOCAL_PEERPID, 4)))


def sees_the_same(peer: Peer) -> bool:
    """Whether a process sees the same files as this one: a path must mean the same to both.

    A hook in a container can reach the socket by a state folder that is mounted there. It decides by itself.
    """
    if sys.platform != "linux":
        return True
    try:
        if not _OWN:
            _OWN.append(_sees("self"))
        return peer.pid > 0 and _sees(str(peer.pid)) == _OWN[0]
    except OSError:
        return False


def _sees(process: str) -> tuple[str, int, int]:
    """The namespace of a process's mounts, by the number in the link's text, and its root.

    To follow the first link has the kernel make a file each time. The second one must be followed: where it leads out
    of what this process can reach, its text may be that of another place.
    """
    root = os.stat(f"/proc/{process}/root")
    return os.readlink(f"/proc/{process}/ns/mnt"), root.st_dev, root.st_ino


def _number(data: bytes) -> int:
    return int.from_bytes(data, sys.byteorder)
