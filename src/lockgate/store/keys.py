"""What is made from an installation's key, and tells nothing of it."""

from __future__ import annotations

from lockgate.digests import blake2b

_GATE = b"lockgate gate"  # blake2b takes at most 16 bytes of personalisation
_FLEET = b"lockgate fleet"


def gate_of(key: bytes) -> str:
    """A gate's id: 32 hexadecimal digits, as random as its key is."""
    return blake2b(b"", key=key, person=_GATE, digest_size=16).hexdigest()


def fleet_key_of(key: bytes) -> bytes:
    """The key of a fleet that so far has one gate: 32 bytes. A shared store that it moves to takes it over."""
    return blake2b(b"", key=key, person=_FLEET, digest_size=32).digest()
