"""The store in SQLite: the default."""

__all__ = [
    "checkpoint",
    "copies",
    "elsewhere",
    "group_commit",
    "store",
]
