"""The HTTP API and its pages, in a process of their own. It reads the store; of itself it decides nothing."""

__all__ = [
    "auth",
    "context",
    "serve",
]
