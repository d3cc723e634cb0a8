"""Small libraries for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import hyperscan
import re2

from lockgate.patterns.engine.compiling import compile_library
from lockgate.patterns.engine.matcher import Matcher
from lockgate.patterns.engine.request import CheckRequest
from lockgate.patterns.engine.scanner import Scanner
from lockgate.patterns.fields import fields_of
from lockgate.patterns.model import (
    GuardrailDecision,
    GuardrailResult,
    Kind,
    Library,
    Mode,
    Rule,
    RuleGroup,
    Side,
    ToolRule,
)

KEY = bytes(range(32))


def group(name: str, rules: tuple[int, ...], **changes: Any) -> RuleGroup:
    """A group that blocks inputs."""
    made = RuleGroup(name, Side.INPUT, name, Mode.BLOCK, 10_000, Kind.SECRET, GuardrailDecision.BLOCK, rules)
    return made._replace(**changes)


def library(*rules: Rule, groups: tuple[RuleGroup, ...] = (), tools: tuple[ToolRule, ...] = ()) -> Library:
    """A library; without groups, one that has all rules."""
    everything = (group("g", tuple(range(len(rules)))),)
    return Library(rules, groups or everything, tools, "")


def rule(pattern: str, name: str = "r", **changes: Any) -> Rule:
    """A rule of the group ``g``."""
    return Rule(name, "g", name, pattern)._replace(**changes)


_COMPILED: dict[str, bytes] = {}
"""By what stands in a library: to compile one takes a quarter of a second, and the rows of a table share theirs."""


def _compiled(made: Library) -> bytes:
    key = repr(made)
    if key not in _COMPILED:
        _COMPILED[key] = compile_library(made, hyperscan)
    return _COMPILED[key]


def scanner(made: Library, clock: Callable[[], float] = lambda: 0.0, **more: Any) -> Scanner:
    """The scanner of a library; time stands still."""
    return Scanner(Matcher(_compiled(made), hyperscan, lambda: re2), clock, KEY, **more)


def check(made: Library, value: Mapping[str, Any] | str, side: Side = Side.INPUT, tool: str = "") -> GuardrailResult:
    """Check one tool input, or one text."""
    fields = fields_of({"text": value} if isinstance(value, str) else value)
    return scanner(made).check(fields, CheckRequest(side, tool))
