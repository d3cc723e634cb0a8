"""Matching the pattern library against texts within a time budget."""

__all__ = [
    "compiling",
    "known_index",
    "matcher",
    "request",
    "results",
    "scanner",
]
