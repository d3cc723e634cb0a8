"""The tables of programs, and matching words with an entry's options."""

__all__ = [
    "lookup",
    "options",
]
