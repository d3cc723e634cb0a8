"""The agent clients: their hooks, installation, and the SDK."""

__all__ = [
    "adapter",
    "claude",
    "common",
    "hook",
    "install",
    "sdk",
    "wire",
]
