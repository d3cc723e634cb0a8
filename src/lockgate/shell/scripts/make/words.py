"""Expands variables and functions of make in a text.

What is not known before make runs is :data:`UNKNOWN` inside the text. ``info make``, nodes "Using Variables" and
"Functions".
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from functools import partial

from lockgate.core.record import Record
from lockgate.resources.digits import number
from lockgate.shell.scripts.make.syntax import arguments, find_closing

UNKNOWN = "\x00"
_MOST_REFERENCES = 4000
_DEEPEST = 40
_LONGEST = 60_000
_FUNCTION = re.compile(r"([a-z][a-z-]*)[ \t]+(.*)", re.DOTALL)


class Variable(Record):
    """What was assigned to a name."""

    text: str
    simple: bool = False
    """Whether it was expanded when it was assigned."""
    firm: bool = False
    """Whether it was given on the command line, which no makefile overrules."""


class Words:
    """Expands text. Runs what ``$(shell)`` names, and reads what ``$(eval)`` makes, by functions that are handed in."""

    def __init__(self, shell: Callable[[str], str], evaluate: Callable[[str], None]) -> None:
        self.variables: dict[str, Variable] = {}
        self.shell, self.evaluate = shell, evaluate
        self.left = _MOST_REFERENCES
        self.depth = 0

    def expand(self, text: str, own: Mapping[str, str] | None = None) -> str:
        """Replace all references.

        Args:
            text: The text.
            own: Values of variables that hold here only: those of a target, the arguments of ``$(call)``.
        """
        if "$" not in text:
            return text
        own = own or {}
        out: list[str] = []
        at = 0
        while (mark := text.find("$", at)) >= 0 and mark + 1 < len(text):
            out.append(text[at:mark])
            character = text[mark + 1]
            if character == "$":
                out.append("$")
                at = mark + 2
            elif character in "({":
                end = find_closing(text, mark + 1)
                at = end + 1
                inner, attached = text[mark + 2 : end], text[at : at + 1] == "/"
                out.append(self._within_limits(partial(self._reference, inner, own, attached=attached)))
            else:
                out.append(self._value(character, own, attached=False))
                at = mark + 2
        result = "".join([*out, text[at:]])
        return result if len(result) <= _LONGEST else UNKNOWN

    def _within_limits(self, expand: Callable[[], str]) -> str:
        """What a function expands, unless that is too much or too deep."""
        self.left -= 1
        if self.left < 0 or self.depth >= _DEEPEST:
            return UNKNOWN
        self.depth += 1
        try:
            return expand()
        finally:
            self.depth -= 1

    def _reference(self, inner: str, own: Mapping[str, str], *, attached: bool) -> str:
        called = _FUNCTION.fullmatch(inner)
        if called is not None and called[1] in _ALL:
            return self._function(called[1], called[2], own)
        name, colon, change = self.expand(inner, own).partition(":")
        if colon and "=" in change:
            before, _, after = change.partition("=")
            return _patsubst(*_patterns(before, after), self._value(name, own, attached=False))
        return self._value(name, own, attached=attached)

    def _value(self, name: str, own: Mapping[str, str], *, attached: bool) -> str:
        if name in own:
            return own[name]
        variable = self.variables.get(name)
        if variable is not None:
            return variable.text if variable.simple else self._within_limits(lambda: self.expand(variable.text, own))
        # It is empty, or the environment has it. Where a path begins with it, it is hardly meant to be empty.
        return UNKNOWN if UNKNOWN in name or attached else ""

    def _function(self, name: str, rest: str, own: Mapping[str, str]) -> str:
        raw = arguments(rest)
        if name in ("if", "or", "and"):
            return self._choice(name, raw, own)
        if name == "foreach":
            return self._foreach(raw, own)
        given = [self.expand(argument, own) for argument in raw]
        if name == "shell":
            return self.shell(",".join(given))
        if name == "eval":
            self.evaluate(",".join(given))
            return ""
        if name == "call":
            return self._call(given, own)
        if name == "value":
            variable = self.variables.get(given[0].strip())
            return variable.text if variable else ""
        text = _TEXT.get(name)
        return UNKNOWN if text is None or UNKNOWN in "".join(given) else text(given)

    def _choice(self, name: str, raw: list[str], own: Mapping[str, str]) -> str:
        if name != "if":
            values = [self.expand(argument, own).strip() for argument in raw]
            if any(UNKNOWN in value for value in values):
                return UNKNOWN
            if name == "or":
                return next((value for value in values if value), "")
            return values[-1] if all(values) else ""
        condition = self.expand(raw[0], own).strip()
        branches = [self.expand(argument, own) for argument in raw[1:3]]
        if UNKNOWN in condition:
            return UNKNOWN
        return (branches[0] if branches else "") if condition else (branches[1] if len(branches) > 1 else "")

    def _foreach(self, raw: list[str], own: Mapping[str, str]) -> str:
        if len(raw) < 3:
            return ""
        name, words, body = self.expand(raw[0], own).strip(), self.expand(raw[1], own), ",".join(raw[2:])
        listed = [UNKNOWN] if UNKNOWN in words else words.split()[:60]
        return " ".join(self.expand(body, {**own, name: word}) for word in listed)

    def _call(self, given: list[str], own: Mapping[str, str]) -> str:
        name = given[0].strip()
        numbered = {str(index): value for index, value in enumerate(given)}
        return self._value(name, {**own, **numbered}, attached=False)


def _patterns(before: str, after: str) -> tuple[str, str]:
    return (before, after) if "%" in before else (f"%{before}", f"%{after}")


def match_stem(pattern: str, word: str) -> str | None:
    """What ``%`` stands for where a word fits a pattern, else ``None``; a pattern without ``%`` stands for itself."""
    head, mark, tail = pattern.partition("%")
    if not mark:
        return "" if pattern == word else None
    fits = len(word) >= len(head) + len(tail) and word.startswith(head) and word.endswith(tail)
    return word[len(head) : len(word) - len(tail)] if fits else None


def _patsubst(before: str, after: str, text: str) -> str:
    if UNKNOWN in before + after + text:
        return UNKNOWN
    words = []
    for word in text.split():
        stem = match_stem(before, word)
        words.append(word if stem is None else after.replace("%", stem, 1))
    return " ".join(words)


def _filter(given: list[str], *, keep: bool) -> str:
    patterns = given[0].split()
    words = ",".join(given[1:]).split()
    return " ".join(word for word in words if any(match_stem(p, word) is not None for p in patterns) == keep)


def _map_words(change: Callable[[str], str]) -> Callable[[list[str]], str]:
    return lambda given: " ".join(filter(None, map(change, ",".join(given).split())))


def _nth(given: list[str]) -> str:
    words = ",".join(given[1:]).split()
    place = number(given[0].strip())
    return words[place - 1] if place is not None and 0 < place <= len(words) else ""


_TEXT: Mapping[str, Callable[[list[str]], str]] = {
    "subst": lambda given: ",".join(given[2:]).replace(given[0], given[1]) if len(given) > 2 and given[0] else "",
    "patsubst": lambda given: _patsubst(given[0].strip(), given[1].strip(), ",".join(given[2:])),
    "strip": lambda given: " ".join(",".join(given).split()),
    "findstring": lambda given: given[0] if len(given) > 1 and given[0] in ",".join(given[1:]) else "",
    "filter": lambda given: _filter(given, keep=True),
    "filter-out": lambda given: _filter(given, keep=False),
    "sort": lambda given: " ".join(sorted(set(",".join(given).split()))),
    "word": _nth,
    "words": lambda given: str(len(",".join(given).split())),
    "firstword": lambda given: next(iter(",".join(given).split()), ""),
    "lastword": lambda given: next(reversed(",".join(given).split()), ""),
    "dir": _map_words(lambda word: f"{posixpath.dirname(word)}/" if "/" in word else "./"),
    "notdir": _map_words(posixpath.basename),
    "suffix": _map_words(lambda word: posixpath.splitext(word)[1]),
    "basename": _map_words(lambda word: posixpath.splitext(word)[0]),
    "addsuffix": lambda given: " ".join(word + given[0] for word in ",".join(given[1:]).split()),
    "addprefix": lambda given: " ".join(given[0] + word for word in ",".join(given[1:]).split()),
    "info": lambda given: "",
    "warning": lambda given: "",
    "error": lambda given: "",
    "origin": lambda given: UNKNOWN,
}
_OTHERS = "shell eval call value if or and foreach wildcard realpath abspath join wordlist flavor file guile let intcmp"
_ALL = frozenset(_TEXT) | frozenset(_OTHERS.split())
"""All functions; those without an entry above give what is not known here."""
