"""Validators of keys and tokens: checksums and structure that their issuers document."""

from __future__ import annotations

from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def from_base64url(text: str) -> bytes | None:
    """The bytes of base64url without padding (RFC 4648, section 5), ``None`` where it is none."""
    from binascii import Error, a2b_base64

    if not text.isascii() or "+" in text or "/" in text:
        return None
    body = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return a2b_base64(body + "=" * (-len(body) % 4), strict_mode=True)
    except Error:
        return None


def _json_object(text: str) -> dict[str, Any] | None:
    from json import loads

    raw = from_base64url(text)
    if raw is None or not raw.startswith(b"{"):
        return None
    try:
        value = loads(raw)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def jwt(value: str) -> bool:
    """Whether it is a JSON Web Token in compact form (RFC 7515 and 7516).

    The header names an algorithm. A signature may be missing only where the algorithm is ``none``; an encrypted token
    has five parts.
    """
    parts = value.split(".")
    header = _json_object(parts[0])
    algorithm = header.get("alg") if header else None
    if header is None or not isinstance(algorithm, str):
        return False
    if len(parts) == 5:
        return "enc" in header and all(from_base64url(part) is not None for part in parts)
    if len(parts) != 3 or not parts[1] or from_base64url(parts[1]) is None:
        return False
    if not parts[2]:
        return algorithm.lower() == "none"
    return from_base64url(parts[2]) is not None
