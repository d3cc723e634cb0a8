"""Finds and ends the rooms of contained commands on this machine. native/room.c makes and holds them.

Each is held by a process that listens at a socket in the state folder. Whoever can open it is the person, and no
contained command: that folder is hidden from all of them.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
from collections.abc import Callable, Iterable, Iterator

from lockgate.containment.request import ROOM_NAME
from lockgate.core.errors import ContainmentError
from lockgate.core.record import Record
from lockgate.system.unix_sockets import short_path

_SECONDS = 1.0
"""For an answer: the process does nothing else."""
_PEER_CREDENTIALS = 17
"""``SO_PEERCRED`` of Linux; Python has no such name elsewhere."""
_PEER = struct.Struct("=iII")
_LISTENS = "0A"
_ASK, _END = b"?", b"e"


class RoomStatus(Record):
    """A room, and what goes on in it."""

    name: str
    calls: int
    """Commands that run in it now."""
    left: int
    """Commands that have ended and have left processes."""
    idle: int
    """Seconds since the last command began or ended."""


def find_standing(state: str) -> list[RoomStatus]:
    """The rooms of a state folder."""
    return [found for name in _list_names(state) if (found := _ask(state, name)) is not None]


def end(state: str, names: Iterable[str]) -> list[str]:
    """End rooms, with every process in them. Returns those that stood."""
    there = set(_list_names(state))
    return [name for name in names if name in there and _ask_room(state, name, _END) is not None]


def ports(state: str, names: Iterable[str]) -> frozenset[int]:
    """The ports at which something listens in rooms, each in its own network."""
    there = set(_list_names(state))
    return frozenset(
        port for name in names if name in there for port in _find_listening_ports(_find_first_process(state, name))
    )


def forward(state: str, name: str, port: int, host_port: int, begun: Callable[[int], object]) -> None:
    """Pass on from a port of this machine's loopback to one of a room's, until the room ends or this is interrupted.

    Args:
        state: The state folder.
        name: The room.
        port: Where a server listens in the room.
        host_port: Where to listen outside; 0 for any free port.
        begun: Is called with the port outside, once that listens.

    Raises:
        ContainmentError: There is no such room, it cannot be entered, or the port outside is taken.
    """
    from lockgate.containment.forwarding import forward

    with socket.socket(socket.AF_UNIX) as door:
        pid = _find_holder(door, state, name)
        if not pid:
            raise ContainmentError("the room has ended")
        forward(door, pid, port, host_port, begun)


def _find_first_process(state: str, name: str) -> int:
    """The number of the process that holds a room; 0 where there is none."""
    with socket.socket(socket.AF_UNIX) as door:
        return _find_holder(door, state, name)


def _find_holder(door: socket.socket, state: str, name: str) -> int:
    """Connect to a room, and find the process that holds it. Its number stays its own while the connection stands."""
    door.settimeout(_SECONDS)
    try:
        with short_path(_folder(state), name) as path:
            door.connect(path)
        peer = door.getsockopt(socket.SOL_SOCKET, _PEER_CREDENTIALS, _PEER.size)
    except OSError:
        return 0
    pid, user, _ = _PEER.unpack(peer)
    return int(pid) if user == os.geteuid() else 0


def _find_listening_ports(pid: int) -> Iterator[int]:
    for family in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{pid}/net/{family}", encoding="ascii") as file:
                rows = [line.split() for line in file][1:]
        except OSError:
            continue
        # The second column is the address with the port in hexadecimal, the fourth the state: proc_net(5).
        yield from (int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == _LISTENS)


def _list_names(state: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(_folder(state)) if re.fullmatch(ROOM_NAME, name))
    except OSError:
        return []


def _folder(state: str) -> str:
    return os.path.join(state, "rooms")


def _ask(state: str, name: str) -> RoomStatus | None:
    try:
        told = json.loads(_ask_room(state, name, _ASK) or b"")
    except ValueError:
        return None
    found = [told.get(each) for each in ("calls", "left", "idle")] if isinstance(told, dict) else []
    numbers = [number for number in found if isinstance(number, int) and number >= 0]
    return RoomStatus(name, *numbers) if len(numbers) == len(RoomStatus._fields) - 1 else None


def _ask_room(state: str, name: str, what: bytes) -> bytes | None:
    """Ask a room. Returns its answer; ``None`` where there is no room."""
    with socket.socket(socket.AF_UNIX) as door, short_path(_folder(state), name) as path:
        door.settimeout(_SECONDS)
        try:
            door.connect(path)
            door.sendall(what)
            return door.recv(256)
        except OSError:
            return None
