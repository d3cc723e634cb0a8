"""The pattern library on a real machine: its files, and the cache of what they are compiled to."""

__all__ = [
    "examples",
    "layers",
    "library",
    "opening",
    "readiness",
]
