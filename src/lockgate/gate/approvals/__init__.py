"""How a person lets one action through."""

__all__ = [
    "answering",
    "endorsing",
    "fetches",
    "notification_text",
    "notifiers",
    "questions",
    "waiting",
    "wakeups",
]
