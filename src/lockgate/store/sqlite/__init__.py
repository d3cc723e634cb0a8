"""The store in SQLite: the default."""

__all__ = [
    "checkpoint",
    "copies",
    "group_commit",
    "head_anchors",
    "store",
]
