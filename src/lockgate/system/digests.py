"""Hashes (SHA-256, BLAKE2b, SHA-1 for git), canonical JSON, and strict readers of JSON.

The hashes are those of the interpreter's own modules. ``hashlib`` gives the same functions, and prefers OpenSSL's:
importing that costs a hook more than all the hashing that it does. Where an interpreter was built without its own (a
FIPS build may be), ``hashlib`` has them. ``json`` makes an encoder for each text, which takes as long as writing a
short one: here it is made once.
"""

from __future__ import annotations

import json
import json.encoder
import sys

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from hashlib import blake2b, sha1, sha256
    from typing import Any, NoReturn
else:
    try:
        from _blake2 import blake2b
        from _sha1 import sha1

        if sys.version_info >= (3, 12):
            from _sha2 import sha256
        else:
            from _sha256 import sha256
    except ImportError:
        from hashlib import blake2b, sha256


def canonical_json(*, default: Callable[[Any], Any] | None = None, allow_nan: bool = False) -> Callable[[Any], str]:
    """What writes a value's one text in JSON: sorted keys, no spaces, ASCII.

    Args:
        default: Makes a value that JSON has of one that it does not have.
        allow_nan: Whether NaN and infinities are written, as JavaScript spells them.

    Returns:
        A function that raises ``ValueError`` (NaN), ``TypeError`` (a value that JSON does not have) and
        ``RecursionError`` (nested too deep, or for ever).
    """
    return _writer(",", ":", sort_keys=True, default=default, allow_nan=allow_nan)


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """A JSON object of anybody's making; ``None`` for all else, however deep it is nested."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def strict_decoder(refuse: Callable[[str], NoReturn]) -> json.JSONDecoder:
    """What reads JSON that every reader takes for the same: no key twice in an object, no NaN, no infinities.

    Args:
        refuse: Raises what the reading ends with, made of the end of a sentence: "holds NaN, which is not JSON".
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            # Two readers may take different ones of them, and what serialises an object never writes any.
            refuse("has an object with the same key twice")
        return found

    return json.JSONDecoder(
        object_pairs_hook=unique, parse_constant=lambda name: refuse(f"holds {name}, which is not JSON")
    )


def usual_json() -> Callable[[Any], str]:
    """What writes a value as ``json.dumps`` does, but for one that holds itself, which is nested too deep here."""
    return _writer(", ", ": ", sort_keys=False, default=None, allow_nan=True)


def _writer(
    item: str, key: str, *, sort_keys: bool, default: Callable[[Any], Any] | None, allow_nan: bool
) -> Callable[[Any], str]:
    """What writes a value, with these texts behind each item and behind each key."""
    encoder = json.JSONEncoder(
        sort_keys=sort_keys, separators=(item, key), default=default, allow_nan=allow_nan, check_circular=False
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # another interpreter than CPython
        return encoder.encode
    ascii_text = json.encoder.encode_basestring_ascii
    # As JSONEncoder.iterencode does.
    write = make(None, encoder.default, ascii_text, None, key, item, sort_keys, False, allow_nan)
    return lambda value: "".join(write(value, 0))


__all__ = ["blake2b", "canonical_json", "json_object", "sha1", "sha256", "strict_decoder", "usual_json"]
