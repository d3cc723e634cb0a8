"""Selects the values worth looking for: secret by name or looks, and too rare to occur by chance."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.known_values.values import SHORTEST

if TYPE_CHECKING:
    from typing import Any

LONGEST = 8192
"""Bytes of the longest value that is looked for."""
_UNNAMED = 20
"""Characters of the shortest value that is taken for a secret by its looks alone."""
_RARE, _SOMEWHAT_RARE = 0.9, 0.15
"""Of ``rarity.score``: what no person writes, and what is at least no word with a number behind it."""
_LEET = str.maketrans("@4301!$5789", "aaeolisstbg")
"""What people write for letters: ``p@ssw0rd`` is as common as ``password``."""


@cache
def table() -> Mapping[str, Any]:
    """What ``sources.yaml`` says."""
    with open(os.path.join(os.path.dirname(__file__), "sources.json"), encoding="utf-8") as file:
        loaded: Mapping[str, Any] = json.load(file)
    return loaded


@cache
def _names() -> dict[str, frozenset[str]]:
    return {key: frozenset(words) for key, words in table()["names"].items()}


def says_secret(name: str) -> bool:
    """Whether the name of a variable or a setting says that its value is secret."""
    words = _words(name)
    names = _names()
    if _says_harmless(words):
        return False
    return not names["words"].isdisjoint(words) or (len(words) > 1 and words[-1] in names["last"])


def _says_harmless(words: list[str]) -> bool:
    names = _names()
    return words[-1] in names["not_last"] or not names["not_any"].isdisjoint(words)


def _words(name: str) -> list[str]:
    """The words of a name but a number at its end: ``API_TOKEN``, ``apiToken`` and ``api-token-2`` have the same."""
    if not (name.isupper() or name.islower()):
        parted = [
            f"_{character}" if character.isupper() and before.islower() else character
            for before, character in zip(" " + name, name, strict=False)
        ]
        name = "".join(parted)
    words = name.lower().replace("-", "_").replace(".", "_").replace(" ", "_").split("_")
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    return words


def secrets_in(name: str, value: str, *, certain: bool = False) -> Iterator[str]:
    """The texts to look for because of one value. None, where it is no secret; several lines of a private key.

    Args:
        name: What it is called where it stands.
        value: As it stands there, without quotes.
        certain: The place says that it is secret, whatever its name.
    """
    named = certain or says_secret(name)
    if "-----BEGIN " in value:
        from lockgate.configuration.known_secrets.formats import pem

        yield from (line for _, line in pem(value) if is_rare(line, named=True))
        return
    for text in dict.fromkeys(_inside(value)):
        # The password of an address is one, whatever the address is called.
        sure = named or text != value
        if (sure or not _says_harmless(_words(name))) and is_rare(text, named=sure):
            yield text


def _inside(value: str) -> Iterable[str]:
    """What is secret in a value: the password of an address, what stands behind ``Bearer``, what was encoded."""
    if "://" in value:
        return _passwords(value)
    scheme, sign, rest = value.partition(" ")
    if sign and scheme.lower() in ("bearer", "basic", "token"):
        return (rest.strip(),)
    return (value, *_basic(value))


def _passwords(url: str) -> Iterator[str]:
    """The password of an address, as it is written there and with its escapes undone."""
    authority = url.partition("://")[2].partition("/")[0].partition("?")[0]
    user, sign, _ = authority.rpartition("@")
    if not sign:
        # A password may hold what an address may not.
        user, sign, _ = url.partition("://")[2].rpartition("@")
    password = user.partition(":")[2] if sign else ""
    if password:
        yield password
        if "%" in password:
            from urllib.parse import unquote

            yield unquote(password)


def _basic(value: str) -> Iterator[str]:
    """The password where a value is ``user:password`` in base64, as container registries have it."""
    if len(value) % 4 or len(value) < 12 or not value.replace("+", "").replace("/", "").rstrip("=").isalnum():
        return
    from binascii import a2b_base64

    try:
        user, sign, password = a2b_base64(value).decode("utf-8").partition(":")
    except ValueError:
        return
    if sign and user.isprintable() and password.isprintable():
        yield password


def is_rare(text: str, *, named: bool) -> bool:
    """Whether a text can be looked for without being found where nobody put it.

    Args:
        text: The value.
        named: Its name or its place says that it is secret; else it must look as if a machine had made it.
    """
    from lockgate.patterns.credentials.placeholders import is_placeholder
    from lockgate.patterns.credentials.randomness import score

    if not SHORTEST <= len(encode(text)) <= LONGEST or len(set(text)) < 5 or text.isdigit() or is_placeholder(text):
        return False
    rarity = score(text)
    if not named:
        return _looks_made(text) and rarity >= _RARE
    if _is_path(text):
        return rarity >= _RARE
    if (letters := text.lower().translate(_LEET)).isalpha() and len(text) < 12 and score(letters) < _SOMEWHAT_RARE:
        return False
    # Several common words are no value to look for: whoever writes a project's `.env` could have any phrase refused.
    return rarity >= _SOMEWHAT_RARE


def encode(text: str) -> bytes:
    """The bytes of a text that was read from a file or the environment; none, where it cannot have been (JSON can)."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return b""


def _looks_made(text: str) -> bool:
    """Whether it may be a key at all: hashes, ids, addresses, paths and sentences look random too, or are long."""
    if len(text) < _UNNAMED or any(character.isspace() or character in "@,;(){}<>\\" for character in text):
        return False
    hexadecimal = all(character in "0123456789abcdefABCDEF-" for character in text)
    return not hexadecimal and text.count("/") < 3 and not _is_path(text)


def _is_path(text: str) -> bool:
    return text.startswith(("/", "./", "../", "~/", "file:")) or text[1:3] == ":\\"
