"""Looking for audit records: what a query finds is what it says, whatever the records hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.store.rows import AuditQuery
from lockgate.store.sqlite.store import SqliteStore

_WORDS = st.sampled_from(["deny", "allow", "s1", "s%", "s_1", "Bash", 'a"b', "\\", "é", "\u202e", "x"])
_RULES = st.fixed_dictionaries({"rule": _WORDS}, optional={"row": _WORDS})
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "event": _WORDS,
        "session": _WORDS,
        "verdict": _WORDS | st.none() | st.integers(),
        "tool": _WORDS,
        "client": _WORDS,
        "call": _WORDS,
        "input": st.dictionaries(_WORDS, _WORDS | st.fixed_dictionaries({"verdict": _WORDS, "session": _WORDS})),
        "would_have": st.fixed_dictionaries({"verdict": _WORDS}),
        "cascade": st.fixed_dictionaries({"tier": _WORDS}) | _WORDS,
        "reasons": st.lists(_RULES, max_size=2) | st.none(),
        "guardrail": st.fixed_dictionaries({"matches": st.lists(_RULES, max_size=2)}),
    },
)
_MAYBE = st.just("") | _WORDS
QUERIES = st.builds(
    AuditQuery,
    text=_MAYBE,
    event=_MAYBE,
    session=_MAYBE,
    verdict=_MAYBE,
    tool=_MAYBE,
    client=_MAYBE,
    call=_MAYBE,
    tier=_MAYBE,
    rule=_MAYBE,
    matched=st.booleans(),
    since=st.sampled_from([0.0, 3.0]),
    until=st.sampled_from([0.0, 5.0]),
)


def rules(body: Mapping[str, Any]) -> set[str]:
    guardrail = body.get("guardrail") or {}
    return {each["rule"] for each in [*(body.get("reasons") or []), *guardrail.get("matches", [])]}


def meets(body: Mapping[str, Any], at: float, query: AuditQuery) -> bool:
    """What a query says, in the plainest words."""
    cascade = body.get("cascade")
    return all(
        (
            all(not wanted or body.get(name) == wanted for name, wanted in query._asdict().items() if name in _EXACT),
            not query.tier or (isinstance(cascade, dict) and cascade["tier"] == query.tier),
            not query.rule or query.rule in rules(body),
            not query.matched or bool((body.get("guardrail") or {}).get("matches")),
            not query.since or at >= query.since,
            not query.until or at < query.until,
            json.dumps(query.text)[1:-1].lower() in json.dumps(body, sort_keys=True, separators=(",", ":")).lower(),
        )
    )


_EXACT = ("event", "session", "verdict", "tool", "client", "call")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(str(tmp_path / "state"))
    yield store
    store.close()


@given(bodies=st.lists(BODIES, max_size=8), query=QUERIES, limit=st.integers(0, 3), before=st.integers(0, 9))
def test_a_query_finds_what_it_says(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[dict[str, Any]], query: AuditQuery, limit: int, before: int
) -> None:
    store = SqliteStore.open(str(tmp_path_factory.mktemp("searching") / "state"))
    with store.transaction() as tx:
        rows = [tx.append_audit(float(at), body) for at, body in enumerate(bodies, 1)]
        found = tx.find_audit(query, before=before, limit=limit)
    store.close()
    expected = [row for row in reversed(rows) if meets(json.loads(row.body), row.at, query)]
    expected = [row for row in expected if not before or row.seq < before]
    assert found == (expected[:limit] if limit else expected)


def test_both_ends_can_be_bound(store: SqliteStore) -> None:
    with store.transaction() as tx:
        for at in range(9):
            tx.append_audit(float(at), {"event": "decision"})
        assert [row.seq for row in tx.find_audit(AuditQuery(), after=3, before=6)] == [5, 4]


@pytest.mark.parametrize("body", ["", "no json", "[1]", '{"event":"decision"', "null", '"event":"decision"'])
def test_a_record_that_is_no_json_is_found_by_its_text_alone(store: SqliteStore, body: str) -> None:
    with store.transaction() as tx:
        tx._write("INSERT INTO audit VALUES (1, 1.0, ?, '', '')", (body,))
        assert len(tx.find_audit(AuditQuery())) == 1
        assert len(tx.find_audit(AuditQuery(text=body[:5]))) == (1 if '"' not in body[:5] else 0)
        for query in (
            AuditQuery(event="decision"),
            AuditQuery(rule="x"),
            AuditQuery(tier="x"),
            AuditQuery(matched=True),
        ):
            assert tx.find_audit(query) == []


def test_a_text_that_looks_like_a_field_is_none(store: SqliteStore) -> None:
    with store.transaction() as tx:
        tx.append_audit(
            1.0, {"event": "outcome", "input": {"command": 'echo "event":"decision"'}, "tool": '"tier":"local"'}
        )
        assert tx.find_audit(AuditQuery(event="decision")) == []
        assert tx.find_audit(AuditQuery(tier="local")) == []
        assert len(tx.find_audit(AuditQuery(event="outcome"))) == 1
