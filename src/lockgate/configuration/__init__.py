"""What is set up: configuration files, bundles, pattern libraries, known secrets, plugins."""

__all__ = [
    "bundles",
    "known_secrets",
    "layers",
    "load",
    "pattern_library",
    "pause",
    "plugins",
]
