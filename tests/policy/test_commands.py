"""Lockbox's patterns on simple commands."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from lockgate.core.model import Category
from lockgate.policy.compiled import policy
from lockgate.policy.lockbox import commands
from lockgate.policy.lockbox.merging import LockboxLayer, merge
from lockgate.resources.host_view import CategoryRule

GROUPS = yaml.safe_load((Path(__file__).parent / "lockbox_cases.yaml").read_text(encoding="utf-8"))
CASES = [
    pytest.param(group["layers"], *case[:2], id=f"{group['group']}: {case[0]}: {case[2]}")
    for group in GROUPS
    for case in group["cases"]
]


def words_of(command: str) -> tuple[str | None, ...]:
    return tuple(None if word == "$X" else word for word in shlex.split(command))


def text_of(command: str) -> str:
    return " ".join(shlex.split(command))


def ask(layers: list[dict[str, Any]], command: str) -> CategoryRule | None:
    compiled = merge(LockboxLayer(name, value) for layer in layers for name, value in layer.items())
    return policy(compiled).rules.command_category(text_of(command), words_of(command))


@pytest.mark.parametrize(("layers", "command", "says"), CASES)
def test_lockbox(layers: list[dict[str, Any]], command: str, says: str | None) -> None:
    rule = ask(layers, command)
    assert (rule and rule.category.value + ("" if rule.overrules else "+")) == says


def test_there_are_many_cases() -> None:
    assert len(CASES) > 80


@pytest.mark.parametrize(
    ("step", "overrules"),
    [
        ("override_safe", {*Category, None}),
        ("unsafe_acting", set()),
        ("unsafe", {Category.UNSAFE, Category.ACTING, Category.SAFE, None}),
        ("acting", set()),
        ("safe", {Category.SAFE, None}),
    ],
)
def test_what_each_list_overrules_of_our_own_knowledge(step: str, overrules: set[Category | None]) -> None:
    rule = ask([{"user lockbox.json": {"bash_patterns": {step: ["^x"]}}}], "x")
    assert rule is not None
    assert rule.overrules == overrules
    assert rule.rule == f"user lockbox.json:bash_patterns.{step}[0]"


def test_evidence_names_the_top_level_list() -> None:
    rule = ask([{"user lockgate.yaml": {"override_safe": ["^x"]}}], "x")
    assert rule is not None
    assert rule.rule == "user lockgate.yaml:override_safe[0]"


def test_evidence_names_both_rules_where_two_add_up() -> None:
    rule = ask([{"u": {"bash_patterns": {"unsafe": ["read"], "acting": ["send"]}}}], "x read send")
    assert rule == CategoryRule(Category.UNSAFE_ACTING, "u:bash_patterns.unsafe[0], u:bash_patterns.acting[0]")


def test_a_read_inside_a_safe_command_stays_a_read() -> None:
    rule = ask([{"u": {"bash_patterns": {"unsafe": ["read"], "safe": ["^x"]}}}], "x read")
    assert rule == CategoryRule(Category.UNSAFE, "u:bash_patterns.unsafe[0]", frozenset({Category.SAFE, None}))


@pytest.mark.parametrize(
    ("step", "category"),
    [
        ("override_safe", Category.ACTING),
        ("unsafe_acting", Category.UNSAFE_ACTING),
        ("unsafe", Category.UNSAFE_ACTING),
        ("acting", Category.ACTING),
        ("safe", Category.ACTING),
    ],
)
def test_a_pattern_that_takes_too_long_counts_as_acting(step: str, category: Category) -> None:
    evil = r"(x|xx|xxx)+\d"
    rule = ask([{"u": {"bash_patterns": {step: [evil]}}}], "x" * 60)
    assert rule is not None
    assert (rule.category, rule.overrules) == (category, frozenset())
    assert f"took longer than {commands.TIMEOUT:g} s" in rule.rule


def test_without_patterns_nothing_is_asked() -> None:
    assert ask([], "git push") is None
    assert ask([{"u": {"bash_patterns": {"safe": []}}}], "git push") is None


def test_a_command_without_words_is_not_loosened() -> None:
    assert ask([{"u": {"bash_patterns": {"safe": [".*"], "override_safe": ["--help"]}}}], "") is None
