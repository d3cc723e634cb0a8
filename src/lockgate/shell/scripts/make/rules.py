"""Finds the recipes that a goal leads to (``info make``, nodes "Rules" and "Implicit Rules")."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from lockgate.core.record import Record
from lockgate.shell.scripts.make.words import match_stem

_MOST_TARGETS = 300
_DEEPEST = 60
"""How many targets may need each other in a row."""


class RecipeLine(Record):
    """One line of a recipe, expanded."""

    text: str
    place: int


class Known(Record):
    """A rule whose targets and prerequisites are expanded."""

    targets: tuple[str, ...]
    needs: tuple[str, ...]
    """What is made before it; what stands after ``|`` too."""
    dated: bool
    """Whether it is run again where one of these is newer than a target."""
    double: bool
    """Whether it is a rule with ``::``, which is run whenever it has no prerequisites."""
    recipe: list[tuple[str, int]]
    """Its lines, not expanded, with their places. They are read after the rule is kept."""
    pattern: str = ""
    """For a static pattern rule: what its targets look like."""


class MakeRules:
    """All rules that were read so far."""

    def __init__(self, expand: Callable[[str, Mapping[str, str]], str], at: Callable[[int], object]) -> None:
        self._expand, self._at = expand, at
        self._rules: list[Known] = []
        self.own: dict[str, dict[str, str]] = {}
        """Variables of a target, which hold for all that is made for it."""
        self.goal = ""
        """What is made where no goal is named."""
        self.one_shell = False
        """Whether all lines of a recipe are run by one shell."""

    def keep(self, rule: Known) -> None:
        """Add a rule."""
        self.one_shell |= ".ONESHELL" in rule.targets
        if not self.goal:
            plain = (name for name in rule.targets if "%" not in name and (not name.startswith(".") or "/" in name))
            self.goal = next(plain, "")
        self._rules.append(rule)

    def targets(self) -> list[str]:
        """Everything that has a rule of its own."""
        return [name for rule in self._rules for name in rule.targets if "%" not in name]

    def steps(self, goals: list[str], is_there: Callable[[str], bool]) -> Iterator[RecipeLine]:
        """The lines of all recipes that some goals can lead to, each recipe once.

        Args:
            goals: What is to be made.
            is_there: Whether there is a file. What is made once and never again is left alone where there is.
        """
        seen: set[str] = set()
        for goal in goals:
            yield from self._make_target(goal, {}, seen, 0, is_there)

    def _make_target(
        self, target: str, inherited: Mapping[str, str], seen: set[str], depth: int, is_there: Callable[[str], bool]
    ) -> Iterator[RecipeLine]:
        """The recipes of one target, those of what it needs first."""
        if target in seen or len(seen) >= _MOST_TARGETS or depth >= _DEEPEST:
            return
        seen.add(target)
        own = {**inherited, **self.own.get(target, {})}
        found = self._rules_of(target)
        once = not any(rule.dated or rule.double for rule, _ in found) and not self._is_phony(target)
        for rule, stem in found:
            needs = [need.replace("%", stem, 1) for need in rule.needs]
            for need in needs:
                yield from self._make_target(need, own, seen, depth + 1, is_there)
            if not (once and is_there(target)):
                yield from self._recipe(rule, {**own, **_automatic(target, stem, needs)})

    def _is_phony(self, target: str) -> bool:
        return any(".PHONY" in rule.targets and target in rule.needs for rule in self._rules)

    def _rules_of(self, target: str) -> list[tuple[Known, str]]:
        explicit = [(rule, match_stem(rule.pattern, target) or "") for rule in self._rules if target in rule.targets]
        if any(rule.recipe for rule, _ in explicit):
            return explicit
        patterns = [
            (rule, stem)
            for rule in self._rules
            for pattern in rule.targets
            if "%" in pattern and (stem := match_stem(pattern, target)) is not None
        ]
        return [*explicit, *patterns]

    def _recipe(self, rule: Known, own: Mapping[str, str]) -> Iterator[RecipeLine]:
        made: list[RecipeLine] = []
        for text, place in rule.recipe:
            self._at(place)
            made += [RecipeLine(row, place) for row in _rows(self._expand(text, own))]
        if self.one_shell and made:
            yield RecipeLine("\n".join(step.text for step in made), made[0].place)
        else:
            yield from made


def _rows(text: str) -> list[str]:
    """The lines of an expanded recipe without what make itself reads at their begin. Continued lines stay together."""
    rows: list[str] = []
    for row in text.split("\n"):
        if rows and (len(rows[-1]) - len(rows[-1].rstrip("\\"))) % 2:
            rows[-1] += "\n" + row
        else:
            rows.append(row.lstrip(" \t@-+"))
    return [row for row in rows if row.strip()]


def _automatic(target: str, stem: str, needs: list[str]) -> Mapping[str, str]:
    folder, slash, name = target.rpartition("/")
    every = " ".join(dict.fromkeys(needs))
    return {"@": target, "*": stem, "<": needs[0] if needs else "", "^": every, "+": " ".join(needs), "?": every,
            "|": "", "@D": folder if slash else ".", "@F": name, "%": ""}  # fmt: skip
