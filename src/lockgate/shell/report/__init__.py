"""Draws the analysis as a tree that a person can read."""

__all__ = [
    "outline",
]
