"""Putting hooks into the clients' settings, and checking them."""

__all__ = [
    "claude",
    "claude_checks",
    "claude_settings_view",
    "other_checks",
    "registration",
    "session_checks",
]
