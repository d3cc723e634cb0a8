"""Very many short texts: what is found in each is what is found in it alone, and it costs little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain, count

import hyperscan
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.configuration.pattern_library.layers import read_shipped_layer
from lockgate.patterns.engine import batch as together
from lockgate.patterns.engine import scanner as scanning
from lockgate.patterns.engine.known_index import Index, build
from lockgate.patterns.engine.request import CheckRequest
from lockgate.patterns.engine.scanner import Scanner
from lockgate.patterns.fields import Field, fields_of, is_for
from lockgate.patterns.known_values.values import KnownHit, KnownKind, Marker, Named
from lockgate.patterns.library.linking import link
from lockgate.patterns.library.merging import merge
from lockgate.patterns.model import GuardrailResult, Side
from lockgate.patterns.redaction.spans import redact_all
from support.pattern_library import library, rule, scanner

pytestmark = pytest.mark.slow

REQUEST = CheckRequest(Side.INPUT, "mcp__a__b", timeout_ms=1e6, most_matches=10**6)
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
HOSTILE = [
    "\n",
    "\r",
    "\r\n",
    "\0",
    "\x0b",
    "\x85",
    "\u2028",
    "\ud800",
    "\u200b",
    "é",
    " ",
    "-",
    "_",
    "=",
    ":",
    "'",
    "\\n",
    "x",
    "%41",
]
PIECES += HOSTILE
KNOWN = ["hunter22-pass", "Zx9/known/value/that/is/long/Qq17", "of one\nand another line", "pässwörter"]
NAMES = ["x", "password", "Project-Id", "entry_id", "ps_id", "token", "a b", ""]


@cache
def small(*more: str) -> Scanner:
    return scanner(library(*(rule(each, f"r{at}", boundary="none") for at, each in enumerate([*PATTERNS, *more]))))


@cache
def shipped() -> tuple[Scanner, Sequence[str]]:
    """What is shipped, with some known secrets, and all short texts in which it finds something, or just does not."""
    linked = link(merge([read_shipped_layer()]))
    texts = (text for origin in linked.origins for text in (*origin.match, *origin.no_match))
    lines = {line for text in texts for line in (text, *text.splitlines()) if 0 < len(line) <= 64}
    return scanner(linked.library, known=_index().scan), sorted(lines)


def _index() -> Index:
    salt = bytes(range(32))
    entries = [Marker(salt).entry(Named(f"secret {at}", value.encode())) for at, value in enumerate(KNOWN)]
    return Index(build(entries, salt, hyperscan), salt, hyperscan)


def both(
    looks: Scanner, fields: Sequence[Field], request: CheckRequest = REQUEST, most: int = 256
) -> tuple[GuardrailResult, GuardrailResult]:
    """What is found in texts together, so many at a time, and one by one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(together, "_MOST", most)
        patch.setattr(together, "_FEW", min(most, 8))
        patch.setattr(scanning, "_MANY", 0)
        joined = looks.check(fields, request)
        patch.setattr(scanning, "_MANY", 10**9)
        return joined, looks.check(fields, request)


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


@cache
def records() -> st.SearchStrategy[list[Field]]:
    """Fields of records, in which secrets stand whole, cut in two, side by side and beside hostile characters."""
    pool = [*shipped()[1], *KNOWN, *(text[::-1] for text in KNOWN), "item 12", "true", "some words"]
    whole = st.integers(0, len(pool) - 1).map(lambda at: pool[at])  # said in fewer words than all of them
    cut = st.builds(lambda text, at: text[min(at, len(text)) :], whole, st.integers(0, 40))
    piece = st.one_of(whole, whole, cut, st.builds(lambda text, at: text[:at], whole, st.integers(1, 40)))
    text = st.lists(st.one_of(piece, piece, st.sampled_from(HOSTILE)), min_size=1, max_size=3).map("".join)
    split = st.builds(lambda text, at: [text[:at], text[at:]], whole, st.integers(1, 40))
    texts = st.lists(st.one_of(text.map(lambda each: [each]), split), min_size=1, max_size=12)
    rows = st.dictionaries(
        st.one_of(st.sampled_from(NAMES), text), texts.map(lambda each: list(chain(*each))), max_size=4
    )
    return st.one_of(rows, st.lists(rows, max_size=4)).map(lambda value: list(fields_of(value)))


