"""Checks whether both engines can match a pattern in time linear in the text's length."""

from __future__ import annotations

from collections.abc import Sequence

from lockgate.core.display_text import visible
from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.engine.anchors import anchor_of

if TYPE_CHECKING:
    from typing import Any

_VALUE = "use `boundary`, or a group (?P<value>...) for the part that counts"
_ADVICE = (
    ("perl operator: (?=", f"look-ahead is not linear: {_VALUE}"),
    ("perl operator: (?!", "look-ahead is not linear: write what may stand there, or use `boundary`"),
    ("perl operator: (?<", f"look-behind is not linear: {_VALUE}"),
    ("perl operator: (?>", "atomic groups are not needed: matching is linear; write (?:...)"),
    ("perl operator: (?P", "of named groups there are (?P<value>...) and (?P<key>...), and no back references"),
    ("escape sequence: \\Z", "write \\z for the end of the text"),
    ("repetition size", "a piece is repeated at most 1,000 times: write {20,} for `20 or more`"),
    ("repetition operator: ", "possessive repeats are not needed: matching is linear; write it without the last sign"),
)
"""What to do, by a part of what RE2 says."""
_BACK_REFERENCES = tuple(f"escape sequence: \\{sign}" for sign in "123456789k")
_PLACES = ("", "a", "a b", "-", "a\nb")
"""Texts with every kind of place at which an assertion can hold."""


def pattern_problems(patterns: Sequence[str], re2: Any, hyperscan: Any) -> list[str]:
    """What is wrong with each of several patterns and what to do about it, empty where nothing is.

    Args:
        patterns: As they are written, without a leading ``!``.
        re2: The module.
        hyperscan: The module.
    """
    found = [_unfit_characters(pattern) or _re2_problem(pattern, re2) for pattern in patterns]
    good = [index for index, problem in enumerate(found) if not problem]
    # Together they are compiled several times faster than one by one.
    if good and _scan_problem([patterns[index] for index in good], hyperscan):
        for index in good:
            found[index] = _scan_problem([patterns[index]], hyperscan)
    return found


def _re2_problem(pattern: str, re2: Any) -> str:
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        return _not_linear(_words(error))
    names = [name for name in compiled.groupindex if name not in ("value", "key")]
    if names:
        return f"the group (?P<{visible(names[0], 40)}>...) has no meaning: only `value` and `key` have"
    if any(match.start() == match.end() for text in _PLACES for match in compiled.finditer(text)):
        return "matches the empty text, and so everywhere: use + in the place of *, or say what must be there"
    return ""


def _scan_problem(patterns: Sequence[str], hyperscan: Any) -> str:
    numbers = list(range(len(patterns)))
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(
            expressions=[anchor_of(pattern).pattern.encode("utf-8") for pattern in patterns],
            ids=numbers,
            flags=[0] * len(numbers),
        )
    except hyperscan.error as error:
        return f"cannot be compiled for scanning (Hyperscan): {_words(error)}"
    return ""


def _not_linear(words: str) -> str:
    if any(sign in words for sign in _BACK_REFERENCES):
        advice = "back references are not linear: match the parts by one pattern each"
    else:
        advice = next((advice for sign, advice in _ADVICE if sign in words), "")
    return f"not a regular expression of RE2: {visible(words, 200)}" + (f" ({advice})" if advice else "")


def _words(error: Exception) -> str:
    """What an engine says: RE2 gives bytes."""
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def _unfit_characters(pattern: str) -> str:
    """What the two engines would read differently: text is matched as bytes, in which no class has other characters."""
    opened = -1  # where the class begins that is being read
    escaped = False
    for index, character in enumerate(pattern):
        if escaped:
            escaped = False
            if character in "pPCX":
                return f"\\{character} is not read: text is matched as bytes; write the characters out"
        elif character == "\\":
            escaped = True
        elif opened >= 0:
            if not character.isascii():
                return "a class has ASCII characters only: write the others as alternatives, (?:ä|ö)"
            if character == "]" and _ends(pattern[opened + 1 : index]):
                opened = -1
        elif character == "[":
            opened = index
        elif not character.isascii() and pattern[index + 1 : index + 2] in tuple("*+?{"):
            return "a character outside ASCII is several bytes: put it in (?:...) before it is repeated"
    return ""


def _ends(inside: str) -> bool:
    """Whether a ] behind this ends the class: not one that stands first, nor that of a name such as [:alpha:]."""
    return inside not in ("", "^") and not (inside.endswith(":") and inside.rfind("[:") > inside.rfind(":]"))
