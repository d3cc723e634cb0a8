"""Configuration layers, profiles, and the decision."""

__all__ = [
    "compiled",
    "decide",
    "git",
    "lockbox",
    "profiles",
    "report",
    "steps",
    "validation",
]