@given(data=st.data())
def test_what_is_found_and_taken_out_is_that_of_each_text_alone(data: st.DataObject) -> None:
    fields = data.draw(records())
    side = data.draw(st.sampled_from(Side))
    request = CheckRequest(side, "mcp__a__b", timeout_ms=1e6, most_matches=data.draw(st.sampled_from((1, 100))))
    joined, apart = both(shipped()[0], fields, request, most=data.draw(st.sampled_from((1, 2, 4, 256))))
    assert joined._replace(elapsed_ms=0) == apart._replace(elapsed_ms=0)
    texts = [(field.path, field.text) for field in fields]
    assert redact_all(texts, joined.pattern_matches) == redact_all(texts, apart.pattern_matches)


def test_every_short_example_is_found_among_others() -> None:
    looks, secrets = shipped()
    assert len(secrets) > 300
    for start in range(0, len(secrets), 100):
        texts = [text for secret in secrets[start : start + 100] for text in ("one", secret, "two")]
        together, apart = both(looks, lines_of(texts))
        assert together.pattern_matches == apart.pattern_matches


def test_a_text_behind_more_hits_than_are_kept_is_looked_at() -> None:
    looks = scanner(library(rule(r"[;:]", "r0", boundary="none")))
    joined, apart = both(looks, lines_of([";" * 60] * 60))
    assert joined.pattern_matches == apart.pattern_matches
    assert len({match.path for match in joined.pattern_matches}) == 60


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


@pytest.mark.parametrize("fields", [(), ("project_id",), ("project_*",), ("*",), ("\u017ftate",)], ids=str)
def test_a_format_is_asked_for_where_its_rule_says(fields: tuple[str, ...]) -> None:
    looks = scanner(library(rule(r"^PROJ-[0-9]{3}$", "r0", negated=True, fields=fields)))
    for name in (
        "",
        "x",
        "Project-Id",
        "projectid",
        "project_name",
        "state",
        "\u017ftate",
        "S\u017fTATE",
        "project_*",
        "*",
        "a" * 300,
    ):
        assert bool(looks.list_format_rules(name)) is is_for(looks.matcher.rule(0), name)


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What the database of the shipped library looks at."""
    seen: list[bytes] = []
    database = shipped()[0].matcher._database
    scan = database.scan

    def looking(data: bytes, hit: Callable[..., None]) -> None:
        seen.append(data)
        scan(data, hit)

    monkeypatch.setattr(database, "scan", looking)
    return seen


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        pytest.param({f"some_key_{at}": f"v{at}" for at in range(40_000)}, 80_000, id="keys"),
        pytest.param({"x": [f"e{at}" for at in range(150_000)]}, 150_000, id="entries"),
    ],
)
def test_very_many_texts_are_looked_at_together(looked: list[bytes], value: dict[str, object], texts: int) -> None:
    assert shipped()[0].check(fields_of(value), REQUEST).is_empty
    assert len(looked) <= texts // 256 + 1


def test_texts_that_are_looked_at_together_cost_their_time(looked: list[bytes]) -> None:
    ticks = count()
    looks = Scanner(shipped()[0].matcher, lambda: next(ticks) / 1000, bytes(32))
    request = CheckRequest(Side.INPUT, "mcp__a__b", timeout_ms=20)
    result = looks.check(fields_of({"x": [f"e{at}" for at in range(150_000)]}), request)
    assert {(each.group, each.because) for each in result.expired} == {
        (use.group.id, "time") for use in looks.uses(request)
    }
    assert len(looked) < 30
