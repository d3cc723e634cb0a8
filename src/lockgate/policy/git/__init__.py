"""Rule sets that come with Lockgate and hold whatever a session has read, where a configuration sets them."""

__all__ = [
    "objections",
    "repository",
]
