"""Random shell commands from a table of templates."""

from __future__ import annotations

import random
import re
import shlex
import tomllib
from collections.abc import Iterator
from itertools import count
from pathlib import Path

_SYMBOL = re.compile(r"@(['\"]?)([a-z]+)")


class Grammar:
    """Templates by name. ``@name`` in one stands for another; ``docs`` of the syntax is in the tables themselves."""

    def __init__(self, path: Path, deepest: int) -> None:
        self._templates: dict[str, list[str]] = tomllib.loads(path.read_text("utf-8"))
        self._deepest = deepest
        heights = self._heights()
        self._short = {name: self._below(name, heights, 1) for name in heights}
        self._shortest = {name: self._below(name, heights, 0) for name in heights}

    def texts(self, number: int, seed: str | int, start: str = "script") -> Iterator[str]:
        """Write texts; the same ones for the same seed."""
        for index in range(number):
            chance = random.Random(f"{seed}/{index}")
            yield self._write(start, chance, count(1), 0)

    def _write(self, name: str, chance: random.Random, numbers: count[int], depth: int) -> str:
        tables = (self._templates, self._short, self._shortest)
        templates = tables[(depth >= self._deepest) + (depth >= self._deepest + 4)][name]
        template = re.sub(r"@n\b|@n(?=@|[^a-z])", str(next(numbers)), chance.choice(templates))
        return _SYMBOL.sub(lambda match: _quoted(match[1], self._write(match[2], chance, numbers, depth + 1)), template)

    def _heights(self) -> dict[str, int]:
        """For each name, how many levels of templates its simplest text takes."""
        heights: dict[str, int] = {}
        while len(heights) < len(self._templates):
            known = {
                name: min(found)
                for name, templates in self._templates.items()
                if name not in heights and (found := [h for t in templates if (h := _height(t, heights)) is not None])
            }
            assert known, set(self._templates) - set(heights)
            heights |= known
        return heights

    def _below(self, name: str, heights: dict[str, int], more: int) -> list[str]:
        """The templates with which a text ends soonest, or ``more`` levels later."""
        return [text for text in self._templates[name] if (_height(text, heights) or 0) <= heights[name] + more]


def _height(template: str, heights: dict[str, int]) -> int | None:
    below = [heights.get(name) for _, name in _SYMBOL.findall(template) if name != "n"]
    return None if None in below else max((height + 1 for height in below if height is not None), default=0)


def _quoted(quote: str, text: str) -> str:
    if quote == "'":
        return shlex.quote(text)
    return re.sub(r'(["$`\\])', r"\\\1", text) if quote else text
