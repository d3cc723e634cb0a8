"""The append-only record of decisions.

This package imports nothing by itself: ``record`` is on the hot path, ``chain`` is not.
"""

__all__ = [
    "archives",
    "bodies",
    "chain",
    "exports",
    "pruning",
    "record",
    "refusals",
]
