"""A person's category against our own knowledge: Lockbox's order, with structural defaults."""

from __future__ import annotations

import pytest

from lockgate.core.model import Category, Effect, EffectKind, Label
from lockgate.resources.categories import find_shipped_category, overrule
from lockgate.resources.host_view import CategoryRule

EVERY = frozenset({*Category, None})


def effects(words: str) -> tuple[Effect, ...]:
    made = []
    for word in words.split():
        kind, _, gives = word.partition(">")
        made.append(Effect(EffectKind(kind), "x", "test:x", "for a test", gives=Label(gives) if gives else None))
    return tuple(made)


@pytest.mark.parametrize(
    ("found", "category"),
    [
        ("", Category.SAFE),
        ("read_secret", Category.SAFE),
        ("ingest", Category.UNSAFE),
        ("fetch", Category.UNSAFE),
        ("egress", Category.ACTING),
        ("egress execute", Category.ACTING),
        ("fetch egress", Category.UNSAFE_ACTING),
        ("execute", None),
        ("execute ingest", None),
        ("persist", Category.SAFE),
    ],
)
def test_the_category_of_our_own_knowledge(found: str, category: Category | None) -> None:
    assert find_shipped_category(effects(found)) is category


@pytest.mark.parametrize(
    ("found", "category", "overrules", "left"),
    [
        pytest.param("execute>untrusted", "safe", {None}, "", id="safe-clears-the-opaque"),
        pytest.param("egress", "safe", {None}, "egress", id="safe-leaves-the-known"),
        pytest.param("egress ingest", "safe", EVERY, "", id="override-clears-the-known"),
        pytest.param(
            "egress persist destroy tamper read_secret", "safe", EVERY, "persist destroy tamper read_secret", id="firm"
        ),
        pytest.param("execute", "unsafe", EVERY, "ingest", id="unsafe-for-the-opaque"),
        pytest.param("egress", "unsafe", EVERY, "ingest", id="unsafe-for-the-acting"),
        pytest.param("egress", "unsafe", set(), "egress ingest", id="unsafe-inside-only-adds"),
        pytest.param("fetch>untrusted", "unsafe", EVERY, "fetch", id="a-read-is-not-added-twice"),
        pytest.param("", "acting", set(), "egress", id="acting-adds"),
        pytest.param("ingest>untrusted", "acting", set(), "ingest egress", id="acting-keeps-the-read"),
        pytest.param("ingest>untrusted", "acting", EVERY, "egress", id="a-tool-that-acts-instead"),
        pytest.param("execute", "acting", set(), "execute egress", id="acting-keeps-the-opaque"),
        pytest.param("", "unsafe_acting", set(), "ingest egress", id="both"),
    ],
)
def test_overrule(found: str, category: str, overrules: set[Category | None], left: str) -> None:
    rule = CategoryRule(Category(category), "lockbox.json:x", frozenset(overrules))
    result = overrule(effects(found), rule, "mytool")
    assert [effect.kind.value for effect in result] == left.split()
    for effect in result:
        if effect.rule.startswith("config:"):
            assert (effect.what, effect.rule) == ("mytool", f"config:{category}")
            assert "lockbox.json:x" in effect.because
