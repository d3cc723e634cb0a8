"""Copying a store into another one."""

__all__ = [
    "copying",
    "ends",
]
