"""The chains of several gates in one database: append-only, anchored, and found out when written anew."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from lockgate.core.errors import StoreError
from lockgate.store.audit.anchors import anchors, verify_anchors, verify_chain
from lockgate.store.audit.pruning import cut
from lockgate.store.chain_links import link_digest
from lockgate.store.opening import open_store
from lockgate.store.postgres.anchor_notes import NOTES, read_noted
from lockgate.store.postgres.audit import ANCHOR_RECORDS
from lockgate.store.postgres.store import PostgresStore
from lockgate.store.rows import AuditHead
from support.postgres import Server, use

NORTH, SOUTH = 5, 3


class Fleet:
    """Two gates with records in one database, and the hand of its owner."""

    def __init__(self, folder: Path, server: Server) -> None:
        self._server = server
        self._database = server.store_database()
        url = server.url(self._database)
        self.states = [use(folder / name, url, name) for name in ("north", "south")]
        self.north, self.south = (self._opened(state) for state in self.states)
        for store, count in ((self.north, NORTH), (self.south, SOUTH)):
            for number in range(count):
                with store.transaction() as tx:
                    tx.append_audit(store.clock(), {"event": "test", "n": number})

    @staticmethod
    def _opened(state: Path) -> PostgresStore:
        store = open_store(str(state), busy_seconds=10)
        assert isinstance(store, PostgresStore)
        return store

    def by_force(self, *statements: str) -> None:
        """What the owner of the database can do, who can also take the guards away."""
        with psycopg.connect(self._server.url(self._database), autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")
            for statement in statements:
                connection.execute(statement)

    def execute(self, statement: str) -> None:
        with psycopg.connect(self._server.url(self._database), autocommit=True) as connection:
            connection.execute(statement)

    def problem(self, who: int = 0) -> str:
        """What one of the gates finds wrong."""
        store = (self.north, self.south)[who]
        with store.reading() as tx:
            found = [verify_chain(tx, gate, store.key).problem for gate in tx.gates()]
            return "; ".join(
                filter(None, [*found, verify_anchors(tx, read_noted(str(self.states[who] / NOTES))).problem])
            )


@pytest.fixture
def fleet(tmp_path: Path, postgres_server: Server) -> Iterator[Fleet]:
    fleet = Fleet(tmp_path, postgres_server)
    yield fleet
    fleet.north.close()
    fleet.south.close()


def test_each_gate_has_a_chain_of_its_own(fleet: Fleet) -> None:
    with fleet.north.reading() as tx:
        assert [(row.name, row.seq, row.own) for row in tx.gates()] == [("north", NORTH, True), ("south", SOUTH, False)]
        assert [row.seq for row in tx.audit()] == list(range(1, NORTH + 1))
        other = fleet.south.gate
        assert [row.seq for row in tx.audit(gate=other)] == list(range(1, SOUTH + 1))
        assert tx.audit_head(gate=other).seq == SOUTH
        assert tx.audit_head(gate="nobody") == AuditHead()
    assert fleet.problem() == fleet.problem(1) == ""


def test_a_chain_is_anchored_when_it_begins_and_after_so_many_records(fleet: Fleet) -> None:
    with fleet.north.reading() as tx:
        assert [(row.gate, row.seq) for row in anchors(tx)] == [(fleet.north.gate, 1), (fleet.south.gate, 1)]
    for count in (ANCHOR_RECORDS, 1):
        with fleet.north.transaction() as tx:
            for number in range(count):
                tx.append_audit(fleet.north.clock(), {"event": "more", "n": number})
    with fleet.south.reading() as tx:
        last = list(anchors(tx))[-1]
        assert (last.gate, last.seq) == (fleet.north.gate, NORTH + ANCHOR_RECORDS + 1)
    assert read_noted(str(fleet.states[0] / NOTES)) == last
    assert fleet.problem() == fleet.problem(1) == ""


def test_retention_leaves_chains_and_anchors_that_hold(fleet: Fleet) -> None:
    fleet.north.anchor()
    with fleet.north.transaction() as tx:
        assert cut(tx, fleet.north.key, 3, fleet.north.clock(), {}) == 3
    assert fleet.problem() == fleet.problem(1) == ""
    with fleet.south.reading() as tx:
        assert [row.seq for row in tx.audit(gate=fleet.north.gate)] == [4, 5, 6]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE lockgate.audit SET body = '{}'",
        "DELETE FROM lockgate.audit",
        "TRUNCATE lockgate.audit",
        "INSERT INTO lockgate.audit SELECT gate, 2, at, body, previous, digest FROM lockgate.audit WHERE seq = 1",
        "UPDATE lockgate.anchors SET seq = 1",
        "DELETE FROM lockgate.anchors",
        "TRUNCATE lockgate.anchors",
        "DELETE FROM lockgate.gates",
        "UPDATE lockgate.gates SET seq = seq - 1",
        "UPDATE lockgate.gates SET gate = 'x'",
        "INSERT INTO lockgate.audit_checkpoints SELECT gate, seq, digest, seq, 1, repeat('0', 64) FROM lockgate.gates",
    ],
)
def test_nothing_is_changed_but_by_appending(fleet: Fleet, statement: str) -> None:
    with pytest.raises(psycopg.Error, match=r"append only|goes forward|without a record"):
        fleet.execute(statement)
    assert fleet.problem() == ""


def _rewritten(fleet: Fleet) -> str:
    """A whole chain anew, which links, as its own gate could write it with its key."""
    statements = []
    previous = "0" * 64
    for seq in range(1, SOUTH + 1):
        body = json.dumps({"event": "nothing happened"})
        digest = link_digest(previous, seq, 1.0, body)
        values = f"body = '{body}', at = 1.0, previous = '{previous}', digest = '{digest}'"
        statements.append(f"UPDATE lockgate.audit SET {values} WHERE gate = '{fleet.south.gate}' AND seq = {seq}")
        previous = digest
    statements.append(f"UPDATE lockgate.gates SET digest = '{previous}' WHERE gate = '{fleet.south.gate}'")
    return ";".join(statements)


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        pytest.param(_rewritten, "is another one than was anchored", id="a chain is written anew"),
        pytest.param(
            lambda fleet: f"DELETE FROM lockgate.audit WHERE gate = '{fleet.south.gate}'", "missing", id="emptied"
        ),
        pytest.param(
            lambda fleet: (
                f"DELETE FROM lockgate.audit WHERE gate = '{fleet.south.gate}';"
                f"DELETE FROM lockgate.gates WHERE gate = '{fleet.south.gate}'"
            ),
            "missing, and was anchored",
            id="a gate is removed",
        ),
        pytest.param(lambda _: "UPDATE lockgate.anchors SET seq = 2 WHERE n = 1", "was changed", id="an anchor"),
        pytest.param(lambda _: "DELETE FROM lockgate.anchors WHERE n = 1", "anchor 1 is missing", id="first anchor"),
        pytest.param(lambda _: "DELETE FROM lockgate.anchors", "has noted, is missing", id="all anchors"),
    ],
)
def test_what_the_owner_of_the_database_does_by_force_is_found(
    fleet: Fleet, harm: Callable[[Fleet], str], found: str
) -> None:
    fleet.by_force(*harm(fleet).split(";"))
    assert found in fleet.problem()


def test_anchors_that_were_written_anew_contradict_what_a_machine_has_noted(fleet: Fleet) -> None:
    fleet.by_force("TRUNCATE lockgate.anchors")
    for store in (fleet.south, fleet.north):
        with store.transaction() as tx:  # as anchors go, these are fine; but they are others than before
            tx.anchor()
    assert "written anew" in fleet.problem()


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE lockgate.gates SET seq = 1",
        "UPDATE lockgate.gates SET seal = repeat('0', 64)",
        "DELETE FROM lockgate.gates",
    ],
)
def test_nothing_is_appended_behind_a_head_that_was_changed(fleet: Fleet, harm: str) -> None:
    fleet.by_force(harm)
    with pytest.raises(StoreError, match="audit verify"), fleet.north.transaction() as tx:
        tx.append_audit(1.0, {"event": "more"})


def test_another_gate_cannot_write_in_ones_name(fleet: Fleet) -> None:
    """Both have the same rights in the database; what tells them apart is the key."""
    with fleet.south.transaction() as tx:
        tx._gate = fleet.north.gate
        with pytest.raises(StoreError, match="head of this gate"):
            tx.append_audit(1.0, {"event": "forged"})
    assert fleet.problem() == ""
