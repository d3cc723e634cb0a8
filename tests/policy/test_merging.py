# ruff: noqa: E501 - a row of a table is one line
"""Layers: Lockbox's rules of merging."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.core.model import Category, LabelState, Verdict
from lockgate.policy.compiled import policy
from lockgate.policy.lockbox.commands import STEPS
from lockgate.policy.lockbox.merging import LockboxLayer, compile_layers, merge
from lockgate.policy.profiles import read_shipped_profiles
from lockgate.policy.report import values
from lockgate.resources.host_view import EVERY, Service, TrustedDomain


def layers(*contents: Mapping[str, Any]) -> list[LockboxLayer]:
    return [LockboxLayer(f"layer{number}", content) for number, content in enumerate(contents)]


def patterns(step: str, *contents: Mapping[str, Any]) -> list[str]:
    return [entry[4] for entry in merge(layers(*contents))["patterns"] if entry[0] == step]


def safe(*entries: str) -> dict[str, Any]:
    return {"bash_patterns": {"safe": list(entries)}}


# ---------------------------------------------------------------- lists


@pytest.mark.parametrize(
    ("contents", "merged"),
    [
        pytest.param([safe("a", "b")], ["a", "b"], id="one-layer"),
        pytest.param([safe("a", "b"), safe("c", "d")], ["c", "d", "a", "b"], id="prepended"),
        pytest.param([safe("a"), safe("b"), safe("c")], ["c", "b", "a"], id="three"),
        pytest.param([safe("a", "b"), safe("!a")], ["b"], id="removed"),
        pytest.param([safe("a", "a"), safe("!a")], [], id="every-match-is-removed"),
        pytest.param([safe("a"), safe("!a", "a")], ["a"], id="removed-below-and-added"),
        pytest.param([safe("!a", "a")], ["a"], id="a-removal-is-for-the-layers-below"),
        pytest.param([safe("a"), safe("!a"), safe("a")], ["a"], id="added-again"),
        pytest.param([safe("aa"), safe("!a")], ["aa"], id="the-whole-entry"),
        pytest.param([safe("a"), {}], ["a"], id="silence-changes-nothing"),
        pytest.param([safe("a"), safe()], ["a"], id="an-empty-list-changes-nothing"),
    ],
)
def test_lists(contents: list[dict[str, Any]], merged: list[str]) -> None:
    assert patterns("safe", *contents) == merged


def test_a_removed_default_is_no_longer_safe_but_only_for_safe() -> None:
    compiled = merge(layers({"bash_patterns": {step: [f"!{step}x"] for step in STEPS}}))
    assert [(entry[0], entry[4], entry[3]) for entry in compiled["patterns"]] == [
        ("not_safe", "safex", "layer0:bash_patterns.safe[0]")
    ]
    assert sorted(rule for rule, _ in compiled["notes"]) == [
        f"layer0:bash_patterns.{step}[0]" for step in sorted(set(STEPS) - {"safe"})
    ]


def test_a_removal_that_is_no_expression_is_noted() -> None:
    compiled = merge(layers(safe("!(")))
    assert compiled["patterns"] == []
    assert "removes nothing: not a regular expression" in compiled["notes"][0][1]


names = st.lists(st.sampled_from([*"abcd", "!a", "!b", "!c", "!d"]), max_size=6)


def model(*contents: list[str]) -> list[str]:
    """Lockbox's rule, written once more."""
    merged: list[str] = []
    for overlay in contents:
        gone = [entry[1:] for entry in overlay if entry[0] == "!"]
        merged = [entry for entry in overlay if entry[0] != "!"] + [entry for entry in merged if entry not in gone]
    return merged


@given(st.lists(names, max_size=4))
def test_lists_follow_the_model(contents: list[list[str]]) -> None:
    assert patterns("safe", *(safe(*entries) for entries in contents)) == model(*contents)


@given(names, names)
def test_removing_twice_is_removing_once(below: list[str], above: list[str]) -> None:
    removals = [entry for entry in above if entry[0] == "!"]
    once = patterns("safe", safe(*below), safe(*removals))
    assert patterns("safe", safe(*below), safe(*removals), safe(*removals)) == once


