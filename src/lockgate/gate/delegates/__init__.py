"""Delegates: the briefs that a person reads, and the steps in them."""

__all__ = [
    "briefs",
]
