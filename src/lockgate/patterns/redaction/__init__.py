"""Taking credentials out of texts."""

__all__ = [
    "credentials",
    "spans",
]
