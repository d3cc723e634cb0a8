"""Secrets whose values are known by keyed hash, and canaries."""

__all__ = [
    "canary_formats",
    "values",
]
