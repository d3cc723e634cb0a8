"""Decoded texts, the source of each of their parts, and the bounds of decoding.

A *view* is a text that was made of another one: decoded, unescaped, joined. What is made of many short runs stands in
one view, with a separator between the runs that no pattern crosses. Scanning a text costs more than its length.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    Decoder: TypeAlias = "Callable[[bytes, Sequence[int], Budget, int], Iterator[Decoded]]"
    """The runs of one kind in a text, given the ends of the spots of that kind, and how deep decoding may still go."""

SEPARATOR = b"\n\0\n"
"""Between runs: neither a word, nor white space alone, nor printable."""
LEAST = 4 << 20
"""Bytes that may be decoded of any text, however short: source code becomes a quarter of its size by gzip."""
FACTOR = 3
"""Times the size of a longer text. JSON inside JSON comes to twice its size, and what is joined in it to some more."""
MOST_VIEWS = 512
_SELDOM = 8
"""Runs of a few bytes for which the clock is looked at once."""
_HELD = b"\xff"
"""Stands for the mark of an escape while others are replaced. Is not in UTF-8."""
_LARGEST = 1 << 18
"""Bytes of runs that are put into one view."""


class Budget:
    """The budget of decoding for one text: bytes, views and time. Once exceeded, it is used up, and says by what."""

    __slots__ = ("_deadline", "_unasked", "dull", "exceeded", "left", "views")

    def __init__(self, size: int, deadline: Callable[[], bool]) -> None:
        """For a text of ``size`` bytes. ``deadline`` says whether the time is over; it is asked often."""
        self.left = max(LEAST, FACTOR * size)
        self.views = MOST_VIEWS
        self.exceeded = ""
        """``expansion`` or ``time`` where not everything was decoded that could be; else empty."""
        self.dull: set[bytes] = set()
        """Runs that came to nothing. Most stand in views of the text too, where they need not be decoded again."""
        self._deadline = deadline
        self._unasked = 0

    def is_over(self) -> bool:
        """Whether nothing more may be decoded. Looks at the clock, which costs more than a short run: not each time."""
        self._unasked -= 1
        if self._unasked < 0:
            self._unasked = _SELDOM
            if not self.exceeded and self._deadline():
                self.exceeded = "time"
        return bool(self.exceeded)

    def take(self, size: int) -> bool:
        """Take bytes out of the budget; whether they were there."""
        if size > self.left:
            self.exceed()
            return False
        self.left -= size
        self._unasked -= size >> 12
        return True

    def exceed(self) -> None:
        """Something would have become larger than it may."""
        self.exceeded = self.exceeded or "expansion"


class Respelling(Record):
    """A way to unescape a text: what is replaced, and by what."""

    regex: re.Pattern[bytes]
    """Has one group, which is the whole of it."""
    plain: Callable[[bytes], bytes]
    usual: tuple[bytes, ...] = ()
    """What is replaced most often: first what makes the mark of an escape, where that is doubled. Nothing here begins
    within another."""

    def apply(self, text: bytes) -> bytes | None:
        """The text without escapes; ``None`` where it has none."""
        if self.usual and _HELD not in text:
            held = text.replace(self.usual[0], _HELD)
            for escape in self.usual[1:]:
                held = held.replace(escape, self.plain(escape))
            held = (self._apply(held) or held).replace(_HELD, self.plain(self.usual[0]))
            return None if held == text else held
        return self._apply(text)

    def _apply(self, text: bytes) -> bytes | None:
        parts = self.regex.split(text)
        if len(parts) == 1:
            return None
        parts[1::2] = map(self.plain, parts[1::2])
        return b"".join(parts)

    def pieces(self, text: bytes) -> Pieces:
        """The same, as the places of its parts."""
        pieces = Pieces()
        start = at = 0
        for index, part in enumerate(self.regex.split(text)):
            made = self.plain(part) if index % 2 else part
            if part:
                pieces.add(at, start, start + len(part), verbatim=not index % 2)
            at += len(made)
            start += len(part)
        pieces.close(at)
        return pieces


class Decoded(Record):
    """The meaning of one run of a text."""

    data: bytes
    start: int
    end: int
    encoding: tuple[str, ...]
    """What was undone, from the outermost."""
    respelling: Respelling | None = None
    """How it was made, where most of it stands there as it is."""


class Pieces:
    """Maps the parts of one text to their places in another. Both ascend."""

    __slots__ = ("_at", "_end", "_made", "_size", "_start", "_verbatim")

    def __init__(self) -> None:
        self._at: list[int] = []
        self._start: list[int] = []
        self._end: list[int] = []
        self._verbatim: list[bool] = []
        self._made: dict[int, tuple[Respelling, bytes] | Pieces] = {}
        self._size = 0

    def add(self, at: int, start: int, end: int, *, verbatim: bool = False) -> None:
        """A part that begins at ``at`` was made of the bytes from ``start`` to ``end``; or is those bytes."""
        self._at.append(at)
        self._start.append(start)
        self._end.append(end)
        self._verbatim.append(verbatim)

    def add_respelled(self, at: int, start: int, source: bytes, respelling: Respelling) -> None:
        """A part was respelled. Where its parts come from is looked at when somebody asks."""
        self._made[len(self._at)] = (respelling, source)
        self.add(at, start, start + len(source))

    def close(self, size: int) -> None:
        """There are no more parts; this is the length of them all."""
        self._size = size

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Which bytes the bytes from ``first`` to ``last`` were made of."""
        low, high = self._parts(first, last)
        return self._source(low, first)[0], self._source(high, max(first, last - 1))[1]

    def is_changed(self, first: int, last: int) -> bool:
        """Whether any of these bytes stands otherwise in the other text, or not side by side there.

        So it is too where something was taken out directly before them, with which the text began.
        """
        start, end = self.span(first, last)
        low, high = self._parts(first, last)
        if low and first == self._at[low - 1]:
            return True
        return end - start != last - first or any(not self._is_same(part, first, last) for part in range(low, high + 1))

    def _parts(self, first: int, last: int) -> tuple[int, int]:
        low = max(0, bisect_right(self._at, first) - 1)
        return low, max(low, bisect_left(self._at, last) - 1)

    def _inner(self, part: int) -> Pieces | None:
        made = self._made.get(part)
        if isinstance(made, tuple):
            made = self._made[part] = made[0].pieces(made[1])
        return made

    def _source(self, part: int, place: int) -> tuple[int, int]:
        """What one byte was made of."""
        within = max(0, place - self._at[part])
        inner = self._inner(part)
        if inner is not None:
            start, end = inner.span(within, within + 1)
            return self._start[part] + start, self._start[part] + end
        if self._verbatim[part]:
            return self._start[part] + within, self._start[part] + within + 1
        return self._start[part], self._end[part]

    def _is_same(self, part: int, first: int, last: int) -> bool:
        inner = self._inner(part)
        if inner is None:
            return self._verbatim[part]
        begin = self._at[part]
        return not inner.is_changed(max(0, first - begin), min(last - begin, inner._size))


