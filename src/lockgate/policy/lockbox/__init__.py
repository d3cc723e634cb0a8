"""Reading and merging the ``lockbox.json`` of Lockbox."""

__all__ = [
    "merging",
]
