"""Comparing what the reader lists with what bash ran."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from lockgate.analysis.shell.reader import read
from lockgate.analysis.shell.syntax import Braces, Literal, Part, Simple, Unparsed, Word
from lockgate.analysis.shell.walk import walk

Pattern = tuple[str | None, ...]
"""A command's words; ``None`` stands for any number of words of any text."""


def spelled(word: Word) -> list[str | None]:
    """The words that brace expansion makes of a word; ``None`` where its text is known only at run time.

    A word that it leaves empty is none.
    """
    choices: list[list[str | None]] = [_choices(part) for part in word.parts]
    size = 1
    for choice in choices:
        size *= len(choice)
    if size > 300 or any(None in choice for choice in choices):
        return [None]
    words = ["".join(pick) for pick in product(*choices)]  # type: ignore[arg-type]
    return [text for text in words if text or not any(isinstance(part, Braces) for part in word.parts)]


def _choices(part: Part) -> list[str | None]:
    if isinstance(part, Literal):
        return [part.text]
    if isinstance(part, Braces) and not part.elided:
        return [text for alternative in part.alternatives for text in spelled(alternative)]
    return [None]


def pattern(command: Simple) -> Pattern:
    return tuple(text for word in command.words for text in spelled(word))


def fits(words: Pattern, argv: Sequence[str]) -> bool:
    """Whether the command can have been run with these words."""
    reachable = {0}
    for word in words:
        if not reachable:
            return False
        if word is None:
            reachable = set(range(min(reachable), len(argv) + 1))
        else:
            reachable = {index + 1 for index in reachable if index < len(argv) and argv[index] == word}
    return len(argv) in reachable


def missed(text: str, ran: Sequence[Sequence[str]], dialect: str = "bash") -> list[tuple[str, ...]]:
    """What bash ran of a text that the reader accepts and does not list."""
    script = read(text, dialect)
    if isinstance(script, Unparsed):
        return []
    listed = [pattern(command) for command in walk(script)]
    return [tuple(argv) for argv in ran if not any(fits(words, argv) for words in listed)]
