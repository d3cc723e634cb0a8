"""What the database lets the role of one gate do to another gate, and a reader to all: nothing."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest
from contract import APPROVAL, SESSION

from lockgate.core.errors import StoreError
from lockgate.core.model import Label, Subject, Taint, TaintState
from lockgate.gate.approvals import questions as approvals
from lockgate.gate.approvals.proof import as_asked
from lockgate.gate.contradictions import contradictions
from lockgate.store.audit.anchors import verify_anchors, verify_chain
from lockgate.store.audit.pruning import cut
from lockgate.store.opening import open_store
from lockgate.store.postgres import migrations as migrating
from lockgate.store.postgres import schema
from lockgate.store.postgres.anchor_notes import NOTES, read_noted
from lockgate.store.postgres.migrations import bind, migrate
from lockgate.store.postgres.statements import lock_key
from lockgate.store.postgres.store import PostgresStore
from lockgate.store.rows import AgentRow, BriefRow, CallRow
from support.postgres import Server, use

RECORDS = 4
ROLES = ("north_role", "south_role", "fleet_role", "reader_role", "member_role")


class Roles:
    """A database with two gates, each with a role of its own."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self.owner = url
        self._stores: dict[str, PostgresStore] = {}
        self.north = self.gate("north", "north_role")
        self.south = self.gate("south", "south_role")

    def url(self, role: str) -> str:
        return self.owner.replace("postgres@", f"{role}@")

    def gate(self, name: str, role: str) -> PostgresStore:
        """A gate, which has its key from its name, with some role."""
        if name in self._stores:
            self._stores.pop(name).close()
        store = open_store(str(use(self._folder / name, self.url(role), name)), busy_seconds=2)
        assert isinstance(store, PostgresStore)
        self._stores[name] = store
        return store

    def execute(self, role: str, *statements: str) -> None:
        """What somebody who has a role does with it, in one transaction."""
        with psycopg.connect(self.url(role)) as connection:
            for statement in statements:
                connection.execute(statement)

    def problem(self, store: PostgresStore) -> str:
        with store.reading() as tx:
            found = [verify_chain(tx, gate, store.key).problem for gate in tx.gates()]
            name = next(name for name, other in self._stores.items() if other is store)
            return "; ".join(
                filter(None, [*found, verify_anchors(tx, read_noted(str(self._folder / name / NOTES))).problem])
            )

    def close(self) -> None:
        for store in self._stores.values():
            store.close()


def record(store: PostgresStore, count: int = 1) -> None:
    for number in range(count):
        with store.transaction() as tx:
            tx.put_session(SESSION)
            tx.append_audit(store.clock(), {"event": "test", "n": number})


class Prepared(NamedTuple):
    """What each test begins with a copy of: the folders of both gates, and the name of their database."""

    folder: Path
    database: str


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory, postgres_server: Server) -> Prepared:
    for role in ROLES:
        postgres_server.execute(f"CREATE ROLE {role} LOGIN")
    postgres_server.execute("GRANT fleet_role TO member_role")
    made = Prepared(tmp_path_factory.mktemp("roles"), postgres_server.store_database())
    url = postgres_server.url(made.database)
    migrate(url, gate_roles=["north_role", "south_role", "fleet_role"], reader_roles=["reader_role"])
    roles = Roles(made.folder, url)
    for store in (roles.north, roles.south):
        record(store, RECORDS)
    roles.close()
    return made


@pytest.fixture
def roles(tmp_path: Path, postgres_server: Server, prepared: Prepared) -> Iterator[Roles]:
    shutil.copytree(prepared.folder, tmp_path, dirs_exist_ok=True)
    name = postgres_server.database(prepared.database)
    roles = Roles(tmp_path, postgres_server.url(name))
    yield roles
    roles.close()
    postgres_server.drop(name)


