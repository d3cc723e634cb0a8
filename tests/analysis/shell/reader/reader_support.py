"""Comparing what the reader lists with what bash ran."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from lockgate.shell.grammar.reader import read
from lockgate.shell.grammar.tree import Braces, Literal, Part, Simple, Unparsed, Word, walk

Pattern = tuple[str | None, ...]
"""A command's words; ``None`` stands for any number of words of any text."""


def spelled(word: Word) -> list[str | None]:
    """The words that brace expansion makes of a word; ``None`` where its text is known only at run time.

    A word that it leaves empty, and in which nothing is quoted, is none.
    """
    choices = [_choices(part) for part in word.parts]
    if None in choices or prod(len(choice or ()) for choice in choices) > 300:
        return [None]
    words = [("".join(text for text, _ in pick), any(quoted for _, quoted in pick)) for pick in product(*choices)]
    return [text for text, quoted in words if text or quoted]


def _choices(part: Part) -> list[tuple[str, bool]] | None:
    """The texts that a part can become, each with whether it is quoted."""
    if isinstance(part, Literal):
        return [(part.text, part.quoted)]
    if not isinstance(part, Braces) or part.elided:
        return None
    texts: list[tuple[str, bool]] = []
    for alternative in part.alternatives:
        inner = [_choices(one) for one in alternative.parts]
        if None in inner:
            return None
        texts += [("".join(text for text, _ in pick), any(quoted for _, quoted in pick)) for pick in product(*inner)]
    return texts


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
