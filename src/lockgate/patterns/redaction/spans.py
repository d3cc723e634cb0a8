"""Replaces matches in a text. Overlapping ones become one mark, and all other text stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lockgate.core.lazy import lazy_re
from lockgate.patterns.model import PatternMatch
from lockgate.system.digests import blake2b

MARK = "[REDACTED:{type}:{fingerprint}]"
"""What stands in the place of a value where its rule says nothing else."""
_MARKS = lazy_re(r"\[REDACTED:[A-Za-z0-9_.+-]{1,80}:[0-9a-f]{8}\]")


def fingerprint(value: bytes, key: bytes) -> str:
    """Eight hexadecimal digits that tell whether two values are the same, and nothing else without the key."""
    return blake2b(value, key=key[:64], digest_size=4, person=b"lockgate-redact").hexdigest()


def replacement_of(template: str, type_: str, value: str) -> str:
    """What stands in a value's place.

    Args:
        template: With ``{type}`` and ``{fingerprint}`` where they are wanted; empty for the usual mark.
        type_: The rule's type.
        value: The value's fingerprint.
    """
    return (template or MARK).replace("{type}", type_).replace("{fingerprint}", value)


def redact(text: str, matches: Iterable[PatternMatch]) -> str:
    """A text without the matches that are to be redacted. Of overlapping ones the first's mark stands for all."""
    spans = sorted((match.start, -match.end, match.replacement) for match in matches if match.redact)
    parts: list[str] = []
    done = 0
    for start, negative_end, mark in spans:
        end = -negative_end
        if start >= done:
            parts += (text[done:start], mark)
        done = max(done, end)
    return "".join((*parts, text[done:])) if spans else text


def redact_all(texts: Iterable[tuple[str, str]], matches: Iterable[PatternMatch]) -> Mapping[str, str]:
    """Of texts, each behind its path, those that change where matches are taken out, by their paths."""
    of_path: dict[str, list[PatternMatch]] = {}
    for match in matches:
        if match.redact:
            of_path.setdefault(match.path, []).append(match)
    return {path: redact(text, of_path[path]) for path, text in texts if path in of_path}


def has_mark(text: str) -> bool:
    """Whether a text holds one of our marks: written to a file, it would stand where the value was."""
    return "[REDACTED:" in text and _MARKS.search(text) is not None
