"""The layers of configuration files, in the order in which they bind."""

__all__ = [
    "files",
]
