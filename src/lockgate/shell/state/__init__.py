"""Holds what the analysis knows at a point of a command: variables, findings, texts with unknown parts."""

__all__ = [
    "abstract_text",
    "scope",
]
