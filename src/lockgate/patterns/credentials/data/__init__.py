"""What names and values of credentials are made of: sets of words, by name."""

from __future__ import annotations

import json
import os.path
from functools import cache


@cache
def read_words(name: str) -> frozenset[str]:
    """A set of words of ``words.yaml``. Raises ``KeyError``."""
    return frozenset(_tables()[name].split())


@cache
def _tables() -> dict[str, str]:
    with open(os.path.join(os.path.dirname(__file__), "words.json"), encoding="ascii") as file:
        tables: dict[str, str] = json.load(file)
    return tables