SEAL = "e" * 64
PROOF = (
    "INSERT INTO lockgate.audit SELECT gate, seq + 1, 1, 'a checkpoint {seal}', digest, repeat('d', 64)"
    " FROM lockgate.gates WHERE gate = '{gate}'"
)
CHECKPOINT = (
    "INSERT INTO lockgate.audit_checkpoints SELECT gate, seq, digest, seq, 1, '{seal}'"
    " FROM lockgate.gates WHERE gate = '{gate}'"
)
ATTACKS = [
    pytest.param([PROOF], id="append a record"),
    pytest.param([PROOF, CHECKPOINT, "SELECT lockgate.cut_audit('{gate}')"], id="cut with made-up proof"),
    pytest.param([CHECKPOINT], id="put a checkpoint"),
    pytest.param(["SELECT lockgate.cut_audit('{gate}')"], id="cut"),
    pytest.param(["UPDATE lockgate.gates SET seq = 9000000 WHERE gate = '{gate}'"], id="put the head forward"),
    pytest.param(["UPDATE lockgate.gates SET seal = '{seal}' WHERE gate = '{gate}'"], id="change the seal"),
    pytest.param(["UPDATE lockgate.gates SET name = 'mine' WHERE gate = '{gate}'"], id="change the name"),
    pytest.param(["UPDATE lockgate.gates SET anchored_at = 9e9 WHERE gate = '{gate}'"], id="put off the next anchor"),
    pytest.param(["UPDATE lockgate.gates SET role = session_user WHERE gate = '{gate}'"], id="take the gate"),
    pytest.param(["UPDATE lockgate.gates SET role = 'north_role'"], id="take every gate"),
    pytest.param(["SELECT lockgate.anchor('{gate}')"], id="anchor"),
    pytest.param(["INSERT INTO lockgate.settings VALUES ('{gate}', 'trust', 'all')"], id="have it trust something"),
    pytest.param(["UPDATE lockgate.settings SET value = 'x' WHERE gate = '{gate}'"], id="change a setting"),
    pytest.param(["UPDATE lockgate.settings SET gate = '{own}', name = 'y'"], id="take a setting"),
    pytest.param(["DELETE FROM lockgate.settings WHERE gate = '{gate}'"], id="remove a setting"),
    pytest.param(
        [
            "INSERT INTO lockgate.gates SELECT gate, 'mine', 1, 9000000, '', '' FROM lockgate.gates"
            " WHERE gate = '{gate}' ON CONFLICT (gate) DO UPDATE SET seq = excluded.seq"
        ],
        id="put it there again",
    ),
    pytest.param(["UPDATE lockgate.gates SET gate = 'x' WHERE gate = '{own}'"], id="change the own id"),
    pytest.param(["UPDATE lockgate.gates SET role = 'south_role' WHERE gate = '{own}'"], id="give a gate away"),
    pytest.param(["SET ROLE south_role", PROOF], id="become the other role"),
    pytest.param(["SET SESSION AUTHORIZATION south_role", PROOF], id="log in as the other role"),
    pytest.param(["UPDATE lockgate.locks SET slot = slot + 8192"], id="have locks that nobody shares"),
]


@pytest.mark.parametrize("statements", ATTACKS)
def test_a_stolen_role_does_another_gate_no_harm(roles: Roles, statements: list[str]) -> None:
    with roles.south.transaction() as tx:
        tx.put_setting("known", "mine")
    filled = [statement.format(gate=roles.south.gate, own=roles.north.gate, seal=SEAL) for statement in statements]
    with pytest.raises(psycopg.Error, match=r"another role|permission denied|append only|goes forward"):
        roles.execute("north_role", *filled)
    with roles.south.reading() as tx:
        assert tx.settings("") == {"known": "mine"}
        assert [row.seq for row in tx.audit()] == list(range(1, RECORDS + 1))
    record(roles.south)
    assert roles.problem(roles.south) == roles.problem(roles.north) == ""