# ---------------------------------------------------------------- single values, tables, tools, services, hosts, paths


def test_the_last_writer_of_a_single_value_wins() -> None:
    compiled = merge(layers({"mcp_default": "safe", "profile": "observe"}, {"mcp_default": "acting"}, {}))
    assert compiled["scalars"]["mcp_default"] == ["acting", "layer1"]
    assert compiled["scalars"]["profile"] == ["observe", "layer0"]


def test_cells_are_replaced_one_by_one() -> None:
    found = policy(
        merge(
            layers(
                {"table": {"egress": {"untrusted": "ask"}, "persist": "ask"}},
                {"table": {"egress": {"both": ["judge", "ask"]}, "persist": {"clean": "allow"}}},
            )
        )
    ).profile
    assert found.cell("egress", LabelState.UNTRUSTED) == (Verdict.ASK,)
    assert found.cell("egress", LabelState.BOTH) == (Verdict.JUDGE, Verdict.ASK)
    assert found.cell("egress", LabelState.CLEAN) == (Verdict.ALLOW,)
    assert found.cell("persist", LabelState.CLEAN) == (Verdict.ALLOW,)
    assert found.cell("persist", LabelState.SECRET) == (Verdict.ASK,)
    assert found.cell("tamper_self", LabelState.CLEAN) == (Verdict.DENY,)


@pytest.mark.parametrize(
    ("tables", "column", "due"),
    [
        pytest.param([], "both", "contain ask", id="the profile's own"),
        pytest.param([{"execute": "deny"}], "both", "deny", id="what is said of the row that it is a kind of"),
        pytest.param([{"execute": {"both": "deny"}}], "untrusted", "contain judge ask", id="of another column"),
        pytest.param([{"execute": "deny", "execute_runtime": "ask"}], "both", "ask", id="its own word"),
        pytest.param([{"execute_runtime": "ask"}, {"execute": "deny"}], "both", "ask", id="its own word, from below"),
        pytest.param([{"execute_runtime": {"both": "ask"}}, {"execute": "deny"}], "secret", "deny", id="by column"),
    ],
)
def test_a_row_that_is_a_kind_of_another(tables: list[dict[str, Any]], column: str, due: str) -> None:
    compiled = merge(layers({"profile": "cascade"}, *({"table": table} for table in tables)))
    cell = policy(compiled).profile.cell("execute_runtime", LabelState(column))
    assert [verdict.word for verdict in cell] == due.split()
    shown = {value.key: value.value for value in values(compiled)}[f"table.execute_runtime.{column}"]
    assert shown == (due.split() if " " in due else due)


def test_where_a_profile_has_no_such_row_it_is_added() -> None:
    compiled = merge(layers({"table": {"execute_runtime": {"both": "deny"}, "execute": {"untrusted": "ask"}}}))
    found = policy(compiled).profile
    assert found.cell("execute_runtime", LabelState.BOTH) == (Verdict.DENY,)
    assert found.cell("execute_runtime", LabelState.UNTRUSTED) == (Verdict.ASK,)
    assert found.cell("execute_runtime", LabelState.CLEAN) == (Verdict.ALLOW,)
    assert found.cell("execute", LabelState.BOTH) == (Verdict.CONTAIN, Verdict.ASK)


