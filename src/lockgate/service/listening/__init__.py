"""Sockets that strangers can connect to: limits and timeouts."""

__all__ = [
    "timeout_protocol",
]