MAIN = Subject(SESSION.session)
PAGE = Taint(Label.UNTRUSTED, "a page", "WebFetch", "c1", 1.0)
NEXT = PAGE._replace(call_id="c2", state=TaintState.PENDING)
LOOSENING = [
    pytest.param("DELETE FROM lockgate.taints", id="labels deleted"),
    pytest.param("UPDATE lockgate.taints SET session = 'x'", id="labels moved to another session"),
    pytest.param("UPDATE lockgate.taints SET agent = 'x'", id="labels moved to another agent"),
    pytest.param("UPDATE lockgate.taints SET label = 'secret'", id="another label"),
    pytest.param("UPDATE lockgate.taints SET state = 'pending'", id="labels called pending"),
    pytest.param("UPDATE lockgate.taints SET call_id = 'c3'", id="labels moved to another call"),
    pytest.param("UPDATE lockgate.taints SET state = 'confirmed', call_id = 'c3'", id="moved and confirmed"),
    pytest.param("UPDATE lockgate.taints SET role = session_user", id="labels taken"),
    pytest.param("DELETE FROM lockgate.sessions", id="the session deleted"),
    pytest.param("UPDATE lockgate.sessions SET session = 'x'", id="the session renamed"),
    pytest.param("UPDATE lockgate.sessions SET started_at = 9e9", id="the session begun later"),
    pytest.param("UPDATE lockgate.sessions SET ended_at = 1, seen_at = 1", id="the session old enough to be forgotten"),
    pytest.param("UPDATE lockgate.sessions SET role = session_user", id="the session taken"),
    pytest.param("UPDATE lockgate.sessions SET parent = 'x'", id="the session said to come from another"),
    pytest.param("DELETE FROM lockgate.agents", id="agents deleted"),
    pytest.param("UPDATE lockgate.agents SET agent = 'x'", id="agents renamed"),
    pytest.param("UPDATE lockgate.agents SET delegate = 'x'", id="agents made delegates"),
    pytest.param("DELETE FROM lockgate.calls", id="calls deleted"),
    pytest.param("UPDATE lockgate.calls SET quiet = '[\"\"]'", id="calls made quiet"),
    pytest.param("UPDATE lockgate.briefs SET state = 'approved', text = 'push'", id="briefs approved"),
    pytest.param("DELETE FROM lockgate.approvals", id="a no deleted"),
    pytest.param("UPDATE lockgate.approvals SET state = 'pending'", id="a no asked again"),
    pytest.param("UPDATE lockgate.approvals SET session = 'x'", id="a no moved"),
    pytest.param("UPDATE lockgate.addresses SET human = 1", id="addresses said to be a person's"),
    pytest.param(
        "INSERT INTO lockgate.addresses SELECT session, 'k2'::bytea, 1 FROM lockgate.sessions", id="addresses added"
    ),
]


def everything(store: PostgresStore) -> list[object]:
    """All of a session that a decision rests on."""
    with store.transaction() as tx:
        known = [tx.knows_address(MAIN.session, key, human_only=True) for key in (b"k1", b"k2")]
        rows = [tx.session(MAIN.session), tx.agents(MAIN.session), tx.taints(MAIN), tx.calls(MAIN.session)]
        return [*rows, tx.briefs(MAIN.session), tx.approvals(session=MAIN.session), tx.labels(MAIN), known]


@pytest.fixture
def worked(roles: Roles) -> Roles:
    """The south has a session in which all has happened."""
    roles.execute("postgres", "DELETE FROM lockgate.sessions")
    with roles.south.transaction() as tx:
        tx.put_session(SESSION)
        tx.put_agent(AgentRow(SESSION.session, "a1", started_at=1.0))
        tx.add_taints(MAIN, [PAGE, NEXT])
        tx.put_call(CallRow(SESSION.session, "c1", "", "WebFetch", "0" * 64, "running", at=1.0))
        tx.put_brief(BriefRow("b1", SESSION.session, "", "c1", "0" * 64, "read", "asked", at=1.0))
        tx.put_approval(APPROVAL._replace(session=SESSION.session, state="denied"))
        tx.add_addresses(SESSION.session, [b"k1"], human=False)
    return roles


@pytest.mark.parametrize("statement", LOOSENING)
def test_a_stolen_role_loosens_nothing_of_another_gates_session(worked: Roles, statement: str) -> None:
    before = everything(worked.south)
    with contextlib.suppress(psycopg.Error):
        worked.execute("north_role", statement)
    assert everything(worked.south) == before


@pytest.mark.parametrize("statement", LOOSENING)
def test_each_of_these_would_change_something(worked: Roles, statement: str) -> None:
    """The same by the owner, so that nothing above passes because it says nothing."""
    before = everything(worked.south)
    worked.execute("postgres", *(["SET session_replication_role = replica"] * ("role" not in statement)), statement)
    if "role = session_user" not in statement and "INSERT" not in statement:
        assert everything(worked.south) != before


