"""Reads the index of a git repository: the files that it knows (gitformat-index)."""

from __future__ import annotations

LINK, MODULE = "link:", "module:"
"""What stands before the name of a link's content, and of another repository's commit."""
_MARKS = {0o12: LINK, 0o16: MODULE}
_KNOWN = frozenset({b"TREE", b"REUC", b"UNTR", b"FSMN", b"EOIE", b"IEOT"})
"""Extensions that say nothing of which files there are."""


MOST_BYTES = 64 * 1024 * 1024
"""Bytes of all names of an index: in version 4 each can be as long as all before it."""


def mark_name(mode: int, content: str) -> str:
    """The name of a content, told apart by what it is."""
    return _MARKS.get(mode >> 12, "") + content


def files_of(data: bytes) -> dict[str, str]:
    """The files of an index with the names of their contents.

    Raises:
        ValueError: It is not one that is read: of another version, with files in conflict, split, or sparse.
    """
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("an index of another version")
    found: dict[str, str] = {}
    at, path, told = 12, b"", 0
    for _ in range(int.from_bytes(data[8:12], "big")):
        start = at
        mode = int.from_bytes(data[at + 24 : at + 28], "big")
        content = data[at + 40 : at + 60].hex()
        flags = int.from_bytes(data[at + 60 : at + 62], "big")
        at += 64 if flags & 0x4000 and version > 2 else 62
        kept = 0
        if version == 4:
            kept, at = _number(data, at)
        end = data.index(b"\0", at)
        path = path[: len(path) - kept] + data[at:end] if version == 4 else data[at:end]
        told += len(path)
        if told > MOST_BYTES:
            raise ValueError("names that come to too much")
        # Before version 4 an entry is filled up to a multiple of eight, with one byte at least.
        at = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
        if flags & 0x3000 or mode >> 12 == 0o4:
            raise ValueError("a conflict, or a folder that is not looked into")
        found[path.decode("utf-8", "surrogateescape")] = mark_name(mode, content)
    while at + 28 <= len(data):
        if data[at : at + 4] not in _KNOWN:
            raise ValueError("an extension that can change what there is")
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")
    return found


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number as a pack writes offsets, and where it ends."""
    byte = data[at]
    number = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        number = (number + 1) << 7 | byte & 0x7F
    return number, at + 1
