"""The store in SQLite: the default."""

__all__ = [
    "checkpoint",
    "copies",
    "create",
    "group_commit",
    "restoring",
    "rollback",
    "store",
]
