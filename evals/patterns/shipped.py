"""Values for every rule of the shipped library, by chance, in the rule's own example.

A rule's pattern says which characters its values have. The value of one of the rule's examples is replaced by a new one
of these. What stays as it is: values of which the characters are not all (a checksum, a structure within).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import yaml

from lockgate.patterns.library.build import FOLDER

_STRUCTURED = frozenset(
    {"jwt", "base58check", "bech32", "nats_seed", "discord_token", "basic_auth", "credential", "telegram_token", "pem"}
)
_MORE = 24
"""Repetitions at most beyond the least."""
_PRINTABLE = [chr(code) for code in range(32, 127)]


class Value(NamedTuple):
    """An example of a rule with a value of its own."""

    rule: str
    text: str
    start: int
    end: int


def examples(chance: Random) -> Iterator[Value]:
    """One example for each rule that finds secrets, and for each of its examples."""
    for rule in _rules():
        for example in rule["examples"]["match"]:
            text = example if isinstance(example, str) else "".join(example)
            yield _renewed(rule, text, chance)


def _rules() -> Iterator[dict[str, Any]]:
    for file in sorted((FOLDER / "library").glob("secrets_*.yaml")):
        for side in yaml.safe_load(file.read_text(encoding="utf-8"))["patterns"].values():
            for group in side.values():
                # What is of low severity, ``lockgate scan`` reports only when it is asked to: keys that may be public.
                yield from (rule for rule in group.get("rules", ()) if rule.get("severity") != "low")


def _renewed(rule: dict[str, Any], text: str, chance: Random) -> Value:
    pattern = rule["pattern"].replace(r"\z", r"\Z")  # as this module of Python spells it
    found = re.search(pattern, text)
    if found is None:
        return Value(rule["id"], text, 0, len(text))
    group = "value" if found.re.groupindex.get("value") and found["value"] else 0
    start, end = found.span(group)
    names = {each if isinstance(each, str) else next(iter(each)) for each in rule.get("validate", ())}
    if names & _STRUCTURED:
        return Value(rule["id"], text, start, end)
    value = sampled(pattern, group, chance)
    renewed = text[:start] + value + text[end:]
    # What stands around may belong to the pattern, too: keep the example where the new value does not fit it.
    if re.search(pattern, renewed) is None:
        return Value(rule["id"], text, start, end)
    return Value(rule["id"], renewed, start, start + len(value))


def sampled(pattern: str, group: str | int, chance: Random) -> str:
    """A text that a pattern, or a group of it, matches."""
    tree = _parser.parse(pattern)
    if group:
        number = re.compile(pattern).groupindex[str(group)]
        tree = _find(tree, number)
    return "".join(_written(tree, chance))


def _find(tree: Any, number: int) -> Any:
    for code, value in tree:
        for inner in _inside(code, value):
            if code is codes.SUBPATTERN and value[0] == number:
                return inner
            found = _find(inner, number)
            if found is not None:
                return found
    return None


def _inside(code: Any, value: Any) -> Sequence[Any]:
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code is codes.BRANCH:
        return list(value[1])
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return [value[2]]
    return []


def _written(tree: Any, chance: Random) -> Iterator[str]:
    for code, value in tree:
        if code is codes.LITERAL:
            yield chr(value)
        elif code is codes.IN:
            yield chance.choice(_members(value))
        elif code is codes.ANY:
            yield chance.choice(_PRINTABLE)
        elif code is codes.NOT_LITERAL:
            yield chance.choice([each for each in _PRINTABLE if each != chr(value)])
        elif code is codes.BRANCH:
            yield from _written(chance.choice(value[1]), chance)
        elif code is codes.SUBPATTERN:
            yield from _written(value[3], chance)
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            least, most, inner = value
            for _ in range(chance.randint(least, min(int(most), least + _MORE))):
                yield from _written(inner, chance)


_CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_NOT_WORD: r"\W",
    codes.CATEGORY_NOT_SPACE: r"\S",
}


def _members(items: Any) -> list[str]:
    found: set[str] = set()
    negated = False
    for code, value in items:
        if code is codes.NEGATE:
            negated = True
        elif code is codes.LITERAL:
            found.add(chr(value))
        elif code is codes.RANGE:
            found.update(map(chr, range(value[0], min(value[1], 126) + 1)))
        elif code is codes.CATEGORY:
            found.update(each for each in _PRINTABLE if re.match(_CATEGORIES[value], each))
    return sorted(set(_PRINTABLE) - found if negated else found)
