"""Fences foreign text between lines that it cannot imitate.

Each line of a fence holds a marker that is drawn for one question and does not occur in the text of any block. So no
text can end its block, begin another, or speak from outside one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lockgate.core.display_text import visible_block
from lockgate.core.record import Record

_BYTES = 16
_LONGEST = 10_000_000
"""Characters of a line: none is cut here, because what is cut would not be judged."""


class Block(Record):
    """A foreign text."""

    name: str
    """What it is, in our own words."""
    text: str


def readable(text: str) -> str:
    """A text in which nothing is hidden: marks that show nothing or turn text around are written as escapes."""
    return visible_block(text, _LONGEST)


def draw_marker(blocks: Iterable[Block], draw: Callable[[int], bytes]) -> str:
    """A marker that no block contains.

    Args:
        blocks: The blocks that it will enclose.
        draw: Gives so many random bytes.
    """
    texts = [block.text for block in blocks]
    while True:
        marker = draw(_BYTES).hex()
        if not any(marker in text for text in texts):
            return marker


def fence(marker: str, block: Block) -> str:
    """A block between its two lines.

    Raises:
        ValueError: The marker occurs in the block.
    """
    if marker in block.text or marker in block.name:
        raise ValueError("the marker occurs in the text that it is to enclose")
    return f"{marker} begin {block.name}\n{block.text}\n{marker} end {block.name}"
