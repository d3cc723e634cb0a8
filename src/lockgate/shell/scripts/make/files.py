"""Reads a makefile: what it assigns, under which conditions, what it includes, and which rules it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lockgate.core.record import Record
from lockgate.shell.scripts.make.rules import Known, MakeRules
from lockgate.shell.scripts.make.syntax import MakeLine, MakeRule, MakeVariable, condition, lines, statement
from lockgate.shell.scripts.make.words import UNKNOWN, Variable, Words

_MOST_LINES = 6000
_DEFAULTS = {"MAKE": "make", "RM": "rm -f", "CC": "cc", "CXX": "g++", "AR": "ar", "CPP": "cc -E", "LD": "ld",
             "AS": "as", "INSTALL": "install", "SHELL": "/bin/sh", ".SHELLFLAGS": "-c"}  # fmt: skip
"""Variables that make itself sets, as far as recipes use them."""


_MODIFIERS = frozenset({"export", "override", "private"})
"""Words before an assignment."""


class MakeText(Record):
    """A text that is read, and what offsets in it count from."""

    text: str
    base: int = 0


class _Branch:
    """A condition that holds, does not hold, or is not known (``None``)."""

    def __init__(self, holds: bool | None) -> None:
        self.holds = holds
        self.earlier = holds
        """Whether one of the branches so far is the one that is taken."""

    def turn(self, holds: bool | None) -> None:
        """Go on to the next branch, which is taken where its condition holds and no earlier branch was."""
        if self.earlier or holds is False:
            self.holds = False
        else:
            self.holds = None if self.earlier is None else holds
            self.earlier = None if self.holds is None else True


class Makefile:
    """Everything that was read so far."""

    def __init__(
        self, shell: Callable[[str], str], include: Callable[[str], MakeText | None], at: Callable[[int], object]
    ) -> None:
        self.words = Words(shell, self._evaluate)
        self.words.variables.update({name: Variable(text) for name, text in _DEFAULTS.items()})
        self._include, self._at = include, at
        self.rules = MakeRules(self.words.expand, at)
        self._branches: list[_Branch] = []
        self._open: list[tuple[str, int]] | None = None
        """The recipe that the next lines belong to."""
        self._left = _MOST_LINES
        self.problem = ""
        """Why not all of it was followed."""

    # ------------------------------------------------------------ reading

    def read(self, source: MakeText) -> None:
        """Read a text."""
        self._open = None
        rows = iter(lines(source.text))
        for line in rows:
            self._left -= 1
            if self._left < 0:
                self.problem = "it has too many lines"
                return
            self._at(source.base + line.offset)
            self._read_line(line, source.base + line.offset, rows)
        self._open = None

    def _is_live(self) -> bool:
        return all(branch.holds is not False for branch in self._branches)

    def _is_certain(self) -> bool:
        return all(branch.holds for branch in self._branches)

    def _read_line(self, line: MakeLine, place: int, rows: Iterator[MakeLine]) -> None:
        if line.recipe and self._open is not None:
            if self._is_live():
                self._open.append((line.text, place))
            return
        text = line.text.lstrip()
        word = next(iter(text.split(None, 1)), "")
        rest = text[len(word) :].strip()
        if self._conditional(word, rest):
            return
        if word == "define" or (word in ("override", "export") and rest.startswith("define")):
            self._read_define(rest.removeprefix("define").strip(), rows)
        elif self._is_live() and word:
            self._read_directive(word, rest, text, place)

    def _conditional(self, word: str, rest: str) -> bool:
        if word in ("ifeq", "ifneq", "ifdef", "ifndef"):
            self._branches.append(_Branch(self._holds(word, rest) if self._is_live() else False))
        elif word == "else" and self._branches:
            branch = self._branches[-1]
            follow, _, more = rest.partition(" ")
            branch.turn(self._holds(follow, more) if follow.startswith("if") else True)
        elif word == "endif" and self._branches:
            self._branches.pop()
        else:
            return False
        return True

    def _holds(self, word: str, rest: str) -> bool | None:
        if word in ("ifdef", "ifndef"):
            name = self.words.expand(rest.strip())
            variable = self.words.variables.get(name)
            if variable is None:
                # The environment may have it.
                return None
            return bool(variable.text) == (word == "ifdef")
        sides = condition(word, rest)
        if sides is None:
            return None
        left, right = map(self.words.expand, sides)
        return None if UNKNOWN in left + right else (left == right) == (word == "ifeq")

    def _read_define(self, head: str, rows: Iterator[MakeLine]) -> None:
        said = statement(head)
        name, operator = (said.name, said.operator) if isinstance(said, MakeVariable) else (head, "=")
        body: list[str] = []
        depth = 1
        for line in rows:
            first = line.text.strip().partition(" ")[0]
            depth += (first == "define") - (first == "endef")
            if depth == 0:
                break
            body.append(f"\t{line.text}" if line.recipe else line.text)
        if self._is_live():
            self._assign(MakeVariable(name, operator, "\n".join(body)))

    def _read_directive(self, word: str, rest: str, text: str, place: int) -> None:
        if word in _MODIFIERS:
            while (first := rest.partition(" ")[0]) in _MODIFIERS:
                rest = rest[len(first) :].lstrip()
            if isinstance(said := statement(rest), MakeVariable):
                self._open = None
                self._assign(said)
        elif word in ("include", "-include", "sinclude") and not isinstance(statement(text), MakeVariable):
            self._take_included(self.words.expand(rest))
        elif word in ("load", "-load"):
            self.problem = "it loads code into make"
        elif word in ("unexport", "undefine", "vpath"):
            return
        else:
            self._read_statement(text, place)

    def _read_statement(self, text: str, place: int) -> None:
        said = statement(text)
        if isinstance(said, MakeVariable):
            self._open = None
            self._assign(said)
        elif isinstance(said, MakeRule):
            self._read_rule(said, place)
        else:
            made = self.words.expand(text).strip()
            if UNKNOWN in made:
                self.problem = "which rules it has is only known when it runs"
            elif made and made != text:
                self._evaluate(made)

    def _evaluate(self, text: str) -> None:
        if UNKNOWN in text:
            self.problem = "it evaluates text that is only known when it runs"
            return
        before, self._open = self._open, None
        rows = iter(lines(text))
        for line in rows:
            self._left -= 1
            if self._left < 0:
                return
            self._read_line(line, 0, rows)
        self._open = before

    def _take_included(self, names: str) -> None:
        if UNKNOWN in names:
            self.problem = "which files it includes is only known when it runs"
            return
        for name in names.split()[:16]:
            source = self._include(name)
            if source is None:
                self.problem = f"it may include `{name}`, which is not read"
            else:
                self.read(source)

    # ------------------------------------------------------------ variables

    def _assign(self, said: MakeVariable, own: dict[str, str] | None = None) -> None:
        words = self.words
        name = words.expand(said.name).strip()
        before = words.variables.get(name)
        if before is not None and before.firm:
            return
        operator = said.operator
        if operator == "!=":
            value = Variable(words.shell(words.expand(said.value)), simple=True)
        elif operator in (":=", "::=", ":::="):
            value = Variable(words.expand(said.value), simple=True)
        elif operator == "+=" and before is not None:
            more = words.expand(said.value) if before.simple else said.value
            value = before._replace(text=f"{before.text} {more}")
        elif operator == "?=" and before is not None and name not in _DEFAULTS:
            return
        else:
            value = Variable(said.value)
        if own is not None:
            own[name] = words.expand(value.text) if not value.simple else value.text
        elif self._is_certain() or before is None:
            # What only a condition that nobody knows would change is left as it is.
            words.variables[name] = value

    def give(self, name: str, value: str) -> None:
        """Assign what the command line gives to a variable."""
        self.words.variables[name] = Variable(value, firm=True)

    # ------------------------------------------------------------ rules

    def _read_rule(self, said: MakeRule, place: int) -> None:
        targets = tuple(self.words.expand(said.targets).split())
        inner = statement(said.rest)
        if isinstance(inner, MakeVariable):
            word, _, rest = inner.name.partition(" ")
            name = rest if word in ("export", "override", "private") and rest else inner.name
            for target in targets:
                self._assign(inner._replace(name=name), self.rules.own.setdefault(target, {}))
            self._open = None
            return
        recipe: list[tuple[str, int]] = [] if said.recipe is None else [(said.recipe, place)]
        self._open = recipe
        self._keep(targets, said, recipe)

    def _keep(self, targets: tuple[str, ...], said: MakeRule, recipe: list[tuple[str, int]]) -> None:
        needs = self.words.expand(said.rest)
        pattern = ""
        if ":" in needs and "%" in needs.partition(":")[0]:
            # A static pattern rule tells by a pattern which part of a target stands in what it needs.
            pattern, _, needs = needs.partition(":")
        if UNKNOWN in "".join(targets):
            self.problem = "some targets are only known when it runs"
        dated, _, ordered = needs.partition("|")
        words = (*dated.split(), *ordered.split())
        self.rules.keep(Known(targets, words, bool(dated.split()), said.double, recipe, pattern.strip()))

    def goals(self) -> list[str]:
        """What is made where no goal is named."""
        default = self.words.variables.get(".DEFAULT_GOAL")
        return [self.words.expand(default.text).strip() if default else self.rules.goal]
