"""Finds the few commands of sed programs that read, write or run something."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.shell.effects import files
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall

_ADDRESS = lazy_re(
    r"\s*(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/[IM]*|\\(.)(?:(?!\1).|\\.)*?\1[IM]*|[+~]\d+)\s*,?\s*", re.DOTALL
)
_WORD_ALONE = lazy_re(r"[ \t]*+\S*+[ \t]*+")
"""A label, or a version, at which GNU sed ends at a blank: a command may follow."""
RUNS = "the sed command `e` runs a program"
_PLAIN_COMMAND = frozenset("{}=dDgGhHlnNpPxzF")


class NamedFile(Record):
    """A file that a sed script names."""

    name: str
    written: bool


def add_sed_effects(call: ProgramCall, text: str) -> None:
    """Add what a sed script does beside changing text."""
    named, problem = read_sed(text)
    for file in named:
        look = files.write if file.written else files.read
        call.own += look(Arg(file.name), call.machine, call.scope)
    if problem:
        call.add_opaque(problem)


def read_sed(text: str) -> tuple[list[NamedFile], str]:
    """The files that a sed script names, and why it may do more than that; an empty text where it does not."""
    named: list[NamedFile] = []
    return named, _problem(text, named)


def _problem(text: str, named: list[NamedFile]) -> str:
    """Why a sed script may do more than change text and use files; those that it names up to there are added."""
    at = 0
    while at < len(text):
        if text[at] in " \t\n;":
            at += 1
            continue
        while (match := _ADDRESS.match(text, at)) and match.end() > at:
            at = match.end()
        while at < len(text) and text[at] in "! \t":
            at += 1
        if at >= len(text):
            return ""
        command, at = text[at], at + 1
        if command == "s" or command == "y":
            end = _substitution(named, text, at, command)
            if end < 0:
                return "a sed substitution that runs its result, or that is not read exactly"
            at = end
        elif command in "aicrRwWbtT:#eqQLv":
            line = _text_lines(text, at) if command in "aic" else text[at:].partition("\n")[0]
            if command == "e":
                return RUNS
            if command in ":v" and not _WORD_ALONE.fullmatch(line.partition(";")[0]):
                return f"what follows the sed command `{command}` may be another command"
            at += _add_file_to_line_end(named, command, line)
        elif command not in _PLAIN_COMMAND:
            return f"the sed command `{command}` is not known"
    return ""


def _text_lines(text: str, at: int) -> str:
    """The text of ``a``, ``i`` and ``c``: it goes on where a line ends in a backslash."""
    match = re.compile(r"(?:[^\\\n]|\\.)*", re.DOTALL).match(text, at)
    return match.group() if match else ""


def _add_file_to_line_end(named: list[NamedFile], command: str, line: str) -> int:
    """Add the file that a command names. Returns how much of the script it takes."""
    if command in "rRwW":
        named.append(NamedFile(line.strip(), command in "wW"))
    elif command in "btTqQLv:":
        return len(re.split(r"[;}]", line)[0])
    return len(line)


def _substitution(named: list[NamedFile], text: str, at: int, command: str) -> int:
    """The end of ``s/a/b/flags``, or -1 where it runs something or cannot be read."""
    if at >= len(text) or text[at] in "\n\\":
        return -1
    mark, parts, at = text[at], 0, at + 1
    while at < len(text) and parts < 2:
        if text[at] == "\\":
            at += 1
        elif text[at] == mark:
            parts += 1
        elif text[at] == "[" and parts == 0 and command == "s":
            at = _set_end(text, at)
            if at < 0:
                return -1
        at += 1
    if parts < 2:
        return -1
    if command == "y":
        return at
    flags = re.compile(r"[gpiImM0-9]*").match(text, at)
    at = flags.end() if flags else at
    if at < len(text) and text[at] == "w":
        line = text[at + 1 :].partition("\n")[0]
        named.append(NamedFile(line.strip(), written=True))
        return at + 1 + len(line)
    return at if at >= len(text) or text[at] in " \t\n;}#" else -1


def _set_end(text: str, at: int) -> int:
    """The ``]`` that ends a set of characters, or -1 where there is none on the line."""
    match = re.compile(r"\[\^?\]?(?:\[[:.=][^\n]{0,20}?[:.=]\]|[^\]\n])*+\]").match(text, at)
    return match.end() - 1 if match else -1
