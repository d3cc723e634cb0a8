"""Validators of keys and tokens: checksums and structure that their issuers document."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING

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


def jwt(value: str) -> bool | None:
    """Whether it is a JSON Web Token in compact form (RFC 7519, 7515 and 7516).

    The header names an algorithm, the payload is an object. A signature may be missing only where the algorithm is
    ``none``. An encrypted token has five parts. The token of John Doe, which tutorials show, is none.
    """
    parts = value.split(".")
    header = _json_object(parts[0])
    algorithm = header.get("alg") if header else None
    if header is None or not isinstance(algorithm, str):
        return False
    if len(parts) == 5:
        return "enc" in header and all(from_base64url(part) is not None for part in parts)
    if len(parts) != 3 or (not parts[2] and algorithm.lower() != "none") or from_base64url(parts[2]) is None:
        return False
    claims = _json_object(parts[1])
    if claims is None:  # RFC 7515 signs anything
        return None if parts[1] and from_base64url(parts[1]) else False
    return not (claims.get("sub") == "1234567890" and claims.get("name") == "John Doe")


def claims_of(token: str) -> dict[str, Any]:
    """The claims of a signed JSON Web Token; none where it is no such token."""
    parts = token.split(".")
    return (_json_object(parts[1]) if len(parts) == 3 else None) or {}


_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


_BODY, _CHECKSUM = 36, 6
"""Characters behind the prefix of GitHub's and npm's tokens, and how many of them are the checksum."""


def _encode_base62(number: int, digits: int) -> str:
    """The number's last digits in base 62, with zeros in front."""
    written = ""
    for _ in range(digits):
        number, digit = divmod(number, 62)
        written = _BASE62[digit] + written
    return written


def _ends_in_crc32(body: str) -> bool:
    """Whether the last six characters are the CRC-32, in base 62, of those before them."""
    from zlib import crc32

    return body.endswith(_encode_base62(crc32(body[:-_CHECKSUM].encode("utf-8", "surrogatepass")), _CHECKSUM))


def _proven_by_crc32(value: str, prefixes: tuple[str, ...]) -> bool | None:
    """``True`` for a prefix, 30 characters and their checksum; ``None`` for all else, and never ``False``."""
    prefix = next((prefix for prefix in prefixes if value.startswith(prefix)), None)
    if prefix is None or len(value) != len(prefix) + _BODY:
        return None
    return True if _ends_in_crc32(value[len(prefix) :]) else None


def github_checksum(value: str) -> bool | None:
    """Proves GitHub's tokens of 40 characters by their checksum.

    A wrong checksum rejects nothing: newer kinds of tokens have none, and a token with a typing error tells most of
    itself. Source: https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/
    """
    return _proven_by_crc32(value, ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"))


def npm_checksum(value: str) -> bool | None:
    """Proves npm's tokens by their checksum, which is GitHub's.

    Source: https://github.blog/2021-09-23-announcing-npms-new-access-token-format/
    """
    return _proven_by_crc32(value, ("npm_",))


_AWS_ACCOUNTS = 10**12


def aws_access_key_id(value: str) -> bool | None:
    """Whether an AWS account number can be read from a key id: what ids made since 2019 hold.

    ``None`` for older ones, and for what Amazon would not have made: that only the length is certain. Source:
    https://labs.withsecure.com/publications/a-bitwise-analysis-of-aws-access-key-identifiers
    """
    from base64 import b32decode
    from binascii import Error

    try:
        raw = b32decode(value[4:])
    except (Error, ValueError):
        return None
    if len(raw) != 10 or not raw[0] & 0x80:
        return None
    account = (int.from_bytes(raw[:6], "big") >> 7) & (1 << 40) - 1
    return True if 0 < account < _AWS_ACCOUNTS else None


def discord_token(value: str) -> bool | None:
    """Whether the first part is the id of an account: a number of 17 to 20 digits in base64url.

    Any other is plausible where the first and the last part mix small and capital letters and digits, as no name does.

    Source: https://discord.com/developers/docs/reference#authentication
    """
    if value.startswith("mfa."):
        return None
    parts = value.split(".")
    account = from_base64url(parts[0])
    if len(parts) != 3:
        return False
    if account is not None and account.isdigit() and 17 <= len(account) <= 20:
        return True
    return None if all(_is_mixed(part) for part in (parts[0], parts[2])) else False


def _is_mixed(part: str) -> bool:
    """Whether a part has small letters, capital letters and digits, two of each."""
    return all(sum(map(kind, part)) >= 2 for kind in (str.islower, str.isupper, str.isdigit))


def telegram_token(value: str) -> bool | None:
    """Whether it may be a bot's token: the bot's number, a colon, 35 characters that are not all alike.

    Source: https://core.telegram.org/bots/api#authorizing-your-bot
    """
    number, _, secret = value.partition(":")
    if not number.isdigit() or number[0] == "0" or not 8 <= len(number) <= 10:
        return False
    return None if len(secret) == 35 and len(set(secret)) >= 8 else False
