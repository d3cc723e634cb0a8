"""Where the values come from that must not leave this machine, and the file that keeps an index of them."""

__all__ = [
    "canaries",
]
