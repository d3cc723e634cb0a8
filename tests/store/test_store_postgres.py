"""The shared store keeps the contract, on a real PostgreSQL."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from contract import APPROVAL, NO_OBJECTS, StoreContract
from hypothesis import given
from hypothesis import strategies as st
from test_searching import BODIES, QUERIES, meets

from lockgate.store.opening import open_store
from lockgate.store.postgres import audit as auditing
from lockgate.store.protocol import Store
from lockgate.store.rows import AuditQuery
from support.postgres import Server, use


class TestPostgres(StoreContract):
    @pytest.fixture
    def make(self, tmp_path: Path, postgres_url: str) -> Callable[[], Store]:
        state = use(tmp_path / "state", postgres_url, "here")
        return lambda: open_store(str(state), busy_seconds=5.0)


@pytest.mark.parametrize("about", NO_OBJECTS)
def test_a_question_that_shows_nothing_hides_no_other(tmp_path: Path, postgres_url: str, about: str) -> None:
    store = open_store(str(use(tmp_path / "state", postgres_url, "here")), busy_seconds=5.0)
    with contextlib.closing(store):
        with store.transaction() as tx:
            tx.put_approval(APPROVAL)
            tx.put_approval(APPROVAL._replace(approval="odd"))
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("UPDATE lockgate.approvals SET about = %s WHERE approval = 'odd'", (about,))
        odd = APPROVAL._replace(approval="odd", about={})
        with store.reading() as tx:
            assert tx.approvals() == tx.overdue_approvals(APPROVAL.expires_at) == [APPROVAL, odd]
            assert tx.approval("odd") == odd
        with store.transaction() as tx:
            assert tx.overdue_approvals(APPROVAL.expires_at) == [APPROVAL, odd]


@pytest.fixture(scope="module")
def records(postgres_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all examples: each looks at what it has appended itself."""
    url = postgres_server.url(postgres_server.store_database())
    store = open_store(str(use(tmp_path_factory.mktemp("records") / "state", url)), busy_seconds=5.0)
    yield store
    store.close()


@given(bodies=st.lists(BODIES, max_size=8), query=QUERIES, limit=st.integers(0, 3), before=st.integers(0, 9))
def test_a_query_of_the_audit_finds_what_it_says(
    records: Store, bodies: list[dict[str, Any]], query: AuditQuery, limit: int, before: int
) -> None:
    with records.transaction() as tx:
        first = tx.audit_head().seq
        rows = [tx.append_audit(float(at), body) for at, body in enumerate(bodies, 1)]
        found = tx.find_audit(query, after=first, before=first + before if before else 0, limit=limit)
    expected = [row for row in reversed(rows) if meets(json.loads(row.body), row.at, query)]
    expected = [row for row in expected if not before or row.seq < first + before]
    assert found == (expected[:limit] if limit else expected)


def test_a_query_reads_page_by_page(records: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "_PAGE", 3)
    with records.transaction() as tx:
        first = tx.audit_head().seq
        rows = [tx.append_audit(1.0, {"event": "odd" if number % 2 else "even"}) for number in range(20)]
        found = tx.find_audit(AuditQuery(event="odd"), after=first)
        assert found == [row for row in reversed(rows) if '"odd"' in row.body]
        assert tx.find_audit(AuditQuery(event="odd"), after=first, limit=4) == found[:4]