@pytest.mark.parametrize(
    ("contents", "tool", "category"),
    [
        pytest.param([{"tools": {"safe": ["X"]}}], "X", "safe", id="list"),
        pytest.param([{"tools": {"X": "unsafe"}}], "X", "unsafe", id="mapping"),
        pytest.param([{"tools": {"safe": ["X"], "acting": ["X"]}}], "X", "acting", id="in-two-lists-the-stricter"),
        pytest.param([{"tools": {"unsafe": ["X"], "acting": ["X"]}}], "X", "unsafe_acting", id="in-two-lists-both"),
        pytest.param([{"tools": {"acting": ["X"]}}, {"tools": {"safe": ["X"]}}], "X", "safe", id="last-writer"),
        pytest.param([{"tools": {"safe": ["X"]}}, {"tools": {"safe": ["!X"]}}], "X", None, id="removed"),
        pytest.param([{"tools": {"safe": ["!Read"]}}], "Read", "acting", id="a-default-that-is-no-longer-safe"),
        pytest.param([{"tools": {"acting": ["!X"]}}], "X", None, id="removing-nothing"),
        pytest.param([{"tools": {"safe": ["Task"]}}], "Agent", "safe", id="task-is-agent"),
        pytest.param([{"tools": {"Agent": "acting"}}], "Task", "acting", id="agent-was-task"),
        pytest.param([{"tools": {"Task": "safe", "Agent": "acting"}}], "Agent", "acting", id="its-own-name-first"),
        pytest.param([{"tools": {"Web*": "unsafe"}}], "WebFetch", "unsafe", id="wildcard"),
        pytest.param([{"tools": {"Web*": "unsafe"}}], "MyWeb", None, id="wildcard-is-anchored"),
        pytest.param([{"tools": {"?eb": "unsafe"}}], "Web", "unsafe", id="one-character"),
        pytest.param([{"tools": {"?eb": "unsafe"}}], "eb", None, id="not-none"),
        pytest.param([{"mcp_tools": {"mcp__a__b": "safe", "mcp__*": "acting"}}], "mcp__a__b", "safe", id="exact-wins"),
        pytest.param([{"mcp_tools": {"mcp__a__*": "safe", "mcp__*": "acting"}}], "mcp__a__b", "safe", id="longest"),
        pytest.param([{"mcp_tools": {"mcp__a__*": "safe", "*__a__b": "acting"}}], "mcp__a__b", "safe", id="longest-2"),
        pytest.param([{"mcp_tools": {"mcp__a__*": "safe", "mcp__*__b": "acting"}}], "mcp__a__b", "acting", id="tie-stricter-2"),
        pytest.param([{"mcp_tools": {"mcp__a*": "safe", "mcp__*b": "acting"}}], "mcp__a__b", "acting", id="tie-stricter"),
        pytest.param([{"mcp_tools": {"mcp__*": "safe"}, "mcp_default": "acting"}], "mcp__x", "safe", id="before-default"),
        pytest.param([{"mcp_default": "acting"}], "mcp__x__y", "acting", id="default"),
        pytest.param([{"mcp_default": "acting"}], "Read", None, id="default-is-for-mcp"),
        pytest.param([{"mcp_tools": {"mcp__a__b": "safe"}}], "mcp__a__c", None, id="nothing-said"),
        pytest.param([{"tools": {"mcp__a__b": "acting"}, "mcp_tools": {"mcp__a__b": "safe"}}], "mcp__a__b", "acting", id="tools-first"),
    ],
)  # fmt: skip
def test_tools(contents: list[dict[str, Any]], tool: str, category: str | None) -> None:
    rule = policy(merge(layers(*contents))).rules.tool_category(tool)
    assert (rule and rule.category.value) == category


def test_a_named_tool_is_overruled_and_a_default_speaks_only_about_the_unknown() -> None:
    def rule(content: dict[str, Any], tool: str = "mcp__a__b") -> frozenset[Category | None]:
        found = policy(merge(layers(content))).rules.tool_category(tool)
        assert found is not None
        return found.overrules

    assert rule({"mcp_tools": {"mcp__a__b": "safe"}}) == EVERY
    assert rule({"mcp_default": "safe"}) == {Category.UNSAFE_ACTING, None}
    assert rule({"mcp_default": "acting"}) == frozenset()


def test_a_wild_name_takes_no_time_to_speak_of() -> None:
    wild = "*".join("a" * 60)
    assert policy(merge(layers({"mcp_tools": {wild: "safe"}}))).rules.tool_category("a" * 5000 + "b") is None


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("mcp__a", Service(public_source=True, public_sink=True, rule="layer0:services.mcp__a")),
        (
            "mcp__a__b",
            Service(True, None, False, rule="layer0:services.mcp__a, layer1:services.mcp__a__b"),
        ),
        ("mcp__a__c", Service(public_source=True, public_sink=True, rule="layer0:services.mcp__a")),
        ("mcp__b__c", None),
        ("api.example.com", Service(dangerous_writes=True, forbidden=True, rule="layer1:services.*.example.com")),
        ("example.com", None),
    ],
)
def test_services(name: str, found: Service | None) -> None:
    compiled = merge(
        layers(
            {"services": {"mcp__a": {"public_source": True, "public_sink": True}}},
            {
                "services": {
                    "mcp__a__b": {"public_sink": False},
                    "*.example.com": {"dangerous_writes": "forbidden"},
                }
            },
        )
    )
    assert policy(compiled).rules.service(name) == (found and found._replace(vouched=True))


