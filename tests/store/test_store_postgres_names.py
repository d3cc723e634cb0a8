"""What somebody calls like a thing of PostgreSQL's own, where everybody may: no gate takes it for that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from contract import SESSION, TAINT

from lockgate.core.model import Subject
from lockgate.store.opening import open_store
from lockgate.store.postgres import migrations as migrating
from lockgate.store.postgres.store import PostgresStore
from support.postgres import Server, use

NO_LABELS = (
    "CREATE FUNCTION public.nothing(json, json) RETURNS json LANGUAGE sql AS 'SELECT NULL::json'",
    "CREATE AGGREGATE public.json_agg(json) (SFUNC = public.nothing, STYPE = json)",
)
"""Fits better than the function by which a session's labels come with it."""
AS_THE_GATE = (
    "CREATE FUNCTION public.later(float8, integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN"
    " INSERT INTO lockgate.settings SELECT gate, 'trust', 'all' FROM lockgate.gates; RETURN true; END $$",
    "CREATE OPERATOR public.> (LEFTARG = float8, RIGHTARG = integer, FUNCTION = public.later)",
)
"""Fits better than the operator that tells which sessions have ended, and does something as whoever compares."""

AS_A_DECISION_ASKS = 16


@pytest.fixture
def gate(tmp_path: Path, postgres_server: Server, postgres_url: str) -> Iterator[PostgresStore]:
    """A gate whose database lets anybody make something in ``public``, as before PostgreSQL 15."""
    for role in ("named_role", "stranger_role"):
        if not postgres_server.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{role}'"):
            postgres_server.execute(f"CREATE ROLE {role} LOGIN")
    migrating.migrate(postgres_url, gate_roles=["named_role"])
    with psycopg.connect(postgres_url) as owner:
        owner.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
    state = use(tmp_path / "named", postgres_url.replace("postgres@", "named_role@"))
    store = open_store(str(state), busy_seconds=2)
    assert isinstance(store, PostgresStore)
    with store.transaction() as tx:
        tx.put_session(SESSION)
        tx.add_taints(Subject(SESSION.session), [TAINT])
        tx.append_audit(store.clock(), {"event": "test"})
    yield store
    store.close()


def make(url: str, statements: tuple[str, ...]) -> None:
    """What a role does that may only connect."""
    with psycopg.connect(url.replace("postgres@", "stranger_role@")) as stranger:
        for statement in statements:
            stranger.execute(statement)


def test_the_labels_of_a_session_come_with_it(gate: PostgresStore, postgres_url: str) -> None:
    make(postgres_url, NO_LABELS)
    with gate.transaction() as tx:
        assert tx.session(SESSION.session) == SESSION
        assert tx.taints(Subject(SESSION.session), limit=AS_A_DECISION_ASKS) == [TAINT]


def test_nothing_of_a_strangers_runs_as_the_gate(gate: PostgresStore, postgres_url: str) -> None:
    make(postgres_url, AS_THE_GATE)
    with gate.transaction() as tx:
        tx.prune(gate.clock())
    with gate.reading() as tx:
        assert tx.settings("") == {}


@pytest.mark.usefixtures("gate")
def test_nothing_of_a_strangers_runs_as_the_owner(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make(postgres_url, AS_THE_GATE)
    monkeypatch.setattr(migrating, "GATE_ROLES", f"{migrating.GATE_ROLES} AND 0.5::float8 > 0")
    migrating.migrate(postgres_url)
    with psycopg.connect(postgres_url) as owner:
        assert owner.execute("SELECT * FROM lockgate.settings").fetchall() == []
