"""Measures how random a text looks.

Keys are made by chance; names, words, paths and dummies are not. What tells them apart is which characters follow
which. A table holds for each three characters in a row how much more likely they are in a random key than in written
text. ``trigrams/build.py`` makes it; a text's score is the mean of these, drawn towards "not random" where there is
little to look at. Shannon's entropy looks only at how often each character occurs, for which ``documentation`` is as
random as a key of the same length.
"""

from __future__ import annotations

from math import exp

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CLASSES = 39
"""Kinds of characters: letters without their case, digits, a separator, a change of case, anything else."""
SEPARATOR, CHANGE, OTHER = 36, 37, 38
STEPS_PER_BIT = 8
"""How the table counts: a byte is ``128 + bits * STEPS_PER_BIT``."""
_PRIOR_LENGTH = 3.0
"""So many characters' worth of "not random" are added: a short text is little evidence."""
_MIDDLE = 0.55
"""Bits for each character at which text is as likely random as not: found by evals/patterns/passwords."""
_STEEPNESS = 4.0


def score(text: str) -> float:
    """How random a text looks: 0 for words, names, paths and dummies, near 1 for a long random key; 0 for no text."""
    classes = classify(text)
    if len(classes) < 5:
        return 0.0
    table = _table()
    total = 0
    first, second = classes[0], classes[1]
    for third in classes[2:]:
        total += table[(first * CLASSES + second) * CLASSES + third] - 128
        first, second = second, third
    bits = total / STEPS_PER_BIT / (len(classes) - 2 + _PRIOR_LENGTH)
    return 1.0 / (1.0 + exp(-_STEEPNESS * (bits - _MIDDLE)))


def classify(text: str) -> Sequence[int]:
    """The characters' classes, between two separators. A change from lower to upper case is a class of its own."""
    classes = [SEPARATOR]
    lower = False
    for character in text:
        if "a" <= character <= "z":
            classes.append(ord(character) - 97)
            lower = True
            continue
        if "A" <= character <= "Z":
            if lower:
                classes.append(CHANGE)
            classes.append(ord(character) - 65)
        elif "0" <= character <= "9":
            classes.append(ord(character) - 22)
        elif character in "_-./ :,":
            classes.append(SEPARATOR)
        else:
            classes.append(OTHER)
        lower = False
    classes.append(SEPARATOR)
    return classes


_loaded: list[bytes] = []


def _table() -> bytes:
    """Read once, when it is first needed."""
    if not _loaded:
        import os

        with open(os.path.join(os.path.dirname(__file__), "trigrams", "trigrams.bin"), "rb") as file:
            _loaded.append(file.read())
    return _loaded[0]


__all__ = ["CHANGE", "CLASSES", "OTHER", "SEPARATOR", "STEPS_PER_BIT", "classify", "score"]
