"""Judges the name that a value is assigned to: ``db_password`` holds a secret, ``password_length`` none."""

from __future__ import annotations

from itertools import pairwise

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.credentials.data import read_words

if TYPE_CHECKING:
    from collections.abc import Sequence


class NameKind(Record):
    """A kind of names, and how much it says that the value is a credential."""

    word: str
    evidence: float


PASSWORD = NameKind("password", 2.0)
"""People choose passwords: any word may be one."""
PASS = NameKind("pass", 1.5)
"""``pass`` alone, or of something: people choose it, but checks and tests pass too."""
SECRET = NameKind("secret", 1.5)
"""People choose some of these, most are made by machines."""
KEY = NameKind("key", 1.0)
TOKEN = NameKind("token", 1.0)
"""Machines make these: they look random."""
SOME_KEY = NameKind("some key", 0.0)
"""A key to a door or to a map."""
NOTHING = NameKind("", 0.0)

_PASSWORDS = read_words("passwords")
_NO_KEYS = read_words("no_keys")
_NO_PASSWORDS = read_words("no_passwords")
_SECRETS = read_words("secrets")
_TOKENS = read_words("tokens")
_KEYS = read_words("keys")
_OF_KEYS = read_words("of_keys")
"""What stands before ``key`` where it is a credential; a key in a map, a table or on a keyboard is none."""
_PARTS = ("password", "passwd", "passphrase", "passwort", "secret", "token", "apikey")
"""Endings of words that nobody has parted: ``dbpassword``."""

_NOT_AFTER = read_words("not_after")
"""Words behind that make it a name of something else."""
_NOT_BEFORE = read_words("not_before")
_ALWAYS_NOT_BEFORE = read_words("always_not_before")
"""These wherever they stand before; the others only as the first word."""

_HANDED_BACK = read_words("handed_back")
"""Words before ``token`` where whoever reads it is to give it back, to have done what they asked for."""

_HAVING = read_words("things") | read_words("whose")
"""What has a password, and whose it is: ``passAdmin`` is one, ``passArchitecture`` a pass over something."""

_WORD = lazy_re(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")


def words(name: str) -> Sequence[str]:
    """The words of a name in any case, in lower case: ``dbPassword_OLD`` is ``db``, ``password``, ``old``."""
    if not name.isascii():  # letters that the pattern above parts from their neighbours
        return "".join(letter if letter.isalpha() else " " for letter in name).lower().split()
    return [word.lower() for word in _WORD.findall(name)]


def kind_of(name: str) -> NameKind:
    """What a name says of the value that it is assigned to."""
    parts = words(name)
    if "".join(parts) in _PASSWORDS:
        return PASS if parts == ["pass"] else PASSWORD  # "mot de passe"
    for place in range(len(parts) - 1, -1, -1):
        kind = _kind_of_word(parts, place)
        if kind is NOTHING:
            if parts[place] in _NOT_AFTER:
                return NOTHING
            continue
        if (parts[0] in _NOT_BEFORE and place > 0) or not _ALWAYS_NOT_BEFORE.isdisjoint(parts[:place]):
            return NOTHING
        if parts[place] == "pass" and len(parts) > 1:
            kind = _pass_among(name, parts, place)
        return NOTHING if kind is NOTHING else _strongest(parts[: place + 1], kind)
    return NOTHING


def is_handed_back(name: str) -> bool:
    """Whether a name is that of a token which confirms a call, and not of one that lets somebody in."""
    return any(first in _HANDED_BACK and then == "token" for first, then in pairwise(words(name)))


def _pass_among(name: str, parts: Sequence[str], place: int) -> NameKind:
    """What ``pass`` says beside other words: ``renderPass`` is none, and ``passArchitecture`` hardly one."""
    if place > 0 and f"{parts[place - 1]}pass" in _NO_PASSWORDS:
        return NOTHING
    behind = parts[place + 1] if place + 1 < len(parts) else ""
    in_code = place == 0 and behind and name.startswith(f"pass{behind.capitalize()}")
    return PASS if in_code and behind not in _HAVING else PASSWORD


def _kind_of_word(parts: Sequence[str], place: int) -> NameKind:
    word = parts[place]
    if word in _PASSWORDS:
        return PASS if parts == ["pass"] else PASSWORD
    if word in _SECRETS:
        return SECRET
    if word in _KEYS or (word in ("key", "keys") and place > 0 and parts[place - 1] in _OF_KEYS):
        return KEY
    if word in _TOKENS:
        return TOKEN
    if word == "key":
        return NOTHING if place > 0 and parts[place - 1] in _NO_KEYS else SOME_KEY
    if word.endswith("key") and word[:-3] in _OF_KEYS:
        return KEY
    if word.endswith(("pass", "pwd")) and word not in _NO_PASSWORDS:
        return PASSWORD
    if word.endswith(_PARTS) or word.startswith(("password", "passwd")):
        if "pass" in word:
            return PASSWORD
        return SECRET if word.endswith("secret") else TOKEN
    return NOTHING


def _strongest(parts: Sequence[str], kind: NameKind) -> NameKind:
    """A ``secret_key`` is a secret, an ``auth_password`` a password, but a ``password_token`` is a token."""
    return SECRET if kind is KEY and not _SECRETS.isdisjoint(parts) else kind


__all__ = ["KEY", "NOTHING", "PASS", "PASSWORD", "SECRET", "TOKEN", "NameKind", "is_handed_back", "kind_of", "words"]
