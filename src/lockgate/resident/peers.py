"""Who is at the other end of a Unix socket, as the kernel says."""

from __future__ import annotations

import os
import socket
import sys

from lockgate.record import Record

_XUCRED = 76
_LOCAL_PEERCRED, _LOCAL_PEERPID = 1, 2
"""Options of level 0 on macOS: see unix(4) there, and ``struct xucred`` in sys/ucred.h."""


class Peer(Record):
    """A process."""

    uid: int
    pid: int


def peer_of(connection: socket.socket) -> Peer:
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
        for name in ("ns/mnt", "root"):
            theirs, ours = os.stat(f"/proc/{peer.pid}/{name}"), os.stat(f"/proc/self/{name}")
            if (theirs.st_dev, theirs.st_ino) != (ours.st_dev, ours.st_ino):
                return False
    except OSError:
        return False
    return peer.pid > 0


def _number(data: bytes) -> int:
    return int.from_bytes(data, sys.byteorder)
