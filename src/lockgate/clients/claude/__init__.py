"""Claude Code."""

__all__ = [
    "answers",
    "events",
    "results",
]
