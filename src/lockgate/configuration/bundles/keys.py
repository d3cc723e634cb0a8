"""Ed25519 keys (RFC 8032). A public one is an OpenSSH line: ``ssh-ed25519 AAAA... acme-policy-2026``.

The library ``cryptography`` does the arithmetic. It is imported where something is signed or verified, and only there.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64

from lockgate.core.display_text import visible
from lockgate.core.errors import BundleError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.digests import sha256
from lockgate.system.libraries import library

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KIND = "ssh-ed25519"
_PREFIX = len(KIND).to_bytes(4, "big") + KIND.encode() + (32).to_bytes(4, "big")
"""What stands before the 32 bytes of a key in OpenSSH's format (RFC 8709, section 4)."""
_LONGEST_COMMENT = 100
_NO_BCRYPT = "the passphrase of a key in OpenSSH's format takes the library bcrypt: pip install bcrypt"
NOT_INSTALLED = "the library cryptography is not installed: in a clone of Lockgate, pip install '.[fleet]'"


class PublicKey(Record):
    """A key that signatures are verified with."""

    raw: bytes
    """Its 32 bytes."""
    comment: str = ""
    """What its owner calls it."""

    @property
    def id(self) -> str:
        """Its fingerprint, as ``ssh-keygen -lf`` tells it."""
        return "SHA256:" + _text(sha256(_PREFIX + self.raw).digest()).rstrip("=")

    @property
    def line(self) -> str:
        """The key as a line of text."""
        return f"{KIND} {_text(_PREFIX + self.raw)} {self.comment}".rstrip()


class MissingLibraryError(BundleError):
    """The library that verifies signatures is not installed."""


def _text(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()


def parse(line: str) -> PublicKey:
    """Read a public key.

    Raises:
        BundleError: It is none of Ed25519.
    """
    kind, _, rest = line.strip().partition(" ")
    text, _, comment = rest.strip().partition(" ")
    try:
        blob = a2b_base64(text, strict_mode=True)
    except (Base64Error, ValueError):
        blob = b""
    if kind != KIND or not blob.startswith(_PREFIX) or len(blob) != len(_PREFIX) + 32:
        raise BundleError(f"not a public key such as `{KIND} AAAA... name`: {visible(line, 60)!r}")
    return PublicKey(blob[len(_PREFIX) :], visible(comment.strip(), _LONGEST_COMMENT))


def verifies(key: PublicKey, signature: bytes, message: bytes) -> bool:
    """Whether a signature of a message is by this key.

    Raises:
        MissingLibraryError: The library is not installed.
    """
    _need_library()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(key.raw).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


class PrivateKey:
    """A key that signs. It is never printed, and written only by :meth:`pem`."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        """Use :meth:`generate` or :meth:`load`."""
        self._key = key

    @classmethod
    def generate(cls) -> PrivateKey:
        """A new key.

        Raises:
            MissingLibraryError: The library is not installed.
        """
        _need_library()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load(cls, data: bytes, passphrase: bytes | None, ask: Callable[[], bytes] | None = None) -> PrivateKey:
        """Read a key: PKCS #8 in PEM, as :meth:`pem` writes it, or OpenSSH's own format.

        Args:
            data: The content of its file.
            passphrase: Its passphrase, where that is known.
            ask: Asks a person for the passphrase, where it has one that is not known.

        Raises:
            BundleError: It is none, or the passphrase is another, or is missing.
            MissingLibraryError: The library is not installed.
        """
        _need_library()
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

        read = load_ssh_private_key if data.startswith(b"-----BEGIN OPENSSH") else load_pem_private_key
        try:
            key = read(data, passphrase)
        except TypeError:
            if passphrase is None and ask is not None:
                return cls.load(data, ask())
            needs = "needs a passphrase" if passphrase is None else "has no passphrase"
            raise BundleError(f"the private key {needs}") from None
        except (ValueError, UnsupportedAlgorithm) as error:
            lacking = "bcrypt" in str(error)
            raise BundleError(_NO_BCRYPT if lacking else "not a private key, or another passphrase") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise BundleError("the private key is none of Ed25519")
        return cls(key)

    def public(self, comment: str = "") -> PublicKey:
        """The key that others verify with."""
        return PublicKey(self._key.public_key().public_bytes_raw(), visible(comment, _LONGEST_COMMENT))

    def sign(self, message: bytes) -> bytes:
        """The signature of a message, 64 bytes."""
        return self._key.sign(message)

    def pem(self, passphrase: bytes | None) -> bytes:
        """The key as a file, encrypted where there is a passphrase."""
        from cryptography.hazmat.primitives.serialization import (
            BestAvailableEncryption,
            Encoding,
            KeySerializationEncryption,
            NoEncryption,
            PrivateFormat,
        )

        lock: KeySerializationEncryption = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock)


def _need_library() -> None:
    try:
        library("cryptography")
    except ImportError:
        raise MissingLibraryError(NOT_INSTALLED) from None
