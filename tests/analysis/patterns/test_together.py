"""Very many short texts: what is found in each is what is found in it alone, and it costs little."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.analysis.patterns import scanning
from lockgate.analysis.patterns.fields import Field, fields_of
from lockgate.analysis.patterns.known import KnownHit, KnownKind
from lockgate.analysis.patterns.linking import link
from lockgate.analysis.patterns.merging import merge
from lockgate.analysis.patterns.model import GuardrailResult, Side
from lockgate.analysis.patterns.scanning import Request, Scanner
from lockgate.guardrails.layers import shipped_layer
from support.pattern_library import library, rule, scanner

REQUEST = Request(Side.INPUT, "mcp__a__b", timeout_ms=1e6, most_matches=10**6)
PATTERNS = [
    r"^begin[0-9]",
    r"[0-9]end$",
    r"^whole[0-9]$",
    r"(?m)^line[0-9]$",
    r"\bword[0-9]\b",
    r"\Bpart[0-9]",
    r"(?:^|[ ])-p[0-9]",
    r"two\s+lines",
    r"[^a]at[^b]",
]
OF_TEXTS = [r"\Afirst[0-9]", r"last[0-9]\z"]
PIECES = ["begin1", "1end", "whole1", "line1", "word1", "part1", "-p1", "two", "lines", "at", "first1", "last1"]
PIECES += [" ", "\n", "x", "-", "é", "\ud800"]


@cache
def small(*more: str) -> Scanner:
    return scanner(library(*(rule(each, f"r{at}", boundary="none") for at, each in enumerate([*PATTERNS, *more]))))


@cache
def shipped() -> tuple[Scanner, Sequence[str]]:
    """What is shipped, and all short texts in which it finds something."""
    linked = link(merge([shipped_layer()]))
    texts = (text for origin in linked.origins for text in origin.match if len(text) <= 64)
    return scanner(linked.library), sorted(set(texts))


def both(looks: Scanner, fields: Sequence[Field]) -> tuple[GuardrailResult, GuardrailResult]:
    """What is found in texts together, and one by one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanning, "_MANY", 0)
        together = looks.check(fields, REQUEST)
        patch.setattr(scanning, "_MANY", 10**9)
        return together, looks.check(fields, REQUEST)


def lines_of(texts: Sequence[str]) -> list[Field]:
    return [Field(f"x[{at}]", "x", text) for at, text in enumerate(texts) if text]


@pytest.mark.parametrize(
    "text", ["begin1", "1end", "whole1", "line1", "word1", "-p1", "xatx", "first1", "last1", "%41"]
)
@pytest.mark.parametrize("more", [(), tuple(OF_TEXTS)], ids=["lines", "ends of texts"])
def test_a_text_among_others_is_as_if_it_were_alone(more: tuple[str, ...], text: str) -> None:
    together, apart = both(small(*more), lines_of(["x"] * 20 + [text] + ["x"] * 20))
    assert together.pattern_matches == apart.pattern_matches


@pytest.mark.parametrize("more", [(), tuple(OF_TEXTS)], ids=["lines", "ends of texts"])
@given(texts=st.lists(st.lists(st.sampled_from(PIECES), max_size=3).map("".join), min_size=8, max_size=30))
def test_each_text_is_as_if_it_were_alone(more: tuple[str, ...], texts: list[str]) -> None:
    together, apart = both(small(*more), lines_of(texts))
    assert together.pattern_matches == apart.pattern_matches


@given(data=st.data())
def test_a_secret_in_any_of_many_fields_is_found(data: st.DataObject) -> None:
    looks, secrets = shipped()
    texts = [f"item {number}" for number in range(data.draw(st.integers(70, 700)))]
    for secret in data.draw(st.lists(st.sampled_from(secrets), min_size=1, max_size=3)):
        texts.insert(data.draw(st.integers(0, len(texts))), secret)
    together, apart = both(looks, lines_of(texts))
    assert together.pattern_matches == apart.pattern_matches


def test_every_short_example_is_found_among_others() -> None:
    looks, secrets = shipped()
    assert len(secrets) > 300
    for start in range(0, len(secrets), 100):
        texts = [text for secret in secrets[start : start + 100] for text in ("one", secret, "two")]
        together, apart = both(looks, lines_of(texts))
        assert together.pattern_matches == apart.pattern_matches


def test_a_known_value_in_one_of_many_fields_is_found() -> None:
    def known(data: bytes) -> list[KnownHit]:
        at = data.find(b"hunter22")
        return [KnownHit(at, at + 8, "mine", "plain", KnownKind.SECRET)] if at >= 0 else []

    plain = small()
    looks = Scanner(plain.matcher, plain.clock, plain.key, known)
    looks._groups = [group._replace(covers=("known_secrets",)) for group in looks._groups]
    fields = list(fields_of({f"name_{at}": "hunter22" if at == 777 else "value" for at in range(1000)}))
    assert [match.path for match in looks.check(fields, REQUEST).pattern_matches] == ["name_777"]


def test_a_field_with_a_format_is_held_to_it_among_others() -> None:
    made = library(rule(r"^PROJ-\d{3}$", "project_id", negated=True, fields=("project_id",)))
    values = [{"other_name": "x", ("Project-Id" if at == 99 else "name"): "nonsense"} for at in range(300)]
    found = scanner(made).check(fields_of({"x": values}), REQUEST).pattern_matches
    assert [match.path for match in found] == ["x[99].Project-Id"]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: {f"some_key_{at}": f"v{at}" for at in range(40_000)}, id="keys"),
        pytest.param(lambda: {"x": [f"e{at}" for at in range(150_000)]}, id="entries"),
    ],
)
def test_very_many_fields_take_no_longer_than_they_may(make: Callable[[], dict[str, object]]) -> None:
    looks, _ = shipped()
    timed = Scanner(looks.matcher, time.thread_time, looks.key)
    result = timed.check(fields_of(make()), Request(Side.INPUT, "mcp__a__b"))
    assert result.expired == ()
    assert result.is_empty
