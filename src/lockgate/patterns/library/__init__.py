"""The pattern library's text: reading, merging and compiling the YAML files."""

__all__ = [
    "linking",
    "loading",
    "merging",
]
