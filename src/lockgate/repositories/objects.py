"""The objects of a repository of git: commits, trees and tags, each a file of its own or in a pack.

The formats are those of git's own documentation (gitformat-pack, gitrepository-layout). Only what a repository with
SHA-1 holds is read, bounded in size and depth; whatever is not as expected is a ``LookupError``.
"""

from __future__ import annotations

import mmap
import os
import zlib
from bisect import bisect_left

from lockgate.digests import sha1
from lockgate.files import open_regular, read_regular
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 4 * 1024 * 1024
"""Longest object that is read."""
_DEEPEST = 64
_MOST_BASES = 256
_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OFFSET, _REFERENCE = 6, 7
_PACK_ENTRY = 64 * 1024
"""Bytes of a pack that are taken at a time."""


class Objects:
    """The objects of one repository, and of those that it borrows from."""

    def __init__(self, folder: str, depth: int = 0) -> None:
        self._folder = folder
        self._packs: list[_Pack] | None = None
        self._others = [Objects(other, depth + 1) for other in _alternates(folder)] if depth < 3 else []

    def read(self, name: str, depth: int = 0) -> tuple[str, bytes]:
        """The kind and the content of an object, by its full name. Raises ``LookupError``."""
        try:
            return self._read(name, depth)
        except (OSError, ValueError, LookupError, zlib.error, RecursionError) as error:
            raise LookupError(name) from error

    def _read(self, name: str, depth: int) -> tuple[str, bytes]:
        # Git takes the first that it comes upon, and does not look whether it has that name.
        found = {*self._all(name, depth)}
        kind, content = found.pop()
        if found or sha1(b"%s %d\0" % (kind.encode(), len(content)) + content).hexdigest() != name:
            raise ValueError("an object under another's name")
        return kind, content

    def _all(self, name: str, depth: int) -> Iterator[tuple[str, bytes]]:
        """What stands under a name, everywhere."""
        try:
            data = read_regular(os.path.join(self._folder, name[:2], name[2:]), MOST_BYTES)
        except FileNotFoundError:
            pass
        else:
            head, _, content = _inflated(data, MOST_BYTES + 64).partition(b"\0")
            yield head.partition(b" ")[0].decode("ascii"), content
        for pack in self._in_packs():
            at = pack.find(name)
            if at is not None:
                yield pack.read(at, self, depth)
        for other in self._others:
            yield from other._all(name, depth)

    def beginning(self, text: str) -> set[str]:
        """The names of all objects that begin so, two at most of each pack."""
        found = {name for pack in self._in_packs() for name in pack.beginning(text)}
        try:
            names = os.listdir(os.path.join(self._folder, text[:2]))
        except OSError:
            names = []
        found |= {text[:2] + name for name in names if len(name) == 38 and name.startswith(text[2:])}
        return found.union(*(other.beginning(text) for other in self._others))

    def _in_packs(self) -> list[_Pack]:
        if self._packs is None:
            folder = os.path.join(self._folder, "pack")
            try:
                names = sorted(name for name in os.listdir(folder) if name.endswith(".idx"))
            except OSError:
                names = []
            self._packs = [_Pack(os.path.join(folder, name[:-4])) for name in names]
        return self._packs


def _alternates(folder: str) -> list[str]:
    try:
        text = read_regular(os.path.join(folder, "info", "alternates"), 64 * 1024).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return []
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [os.path.normpath(os.path.join(folder, line)) for line in lines]


