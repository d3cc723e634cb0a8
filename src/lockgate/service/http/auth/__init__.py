"""Who may use the dashboard: login links, tokens, sessions."""

__all__ = [
    "tokens",
]
