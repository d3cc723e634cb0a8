"""The host's side: deciding for containers, which can reach nothing here but what they ask."""

__all__ = [
    "groups",
    "serve",
]
