"""Finds known secrets by value, with an index that does not hold the values.

A value is kept as *marks*. Each mark stands for one form of it (:mod:`lockgate.patterns.known_values.encodings`) and
has

* a *signature*: up to twelve characters of the form's text, each replaced by one of ten letters. Which characters share
  a letter is drawn from the installation's salt. All text that is scanned is replaced in the same way, in one pass. So
  Hyperscan finds all signatures as plain literals, at any offset.
* the length of the text, and a keyed hash of it. A signature alone says little; where one is found, the text around it
  is a hit only if its hash is the same.

For long values there are marks of *windows* too: pieces that are found where the rest is not.

``docs/known-secrets.md`` says what a reader of an index with its salt can learn, and which pieces of a value are found.
"""

from __future__ import annotations

from enum import StrEnum

from lockgate.core.record import Record
from lockgate.patterns.known_values import encodings
from lockgate.system.digests import blake2b

SHORTEST = 8
"""Bytes of the shortest value that can be kept: less is found in text by chance."""

_CLASSES = b"abcdefghij"
SIGNATURE = 12
"""Bytes of the longest signature."""
_WINDOW = 16
_WINDOW_SIGNATURE = 8
_WINDOW_DIGEST = 2
"""Bytes of the hash of a window. Cut short: a whole one would let each window be guessed for itself."""
DIGEST = 8
"""Bytes of the hash of a form."""
_BITS = 3.33
"""log2(10): what a character of a signature gives away."""
_HIDDEN = 60.0
"""Bits of a value that windows must leave unknown to a reader of the index."""


class KnownKind(StrEnum):
    """The reason why a value is looked for."""

    SECRET = "known_secret"  # noqa: S105 - a word, not a password
    CANARY = "canary"


class Named(Record):
    """A value that is secret, in clear."""

    name: str
    """Where it comes from, for a person: ``.env: STRIPE_KEY``. Untrusted text."""
    value: bytes
    kind: KnownKind = KnownKind.SECRET


class Mark(Record):
    """The index entry of one form of a value."""

    signature: bytes
    offset: int
    """Bytes of the signature in the form's text."""
    length: int
    """Bytes of the form's text."""
    form: int
    digest: bytes


class KnownValue(Record):
    """The index entry of one value."""

    name: str
    kind: KnownKind
    marks: tuple[Mark, ...]
    since: float = 0.0
    """Seconds since the epoch when its source was without it for the first time; 0 while it is there."""


class KnownHit(Record):
    """A place in a text where a known value stands. Offsets are bytes."""

    start: int
    end: int
    name: str
    form: str
    """One of :data:`lockgate.patterns.known_values.encodings.FORMS`."""
    kind: KnownKind = KnownKind.SECRET


class DamagedIndex(ValueError):  # noqa: N818 - it is what is wrong with the bytes
    """The bytes are no index of this installation, of this version, or for this processor: build it anew."""


# ---------------------------------------------------------------- from a value to what is kept of it


class Marker:
    """Turns text into what is kept of it, with an installation's salt."""

    def __init__(self, salt: bytes) -> None:
        """Draw the classes of bytes.

        Args:
            salt: 16 to 64 secret bytes.
        """
        self._key = blake2b(salt, person=b"known digest").digest()
        self.table = _partition(salt)

    def digest(self, text: bytes, size: int = DIGEST) -> bytes:
        """The keyed hash of a text."""
        return blake2b(text, key=self._key, digest_size=DIGEST).digest()[:size]

    def entry(self, named: Named) -> KnownValue:
        """What is kept of a value.

        Raises:
            ValueError: It has less than ``SHORTEST`` bytes, or more than 65,535 in one of its forms.
        """
        value = named.value
        if len(value) < SHORTEST:
            raise ValueError(f"a value must have at least {SHORTEST} bytes to be found")
        marks = [self._mark(form, text) for form, text in encodings.whole_forms(value)]
        marks += [
            Mark(
                value[at : at + _WINDOW_SIGNATURE].translate(self.table),
                0,
                _WINDOW,
                encodings.PART,
                self.digest(value[at : at + _WINDOW], _WINDOW_DIGEST),
            )
            for at in windows(value)
        ]
        if any(mark.length > 0xFFFF for mark in marks):
            raise ValueError("a value is too long to be looked for")
        return KnownValue(named.name, named.kind, tuple(marks))

    def _mark(self, form: int, text: bytes) -> Mark:
        # All forms give away the same few bytes, the first: a reversed text has them at its end.
        offset = max(len(text) - SIGNATURE, 0) if form == encodings.REVERSED else 0
        signature = text[offset : offset + SIGNATURE].translate(self.table)
        return Mark(signature, offset, len(text), form, self.digest(text))


def windows(value: bytes) -> list[int]:
    """Where the pieces of a value begin that are found for themselves: 16 bytes each.

    The first and the last one come first, then those between. Enough of the value stays unknown to a reader of the
    index. What other values have too is no piece: what stands before the last separator of a public prefix, and all of
    a JSON Web Token but its signature.
    """
    first = _public(value)
    last = len(value) - _WINDOW
    if last < first + 4:
        return []
    left = encodings.entropy_at_most(value[max(first, SIGNATURE) :]) - _HIDDEN
    kept: list[int] = []
    for at in (first, last, *range(first + _WINDOW, last, _WINDOW)):
        # The signatures of whole forms give away the first bytes already.
        left -= 8 * _WINDOW_DIGEST + _BITS * min(max(at + _WINDOW_SIGNATURE - SIGNATURE, 0), _WINDOW_SIGNATURE)
        if left < 0:
            break
        kept.append(at)
    return sorted(kept) if len(kept) > 1 else []


def _public(value: bytes) -> int:
    """Length of the beginning that is no secret: ``sk_live_``, ``github_pat_``, the claims of a token."""
    if value.startswith(b"eyJ") and value.count(b".") == 2:
        return value.rindex(b".") + 1
    end = 0
    for at, byte in enumerate(value[:24]):
        if byte in b"_-." and at - end <= 10 and value[end:at].isalnum():
            end = at + 1
    return end


def _partition(salt: bytes) -> bytes:
    """A table for ``bytes.translate``: each kind of character is dealt out evenly to the classes."""
    stream = b"".join(blake2b(bytes((part,)), key=salt, person=b"known classes").digest() for part in range(8))
    kinds = [range(48, 58), range(65, 91), range(97, 123)]
    kinds.append([byte for byte in range(256) if not any(byte in kind for kind in kinds)])  # type: ignore[arg-type]
    table = bytearray(256)
    dealt = 0
    for kind in kinds:
        for byte in sorted(kind, key=lambda byte: stream[2 * byte : 2 * byte + 2]):
            table[byte] = _CLASSES[dealt % len(_CLASSES)]
            dealt += 1
    return bytes(table)
