"""Defines characters that stand for text that is not known, and marks that say where a text comes from.

Text that only exists at run time is held as placeholder characters inside otherwise known text. So ``--data=$x`` is
still seen as the option ``--data`` with an unknown value. The reader refuses control characters, so a placeholder never
comes from a script.

In the second run of a script (:mod:`lockgate.shell.secret_flow.second_run`) further characters, the *marks*, say where
a text comes from. In the first run there are none.
"""

from __future__ import annotations

OPAQUE = "\x00"
"""Text that could be anything, also an option or code."""
PLAIN = "\x01"
"""Text that is not known but is harmless as a word: a number, or the name of a file that is there."""

ENVIRONMENT = "\x02"
"""The value of a variable that the script never set: not known, but not chosen by who wrote the script either."""

NO_NAME = "*/_."
"""What is left of a path of which no name is known."""
MAY_BE_EMPTY = f"{PLAIN}{ENVIRONMENT} \n\t"
"""What a text consists of that is no word where it is empty."""
LONGEST = 8_000
"""Characters of what a command prints; a longer text is opaque."""

FIRST_MARK, WEAK = "\U000f0000", "\U00100000"
"""From the first on they say where a text comes from, from ``WEAK`` on where it may come from."""


class Number(str):
    """``PLAIN`` where it is a number that a service or the clock gave: no file and no program of the project had a say.

    Whatever is made of it, even a copy, is an ordinary text again. It equals no other text, so that no state in which
    it is one passes for a state in which it is not.
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


def marks_of(text: str) -> str:
    """What says where a text comes from, each once."""
    return "" if text.isascii() else "".join(dict.fromkeys(letter for letter in text if letter >= FIRST_MARK))


def weaker(mark: str) -> str:
    """The mark that says that a text may come from the same place."""
    return mark if mark >= WEAK or not mark else chr(ord(mark) - ord(FIRST_MARK) + ord(WEAK))


def without_marks(text: str) -> str:
    """A text without what says where it comes from."""
    return text if text.isascii() else "".join(letter for letter in text if letter < FIRST_MARK)


def is_known(text: str) -> bool:
    """Whether all of a text is known."""
    return OPAQUE not in text and PLAIN not in text and ENVIRONMENT not in text


def show(text: str) -> str:
    """A text for a person, unknown parts written as ``$…`` or ``*``."""
    return text.replace(OPAQUE, "$…").replace(ENVIRONMENT, "$…").replace(PLAIN, "*")


def join_texts(*texts: str) -> str:
    """One abstract text that stands for any of the given ones."""
    if texts.count(texts[0]) == len(texts):
        return texts[0]
    if not all(map(harmless, texts)) or any(mark in text for text in texts for mark in (" ", "\t", "\n", "..")):
        # One that leads out of a folder may lead to any file.
        return make_unknown_text(*texts)
    # Harmless as words, but not as places: which of several files is written still matters.
    return PLAIN if all(text.replace(PLAIN, "0").isdigit() or not text for text in texts) else ENVIRONMENT


def make_unknown_text(*texts: str) -> str:
    """Text that could be anything, made from the given ones: where they come from is kept."""
    marks = marks_of("".join(texts))
    return OPAQUE + "".join(dict.fromkeys(map(weaker, marks))) if marks else OPAQUE


def harmless(text: str) -> bool:
    """Whether a text can be neither an option nor code where a word is evaluated."""
    return OPAQUE not in text and not text.startswith("-") and "$(" not in text and "`" not in text


def as_pattern(text: str) -> str:
    """The path as a file name pattern. A component that is wholly unknown stands for an ordinary name."""
    if OPAQUE not in text and PLAIN not in text and ENVIRONMENT not in text:
        return text
    parts = []
    for part in text.split("/"):
        bare = part.replace(OPAQUE, "").replace(PLAIN, "").replace(ENVIRONMENT, "")
        unknown = part != bare
        parts.append("_" if unknown and not bare.strip(".") and bare != "." else
                     part.replace(OPAQUE, "*").replace(PLAIN, "*").replace(ENVIRONMENT, "*"))  # fmt: skip
    return "/".join(parts)
