"""What a hook and a gate say to each other, on this machine and between machines."""

__all__ = [
    "envelope",
    "keys",
    "mailbox",
    "messages",
    "resident",
    "resident_control",
    "resident_files",
    "short_form",
]
