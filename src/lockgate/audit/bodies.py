"""What a record of the audit says, whoever wrote it: what is not of its type is taken for empty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def body_of(text: str) -> dict[str, Any]:
    """A record's body; where it is no JSON object, one of an event ``unreadable``."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    return body if isinstance(body, dict) else {"event": "unreadable"}


def part(value: object) -> Mapping[str, Any]:
    """An object."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """A list."""
    return value if isinstance(value, list) else []
