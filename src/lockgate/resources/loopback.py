"""Tells which hosts are this machine, whoever asks. What is sent there needs no encryption."""

from __future__ import annotations


def is_loopback(host: str) -> bool:
    """Whether only this machine can be reached by a name or an address.

    Spellings that resolvers take and that nobody uses (``127.1``, ``0177.0.0.1``) are none: a false yes would send a
    secret in clear.

    Args:
        host: In lower case, an IPv6 address without its brackets.
    """
    if host in ("localhost", "::1"):
        return True
    parts = host.split(".")
    return len(parts) == 4 and parts[0] == "127" and all(map(_is_octet, parts))


def _is_octet(text: str) -> bool:
    return 0 < len(text) <= 3 and text.isascii() and text.isdigit() and str(int(text)) == text and int(text) < 256
