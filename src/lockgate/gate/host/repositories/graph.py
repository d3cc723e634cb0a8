"""Reads the commit graph that git keeps beside its objects, and believes (gitformat-commit-graph)."""

from __future__ import annotations

import os

from lockgate.core.record import Record
from lockgate.gate.host.repositories.tables import RandomAccessFile, find

_MOST_PARENTS = 1000
_NONE, _MORE = 0x70000000, 0x80000000
"""No such parent; more than two, which stand elsewhere."""


class Commit(Record):
    """The parts of a commit that are read."""

    tree: str
    parents: tuple[str, ...]
    date: int


class Graph:
    """The graph of one repository in one file. Raises ``ValueError`` for one that is not read."""

    def __init__(self, objects: str) -> None:
        self._chunks: dict[bytes, int] = {}
        try:
            self._file = RandomAccessFile(os.path.join(objects, "info", "commit-graph"))
        except FileNotFoundError:
            return
        head = self._file.part(0, 8)
        if head[:6] != b"CGPH\x01\x01" or head[7]:
            raise ValueError("a graph of another version, or in several files")
        marks = [self._file.part(8 + 12 * at, 12) for at in range(head[6])]
        self._chunks = {mark[:4]: int.from_bytes(mark[4:], "big") for mark in marks}
        if len(self._chunks) < len(marks) or not {b"OIDF", b"OIDL", b"CDAT"} <= self._chunks.keys():
            raise ValueError("a graph that lacks a part, or has it twice")

    def agrees(self, name: str, commit: Commit) -> bool:
        """Whether it says of a commit what its object says, or nothing."""
        if not self._chunks:
            return True
        at, is_there = find(
            bytes.fromhex(name), lambda byte: self._file.number(self._chunks[b"OIDF"] + byte * 4), self._name
        )
        if not is_there:
            return True
        row = self._file.part(self._chunks[b"CDAT"] + at * 36, 36)
        return row[:20].hex() == commit.tree and self._parents(row) == commit.parents

    def _name(self, number: int) -> bytes:
        return self._file.part(self._chunks[b"OIDL"] + number * 20, 20)

    def _parents(self, row: bytes) -> tuple[str, ...]:
        first, second = int.from_bytes(row[20:24], "big"), int.from_bytes(row[24:28], "big")
        numbers = [number for number in (first, second) if number != _NONE]
        if second & _MORE and second != _NONE:
            numbers, at = [first], second & ~_MORE
            number = 0
            while not number & _MORE and len(numbers) < _MOST_PARENTS:
                number = self._file.number(self._chunks.get(b"EDGE", self._file.size) + at * 4)
                numbers.append(number & ~_MORE)
                at += 1
        return tuple(self._name(number).hex() for number in numbers)
