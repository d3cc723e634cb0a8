"""Seals a message: one line with its authentication code, then its text, which is JSON.

::

    LOCKGATE/1 <HMAC-SHA256 of what follows the line, hexadecimal>
    {"id": ...}

The code is over the very bytes that are sent, so that nothing rests on two sides spelling a JSON value alike. Requests
and answers are sealed under different names: no request can be passed off as an answer.
"""

from __future__ import annotations

from _operator import _compare_digest

from lockgate.core.errors import RemoteError
from lockgate.system.digests import sha256

MAX_MESSAGE = 8 * 1024 * 1024
"""Most bytes of one message, with its seal."""
REQUEST, ANSWER = b"request", b"answer"
MARK = b"LOCKGATE/1 "
_BLOCK = 64
"""Bytes of a block of SHA-256: RFC 2104 pads the key to as many."""
_INNER, _OUTER = (bytes(b ^ 0x36 for b in range(256)), bytes(b ^ 0x5C for b in range(256)))
_SEAL = len(MARK) + 64


def is_same(one: bytes, other: bytes) -> bool:
    """Whether two secrets are equal, in a time that does not tell where they differ."""
    return _compare_digest(one, other)


def hmac_sha256(key: bytes, *parts: bytes) -> str:
    """HMAC-SHA256 (RFC 2104) of the parts one after another, hexadecimal.

    The interpreter's ``hmac`` imports OpenSSL, which costs a hook more than all that it does with it.
    """
    if len(key) > _BLOCK:
        key = sha256(key).digest()
    key = key.ljust(_BLOCK, b"\0")
    inner = sha256(key.translate(_INNER))
    for part in parts:
        inner.update(part)
    return sha256(key.translate(_OUTER) + inner.digest()).hexdigest()


def authentication_code(key: bytes, purpose: bytes, text: bytes) -> str:
    """The authentication code of a text that is sent for a purpose, hexadecimal."""
    return hmac_sha256(key, b"lockgate ipc 1 ", purpose, b"\0", text)


def seal(key: bytes, purpose: bytes, text: bytes) -> bytes:
    """A message that nobody without the key can make.

    Args:
        key: The container's.
        purpose: ``REQUEST`` or ``ANSWER``.
        text: What is said.
    """
    return b"%s%s\n%s" % (MARK, authentication_code(key, purpose, text).encode(), text)


def unseal(key: bytes, purpose: bytes, message: bytes) -> bytes:
    """The text of a message that was sealed with the key.

    Raises:
        RemoteError: It was not, or not for this purpose, or it is not whole.
    """
    if len(message) > MAX_MESSAGE:
        raise RemoteError(f"the message is larger than {MAX_MESSAGE // (1024 * 1024)} MB")
    if not message.startswith(MARK) or message[_SEAL : _SEAL + 1] != b"\n":
        raise RemoteError("the message has no seal")
    text = message[_SEAL + 1 :]
    if not is_same(message[len(MARK) : _SEAL], authentication_code(key, purpose, text).encode()):
        raise RemoteError("the message's seal does not hold: it is forged, cut, or made with another key")
    return text


def digest(message: bytes) -> str:
    """SHA-256 of a whole message, hexadecimal: what an answer names the request by."""
    return sha256(message).hexdigest()