class _Pack:
    """One pack with its index of version 2."""

    def __init__(self, path: str) -> None:
        self._index, self._path = _mapped(f"{path}.idx"), f"{path}.pack"
        if self._index[:8] != b"\xfftOc\0\0\0\2":
            raise ValueError("an index of another version")
        self._count = self._number(8 + 255 * 4)
        self._data: mmap.mmap | None = None
        self._bases: dict[int, tuple[str, bytes]] = {}
        """What deltas were made from, by its place: many are made from the same."""

    def _number(self, at: int, size: int = 4) -> int:
        return int.from_bytes(self._index[at : at + size], "big")

    def _name(self, number: int) -> bytes:
        start = 8 + 1024 + number * 20
        return self._index[start : start + 20]

    def _range(self, first: int) -> tuple[int, int]:
        return self._number(8 + (first - 1) * 4) if first else 0, self._number(8 + first * 4)

    def _place(self, wanted: bytes) -> int:
        low, high = self._range(wanted[0])
        return bisect_left(range(self._count), wanted, low, min(high, self._count), key=self._name)

    def find(self, name: str) -> int | None:
        """Where an object begins in the pack; ``None`` where it is not in it."""
        wanted = bytes.fromhex(name)
        number = self._place(wanted)
        if number >= self._count or self._name(number) != wanted:
            return None
        offsets = 8 + 1024 + self._count * 24
        at = self._number(offsets + number * 4)
        return self._number(offsets + self._count * 4 + (at & 0x7FFFFFFF) * 8, 8) if at & 0x80000000 else at

    def beginning(self, text: str) -> list[str]:
        """The names of the first two objects that begin so."""
        number = self._place(bytes.fromhex(text.ljust(40, "0")))
        names = [self._name(at).hex() for at in range(number, min(number + 2, self._count))]
        return [name for name in names if name.startswith(text)]

    def read(self, at: int, objects: Objects, depth: int = 0) -> tuple[str, bytes]:
        """The kind and the content of the object that begins at a place."""
        if depth > _DEEPEST:
            raise ValueError("too many deltas")
        if self._data is None:
            self._data = _mapped(self._path)
        start, data = at, self._data
        byte = data[at]
        at += 1
        kind, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & 0x80:
            byte = data[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
        if size > MOST_BYTES:
            raise ValueError("too large")
        if kind in _KINDS:
            return _KINDS[kind], self._inflate(at, size)
        if kind == _OFFSET:
            byte = data[at]
            at += 1
            back = byte & 0x7F
            while byte & 0x80:
                byte = data[at]
                at += 1
                back = (back + 1) << 7 | byte & 0x7F
            if not 0 < back <= start:
                raise ValueError("a delta of nothing")
            found, base = self._base(start - back, objects, depth + 1)
        elif kind == _REFERENCE:
            found, base = objects.read(data[at : at + 20].hex(), depth + 1)
            at += 20
        else:
            raise ValueError("an object of another kind")
        return found, _patched(base, self._inflate(at, size))

    def _base(self, at: int, objects: Objects, depth: int) -> tuple[str, bytes]:
        if at not in self._bases:
            if len(self._bases) >= _MOST_BASES:
                self._bases.clear()
            self._bases[at] = self.read(at, objects, depth)
        return self._bases[at]

    def _inflate(self, at: int, size: int) -> bytes:
        unpack, parts = zlib.decompressobj(), bytearray()
        assert self._data is not None
        while len(parts) < size and not unpack.eof:
            piece = self._data[at : at + _PACK_ENTRY]
            if not piece:
                raise ValueError("the pack ends")
            at += len(piece)
            parts += unpack.decompress(piece, size - len(parts))
        return bytes(parts)


def _mapped(path: str) -> mmap.mmap:
    descriptor = open_regular(path)
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)


def _inflated(data: bytes, most: int) -> bytes:
    unpack = zlib.decompressobj()
    content = unpack.decompress(data, most)
    if not unpack.eof:
        raise ValueError("too large")
    return content


def _patched(base: bytes, delta: bytes) -> bytes:
    """What a delta makes of another object."""
    at, expected = 0, 0
    for _ in range(2):
        expected, shift, byte = 0, 0, 0x80
        while byte & 0x80:
            byte = delta[at]
            at += 1
            expected |= (byte & 0x7F) << shift
            shift += 7
    if expected > MOST_BYTES:
        raise ValueError("too large")
    made = bytearray()
    while at < len(delta):
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
