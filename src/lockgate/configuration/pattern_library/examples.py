"""Tests rules for people who write patterns: their examples, and what the library finds in a text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from lockgate.core.display_text import visible
from lockgate.core.errors import ConfigError
from lockgate.patterns.engine.compiling import compile_library
from lockgate.patterns.engine.matcher import ConfirmedMatch, Matcher
from lockgate.patterns.engine.request import CheckRequest
from lockgate.patterns.engine.scanner import Scanner
from lockgate.patterns.fields import Field
from lockgate.patterns.library.linking import Linked
from lockgate.patterns.model import (
    GuardrailDecision,
    Kind,
    Library,
    Mode,
    PatternMatch,
    Rule,
    RuleGroup,
    Side,
    ToolRule,
)
from lockgate.patterns.validators import VALIDATORS
from lockgate.system.libraries import library

_KEY = b"examples"
_MILLISECONDS = 60_000.0
"""Enough for any example: what is looked for is what a rule finds, not how fast."""
_MOST_REFUSED = 50
_ANSWERS = {True: "proven", None: "plausible", False: "rejected"}


def failures(linked: Linked, files: Collection[str] | None = None) -> tuple[int, list[ConfigError]]:
    """Run the examples of all rules, each rule by itself, through the real scanner.

    Args:
        linked: The library.
        files: Only rules that stand in these files; ``None`` for all.

    Returns:
        How many examples were run, and those that do not hold.

    Raises:
        PatternError: The patterns cannot be compiled together.
    """
    rules = [rule._replace(applies_to=("*",)) for rule in linked.library.rules]
    scanner = _scanner(_apart(rules))
    ran, failed = 0, []
    for index, (rule, origin) in enumerate(zip(rules, linked.origins, strict=True)):
        if files is not None and origin.file not in files:
            continue
        for key, texts in (("match", origin.match), ("no_match", origin.no_match)):
            for number, text in enumerate(texts):
                ran += 1
                if _finds(scanner, index, rule, text) != (key == "match"):
                    does = "does not match" if key == "match" else "matches"
                    name = f"{rule.group}/{rule.id}.examples.{key}[{number}]"
                    failed.append(ConfigError(origin.file, origin.line, name, f"{does}: {visible(text, 100)!r}"))
    return ran, failed


def _scanner(patterns: Library) -> Scanner:
    hyperscan = library("hyperscan")
    matcher = Matcher(compile_library(patterns, hyperscan), hyperscan, lambda: library("re2"))
    return Scanner(matcher, lambda: 0.0, _KEY)


def _apart(rules: Sequence[Rule]) -> Library:
    """A library in which each rule is a group of its own, that one tool is looked at with."""
    block = GuardrailDecision.BLOCK
    groups = (
        RuleGroup(str(index), Side.INPUT, "", Mode.BLOCK, _MILLISECONDS, Kind.OTHER, block, (index,))
        for index in range(len(rules))
    )
    tools = (ToolRule(str(index), (str(index),), None, {}) for index in range(len(rules)))
    return Library(tuple(rules), tuple(groups), tuple(tools), "")


def _finds(scanner: Scanner, index: int, rule: Rule, text: str) -> bool:
    """Whether one rule finds something in a text that stands in a field of its own."""
    name = rule.fields[0].replace("*", "x") if rule.fields else "text"
    found = scanner.check([Field(name, name, text)], CheckRequest(Side.INPUT, str(index)))
    return any(match.rule == f"{rule.group}/{rule.id}" for match in found.pattern_matches)


# ---------------------------------------------------------------- explaining a text


def explain_text(linked: Linked, text: str, tool: str, *, output: bool) -> dict[str, Any]:
    """What the library makes of a text, as plain values.

    Args:
        linked: The library.
        text: Untrusted.
        tool: The name of the tool that it goes into, or comes out of; empty for any.
        output: Whether it comes out of it.

    Raises:
        PatternError: The patterns cannot be compiled together.
    """
    scanner = _scanner(linked.library)
    request = CheckRequest(Side.OUTPUT if output else Side.INPUT, tool, timeout_ms=_MILLISECONDS)
    result = scanner.check([Field("text", "text", text)], request)
    used = {index for use in scanner.uses(request) for index in use.group.rules}
    answers = list(_answers(scanner.matcher, text, used))
    return {
        "decision": result.decision.value,
        "reason": result.reason,
        "matches": [_match(match, text, answers) for match in result.pattern_matches],
        "refused": [answer for answer in answers if answer["because"]][:_MOST_REFUSED],
    }


def _match(match: PatternMatch, text: str, answers: list[dict[str, Any]]) -> dict[str, Any]:
    place = (match.rule, match.start)
    said: list[dict[str, str]] = [
        each["validators"] for each in answers if (each["rule"], each["start"]) == place and not each["because"]
    ]
    return {
        "rule": match.rule,
        "type": match.type,
        "severity": match.severity.word,
        "mode": match.mode.word,
        "decision": match.decision.value,
        "redacted": match.redact,
        "validated": match.validated,
        "start": match.start,
        "end": match.end,
        "encoding": list(match.encoding),
        "text": text[match.start : match.end],
        "validators": said[0] if said else {},
    }


def _answers(matcher: Matcher, text: str, used: Collection[int]) -> Iterator[dict[str, Any]]:
    """Every place where a pattern matches, and what the validators of its rule say to it."""
    data = text.encode("utf-8", "surrogatepass")
    for hits in matcher.pieces(data):
        for index in sorted(set(hits.ends) & set(used)):
            places: list[ConfirmedMatch] = []
            # A match that is refused is looked within again, as when it is checked.
            matcher.confirm(index, data, hits, lambda found, places=places: places.append(found) or False)  # type: ignore[misc]
            rule = matcher.rule(index)
            for found in places:
                yield _answer(rule, found, data)


def _answer(rule: Rule, found: ConfirmedMatch, data: bytes) -> dict[str, Any]:
    candidate = found.candidate(data)
    verdicts = {name: VALIDATORS[name](candidate, number) for name, number in rule.validate}
    against = [name for name, verdict in verdicts.items() if verdict is False]
    start = len(data[: found.value_start].decode("utf-8", "replace"))
    return {
        "rule": f"{rule.group}/{rule.id}",
        "start": start,
        "end": start + len(candidate.value),
        "text": candidate.value,
        "validators": {name: _ANSWERS[verdict] for name, verdict in verdicts.items()},
        "because": f"rejected by {', '.join(against)}" if against else "",
    }
