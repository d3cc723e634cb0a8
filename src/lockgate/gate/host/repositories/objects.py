"""Reads objects of a git repository: commits, trees and tags, loose or in a pack.

The formats are those of git's own documentation (gitformat-pack, gitrepository-layout). Only what a repository with
SHA-1 holds is read, bounded in size and depth; whatever is not as expected is a ``LookupError``.
"""

from __future__ import annotations

import os
import zlib

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.host.repositories.tables import RandomAccessFile, find
from lockgate.system.digests import sha1
from lockgate.system.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 4 * 1024 * 1024
"""Longest object that is read."""
_DEEPEST = 64
_MOST_KEPT = 32 * 1024 * 1024
"""Bytes of the bases of deltas that are kept of a pack."""
_DEEPEST_BORROWED, _MOST_BORROWED = 3, 16
"""How far, and from how many at a time, a repository may borrow objects."""
_LONGEST_NUMBER = 10
"""Bytes of a number in a pack."""
_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OFFSET, _REFERENCE = 6, 7
_PACK_ENTRY = 64 * 1024
"""Bytes of a pack that are taken at a time."""


class GitObject(Record):
    """One object, unpacked."""

    kind: str
    """commit, tree, blob or tag."""
    content: bytes


class Objects:
    """The objects of one repository, and of the repositories that it borrows from."""

    def __init__(self, folder: str, depth: int = 0) -> None:
        self._folder = folder
        self._packs: list[_PackFile] | None = None
        others = _alternates(folder)
        # Git looks deeper: what it may find there is not told.
        if others and depth >= _DEEPEST_BORROWED:
            raise ValueError("objects are borrowed from too far away")
        self._others = [Objects(other, depth + 1) for other in others]

    def read(self, name: str, depth: int = 0) -> GitObject:
        """An object by its full name. Raises ``LookupError``."""
        try:
            return self._read(name, depth)
        except (OSError, ValueError, LookupError, zlib.error, RecursionError) as error:
            raise LookupError(name) from error

    def _read(self, name: str, depth: int) -> GitObject:
        # Git takes the first object that it finds, and does not check its name.
        found = {*self._all(name, depth)}
        first = found.pop()
        head = b"%s %d\0" % (first.kind.encode(), len(first.content))
        if found or sha1(head + first.content).hexdigest() != name:
            raise ValueError("an object under another's name")
        return first

    def _all(self, name: str, depth: int) -> Iterator[GitObject]:
        """All objects with a name, wherever they lie."""
        try:
            data = read_regular(os.path.join(self._folder, name[:2], name[2:]), MOST_BYTES)
        except FileNotFoundError:
            pass
        else:
            head, _, content = _inflate_object(data, MOST_BYTES + 64).partition(b"\0")
            yield GitObject(head.partition(b" ")[0].decode("ascii"), content)
        for pack in self._in_packs():
            at = pack.find(name)
            if at is not None:
                yield pack.read(at, self, depth)
        for other in self._others:
            yield from other._all(name, depth)

    def names_with_prefix(self, text: str) -> set[str]:
        """The names of all objects with a prefix, two at most of each pack."""
        found = {name for pack in self._in_packs() for name in pack.names_with_prefix(text)}
        try:
            names = os.listdir(os.path.join(self._folder, text[:2]))
        except OSError:
            names = []
        found |= {text[:2] + name for name in names if len(name) == 38 and name.startswith(text[2:])}
        return found.union(*(other.names_with_prefix(text) for other in self._others))

    def _in_packs(self) -> list[_PackFile]:
        if self._packs is None:
            folder = os.path.join(self._folder, "pack")
            try:
                names = sorted(name for name in os.listdir(folder) if name.endswith(".idx"))
            except OSError:
                names = []
            self._packs = [_PackFile(os.path.join(folder, name[:-4])) for name in names]
        return self._packs


def _alternates(folder: str) -> list[str]:
    try:
        text = read_regular(os.path.join(folder, "info", "alternates"), 64 * 1024).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return []
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    if len(lines) > _MOST_BORROWED or any(line.startswith('"') for line in lines):
        raise ValueError("too many to borrow from, or quoted names of them")
    real = os.path.realpath(folder)
    return [os.path.normpath(os.path.join(real, line)) for line in lines]