def test_a_higher_layer_changes_single_flags_of_a_service() -> None:
    compiled = merge(
        layers(
            {"services": {"x": {"public_source": True, "dangerous_writes": "forbidden"}}},
            {"services": {"x": {"dangerous_writes": False}}},
        )
    )
    assert policy(compiled).rules.service("x") == Service(
        public_source=True, dangerous_writes=False, rule="layer0:services.x, layer1:services.x", vouched=True
    )


def test_hosts() -> None:
    compiled = merge(
        layers(
            {"trusted_domains": ["a.org", {"host": "b.org", "content": "trusted"}, "c.org"]},
            {"trusted_domains": ["!c.org", "d.org", "b.org"]},
        )
    )
    assert policy(compiled).rules.trusted_domains == (
        TrustedDomain("d.org", vouched=True),
        TrustedDomain("b.org", vouched=True),
        TrustedDomain("a.org", vouched=True),
    )


@pytest.mark.parametrize("project", [False, True])
def test_a_project_vouches_for_nobody(project: bool) -> None:
    said = {
        "tools": {"X": "acting", "Y*": "acting"},
        "services": {"h": {"public_source": False}},
        "trusted_domains": ["a.org"],
    }
    rules = policy(
        merge([LockboxLayer("user", {"tools": {"X": "acting"}}), LockboxLayer("other", said, project=project)])
    ).rules
    found = [rules.tool_category("X"), rules.tool_category("Yes"), rules.service("h"), *rules.trusted_domains]
    assert [each and each.vouched for each in found] == [not project] * 4


def test_paths() -> None:
    compiled = merge(
        layers({"secret_paths": ["a", "b"]}, {"secret_paths": ["c", "!a", "!zz"], "protected_paths": ["p"]})
    )
    rules = policy(compiled).rules
    assert (rules.secret_paths, rules.protected_paths, rules.persistent_paths) == (("c", "b"), ("p",), ())
    assert compiled["notes"] == [["layer1:secret_paths", "!zz removes nothing: no layer below has it"]]


def test_nothing_said_asks_nothing() -> None:
    rules = policy(merge([])).rules
    assert (rules.command_category("x", ("x",)), rules.tool_category("mcp__x"), rules.service("x")) == (None,) * 3
    assert policy(merge([])).profile == read_shipped_profiles()["quarantine"]


def test_every_value_is_shown_with_its_layer() -> None:
    compiled = merge(
        layers(
            {"profile": "trifecta", "table": {"egress": {"both": "ask"}}, "bash_patterns": {"safe": ["a"]}},
            {
                "tools": {"X": "safe"},
                "services": {"s": {"public_sink": False}},
                "trusted_domains": [{"host": "h", "content": "trusted"}],
                "secret_paths": ["p"],
            },
        )
    )
    shown = {(value.key, json.dumps(value.value), value.layer) for value in values(compiled)}
    assert shown >= {
        ("profile", '"trifecta"', "layer0"),
        ("table.egress.both", '"ask"', "layer0"),
        ("table.egress.clean", '"allow"', "shipped"),
        ("table.execute.both", '["contain", "judge", "ask"]', "shipped"),
        ("bash_patterns.safe", '"a"', "layer0"),
        ("tools.X", '"safe"', "layer1"),
        ("services (not declared)", '"all flags"', "shipped"),
        ("services.s.public_sink", "false", "layer1"),
        ("trusted_domains", '"h (content too)"', "layer1"),
        ("secret_paths", '"p"', "layer1"),
    }


def test_a_plugin_s_file_is_protected() -> None:
    (compiled,) = compile_layers([LockboxLayer("user", {"plugins": ["~/rules/mine.py", "company-rules"]})])
    assert policy(compiled).rules.protected_paths == ("~/rules/mine.py",)
