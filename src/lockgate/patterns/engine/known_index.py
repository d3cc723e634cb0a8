"""The index of known values as bytes, and the search for them in a text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.engine.matcher import Database
from lockgate.patterns.known_values.encodings import FORMS
from lockgate.patterns.known_values.values import (
    DIGEST,
    SIGNATURE,
    DamagedIndex,
    KnownHit,
    KnownKind,
    KnownValue,
    Mark,
    Marker,
)
from lockgate.system.digests import blake2b

if TYPE_CHECKING:
    from typing import Any

_MAGIC = b"lockgate known 1"
_MAC = 32
_HEAD = len(_MAGIC) + _MAC
_MARK = 4 + 2 + 2 + 1 + 1 + 1 + SIGNATURE + DIGEST
"""Bytes of a mark: number of its entry, length, offset, form, sizes of signature and hash, and the two themselves."""
MOST_ENTRIES = 1_000
"""Entries in one index."""


def build(entries: Sequence[KnownValue], salt: bytes, hyperscan: Any, stamp: bytes = b"") -> bytes:
    """Make an index.

    Args:
        entries: What is kept of each value.
        salt: The installation's.
        hyperscan: The module of that name.
        stamp: What the caller wants to find again in the index, at most 65,535 bytes.

    Raises:
        ValueError: There are more than ``MOST_ENTRIES``.
    """
    if len(entries) > MOST_ENTRIES:
        raise ValueError(f"more than {MOST_ENTRIES} values")
    marks = [(number, mark) for number, entry in enumerate(entries) for mark in entry.marks]
    packed = b"".join(_pack(number, mark) for number, mark in marks)
    heads = [[entry.name, entry.kind.value, entry.since] for entry in entries]
    names = json.dumps(heads).encode()
    sizes = b"".join(len(part).to_bytes(4, "big") for part in (stamp, names, packed))
    body = sizes + stamp + names + packed + _database([mark.signature for _, mark in marks], hyperscan)
    return _MAGIC + _mac(body, salt) + body


def _database(signatures: Sequence[bytes], hyperscan: Any) -> bytes:
    if not signatures:
        return b""
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    count = len(signatures)
    database.compile(expressions=list(signatures), ids=list(range(count)), flags=[0] * count, literal=True)
    made: bytes = hyperscan.dumpb(database)
    return made


class Index:
    """An index that is ready to look through texts."""

    def __init__(self, data: bytes, salt: bytes, hyperscan: Any) -> None:
        """Load an index.

        Args:
            data: What ``build`` made.
            salt: The same as there.
            hyperscan: The module of that name.

        Raises:
            DamagedIndex: It is not what ``build`` made with this salt, or for another processor.
        """
        body = memoryview(data)[_HEAD:]
        if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC) : _HEAD] != _mac(body, salt):
            raise DamagedIndex("the index of known secrets is damaged, or not this installation's")
        parts = []
        at = 12
        for part in range(3):
            size = int.from_bytes(body[4 * part : 4 * part + 4], "big")
            parts.append(bytes(body[at : at + size]))
            at += size
        self.stamp, self._names, self._marks = parts
        """``stamp`` is what ``build`` was given."""
        self._salt = salt
        self._database = _load(bytes(body[at:]), hyperscan)
        self._heads: list[tuple[str, str, float]] = []
        self._marker: Marker | None = None

    def __len__(self) -> int:
        """How many values are looked for."""
        return len(self._all_heads())

    def scan(self, data: bytes) -> list[KnownHit]:
        """All known values in a text, by where they begin. The time is linear in the length of the text."""
        if self._database is None or not data:
            return []
        if self._marker is None:
            self._marker = Marker(self._salt)
        candidates: list[tuple[int, int]] = []

        def note(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            candidates.append((number, end))

        self._database.scan(data.translate(self._marker.table), note)
        return self._confirm(data, candidates) if candidates else []

    def entries(self) -> list[KnownValue]:
        """What is kept of each value, to build another index of it."""
        marks: list[list[Mark]] = [[] for _ in self._all_heads()]
        for number in range(len(self._marks) // _MARK):
            entry, mark = _unpack(self._marks, number)
            marks[entry].append(mark)
        return [
            KnownValue(name, KnownKind(kind), tuple(its), since)
            for (name, kind, since), its in zip(self._all_heads(), marks, strict=True)
        ]

    def _confirm(self, data: bytes, candidates: Sequence[tuple[int, int]]) -> list[KnownHit]:
        assert self._marker is not None
        known: dict[int, tuple[int, Mark]] = {}
        digests: dict[bytes, bytes] = {}  # a text full of one candidate is hashed once
        hits: dict[KnownHit, None] = {}
        for number, end in candidates:
            if number not in known:
                known[number] = _unpack(self._marks, number)
            entry, mark = known[number]
            start = end - len(mark.signature) - mark.offset
            text = data[start : start + mark.length] if start >= 0 else b""
            if len(text) != mark.length:
                continue
            if text not in digests:
                digests[text] = self._marker.digest(text)
            if digests[text].startswith(mark.digest):
                name, kind, _ = self._all_heads()[entry]
                hits[KnownHit(start, start + mark.length, name, FORMS[mark.form], KnownKind(kind))] = None
        return _outermost(hits)

    def _all_heads(self) -> list[tuple[str, str, float]]:
        if not self._heads and self._names:
            self._heads = [tuple(head) for head in json.loads(self._names)]
        return self._heads


def _outermost(hits: Iterable[KnownHit]) -> list[KnownHit]:
    """Hits in order, without those that lie inside of another one of the same value."""
    kept: list[KnownHit] = []
    ends: dict[str, int] = {}
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
        if hit.end > ends.get(hit.name, -1):
            ends[hit.name] = hit.end
            kept.append(hit)
    return kept


def _load(data: bytes, hyperscan: Any) -> Database | None:
    if not data:
        return None
    try:
        return Database(data, hyperscan)
    except hyperscan.error as error:
        raise DamagedIndex("the index of known secrets was made for another processor or library") from error


def _pack(entry: int, mark: Mark) -> bytes:
    return b"".join(
        (
            entry.to_bytes(4, "big"),
            mark.length.to_bytes(2, "big"),
            mark.offset.to_bytes(2, "big"),
            bytes((mark.form, len(mark.signature), len(mark.digest))),
            mark.signature.ljust(SIGNATURE, b"\0"),
            mark.digest.ljust(DIGEST, b"\0"),
        )
    )


def _unpack(marks: bytes, number: int) -> tuple[int, Mark]:
    row = marks[number * _MARK : (number + 1) * _MARK]
    return int.from_bytes(row[:4], "big"), Mark(
        signature=row[11 : 11 + row[9]],
        offset=int.from_bytes(row[6:8], "big"),
        length=int.from_bytes(row[4:6], "big"),
        form=row[8],
        digest=row[11 + SIGNATURE : 11 + SIGNATURE + row[10]],
    )


def pack_marks(marks: Iterable[Mark]) -> bytes:
    """Marks as bytes, to keep them elsewhere than in an index."""
    return b"".join(_pack(0, mark) for mark in marks)


def unpack_marks(data: bytes) -> tuple[Mark, ...]:
    """What ``pack_marks`` was given.

    Raises:
        ValueError: The bytes are none.
    """
    if len(data) % _MARK:
        raise ValueError("no marks")
    return tuple(_unpack(data, number)[1] for number in range(len(data) // _MARK))


def _mac(body: bytes | memoryview, salt: bytes) -> bytes:
    return blake2b(body, key=salt, person=b"known index", digest_size=_MAC).digest()
