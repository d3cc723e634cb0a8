"""Which addresses a session has seen whole. Only keyed hashes are kept: the state tells nobody where a session went."""

from __future__ import annotations

from collections.abc import Iterable

from lockgate.core.record import TYPE_CHECKING
from lockgate.system.digests import blake2b

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction

_PERSON = b"lockgate address"  # at most 16 bytes
KEYED = "keyed:"
"""What begins a keyed hash, hexadecimal, that stands for an address: no address begins so."""


def address_key(key: bytes, address: str) -> bytes:
    """The keyed hash (BLAKE2b, 16 bytes) of a whole, normalised address."""
    text = address.encode("utf-8", "surrogatepass")
    return blake2b(text, key=key, person=_PERSON, digest_size=16).digest()


def remember(tx: Transaction, key: bytes, session: str, addresses: Iterable[str], *, human: bool) -> None:
    """Remember addresses that a session has seen; ``human`` where a person gave them."""
    tx.add_addresses(session, [address_key(key, address) for address in addresses], human=human)


def knows(tx: Transaction, key: bytes, session: str, address: str, *, human_only: bool = False) -> bool:
    """Whether a session has seen an address. An empty address, which is one composed at run time, is never known."""
    if not address:
        return False
    try:
        digest = bytes.fromhex(address.removeprefix(KEYED)) if address.startswith(KEYED) else address_key(key, address)
    except ValueError:
        return False
    return tx.knows_address(session, digest, human_only=human_only)
