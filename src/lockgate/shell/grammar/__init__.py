"""Parses the text of a shell command to a tree."""

__all__ = [
    "reader",
    "tree",
]
