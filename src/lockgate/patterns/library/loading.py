"""Loads a pattern file: gives checked values, or every problem of the file.

The published JSON Schema is what is enforced. Beyond it, every pattern must be one that both engines take, every
validator must be known, and ids must be unique. What a file says about other layers is looked at when they are merged.
Nothing here is imported by a hook unless a file has changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache

from lockgate.core.errors import ConfigError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.documents.reader import read
from lockgate.system.documents.schema import did_you_mean, errors, problems
from lockgate.system.documents.values import Document, Path

if TYPE_CHECKING:
    from typing import Any

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIDES = ("input", "output")


class PatternChecks(Record):
    """The checks of a pattern file."""

    pattern_problems: Callable[[Sequence[str]], Sequence[str]]
    """What is wrong with each of several patterns; empty where nothing is."""
    validators: Collection[str]
    """The names that are known."""


def real_checks() -> PatternChecks:
    """What files are checked with where both engines are installed."""
    from lockgate.patterns.library.syntax import pattern_problems
    from lockgate.patterns.validators import VALIDATORS
    from lockgate.system.libraries import library

    re2, hyperscan = library("re2"), library("hyperscan")
    return PatternChecks(lambda patterns: pattern_problems(patterns, re2, hyperscan), tuple(VALIDATORS))


class Loaded(Record):
    """The outcome of loading one file."""

    document: Document | None
    """The valid content, ``None`` where there is a problem."""
    problems: tuple[ConfigError, ...]


@cache
def schema_text() -> str:
    """The published schema, as text."""
    with open(os.path.join(_FOLDER, "patterns.schema.json"), encoding="utf-8") as file:
        return file.read()


@cache
def _validator() -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(json.loads(schema_text()))


def load(data: bytes, file: str, checks: PatternChecks) -> Loaded:
    """Read and check one file.

    Args:
        data: Its whole content.
        file: Its path: the ending ``.json`` says that it is JSON, and it stands in the problems.
        checks: What is asked about patterns and validators.
    """
    try:
        document = read(data, file)
    except ConfigError as error:
        return Loaded(None, (error,))
    found = problems(_validator(), document.value) or list(_beyond_schema(document.value, checks))
    return Loaded(None if found else document, errors(document, file, found))


def groups_of(value: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The groups of a file: side, id, content."""
    for side in SIDES:
        for group, content in value.get("patterns", {}).get(side, {}).items():
            yield side, group, content


def rule_id(rule: Mapping[str, Any]) -> str:
    """A rule's id: its type where it has none of its own."""
    written: str = rule.get("id") or rule["type"]
    return written


def text_of(example: str | Sequence[str]) -> str:
    """An example's text: pieces are joined."""
    return example if isinstance(example, str) else "".join(example)


def split_validator(written: str | Mapping[str, float]) -> tuple[str, float | None]:
    """A validator's name and parameter."""
    if isinstance(written, str):
        return written, None
    ((name, number),) = written.items()
    return name, number


def split_pattern(written: str) -> tuple[bool, str]:
    """Whether a pattern is about what does not match, and the pattern itself."""
    return (True, written[1:]) if written.startswith("!") else (False, written)


# ---------------------------------------------------------------- what a schema cannot say


def _beyond_schema(value: Mapping[str, Any], checks: PatternChecks) -> Iterator[tuple[Path, str]]:
    sides: dict[str, str] = {}
    patterns: dict[Path, str] = {}
    for side, group, content in groups_of(value):
        path: Path = ("patterns", side, group)
        if sides.setdefault(group, side) != side:
            yield path, "this group is one of input, too: give one of them another id, and `include` the other"
        if group in content.get("include", ()):
            yield (*path, "include"), "a group cannot include itself"
        yield from _bad_rules(path, content.get("rules", ()), checks)
        for index, rule in enumerate(content.get("rules", ())):
            if "pattern" in rule:
                patterns[*path, "rules", index, "pattern"] = split_pattern(rule["pattern"])[1]
    found = checks.pattern_problems(list(patterns.values()))
    yield from (pair for pair in zip(patterns, found, strict=True) if pair[1])


def _bad_rules(path: Path, rules: Sequence[Mapping[str, Any]], checks: PatternChecks) -> Iterator[tuple[Path, str]]:
    seen: dict[str, int] = {}
    for index, rule in enumerate(rules):
        place = (*path, "rules", index)
        if "id" not in rule and "type" not in rule:
            yield place, "needs `type`, or `id` to change a rule of a lower layer"
            continue
        name = rule_id(rule)
        if seen.setdefault(name, index) != index:
            key = "id" if "id" in rule else "type"
            advice = "" if key == "id" else ": where two rules have one type, each needs an `id`"
            yield (*place, key), f"a rule of this group has the id `{name}` already{advice}"
        for number, written in enumerate(rule.get("validate", ())):
            validator = split_validator(written)[0]
            if validator not in checks.validators:
                problem = f"there is no validator `{validator}`" + did_you_mean(validator, checks.validators)
                yield (*place, "validate", number), problem