class _PackFile:
    """One pack with its index of version 2."""

    def __init__(self, path: str) -> None:
        self._index, self._path = RandomAccessFile(f"{path}.idx"), f"{path}.pack"
        if self._index.part(0, 8) != b"\xfftOc\0\0\0\2":
            raise ValueError("an index of another version")
        self._count = self._index.number(8 + 255 * 4)
        self._data: RandomAccessFile | None = None
        self._bases: dict[int, GitObject] = {}
        """The bases of deltas, by their place in the pack: many deltas have the same base."""
        self._kept = 0

    def _name(self, number: int) -> bytes:
        return self._index.part(8 + 1024 + number * 20, 20)

    def _find(self, wanted: bytes) -> tuple[int, bool]:
        return find(wanted, lambda byte: self._index.number(8 + byte * 4), self._name)

    def find(self, name: str) -> int | None:
        """The offset of an object in the pack; ``None`` where the pack does not hold it."""
        number, is_there = self._find(bytes.fromhex(name))
        if not is_there:
            return None
        offsets = 8 + 1024 + self._count * 24
        at = self._index.number(offsets + number * 4)
        return self._index.number(offsets + self._count * 4 + (at & 0x7FFFFFFF) * 8, 8) if at & 0x80000000 else at

    def names_with_prefix(self, text: str) -> list[str]:
        """The names of the first two objects with a prefix."""
        number, _ = self._find(bytes.fromhex(text.ljust(40, "0")))
        names = [self._name(at).hex() for at in range(number, min(number + 2, self._count))]
        return [name for name in names if name.startswith(text)]

    def read(self, at: int, objects: Objects, depth: int = 0) -> GitObject:
        """The object at an offset."""
        if depth > _DEEPEST:
            raise ValueError("too many deltas")
        if self._data is None:
            self._data = RandomAccessFile(self._path)
        start, head = at, self._data.part(at, 2 * _LONGEST_NUMBER + 20)
        kind, more = head[0] >> 4 & 7, 1
        size = head[0] & 15
        if head[0] & 0x80:
            number, more = _size(head, 1)
            size |= number << 4
        if size > MOST_BYTES:
            raise ValueError("too large")
        if kind in _KINDS:
            return GitObject(_KINDS[kind], self._inflate(at + more, size))
        if kind == _OFFSET:
            back, more = _distance(head, more)
            if not 0 < back <= start:
                raise ValueError("a delta of nothing")
            base = self._base(start - back, objects, depth + 1)
        elif kind == _REFERENCE:
            base = objects.read(head[more : more + 20].hex(), depth + 1)
            more += 20
        else:
            raise ValueError("an object of another kind")
        return base._replace(content=_patch(base.content, self._inflate(at + more, size)))

    def _base(self, at: int, objects: Objects, depth: int) -> GitObject:
        if at not in self._bases:
            found = self.read(at, objects, depth)
            self._kept += len(found.content)
            if self._kept > _MOST_KEPT:
                self._bases.clear()
                self._kept = len(found.content)
            self._bases[at] = found
        return self._bases[at]

    def _inflate(self, at: int, size: int) -> bytes:
        unpack, parts = zlib.decompressobj(), bytearray()
        assert self._data is not None
        while len(parts) < size and not unpack.eof:
            piece = self._data.part(at, _PACK_ENTRY)
            if not piece:
                raise ValueError("the pack ends")
            at += len(piece)
            parts += unpack.decompress(piece, size - len(parts))
        return bytes(parts)


def _inflate_object(data: bytes, most: int) -> bytes:
    unpack = zlib.decompressobj()
    content = unpack.decompress(data, most)
    if not unpack.eof:
        raise ValueError("too large")
    return content


def _size(data: bytes, at: int) -> tuple[int, int]:
    """A number whose lowest bits come first, and where it ends."""
    number = 0
    for shift in range(0, 7 * _LONGEST_NUMBER, 7):
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return number, at
    raise ValueError("too long a number")


def _distance(data: bytes, at: int) -> tuple[int, int]:
    """How far before a delta its base begins, and where that number ends: its highest bits come first, each from 1."""
    byte = data[at]
    at += 1
    back = byte & 0x7F
    while byte & 0x80:
        byte = data[at]
        at += 1
        back = (back + 1) << 7 | byte & 0x7F
    return back, at


def _patch(base: bytes, delta: bytes) -> bytes:
    """The content that a delta makes from its base."""
    _, at = _size(delta, 0)
    expected, at = _size(delta, at)
    if expected > MOST_BYTES:
        raise ValueError("too large")
    made = bytearray()
    # A byte of a delta can stand for 64 KiB, so the size is checked on the way.
    while at < len(delta) and len(made) <= expected:
        code = delta[at]
        at += 1
        if not code & 0x80:
            made += delta[at : at + code]
            at += code
            continue
        numbers = []
        for bits in (range(4), range(4, 7)):
            number = 0
            for place, bit in enumerate(bits):
                if code & 1 << bit:
                    number |= delta[at] << 8 * place
                    at += 1
            numbers.append(number)
        start, size = numbers[0], numbers[1] or 0x10000
        made += base[start : start + size]
    if len(made) != expected:
        raise ValueError("a delta of something else")
    return bytes(made)
