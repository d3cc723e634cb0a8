"""Texts that PostgreSQL cannot hold: a NUL, and half a surrogate pair.

A NUL is kept as its escape, and the escape's own first character too, so that every text comes back as it was. Half a
surrogate pair is no character; it is kept as its escape, as in SQLite.
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.store.rows import parse_column

if TYPE_CHECKING:
    from typing import Any

_ESCAPE = "\x1a"


def encode_text(text: str) -> str:
    """A text as the database keeps it."""
    if _ESCAPE in text or "\0" in text:
        text = text.replace(_ESCAPE, f"{_ESCAPE}1").replace("\0", f"{_ESCAPE}0")
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def decode_text(text: str) -> str:
    """What was kept."""
    return text.replace(f"{_ESCAPE}0", "\0").replace(f"{_ESCAPE}1", _ESCAPE) if _ESCAPE in text else text


def parse_json(text: str) -> Any:
    """The value of a column that holds JSON.

    Raises:
        StoreError: It holds none.
    """
    return parse_column(text, "the shared store is damaged: see `lockgate store status`")
