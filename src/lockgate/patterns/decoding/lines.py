"""Lines with something before them: what ``grep -n``, compilers, ``diff`` and those that show files with numbers print.

Without it a line is what it was in its file: patterns that begin with a line, or need two of them, find it again.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.decoding.decoded_views import Decoded, Respelling

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockgate.patterns.decoding.decoded_views import Budget, Decoder

_BAR = rb"(?:\||\xe2\x94\x82|\xe2\x86\x92)"
_PLACE = rb"(?:[^\s:]{1,200}:){0,2}[^\s:]{1,200}[:-][0-9]{1,7}[:-](?:[0-9]{1,5}:)?"
_NUMBER = rb"[> ]{0,8}[0-9]{1,7}(?:[:-](?![0-9])|\t|[ ]{0,3}" + _BAR + rb"[ ]?)"
_CHANGE = rb"[+-]{1,2}(?![+-])|[<>][ ]"
_SERVICE = rb"[A-Za-z0-9][\w.-]{0,40}[ ]{1,20}\|[ ]"
_PREFIX = Respelling(
    lazy_re(rb"(?m)^(" + b"|".join((_PLACE, _NUMBER, _CHANGE, _SERVICE)) + b")"),
    lambda _: b"",
)
"""``path:12:``, ``path-13-`` and ``rev:path:12:`` of searches. ``12:``, ``12 |`` and ``12`` with a tab of listings and
compilers. The marks of ``diff``, and the names of services before what they log."""


def prefixed(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """All lines from the first that has a prefix, without theirs."""
    if not ends:
        return
    start = data.rfind(b"\n", 0, max(0, min(ends) - 1)) + 1
    made = _PREFIX.apply(data[start:])
    if made is not None:
        yield Decoded(made, start, len(data), ("prefixed lines",), _PREFIX)


DECODERS: dict[str, Decoder] = {"prefix": prefixed}
