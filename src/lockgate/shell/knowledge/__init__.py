"""Holds the tables of programs, and matches words with an entry's options."""

__all__ = [
    "lookup",
    "options",
]
