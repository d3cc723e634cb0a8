"""Random small scripts in which values reach the place of a program's name in many ways."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator
from itertools import count
from pathlib import Path

_GRAMMAR: dict[str, list[str]] = tomllib.loads((Path(__file__).parent / "flow_grammar.toml").read_text("utf-8"))
_SYMBOL = re.compile(r"@([a-z]+)")
_FUNCTION = re.compile(r"\b[fh]\b")
_DEEPEST = 3
"""How many blocks stand in each other; below, a block is a single simple command."""


class _Writer:
    """Writes one script."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.numbers = count(1)
        self.inside = 0
        """How many functions are being written."""

    def write(self, symbol: str, depth: int = 0) -> str:
        inside = symbol == "body"
        if symbol in ("block", "body"):
            depth += 1
            symbol = "block" if depth <= _DEEPEST else "straight"
        self.inside += inside
        template = self._choose(symbol).replace("@n", str(next(self.numbers)))
        text = _SYMBOL.sub(lambda match: self.write(match[1], depth), template)
        self.inside -= inside
        return text

    def _choose(self, symbol: str) -> str:
        # What a function runs is no function: scripts end.
        templates = [text for text in _GRAMMAR[symbol] if not (self.inside and _FUNCTION.search(text))]
        return self.chance.choice(templates)


def scripts(number: int, seed: int) -> Iterator[str]:
    """Write scripts; the same ones for the same seed."""
    for index in range(number):
        yield _Writer(random.Random(f"{seed}/{index}")).write("script")
