"""Holds what is known about the languages of inline code: one compiled table a language."""

from __future__ import annotations

import json
import os.path
from collections.abc import Mapping
from functools import cache

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


@cache
def language(name: str) -> Mapping[str, Any]:
    """The table of a language. Lists of words are sets already where the table's author wrote one text."""
    path = os.path.join(os.path.dirname(__file__), f"{name}.json")
    with open(path, encoding="ascii") as file:
        found: Mapping[str, Any] = json.load(file)
    return found
