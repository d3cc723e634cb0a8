"""The ground: what every room may import and what imports nothing of ours."""

__all__ = [
    "display_text",
    "errors",
    "events",
    "lazy",
    "model",
    "questions",
    "record",
    "version",
]
