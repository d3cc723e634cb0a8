"""Makes canaries: values that look like keys and open nothing, so that nobody has a reason to send one.

Each shape is that of a real kind of key, drawn at random. Where the kind has a checksum, it holds: who steals keys
checks that before anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lockgate.core.record import Record

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""In the order in which GitHub counts, for the checksum."""
_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

Choose = Callable[[str, int], str]
"""Draws so many characters of an alphabet."""


class Canary(Record):
    """A new canary."""

    values: tuple[str, ...]
    """What is looked for."""
    text: str
    """What a person puts somewhere, with the values in it."""


def _aws(choose: Choose) -> Canary:
    """https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html and its access keys: 20 and 40."""
    key = "AKIA" + choose(_BASE32, 16)
    secret = choose(_BASE62 + "+/", 40)
    return Canary((key, secret), f"aws_access_key_id = {key}\naws_secret_access_key = {secret}")


def _github(choose: Choose) -> Canary:
    """A classic personal token: 30 random characters and a CRC-32 of them in base 62.

    https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/
    """
    from binascii import crc32

    body = choose(_BASE62, 30)
    number, checksum = crc32(body.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        checksum = _BASE62[digit] + checksum
    value = f"ghp_{body}{checksum}"
    return Canary((value,), value)


def _env(choose: Choose) -> Canary:
    value = choose(_BASE62, 40)
    return Canary((value,), f"PROD_API_SECRET={value}")


def _url(choose: Choose) -> Canary:
    """A name below ``.invalid``, which never resolves (RFC 2606)."""
    value = choose(_LOWER + "0123456789", 24)
    return Canary((value,), f"https://backup.invalid/export/{value}")


def _text(choose: Choose) -> Canary:
    value = choose(_BASE62, 32)
    return Canary((value,), value)


SHAPES: Mapping[str, Callable[[Choose], Canary]] = {
    "aws": _aws,
    "github": _github,
    "env": _env,
    "url": _url,
    "text": _text,
}
"""What a canary can look like, by name."""


def make(shape: str, random: Callable[[int], int]) -> Canary:
    """Make a canary.

    Args:
        shape: One of ``SHAPES``.
        random: Gives an unpredictable number below another one: ``secrets.randbelow``.
    """

    def choose(alphabet: str, count: int) -> str:
        return "".join(alphabet[random(len(alphabet))] for _ in range(count))

    return SHAPES[shape](choose)
