"""Validators of keys with a checksum or an inner structure: PEM, Base58Check, Bech32."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.system.digests import sha256

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def _bech32_step(top: int) -> int:
    """What the five bits that leave the checksum do to the rest."""
    step = 0
    for bit, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
        if top >> bit & 1:
            step ^= generator
    return step


_BECH32_STEPS = tuple(map(_bech32_step, range(32)))

_PEM_LINE = lazy_re(r"-----(BEGIN|END) ([A-Z0-9 ]+)-----")
_PEM_NOISE = lazy_re(r"\\[nrt]|[\"']\s*\+?|[\s,\\]")
_PEM_HEADER = lazy_re(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ?[\w ,./()-]*")
_SHORTEST_KEY = 48
"""Characters of the shortest private key in PEM: those of Ed25519 have 64."""


def pem(value: str) -> bool | None:
    """Whether it is a block of PEM (RFC 7468) with a key in it, also where its line ends are written as in JSON.

    ``None`` for a block that is cut off or encrypted. Rejects what is too short for a key, or shows only its begin.
    """
    lines = _PEM_LINE.findall(value)
    body = _PEM_NOISE.sub("", _PEM_HEADER.sub("", _PEM_LINE.sub("", value)))
    if "..." in body or "…" in body:
        return False
    ended = any(kind == "END" for kind, _ in lines)
    if len(body) < _SHORTEST_KEY:
        return False if ended else None
    return True if ended and _holds_a_key(body.partition("=")[0]) else None


def _holds_a_key(body: str) -> bool:
    """Whether base64 holds the start of a key: DER of the right length, OpenSSH's magic, or an OpenPGP packet."""
    from binascii import Error, a2b_base64

    try:
        raw = a2b_base64(body + "=" * (-len(body) % 4), strict_mode=True)
    except (Error, ValueError):
        return False
    if raw.startswith(b"openssh-key-v1\0") or raw[0] in (0x94, 0x95, 0x97, 0xC5):
        return True
    # SEQUENCE with a length in one byte, or in as many bytes as the low bits of the first say.
    if raw[0] != 0x30:
        return False
    if raw[1] < 0x80:
        return raw[1] == len(raw) - 2
    size = raw[1] & 0x7F
    return size <= 4 and int.from_bytes(raw[2 : 2 + size], "big") == len(raw) - 2 - size


def base58check(value: str) -> bool:
    """Whether the last four bytes are the checksum of the rest: Bitcoin's private and extended keys.

    Source: https://github.com/bitcoin/bips/blob/master/bip-0032.mediawiki#serialization-format
    """
    number = 0
    for char in value[:200]:
        digit = _BASE58.find(char)
        if digit < 0:
            return False
        number = number * 58 + digit
    raw = bytes(len(value) - len(value.lstrip("1"))) + number.to_bytes((number.bit_length() + 7) // 8, "big")
    return len(raw) > 4 and sha256(sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]


def bech32(value: str) -> bool:
    """Whether the last six characters are the checksum of the rest (BIP 173): age's secret keys.

    Source: https://github.com/C2SP/C2SP/blob/main/age.md
    """
    low = value.lower()
    prefix, _, data = low[:200].rpartition("1")
    symbols = [_BECH32.find(char) for char in data]
    if value not in (low, value.upper()) or not prefix or len(data) < 6 or -1 in symbols or not prefix.isascii():
        return False
    codes = prefix.encode()
    checksum = 1
    for symbol in (*(code >> 5 for code in codes), 0, *(code & 31 for code in codes), *symbols):
        checksum = (checksum & 0x1FFFFFF) << 5 ^ symbol ^ _BECH32_STEPS[checksum >> 25]
    return checksum == 1


def nats_seed(value: str) -> bool:
    """Whether it is a seed of NATS: 34 bytes in base32 that end in their CRC-16 (XMODEM, the low byte first).

    Source: https://github.com/nats-io/nkeys
    """
    from binascii import crc_hqx

    raw = _decode_base32(value)
    return raw is not None and len(raw) == 36 and crc_hqx(raw[:-2], 0) == int.from_bytes(raw[-2:], "little")


_LEAST_SEED = 10
"""Bytes: RFC 4226 asks for 16, and most services give 10 or 20."""


def base32_seed(value: str) -> bool | None:
    """Whether it may be the secret of one-time passwords: base32 of a length that bytes come to, with enough of them.

    Source: https://www.rfc-editor.org/rfc/rfc4226#section-4
    """
    raw = _decode_base32(value.rstrip("="))
    enough = raw is not None and len(raw) >= _LEAST_SEED and len(set(value)) >= 6
    return None if enough and any(map(str.isdigit, value)) else False


def _decode_base32(text: str) -> bytes | None:
    """The bytes of base32 without padding, whose last character says nothing beyond them; ``None`` where it is none."""
    from base64 import b32decode, b32encode
    from binascii import Error

    try:
        raw = b32decode(text + "=" * (-len(text) % 8))
    except (Error, ValueError):
        return None
    return raw if b32encode(raw).decode().rstrip("=") == text else None
