"""The graph of commits that git keeps beside their objects, and believes (gitformat-commit-graph)."""

from __future__ import annotations

import os
from bisect import bisect_left

from lockgate.files import read_regular
from lockgate.record import Record

_MOST_BYTES = 256 * 1024 * 1024
_NONE, _MORE = 0x70000000, 0x80000000
"""No such parent; more than two, which stand elsewhere."""


class Commit(Record):
    """What is read of a commit."""

    tree: str
    parents: tuple[str, ...]
    date: int


class Graph:
    """The graph of one repository in one file. Raises ``ValueError`` for one that is not read."""

    def __init__(self, objects: str) -> None:
        self._names, self._rows, self._more = b"", b"", b""
        try:
            data = read_regular(os.path.join(objects, "info", "commit-graph"), _MOST_BYTES)
        except FileNotFoundError:
            return
        if data[:6] != b"CGPH\x01\x01" or data[7]:
            raise ValueError("a graph of another version, or in several files")
        marks = [data[8 + 12 * at : 20 + 12 * at] for at in range(data[6] + 1)]
        starts = [int.from_bytes(mark[4:], "big") for mark in marks]
        chunks = {mark[:4]: data[start:end] for mark, start, end in zip(marks, starts, starts[1:], strict=False)}
        self._names, self._rows, self._more = chunks[b"OIDL"], chunks[b"CDAT"], chunks.get(b"EDGE", b"")

    def agrees(self, name: str, commit: Commit) -> bool:
        """Whether it says of a commit what its object says, or nothing."""
        wanted, count = bytes.fromhex(name), len(self._names) // 20
        at = bisect_left(range(count), wanted, key=self._name)
        if at >= count or self._name(at) != wanted:
            return True
        row = self._rows[at * 36 : at * 36 + 36]
        return row[:20].hex() == commit.tree and self._parents(row) == commit.parents

    def _name(self, number: int) -> bytes:
        return self._names[number * 20 : number * 20 + 20]

    def _parents(self, row: bytes) -> tuple[str, ...]:
        first, second = int.from_bytes(row[20:24], "big"), int.from_bytes(row[24:28], "big")
        numbers = [number for number in (first, second) if number != _NONE]
        if second & _MORE and second != _NONE:
            numbers, at = [first], second & ~_MORE
            while True:
                number = int.from_bytes(self._more[at * 4 : at * 4 + 4], "big")
                numbers.append(number & ~_MORE)
                at += 1
                if number & _MORE or at * 4 >= len(self._more):
                    break
        return tuple(self._name(number).hex() for number in numbers)