def test_a_session_goes_on_at_another_gate_that_only_adds(worked: Roles) -> None:
    north, later = worked.north, SESSION._replace(seen_at=SESSION.seen_at + 5, process="other")
    secret = Taint(Label.SECRET, "a key", "Read", "c9", 2.0)
    with north.transaction() as tx:
        tx.put_session(later)
        tx.add_taints(MAIN, [secret, NEXT._replace(state=TaintState.CONFIRMED)])
        tx.add_addresses(SESSION.session, [b"k3"], human=True)
        assert tx.settle(MAIN.session, "c1", confirm=False) == 0
        assert tx.drop_taints(MAIN, Label.UNTRUSTED, "c1") == 0
        assert tx.knows_address(SESSION.session, b"k1")
        assert tx.knows_address(SESSION.session, b"k3", human_only=True)
        assert tx.prune(1e12) == 0
    with worked.south.transaction() as tx:
        assert tx.session(MAIN.session) == later
        assert {(taint.call_id, taint.state.value) for taint in tx.taints(MAIN)} == {
            ("c1", "confirmed"),
            ("c2", "confirmed"),
            ("c9", "confirmed"),
        }
        assert not tx.knows_address(SESSION.session, b"k3")
        assert tx.drop_taints(MAIN, Label.UNTRUSTED, "c1") == 1


def test_addresses_of_another_role_do_not_go_on_to_a_session_of_ones_own(worked: Roles) -> None:
    with worked.north.transaction() as tx:
        tx.put_session(SESSION._replace(session="bait", why="clear"))
        tx.add_addresses("bait", [b"k2"], human=True)
    with worked.south.transaction() as tx:
        tx.copy_addresses("bait", SESSION.session, human_only=True)
        assert not tx.knows_address(SESSION.session, b"k2")


def test_a_person_answers_at_any_gate(worked: Roles) -> None:
    with worked.south.transaction() as tx:
        tx.put_approval(APPROVAL._replace(approval="abcdefghjk", session=SESSION.session, state="pending"))
    with worked.north.transaction() as tx:
        row = tx.approval("abcdefghjk")
        assert row is not None
        tx.put_approval(row._replace(state="approved", decided_at=2.0, decided_by="ann"))
    with worked.south.transaction() as tx:
        row = tx.approval("abcdefghjk")
        assert row is not None
        assert row.state == "approved"


def test_the_checkpoint_of_another_gate_stays_where_it_is(roles: Roles) -> None:
    """Moved to the thief's own gate it would be gone, and the chain would begin in the middle."""
    with roles.south.transaction() as tx:
        assert cut(tx, roles.south.key, 2, roles.south.clock(), {}) == 2
    for statement in (
        f"UPDATE lockgate.audit_checkpoints SET gate = '{roles.north.gate}'",
        f"UPDATE lockgate.audit_checkpoints SET seq = seq + 1 WHERE gate = '{roles.south.gate}'",
    ):
        with pytest.raises(psycopg.Error, match=r"append only|another role"):
            roles.execute("north_role", statement)
    assert roles.problem(roles.south) == ""


def test_a_gate_with_its_own_role_can_do_all_its_work(roles: Roles) -> None:
    for store in (roles.north, roles.south):
        with store.transaction() as tx:
            tx.call_gate("new name")
            tx.put_setting("trust", "this")
            assert cut(tx, store.key, 2, store.clock(), {}) == 2
        store.anchor()
        with store.transaction() as tx:
            tx.put_setting("trust", None)
        assert len(store.fleet_key) == 32
    assert roles.problem(roles.south) == roles.problem(roles.north) == ""


def test_one_role_for_several_gates(roles: Roles) -> None:
    for name, role in (("east", "fleet_role"), ("west", "fleet_role"), ("east", "member_role")):
        record(roles.gate(name, role), 2)
    # What a group has made, its members go on with; what a member has made is its own.
    record(roles.gate("own", "member_role"))
    with pytest.raises(StoreError, match=r"another role"):
        record(roles.gate("own", "fleet_role"))


def test_the_owner_gives_a_gate_to_another_role(roles: Roles) -> None:
    assert bind(roles.owner, "north", "fleet_role") == roles.north.gate
    with pytest.raises(StoreError, match="store bind"):
        record(roles.north)
    moved = roles.gate("north", "fleet_role")
    record(moved)
    assert bind(roles.owner, moved.gate[:8], "north_role") == moved.gate
    record(roles.gate("north", "north_role"))
    assert roles.problem(roles.south) == ""


