# ruff: noqa: E501 - a row of a table is one line
"""Layers that only tighten, whatever they say, and what is said where one would loosen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.core.model import Category, Effect, EffectKind, Label, LabelState, Variant, Verdict
from lockgate.policy.compiled import Policy, policy, service
from lockgate.policy.decide import decide, strictest
from lockgate.policy.lockbox.commands import STEPS
from lockgate.policy.lockbox.merging import LockboxLayer, compile_layers, merge
from lockgate.policy.profiles import read_shipped_profiles
from lockgate.policy.report import loosenings
from lockgate.resources.categories import overrule
from lockgate.resources.host_view import Service


def layers(*contents: Mapping[str, Any]) -> list[LockboxLayer]:
    return [LockboxLayer(f"layer{number}", content) for number, content in enumerate(contents)]


WORDS = ("^x", "x", "y", "--help", "!^x", "!x", "!y")
TOOLS = ("X", "Y*", "mcp__a__b", "mcp__*")
CATEGORIES = [category.value for category in Category]
ROWS = sorted(set(read_shipped_profiles()["quarantine"].table) - {"local", "tamper_self"})
cells = st.sampled_from(["allow", "ask", "deny", ["contain", "ask"], ["judge", "deny"]])
contents = st.fixed_dictionaries(
    {},
    optional={
        "profile": st.sampled_from(sorted(read_shipped_profiles())),
        "table": st.dictionaries(
            st.sampled_from(ROWS), cells | st.dictionaries(st.sampled_from([*map(str, LabelState)]), cells), max_size=4
        ),
        "bash_patterns": st.dictionaries(st.sampled_from(STEPS), st.lists(st.sampled_from(WORDS), max_size=3)),
        "override_safe": st.lists(st.sampled_from(WORDS), max_size=2),
        "tools": st.dictionaries(st.sampled_from(TOOLS), st.sampled_from(CATEGORIES), max_size=3),
        "mcp_tools": st.dictionaries(st.sampled_from(TOOLS[2:]), st.sampled_from(CATEGORIES), max_size=2),
        "mcp_default": st.sampled_from(CATEGORIES),
        "strict": st.booleans(),
    },
)
KINDS = [(kind, Variant.PLAIN) for kind in EffectKind] + [
    (EffectKind.FETCH, Variant.KNOWN),
    (EffectKind.FETCH, Variant.SEARCH),
    (EffectKind.TAMPER, Variant.SELF),
]
effects = st.lists(st.sampled_from(KINDS).map(lambda k: Effect(k[0], "x", "r:x", "b", k[1])), max_size=3)
COMMANDS = (("x",), ("x", "y"), ("z", "x"), ("x", "--help"), ("x", None))
hosts = st.sampled_from([frozenset(), frozenset({Verdict.CONTAIN}), frozenset({Verdict.CONTAIN, Verdict.JUDGE})])


def verdict(policies: list[Policy], found: list[Effect], words: Any, labels: frozenset[Label], able: Any) -> Verdict:
    """What the gate does, in small: each policy applies its rules to the effects and decides; the strictest counts."""
    decisions = []
    for one in policies:
        text = " ".join(word or "$X" for word in words)
        rule = one.rules.command_category(text, words)
        left = overrule(found, rule, text) if rule else tuple(found)
        for tool in ("X", "mcp__a__b"):
            said = one.rules.tool_category(tool)
            left = overrule(left, said, tool) if said else left
        decisions.append(decide(left, labels, one.profile, able=able))
    return strictest(decisions).verdict


calls = st.tuples(effects, st.sampled_from(COMMANDS), st.sets(st.sampled_from(sorted(Label))).map(frozenset), hosts)


@given(st.lists(contents, max_size=2), contents, contents, calls)
def test_an_untrusted_project_only_tightens(
    own: list[dict[str, Any]], project: dict[str, Any], other: dict[str, Any], call: Any
) -> None:
    below = layers(*own)
    before = verdict([*map(policy, compile_layers(below))], *call)
    for files in ([project], [project, other]):
        above = [LockboxLayer("project", content, trusted=False) for content in files]
        assert verdict([*map(policy, compile_layers([*below, *above]))], *call) >= before


@given(contents, contents, contents, calls)
def test_layers_above_a_strict_one_only_tighten(
    managed: dict[str, Any], user: dict[str, Any], project: dict[str, Any], call: Any
) -> None:
    strict = {**managed, "strict": True}
    before = verdict([policy(merge(layers(strict)))], *call)
    assert verdict([*map(policy, compile_layers(layers(strict, user, project)))], *call) >= before


@given(st.lists(contents, max_size=3), calls)
def test_no_configuration_lets_an_agent_touch_the_gate(own: list[dict[str, Any]], call: Any) -> None:
    _, words, labels, able = call
    itself = [Effect(EffectKind.TAMPER, "x", "r:x", "b", Variant.SELF)]
    assert verdict([*map(policy, compile_layers(layers(*own)))], itself, words, labels, able) == Verdict.DENY


@given(st.lists(contents, max_size=3))
def test_a_compiled_configuration_survives_json(own: list[dict[str, Any]]) -> None:
    for compiled in compile_layers(layers(*own)):
        assert json.loads(json.dumps(compiled)) == compiled


@given(st.lists(contents, max_size=2), contents, calls)
def test_what_loosens_is_said(own: list[dict[str, Any]], project: dict[str, Any], call: Any) -> None:
    before, after = merge(layers(*own)), merge(layers(*own, project))
    if verdict([policy(after)], *call) < verdict([policy(before)], *call):
        assert loosenings(before, after)


SERVICES = ("mcp__a", "mcp__a__b", "mcp__a__b__c", "mcp__a*", "mcp__*__c", "mcp__a__b__*", "mcp__?", "*b*", "*")
declared = st.dictionaries(
    st.sampled_from(SERVICES), st.fixed_dictionaries({"public_sink": st.sampled_from((True, False, "forbidden"))})
)


@given(declared, declared, st.sampled_from(("mcp__a__b", "mcp__a__c", "mcp__a__b__c", "mcp__a__b__d", "mcp__b__c")))
def test_what_a_declaration_loosens_is_said(own: dict[str, Any], project: dict[str, Any], tool: str) -> None:
    before, after = (merge(layers(*({"services": each} for each in some))) for some in ((own,), (own, project)))
    was, now = (_strictness(service(compiled["services"], tool)) for compiled in (before, after))
    assert now >= was or loosenings(before, after)


def _strictness(found: Service | None) -> int:
    return 1 if found is None else 2 * found.forbidden or int(found.public_sink is not False)


@given(st.lists(contents, max_size=2))
def test_nothing_loosens_against_itself(own: list[dict[str, Any]]) -> None:
    compiled = merge(layers(*own))
    said = loosenings(compiled, compiled)
    assert said == []


def test_how_many_configurations_decide() -> None:
    own, strict = LockboxLayer("u", {}), LockboxLayer("m", {"strict": True})
    project = LockboxLayer("p", {}, trusted=False)
    assert [len(compile_layers(some)) for some in ([], [own], [own, project], [strict, own], [strict, own, project])] == [
        1, 1, 2, 2, 3,
    ]  # fmt: skip
    assert len(compile_layers([own, strict])) == 1


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({}, {"bash_patterns": {"acting": ["x"]}}, []),
        ({}, {"table": {"egress": "deny"}}, []),
        ({}, {"protected_paths": ["x"]}, []),
        ({}, {"services": {"x": {"public_sink": True}}}, []),
        ({}, {"mcp_tools": {"mcp__x": "unsafe_acting"}}, []),
        ({}, {"table": {"egress": {"both": "ask"}}}, ["table: egress, both: deny becomes ask"]),
        ({}, {"bash_patterns": {"safe": ["x"]}}, ["commands: x becomes safe"]),
        ({"bash_patterns": {"acting": ["x"]}}, {"bash_patterns": {"acting": ["!x"]}}, ["commands: x is no longer acting"]),
        ({}, {"mcp_tools": {"mcp__x": "acting"}}, ["mcp_tools: mcp__x becomes acting"]),
        ({}, {"mcp_default": "safe"}, ["mcp_default becomes safe"]),
        ({"mcp_default": "safe"}, {"mcp_default": "safe"}, []),
        ({"tools": {"acting": ["X"]}}, {"tools": {"acting": ["!X"]}}, ["tools: X is no longer acting"]),
        ({}, {"trusted_domains": ["a.org"]}, ["trusted_domains: a.org"]),
        ({"trusted_domains": ["a.org"]}, {"trusted_domains": [{"host": "a.org", "content": "trusted"}]}, ["trusted_domains: a.org, and what it returns"]),
        ({"secret_paths": ["p"]}, {"secret_paths": ["!p"]}, ["secret_paths loses p"]),
        ({}, {"services": {"x": {"public_sink": False}}}, ["services: x: public_sink becomes false"]),
        ({"services": {"x": {"public_sink": "forbidden"}}}, {"services": {"x": {"public_sink": True}}}, ["services: x: public_sink becomes true"]),
        ({"services": {"mcp__x": {"public_sink": "forbidden"}}}, {"services": {"mcp__x__y": {"public_sink": True}}}, ["services: mcp__x__y: public_sink becomes true"]),
        ({"services": {"mcp__x": {"public_sink": False}}}, {"services": {"mcp__x": {"public_sink": False}}}, []),
        ({"services": {"mcp__*": {"public_sink": False}}}, {"services": {"mcp__x__y": {"public_sink": False}}}, []),
        ({"services": {"mcp__x": {"public_sink": False}}}, {"services": {"mcp__x__y": {"public_sink": False}}}, ["services: mcp__x__y: public_sink becomes false"]),
        ({"services": {"mcp__x": {"public_sink": False}}}, {"services": {"mcp__x__y*": {"public_sink": False}}}, ["services: mcp__x__y*: public_sink becomes false"]),
        ({"services": {"mcp__xy": {"public_sink": "forbidden"}}}, {"services": {"mcp__x*__z": {"public_sink": True}}}, ["services: mcp__x*__z: public_sink becomes true"]),
        ({"services": {"mcp__?": {"public_sink": False}}}, {"services": {"mcp__x": {"public_sink": False}}}, ["services: mcp__x: public_sink becomes false"]),
        ({"services": {"*Fetch": {"public_sink": False}}}, {"services": {"WebFetch": {"public_sink": False}}}, []),
        ({"services": {"WebFetch": {"public_sink": "forbidden"}}}, {"services": {"mcp__*": {"public_sink": True}}}, []),
        ({"profile": "cascade"}, {"table": {"execute_runtime": "allow"}}, [f"table: execute_runtime, {column}: contain else {rest} becomes allow" for column, rest in (("untrusted", "judge else ask"), ("secret", "judge else ask"), ("both", "ask"))]),
        ({"profile": "cascade"}, {"table": {"execute": {"both": "allow"}}}, ["table: execute, both: contain else judge else ask becomes allow", "table: execute_runtime, both: contain else ask becomes allow"]),
        ({}, {"table": {"execute_runtime": {"both": "allow"}}}, ["table: execute_runtime, both: contain else ask becomes allow"]),
        ({"git": {"push": "deny"}}, {"git": {"push": "ask"}}, ["git: push: deny becomes ask"]),
        ({"git": {"push": "ask"}}, {"git": {"push": "deny"}}, []),
        ({"git": {"push": "ask", "_why": "x"}}, {"git": {"rebase": "deny"}}, ["git: push: ask becomes allow"]),
        ({"git": {"protected_branches": ["main", "x"]}}, {"git": {"protected_branches": ["main"]}}, ["git: x is no longer protected"]),
        ({}, {"profile": "observe", "table": dict.fromkeys(ROWS, "deny")}, ["profile: quarantine becomes observe"]),
    ],
)  # fmt: skip
def test_what_would_loosen(before: dict[str, Any], after: dict[str, Any], said: list[str]) -> None:
    assert loosenings(merge(layers(before)), merge(layers(before, after))) == said


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize(
    ("key", "value"),
    [("plugins", ["./rules.py"]), ("judge", {"base_url": "https://x.example"}), ("approvals", {"headless": "wait"})],
)
def test_no_project_says_whom_the_gate_asks_or_runs(key: str, value: Any, trusted: bool) -> None:
    compiled = merge(
        [
            LockboxLayer("user", {}),
            LockboxLayer("project", {key: value, "git": {"push": "deny"}}, trusted, project=True),
        ]
    )
    assert key not in compiled["scalars"]
    assert compiled["scalars"]["git"] == [{"push": "deny"}, "project"]
    assert any(where == f"project:{key}" for where, _ in compiled["notes"])
    assert merge([LockboxLayer("user", {key: value})])["scalars"][key] == [value, "user"]
