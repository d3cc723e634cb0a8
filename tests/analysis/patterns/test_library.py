"""What is shipped: current, whole, and every example of every rule through the real scanner."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from lockgate.configuration.pattern_library.examples import failures
from lockgate.configuration.pattern_library.layers import read_shipped_layer
from lockgate.core.errors import ConfigError
from lockgate.patterns.library import build
from lockgate.patterns.library.linking import Linked, link
from lockgate.patterns.library.loading import PatternChecks
from lockgate.patterns.library.merging import merge
from lockgate.patterns.model import Kind, Side

pytestmark = pytest.mark.slow

LENIENT = PatternChecks(lambda patterns: [""] * len(patterns), ())
GROUPS = {
    "secrets_detection": (Side.INPUT, Kind.SECRET),
    "connection_secrets": (Side.INPUT, Kind.SECRET),
    "generic_secrets": (Side.INPUT, Kind.SECRET),
    "pii_detection": (Side.INPUT, Kind.PII),
    "format_validation": (Side.INPUT, Kind.FORMAT),
    "no_secrets_in_output": (Side.OUTPUT, Kind.SECRET),
    "no_passwords_in_output": (Side.OUTPUT, Kind.SECRET),
    "no_executable_code": (Side.OUTPUT, Kind.CODE),
}


@cache
def shipped() -> Linked:
    state = merge([read_shipped_layer()])
    assert (state.problems, state.notes) == ([], [])
    return link(state)


def test_the_compiled_file_is_what_the_sources_make() -> None:
    assert build.main(["--check"]) == 0


def test_every_example_of_every_rule_holds() -> None:
    ran, failed = failures(shipped())
    assert [str(problem) for problem in failed] == []
    assert ran > 1000


def test_every_rule_has_examples_of_both_kinds() -> None:
    linked = shipped()
    bare = [
        f"{rule.group}/{rule.id}"
        for rule, origin in zip(linked.library.rules, linked.origins, strict=True)
        if not origin.match or not origin.no_match
    ]
    assert bare == []


def test_the_groups_have_the_names_that_the_format_was_designed_with() -> None:
    found = {group.id: (group.side, group.kind) for group in shipped().library.groups}
    assert {name: found.get(name) for name in GROUPS} == GROUPS


def test_there_are_keys_of_many_providers() -> None:
    linked = shipped()
    secrets = [
        origin.provider
        for rule, origin in zip(linked.library.rules, linked.origins, strict=True)
        if rule.group == "secrets_detection" and origin.provider
    ]
    assert len(set(secrets)) >= 150
    assert len(secrets) >= 220


def test_what_is_taken_out_of_outputs_are_the_secrets_that_may_not_go_in() -> None:
    groups = {group.id: group for group in shipped().library.groups}
    output = groups["no_secrets_in_output"]
    assert output.action == "redact"
    assert set(groups["secrets_detection"].rules) <= set(output.rules)
    assert {"known_secrets", "canary"} <= set(output.covers)


def test_an_example_that_does_not_hold_is_found() -> None:
    linked = shipped()
    wrong = linked.origins[0]._replace(match=("no such thing",), no_match=())
    ran, failed = failures(Linked(linked.library, (wrong, *linked.origins[1:])), [wrong.file])
    assert ran > 0
    assert "examples.match[0]: does not match: 'no such thing'" in str(failed[0])


# ---------------------------------------------------------------- building


def test_files_are_joined_to_one(tmp_path: Path) -> None:
    one, other = tmp_path / "a.yaml", tmp_path / "b.yaml"
    one.write_text("patterns: {input: {g: {mode: block, rules: [{type: a, pattern: aa}]}}}")
    other.write_text("patterns: {input: {g: {mode: block, include: [h], rules: [{type: b, pattern: bb}]}}}")
    group = build.join_files([one, other], LENIENT)["patterns"]["input"]["g"]
    assert [rule["type"] for rule in group["rules"]] == ["a", "b"]
    assert (group["mode"], group["include"]) == ("block", ["h"])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("patterns: {input: {g: {mode: ask}}}", "something else about this group"),
        ("patterns: {input: {g: {rules: [{type: a, pattern: cc}]}}}", "a rule with this id"),
        ("tool_rules: {Bash: {patterns: []}}", "something else about it"),
        ("patterns: {input: {g: {modes: ask}}}", "unknown key"),
    ],
)
def test_files_that_contradict_each_other_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    one, other = tmp_path / "a.yaml", tmp_path / "b.yaml"
    one.write_text(
        "patterns: {input: {g: {mode: block, rules: [{type: a, pattern: aa}]}}}\ntool_rules: {Bash: {patterns: [g]}}"
    )
    other.write_text(text)
    with pytest.raises(ConfigError, match=problem):
        build.join_files([one, other], LENIENT)


def test_no_two_rules_of_a_group_have_one_id() -> None:
    content = json.loads(Path(build.FOLDER, "library", "shipped.json").read_text("utf-8"))
    ids = Counter(
        (group, rule.get("id", rule.get("type")))
        for side in content["patterns"].values()
        for group, written in side.items()
        for rule in written["rules"]
    )
    assert [name for name, number in ids.items() if number > 1] == []
