"""What a program's entry says of an option: asked of the code that the gate itself uses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from documented import ATTACHED, NOTHING, TWO, UNSAID, VALUE, Option

from lockgate.shell.knowledge import lookup as knowledge
from lockgate.shell.knowledge.lookup import ProgramEntry
from lockgate.shell.knowledge.options import match
from lockgate.shell.state.scope import Arg

_WORDS = {
    knowledge.NO_VALUE: NOTHING,
    knowledge.VALUE: VALUE,
    knowledge.OPTIONAL: ATTACHED,
    knowledge.TWO: TWO,
    knowledge.DIGITS: ATTACHED,
    knowledge.COMMAND: ";",
}


class Standing(NamedTuple):
    """How an option stands in an entry."""

    listed: bool
    role: str = ""
    takes: str = NOTHING
    """What the entry says that it takes."""


def entry(command: tuple[str, ...]) -> ProgramEntry | None:
    """The entry of a program or of one of its subcommands."""
    found = knowledge.lookup(command[0])
    for word in command[1:]:
        found = knowledge.subcommand(found, word) if found is not None else None
    return found


def standing(where: ProgramEntry, name: str, takes: str) -> Standing:
    """Whether an entry has an option of exactly this name, and what it says of it. An abbreviation is not listed."""
    if name == "-NUM":
        return Standing(all(not match(where, [Arg(f"-{digit}0")]).unknown for digit in range(1, 10)), "local")
    written = f"{name}=" if where.style == "dd" and not name.endswith("=") else name
    if written not in where.options:
        return Standing(False)
    words = [Arg(name if takes != ATTACHED or len(name) == 2 else f"{name}=x")]
    words += [Arg("x")] if takes in (VALUE, TWO) else []
    matched = match(where._replace(commands={}), words)
    role, count = where.options[written]
    return Standing(not matched.unknown, role, _WORDS[count])


def anywhere(where: ProgramEntry, name: str, takes: str) -> Standing:
    """The same, of an entry or of one of its subcommands: a page of a program describes their options too."""
    own = standing(where, name, takes)
    if own.listed or not where.commands:
        return own
    below = [found for word in where.commands if (found := knowledge.subcommand(where, word)) is not None]
    return next((stands for one in below if (stands := standing(one, name, takes)).listed), own)


def contradicts(standing: Standing, option: Option) -> bool:
    """Whether the entry takes another number of words for an option's value than its documents say."""
    if not standing.listed or option.takes == UNSAID or standing.takes == ";" or option.name == "-NUM":
        return False
    takes_word = {VALUE: 1, TWO: 2}
    return takes_word.get(standing.takes, 0) != takes_word.get(option.takes, 0)


def subcommands(program: str) -> Iterator[tuple[str, ...]]:
    """A program, and every subcommand that its entry names in full."""
    top = knowledge.lookup(program)
    if top is not None:
        yield from _below(top, (program,), 0)


def _below(where: ProgramEntry, words: tuple[str, ...], depth: int) -> Iterator[tuple[str, ...]]:
    yield words
    if depth > 2:
        return
    for name, raw in where.commands.items():
        if raw != knowledge.SAME and re.fullmatch(r"[\w][\w:.-]*", name):
            below = knowledge.subcommand(where, name)
            if below is not None:
                yield from _below(below, (*words, name), depth + 1)
