"""The agent clients: their hooks, installation, and the SDK."""

__all__ = [
    "adapter",
    "common",
    "hook",
    "install",
    "sdk",
    "wire",
]
