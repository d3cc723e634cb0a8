"""Looks up names in the sorted tables of a repository's files, reading only the parts that it needs."""

from __future__ import annotations

import os

from lockgate.core.record import TYPE_CHECKING
from lockgate.system.files import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable


class RandomAccessFile:
    """A file that is read in places.

    It is not mapped into memory: whoever may write to it could cut it short, and a signal would end this process.
    """

    def __init__(self, path: str) -> None:
        """Open it. Raises ``OSError``."""
        self._descriptor = -1
        self._descriptor = open_regular(path)
        self.size = os.fstat(self._descriptor).st_size

    def __del__(self) -> None:
        """Close it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def part(self, at: int, size: int) -> bytes:
        """Some bytes from a place on; fewer, or none, where the file ends."""
        return os.pread(self._descriptor, size, at) if at < self.size else b""

    def number(self, at: int, size: int = 4) -> int:
        """The number in some bytes, of which the highest comes first."""
        return int.from_bytes(self.part(at, size), "big")


def find(wanted: bytes, up_to: Callable[[int], int], name: Callable[[int], bytes]) -> tuple[int, bool]:
    """Where a name stands in a table, or would stand, and whether it does.

    The steps are git's own: in a table that somebody has put out of order it finds what git finds there.

    Args:
        wanted: The name.
        up_to: Tells how many names begin with a byte or a lower one.
        name: Tells the name in a place.
    """
    low, high = up_to(wanted[0] - 1) if wanted[0] else 0, up_to(wanted[0])
    while low < high:
        middle = low + (high - low) // 2
        found = name(middle)
        if found == wanted:
            return middle, True
        if found > wanted:
            high = middle
        else:
            low = middle + 1
    return low, False
