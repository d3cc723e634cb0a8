"""What a record of the audit says, whoever wrote it: what is not of its type is taken for empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from lockgate.system.digests import json_object

_MOST = 1e15
"""Larger numbers are none that a gate writes: sums of them are no numbers any more."""


def body_of(text: str) -> dict[str, Any]:
    """A record's body; where it is no JSON object, one of an event ``unreadable``."""
    body = json_object(text)
    return {"event": "unreadable"} if body is None else body


def part(value: object) -> Mapping[str, Any]:
    """An object."""
    return value if isinstance(value, dict) else {}


def number(value: object) -> float | None:
    """A number of a size that occurs; ``None`` where it is something else."""
    given = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST
    return float(cast(float, value)) if given else None


def items(value: object) -> list[Any]:
    """A list."""
    return value if isinstance(value, list) else []
