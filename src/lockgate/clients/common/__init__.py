"""What the adapters of several clients share."""

__all__ = [
    "guarded_sessions",
    "hook_command",
    "payload",
    "session_logs",
]
