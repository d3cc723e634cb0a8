"""Characters that say where a text comes from.

In the second run of a script (``dataflow.py``) they follow the placeholders of text that is not known. In the first run
there are none.
"""

from __future__ import annotations

FIRST_MARK, WEAK = "\U000f0000", "\U00100000"
"""From the first on they say where a text comes from, from ``WEAK`` on where it may come from."""


def marks_of(text: str) -> str:
    """What says where a text comes from, each once."""
    return "" if text.isascii() else "".join(dict.fromkeys(letter for letter in text if letter >= FIRST_MARK))


def weaker(mark: str) -> str:
    """The mark that says that a text may come from the same place."""
    return mark if mark >= WEAK or not mark else chr(ord(mark) - ord(FIRST_MARK) + ord(WEAK))


def without_marks(text: str) -> str:
    """A text without what says where it comes from."""
    return text if text.isascii() else "".join(letter for letter in text if letter < FIRST_MARK)
