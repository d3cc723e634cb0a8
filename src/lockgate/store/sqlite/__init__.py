"""The store in SQLite: the default."""

__all__ = [
    "checkpoint",
    "copies",
    "create",
    "elsewhere",
    "group_commit",
    "restoring",
    "store",
]
