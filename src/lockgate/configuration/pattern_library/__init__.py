"""The pattern library on a real machine: its files, and the cache of what they are compiled to."""

__all__ = [
    "cache",
    "compiled",
    "examples",
    "layers",
    "library",
    "opening",
    "readiness",
]
