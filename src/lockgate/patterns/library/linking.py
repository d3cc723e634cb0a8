"""Links the layers into the library that a scanner is compiled from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.library.loading import split_pattern, split_validator, text_of
from lockgate.patterns.library.merging import DEFAULTS, GroupState, MergeState, RuleState
from lockgate.patterns.model import GuardrailDecision, Kind, Library, Mode, Rule, RuleGroup, Severity, Side, ToolRule
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from typing import Any

BESIDE = "@project"
"""Behind the id of a group: the rules that layers which may not loosen have added to it."""


class RuleOrigin(Record):
    """The facts of a rule that a person wants to know, and a scanner does not."""

    layers: tuple[str, ...]
    """Those that made it, from the lowest."""
    provider: str
    source: str
    file: str
    line: int
    match: tuple[str, ...]
    """Examples that it must find."""
    no_match: tuple[str, ...]
    """Examples that it must not find."""


class Linked(Record):
    """The library, and where its rules come from."""

    library: Library
    origins: tuple[RuleOrigin, ...]
    """One for each rule."""


def link(state: MergeState) -> Linked:
    """The library of all rules that are not switched off; those of layers that may not loosen stand last."""
    states = [
        rule for group in state.groups.values() for rule in group.rules.values() if rule.keys.get("enabled", True)
    ]
    states.sort(key=lambda rule: not rule.trusted)
    indexes = {id(rule): index for index, rule in enumerate(states)}
    groups: list[RuleGroup] = []
    for group in state.groups.values():
        groups += _groups(state, group, indexes)
    known = {group.id for group in groups}
    tools = tuple(_tool(state, name, known) for name in state.tools)
    rules = tuple(map(_rule, states))
    text = json.dumps([rules, groups, tools], sort_keys=True)
    return Linked(Library(rules, tuple(groups), tools, sha256(text.encode()).hexdigest()), tuple(map(_origin, states)))


# ---------------------------------------------------------------- rules


def _rule(state: RuleState) -> Rule:
    keys = state.keys
    negated, pattern = split_pattern(keys["pattern"])
    fields = tuple(keys.get("fields", ()))
    return Rule(
        id=state.id,
        group=state.group,
        type=keys["type"],
        pattern=pattern,
        severity=Severity[keys.get("severity", DEFAULTS["severity"]).upper()],
        negated=negated,
        applies_to=tuple(keys.get("applies_to", ("*",))),
        fields=fields or ((keys["type"],) if negated else ()),
        boundary=keys.get("boundary", DEFAULTS["boundary"]),
        validate=tuple(map(split_validator, keys.get("validate", ()))),
        generic=keys.get("generic", False),
        action=keys.get("action", ""),
        replacement=keys.get("replacement", ""),
        multiline=keys.get("multiline", False),
    )


def _origin(state: RuleState) -> RuleOrigin:
    examples = state.keys.get("examples", {})
    return RuleOrigin(
        layers=tuple(dict.fromkeys(state.layers)),
        provider=state.keys.get("provider", ""),
        source=state.keys.get("source", ""),
        file=state.file,
        line=state.line,
        match=tuple(map(text_of, examples.get("match", ()))),
        no_match=tuple(map(text_of, examples.get("no_match", ()))),
    )


# ---------------------------------------------------------------- groups


def _groups(state: MergeState, group: GroupState, indexes: Mapping[int, int]) -> list[RuleGroup]:
    """A group, and beside it the one of what layers which may not loosen have added to it."""
    whole = _find_reached(state, group, trusted_only=False)
    own = _find_reached(state, group, trusted_only=True) if group.trusted else whole
    added = [rule for rule in whole if rule not in own]
    keys: Mapping[str, Any] = {**DEFAULTS, **group.keys}
    made = RuleGroup(
        id=group.id,
        side=Side(group.side),
        name=keys.get("name", group.id),
        mode=Mode[keys["mode"].upper()],
        timeout_ms=float(keys["timeout_ms"]),
        kind=Kind(keys["kind"]),
        fallback=_fallback(keys["fallback"]),
        rules=_indexes(own, indexes),
        action=keys.get("action", ""),
        replacement=keys.get("replacement", ""),
        covers=tuple(sorted(_find_covered(state, group, trusted_only=group.trusted))),
    )
    beside = made._replace(
        id=made.id + BESIDE, covers=(), name=f"{made.name} (project)", rules=_indexes(added, indexes)
    )
    return [made, beside] if beside.rules else [made]


def _indexes(rules: Sequence[RuleState], indexes: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(sorted(indexes[id(rule)] for rule in rules if id(rule) in indexes))


def _find_reached(state: MergeState, group: GroupState, *, trusted_only: bool) -> list[RuleState]:
    """The rules of a group and of all that it includes, however far."""
    return [
        rule
        for name in _find_covered(state, group, trusted_only=trusted_only)
        for rule in state.groups[name].rules.values()
        if rule.trusted or not trusted_only
    ]


def _find_covered(state: MergeState, group: GroupState, *, trusted_only: bool) -> list[str]:
    """A group and all that it includes, however far."""
    seen: dict[str, None] = {}
    todo = [group.id]
    while todo:
        name = todo.pop()
        if name not in seen and name in state.groups:
            seen[name] = None
            includes = state.groups[name].includes.items()
            todo += [other for other, trusted in includes if trusted or not trusted_only]
    return list(seen)


def _fallback(word: str) -> GuardrailDecision:
    return GuardrailDecision.APPROVE if word == "allow" else GuardrailDecision(word)


# ---------------------------------------------------------------- tools


def _tool(state: MergeState, name: str, known: set[str]) -> ToolRule:
    rule = state.tools[name]
    inputs = [group.id for group in state.groups.values() if group.side == Side.INPUT]
    named = inputs if rule.groups is None else rule.groups
    groups = tuple(each for group in named for each in (group, group + BESIDE) if each in known)
    modes = {
        each: Mode[mode.upper()]
        for group, mode in rule.modes.items()
        for each in (group, group + BESIDE)
        if each in known
    }
    return ToolRule(name, groups, None if rule.fallback is None else _fallback(rule.fallback), modes)