def test_who_gets_a_gate_gets_its_sessions(worked: Roles) -> None:
    with worked.north.transaction() as tx:
        tx.add_addresses(SESSION.session, [b"k1", b"k4"], human=True)
    bind(worked.owner, "south", "fleet_role")
    with worked.gate("south", "fleet_role").transaction() as tx:
        assert tx.knows_address(SESSION.session, b"k1")
        assert not tx.knows_address(SESSION.session, b"k4")
        assert tx.drop_taints(MAIN, Label.UNTRUSTED, "c1") == 1
    bind(worked.owner, "south", "north_role")
    with worked.gate("south", "north_role").transaction() as tx:
        assert tx.knows_address(SESSION.session, b"k1", human_only=True)
        assert tx.settle(MAIN.session, "c2", confirm=False) == 1


@pytest.mark.parametrize(
    ("who", "gate", "role", "problem"),
    [
        ("postgres", "nobody", "north_role", "no such gate"),
        ("postgres", "", "north_role", "no such gate"),
        ("postgres", "north", "no_such_role", "no role"),
        ("north_role", "south", "north_role", "another role"),
        ("north_role", "north", "south_role", "another role"),
        ("reader_role", "south", "reader_role", "no right"),
    ],
)
def test_bindings_that_are_refused(roles: Roles, who: str, gate: str, role: str, problem: str) -> None:
    with pytest.raises(StoreError, match=problem):
        bind(roles.url(who), gate, role)


def test_a_name_that_several_gates_have_means_none_of_them(roles: Roles) -> None:
    with roles.south.transaction() as tx:
        tx.call_gate("north")
    with pytest.raises(StoreError, match="several gates"):
        bind(roles.owner, "north", "fleet_role")


