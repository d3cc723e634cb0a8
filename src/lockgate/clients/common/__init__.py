"""What the adapters of several clients share."""

__all__ = [
    "hook_command",
]
