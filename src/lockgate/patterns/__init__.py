"""The pattern library: what must not go into a tool, and what is taken out of what comes back.

Pure, as all of the analysis: what has I/O (files, the clock, the compiled database, known secrets of this machine) is
handed in. See ``docs/patterns.md``.
"""

__all__ = [
    "credentials",
    "engine",
    "fields",
    "known_values",
    "library",
    "model",
    "redaction",
    "validators",
]