@pytest.fixture
def older(postgres_server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database as the first version made it; the address for its owner."""
    for role in ROLES:
        if not postgres_server.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{role}'"):
            postgres_server.execute(f"CREATE ROLE {role} LOGIN")
    url = postgres_server.url(postgres_server.database())
    with monkeypatch.context() as patch:
        patch.setattr(migrating, "MIGRATIONS", schema.MIGRATIONS[:1])
        patch.setattr(migrating, "VERSION", 1)
        patch.setattr(migrating, "GATE_RIGHTS", [right for right in schema.GATE_RIGHTS if ".locks" not in right])
        patch.setattr(migrating, "READER_RIGHTS", schema.READER_RIGHTS[:2])
        patch.setattr(migrating, "_unbound", lambda _: ())
        migrate(url)
    return url


def _old_gate(url: str, gate: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO lockgate.gates (gate, name, made_at, seq, digest, seal) VALUES (%s, %s, 1, 0, '', '')",
            (gate, gate),
        )


@pytest.mark.parametrize(
    ("gate_roles", "role"),
    [(["north_role"], "north_role"), (["north_role", "south_role"], ""), ([], "")],
)
def test_the_gates_of_an_older_database_are_bound_where_it_is_known_whose_they_are(
    older: str, gate_roles: list[str], role: str
) -> None:
    with psycopg.connect(older) as connection:
        for each in gate_roles:
            for right in schema.GATE_RIGHTS:
                if ".locks" not in right:
                    connection.execute(right.format(role=each))
        connection.execute("GRANT USAGE ON SCHEMA lockgate TO reader_role")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA lockgate TO reader_role")
    _old_gate(older, "a" * 32)
    _old_gate(older, "b" * 32)
    done = migrate(older)
    assert (done.before, done.after) == (1, schema.VERSION)
    with psycopg.connect(older) as connection:
        assert connection.execute("SELECT DISTINCT role FROM lockgate.gates").fetchall() == [(role,)]
    assert done.unbound == (() if role else ("a" * 32, "b" * 32))
    for each in gate_roles:
        change = "UPDATE lockgate.gates SET name = 'x'"
        with psycopg.connect(older.replace("postgres@", f"{each}@")) as connection:
            if each == role:
                connection.execute(change)
            else:
                with pytest.raises(psycopg.Error, match=r"another role"):
                    connection.execute(change)
    with psycopg.connect(older.replace("postgres@", "reader_role@")) as connection:
        connection.execute("SELECT version, mark FROM lockgate.meta")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT fleet_key FROM lockgate.meta")


def test_an_older_database_is_told_from_one_that_is_broken(tmp_path: Path, older: str) -> None:
    store = open_store(str(use(tmp_path / "state", older)), busy_seconds=2)
    try:
        with pytest.raises(StoreError, match="older Lockgate"), store.transaction():
            pass
    finally:
        store.close()


def test_a_reader_looks_at_everything_but_the_fleets_key(roles: Roles) -> None:
    reader = roles.gate("reader", "reader_role")
    with reader.reading() as tx:
        assert {row.name for row in tx.gates()} == {"north", "south"}
        assert tx.session(SESSION.session) == SESSION
    with pytest.raises(StoreError, match="no right"):
        reader.fleet_key  # noqa: B018 - it asks the database
    for statement in ("SELECT fleet_key FROM lockgate.meta", "SELECT * FROM lockgate.meta", "TABLE lockgate.meta"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            roles.execute("reader_role", statement)


HOLDS: list[tuple[str, Callable[[], str]]] = [
    ("advisory session", lambda: f"SELECT pg_advisory_lock({lock_key('session', SESSION.session)})"),
    ("advisory migration", lambda: f"SELECT pg_advisory_lock({lock_key('migration')})"),
    ("many", lambda: "SELECT count(pg_advisory_lock(n)) FROM generate_series(1, 500) n"),
    ("read", lambda: "SELECT count(*) FROM lockgate.locks, lockgate.gates, lockgate.sessions"),
    ("table", lambda: "LOCK TABLE lockgate.locks, lockgate.gates, lockgate.audit IN ACCESS SHARE MODE"),
]


@pytest.mark.parametrize("hold", [pytest.param(make(), id=name) for name, make in HOLDS])
def test_a_reader_holds_up_nobody(roles: Roles, hold: str) -> None:
    with psycopg.connect(roles.url("reader_role")) as connection:
        connection.execute(hold)
        for store in (roles.north, roles.south):
            record(store)
        migrate(roles.owner)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT FROM lockgate.locks WHERE slot = 1 FOR UPDATE",
        "SELECT FROM lockgate.locks WHERE slot = 1 FOR KEY SHARE",
        "SELECT FROM lockgate.gates FOR SHARE",
        "LOCK TABLE lockgate.locks IN ROW SHARE MODE",
        "LOCK TABLE lockgate.anchors IN SHARE ROW EXCLUSIVE MODE",
        "SELECT lockgate.anchor('x')",
        "SELECT lockgate.cut_audit('x')",
    ],
)
def test_locks_that_a_reader_cannot_have(roles: Roles, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        roles.execute("reader_role", statement)


def test_a_reader_who_says_that_somebody_watches_is_not_believed(roles: Roles) -> None:
    with psycopg.connect(roles.url("reader_role")) as connection:
        connection.execute("SELECT pg_advisory_lock_shared(%s)", (lock_key("watching"),))
        assert not roles.north.is_watched()
    with roles.south.listen(lambda _: None, watching=True):
        until = time.monotonic() + 10
        while not roles.north.is_watched():
            assert time.monotonic() < until
            threading.Event().wait(0.01)


def test_a_row_that_another_role_sets_to_approved_is_no_yes(roles: Roles) -> None:
    with roles.south.transaction() as tx:
        for name in ("forged", "moved", "real"):
            tx.put_approval(as_asked(tx, APPROVAL._replace(approval=name, expires_at=roles.south.clock() + 600)))
    with roles.north.transaction() as tx:
        yes = approvals.decide(tx, "real", approve=True, by="ann", reason="", now=roles.north.clock())
    said = "state = 'approved', decided_by = 'ann', decided_at = asked_at + 1"
    there = "about = (SELECT about FROM lockgate.approvals WHERE approval = 'real')"
    roles.execute(
        "north_role",
        f"UPDATE lockgate.approvals SET {said} WHERE approval = 'forged'",
        f"UPDATE lockgate.approvals SET {said}, {there} WHERE approval = 'moved'",
    )
    with roles.south.reading() as tx:
        assert sorted(each.approval for each in contradictions(tx, None)) == ["forged", "moved"]
    found = []
    for name in ("forged", "moved", "real"):
        with roles.south.transaction() as tx:
            row = approvals.settle(
                tx,
                name,
                subject=Subject("s1", "a1"),
                digest=APPROVAL.digest,
                basis=APPROVAL.basis,
                now=roles.south.clock(),
                approvers=None,
            )
            found.append(row.state)
    assert found == ["unproven", "unproven", "used"]
    assert yes.about["answer"][0] == roles.north.gate