class View(Record):
    """A text that was made of the original one, and what of it."""

    data: bytes
    encoding: tuple[str, ...]
    """What was undone, from the outermost: ``("base64", "gzip")``."""
    within: tuple[int, int]
    """The bytes that were decoded: of the original text, or of the view that this one was made of."""
    pieces: Pieces
    parent: View | None
    """What it was made of, where that is not the original text."""

    @property
    def start(self) -> int:
        """The first byte of the original text that was decoded. Not for nothing: asks where each part comes from."""
        return self.within[0] if self.parent is None else self.parent.span(*self.within)[0]

    @property
    def end(self) -> int:
        """The end of what was decoded in the original text."""
        return self.within[1] if self.parent is None else self.parent.span(*self.within)[1]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Which bytes of the original text a part of the view stands for: all that had to be decoded for it."""
        start, end = self.pieces.span(start, end)
        if self.parent is None:
            return start, end
        # What stands between two runs is nothing of the parent, which would place it where its next piece begins.
        last = self.end
        start, end = self.parent.span(start, end)
        return min(start, last), min(end, last)

    def is_changed(self, start: int, end: int) -> bool:
        """Whether decoding made any of this part: else it stands in the original text, where it was looked at."""
        if self.pieces.is_changed(start, end):
            return True
        return self.parent is not None and self.parent.is_changed(*self.pieces.span(start, end))


class _RunPack:
    """Runs that become one view."""

    __slots__ = ("_chunks", "_encoding", "_end", "_pieces", "_start", "size")

    def __init__(self, encoding: tuple[str, ...]) -> None:
        self._encoding = encoding
        self._chunks: list[bytes] = []
        self._pieces = Pieces()
        self._start = self._end = -1
        self.size = 0

    def add(self, run: Decoded, source: bytes) -> None:
        if run.respelling:
            self._pieces.add_respelled(self.size, run.start, source[run.start : run.end], run.respelling)
        else:
            self._pieces.add(self.size, run.start, run.end)
        self._pieces.add(self.size + len(run.data), run.end, run.end)
        self._start = run.start if self._start < 0 else min(self._start, run.start)
        self._end = max(self._end, run.end)
        self._chunks.append(run.data)
        self.size += len(run.data) + len(SEPARATOR)

    def view(self, parent: View | None) -> View:
        self._pieces.close(self.size)
        data = SEPARATOR.join(self._chunks)
        outer = parent.encoding if parent is not None else ()
        return View(data, outer + self._encoding, (self._start, self._end), self._pieces, parent)


def pack_views(runs: Iterable[Decoded], source: bytes, parent: View | None, budget: Budget) -> Iterator[View]:
    """The runs of one text, together in as few views as is sensible."""
    packs: dict[tuple[str, ...], _RunPack] = {}
    for run in runs:
        if not budget.take(len(run.data) + len(SEPARATOR)):
            break
        pack = packs.get(run.encoding)
        if pack is None:
            pack = packs[run.encoding] = _RunPack(run.encoding)
        pack.add(run, source)
        if pack.size >= _LARGEST:
            yield packs.pop(run.encoding).view(parent)
    for pack in packs.values():
        yield pack.view(parent)
