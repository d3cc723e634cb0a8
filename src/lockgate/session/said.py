"""What is kept of a result, so that a person can be shown what they say is fine."""

from __future__ import annotations

from lockgate.analysis.redact import redact
from lockgate.digests import sha256
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

LINES = 20
"""How many lines of a result a person is shown."""
_MOST = 6000
"""Characters of these lines that are kept. Where they are longer, nobody is shown all of them, and nothing is kept."""


def beginning(text: str) -> dict[str, Any]:
    """What is kept of a result so that a person can be shown what they endorse; nothing where its lines are too long.

    Args:
        text: The whole result as it enters the context, without secrets.
    """
    lines = text.split("\n")
    shown = "\n".join(lines[:LINES])
    if not shown.strip() or len(shown) > _MOST:
        return {}
    return {
        "text": redact(shown),
        "lines": len(lines),
        "digest": sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
    }
