"""Reads numbers as programs do: ``str.isdigit`` also takes superscripts, and ``int`` the digits of other scripts."""

from __future__ import annotations

_MOST_DIGITS = 9


def number(text: str | None) -> int | None:
    """The number that ASCII digits write; ``None`` for what is none, or a billion and more."""
    if text is None or not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    return int(digits) if len(digits) <= _MOST_DIGITS else None
