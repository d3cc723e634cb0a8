"""``lockgate store``: choosing a shared database, making it, moving everything into it and back."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lockgate.cli.store.store_status import status_lines
from lockgate.core.model import Label, Subject, Taint, TaintState
from lockgate.store.audit.chain import verify_store
from lockgate.store.audit.pruning import cut
from lockgate.store.files import PUT_BACK_SEEN, PUT_BACK_SINCE
from lockgate.store.opening import open_store
from lockgate.store.protocol import Store
from lockgate.store.rows import AgentRow, ApprovalRow, BriefRow, CallRow, SessionRow
from lockgate.store.sqlite.store import SqliteStore
from support.commands import invoked
from support.postgres import Server, use
from support.unguarded import unguarded

pytestmark = pytest.mark.slow

ODD = "a'b\"c\\d\x00e\x1a0\n\u202e\U0001f512 ; DROP TABLE taints --"
MAIN, SUB = Subject("s1"), Subject("s1", "a1")


@pytest.fixture
def state(home: Path) -> Path:
    return home / ".local" / "state" / "lockgate"


@pytest.fixture(autouse=True)
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person sits at the terminal in which the commands are typed, unless an agent's shell says otherwise."""
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())


@pytest.fixture
def url(postgres_server: Server) -> str:
    """An empty database."""
    return postgres_server.url(postgres_server.database())


@pytest.fixture(params=["postgres", "laptop_role"])
def as_gate(request: pytest.FixtureRequest, postgres_server: Server, url: str) -> str:
    """The same for a gate: as the owner, which no gate should be, and with a role of its own."""
    role = str(request.param)
    if not postgres_server.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{role}'"):
        postgres_server.execute(f"CREATE ROLE {role} LOGIN")
    assert told("migrate", url, "--gate-role", role)["after"] > 0
    return url.replace("postgres@", f"{role}@")


run = partial(invoked, "store")


def told(*arguments: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json", code=code).output)
    return found


def fill(store: Store, first: int = 1, last: int = 1200) -> None:
    taint = Taint(Label.UNTRUSTED, ODD, "WebFetch", "c1", 7.5, TaintState.CONFIRMED, "agent a1")
    with store.transaction() as tx:
        tx.put_session(SessionRow("s1", "claude-code", ODD, "/w", "s0", "clear", "12:34", 1.5, 2.25, 3.125, "logout"))
        tx.put_agent(AgentRow("s1", "a1", "explore", "", "c1", "b1", "ended", 4.5, ("a0", "")))
        tx.put_call(CallRow("s1", "c1", "a1", "Bash", "0" * 64, "asked", ("ok",), {"n": [1, {ODD: None}]}, 5.5))
        tx.put_brief(BriefRow("b1", "s1", "a0", "c1", "1" * 64, ODD, "approved", "a1", 6.5))
        tx.put_approval(
            ApprovalRow("k1", "s1", "a1", "c", "c1", "2" * 64, "3" * 64, {"t": ODD}, "denied", 1.0, 2.0, 1.5, "ann")
        )
        tx.add_taints(SUB, [taint, taint._replace(state=TaintState.PENDING, source="x", at=8.5)])
        tx.add_taints(MAIN, [taint])
        tx.block("s1", "", "Bash: git push", 9.0)
        tx.add_addresses("s1", [b"k" * 16], human=True)
        tx.put_setting("trust:/a", ODD)
        for number in range(first, last + 1):
            tx.append_audit(10.0 + number, {"event": "test", "n": number, "text": ODD})


def all_of(store: Store) -> dict[str, Any]:
    """Everything, as a store tells it."""
    with store.reading() as tx:
        assert verify_store(tx, store.key).ok
        return {
            "sessions": tx.sessions(),
            "agents": tx.agents("s1"),
            "calls": tx.calls("s1"),
            "briefs": tx.briefs("s1"),
            "approvals": tx.approvals(),
            "taints": (tx.taints(MAIN), tx.taints(SUB)),
            "blocked": tx.list_blocked("s1"),
            "address": tx.knows_address("s1", b"k" * 16, human_only=True),
            "settings": {name: value for name, value in tx.settings("").items() if name != PUT_BACK_SEEN},
            "audit": tx.audit(),
            "head": tx.audit_head()[:2],
            "checkpoint": tx.audit_checkpoint(),
        }


def opened(state: Path) -> Store:
    return open_store(str(state), busy_seconds=10)


def test_everything_goes_to_the_database_and_back(state: Path, as_gate: str) -> None:
    own = SqliteStore.open(str(state))
    fill(own)
    before = all_of(own)
    own.close()
    for again in (1200, 0):  # twice is as good as once
        copied = told("copy", as_gate, "--gate", "laptop")
        assert (copied["records"], copied["addresses_left"]) == (again, False)
    told("use", as_gate, "--gate", "laptop")
    there = opened(state)
    found = all_of(there)
    begun = found.pop("audit")[1200:]
    assert [json.loads(row.body)["event"] for row in begun] == ["store"]
    assert {**found, "audit": 0, "head": 0} == {**before, "audit": 0, "head": 0}

    fill(there, 2000, 2700)
    after = all_of(there)
    there.close()
    # SQLite has a record of its own since: that it was left. The chains have parted, and what to do is said.
    assert "move lockgate.db* of the state folder aside" in run("copy", "sqlite", code=3).output
    for path in state.glob("lockgate.db*"):  # since Python 3.12 the log stays beside the database
        path.rename(state / f"old.{path.name}")
    assert told("copy", "sqlite")["records"] == len(after["audit"])
    own = SqliteStore.open(str(state))
    assert all_of(own) == after
    own.close()
    told("use", "sqlite")
    assert isinstance(opened(state), SqliteStore)


def test_a_chain_that_was_cut_meanwhile_is_cut_there_too(state: Path, as_gate: str) -> None:
    own = SqliteStore.open(str(state))
    fill(own)
    told("copy", as_gate)
    with own.transaction() as tx:
        assert cut(tx, own.key, 700, 5000.0, {}) == 700
    fill(own, 3000, 3100)
    assert told("copy", as_gate)["records"] == 102
    expected = all_of(own)
    own.close()
    use(state, as_gate)
    there = opened(state)
    assert all_of(there) == expected
    there.close()
    other = state.parent / "other"
    state.rename(other)
    state.mkdir(mode=0o700)
    for name in ("key", "store.json"):
        (other / name).rename(state / name)
    assert told("copy", "sqlite")["records"] == len(expected["audit"])
    own = SqliteStore.open(str(state))
    assert all_of(own) == expected
    own.close()


def test_a_broken_chain_is_not_copied(state: Path, url: str) -> None:
    told("migrate", url)
    own = SqliteStore.open(str(state))
    fill(own, 1, 5)
    with unguarded(own._connection) as connection:
        connection.execute("UPDATE audit SET body = '{}' WHERE seq = 3")
    own.close()
    assert "does not hold" in run("copy", url, code=1).output
    use(state, url)
    there = opened(state)
    with there.reading() as tx:
        assert tx.audit() == tx.sessions() == []
    there.close()


def test_addresses_are_left_where_the_keys_differ(state: Path, postgres_url: str) -> None:
    own = SqliteStore.open(str(state))
    fill(own, 1, 5)
    own.close()
    assert told("copy", postgres_url)["addresses_left"]
    told("use", postgres_url)
    there = opened(state)
    with there.reading() as tx:
        assert not tx.knows_address("s1", b"k" * 16)
    there.close()


def test_status_tells_of_each_gate(state: Path, postgres_url: str) -> None:
    assert told("status") == {"usable": True, "problem": None, "store": "sqlite", "where": str(state)}
    told("use", postgres_url.replace("postgres@", "postgres:secret@"), "--gate", "laptop")
    found = told("status")
    assert (found["store"], found["usable"]) == ("postgresql", True)
    assert [(gate["name"], gate["records"], gate["anchored"], gate["own"]) for gate in found["gates"]] == [
        ("laptop", 1, 1, True)
    ]
    said = run("status").output
    assert "laptop" in said
    assert "secret" not in said + json.dumps(found)


def test_a_store_that_cannot_be_used_is_told_and_not_taken(state: Path, url: str) -> None:
    assert "lockgate store migrate" in run("use", url, code=3).output
    assert "cannot be reached" in run("use", url.replace("host=", "host=/nonexistent"), code=3).output
    assert "verify-full" in run("use", "postgresql://db.example.org/lockgate", code=3).output
    assert not (state / "store.json").exists()
    use(state, url)
    found = told("status", code=3)
    assert not found["usable"]
    assert "migrate" in found["problem"]


def test_a_lost_store_can_be_left(state: Path, postgres_server: Server) -> None:
    url = postgres_server.url(postgres_server.store_database())
    told("use", url)
    postgres_server.execute(f"DROP DATABASE {url.split('/')[3].split('?')[0]} WITH (FORCE)")
    told("status", code=3)
    told("use", "sqlite")
    assert told("status")["store"] == "sqlite"


@pytest.mark.parametrize(
    "command", [("migrate", "postgresql:///x"), ("use", "sqlite"), ("copy", "sqlite"), ("bind", "x", "y")]
)
def test_only_a_person_moves_the_store(state: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "only a person" in run(*command, code=1).output


def test_the_file_is_the_users_alone(state: Path, postgres_url: str) -> None:
    before = os.umask(0)
    try:
        told("use", postgres_url)
    finally:
        os.umask(before)
    assert (state / "store.json").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in state.iterdir() if path.name.startswith("store.json")] == ["store.json"]


def test_a_gate_gets_the_name_that_use_gives_it(state: Path, url: str) -> None:
    """`copy` makes a gate known by its user and host; `use --gate` names it, and may do so again."""
    told("migrate", url)
    SqliteStore.open(str(state)).close()
    told("copy", url)
    for name in ("laptop", "build-1"):
        told("use", url, "--gate", name)
        assert [gate["name"] for gate in told("status")["gates"]] == [name]
    there = opened(state)
    with there.reading() as tx:
        assert not [row for row in tx.audit(limit=100) if "leaves_for" in row.body]  # it names the store that it has
    there.close()


def test_two_gates_of_one_name_are_told_of(
    state: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told("migrate", url)
    assert not run("use", url, "--gate", "laptop").stderr
    monkeypatch.setenv("HOME", str(tmp_path / "other"))
    assert "another gate is called laptop too" in run("use", url, "--gate", "laptop").stderr
    assert not run("use", url, "--gate", "build-1").stderr


def test_a_machine_that_gets_another_role_is_bound_to_it(state: Path, postgres_server: Server, url: str) -> None:
    for role in ("first_role", "second_role"):
        if not postgres_server.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{role}'"):
            postgres_server.execute(f"CREATE ROLE {role} LOGIN")
    told("migrate", url, "--gate-role", "first_role", "--gate-role", "second_role")
    first, second = (url.replace("postgres@", f"{role}@") for role in ("first_role", "second_role"))
    told("use", first, "--gate", "laptop")
    assert "lockgate store bind" in run("use", second, "--gate", "laptop", code=3).output
    assert "'s now" in run("bind", "laptop", "second_role", "--url", url).output
    told("use", second, "--gate", "laptop")
    gate = told("status")["gate"]["id"]
    assert told("bind", gate, "first_role", "--url", url) == {"gate": gate, "role": "first_role"}
    assert "bind" in run("bind", "laptop", "second_role", code=3).output  # this gate's own address is not the owner's


@pytest.mark.parametrize(
    ("ahead", "said"),
    [(0.0, "agrees with"), (-0.004, "agrees with"), (2.5, "2.5 s ahead of"), (-3.0, "3 s behind")],
)
def test_a_clock_that_is_off_is_told_in_words(ahead: float, said: str) -> None:
    told_of = {"store": "s", "where": "w", "usable": True, "answers_in_ms": 1.0, "clock_ahead_seconds": ahead}
    lines = list(status_lines({**told_of, "gate": {"id": "i"}, "records": 0, "gates": []}))
    assert said in lines[1]


def test_who_goes_back_has_every_label(state: Path, postgres_url: str) -> None:
    """What sessions have read meanwhile stands in the other store."""
    own = SqliteStore.open(str(state))
    with own.transaction() as tx:
        tx.put_session(SessionRow("s1"))
        tx.put_agent(AgentRow("s1", "a1"))
    own.close()
    told("use", postgres_url)
    told("use", postgres_url, "--gate", "laptop")
    told("use", "sqlite")
    own = opened(state)
    with own.reading() as tx:
        assert [tx.labels(each) for each in (MAIN, SUB)] == [frozenset(Label)] * 2
        assert len(tx.taints(MAIN, limit=10)) == len(Label)
        assert tx.setting(PUT_BACK_SINCE)
    own.close()


def test_a_store_that_is_lost_on_this_machine_can_be_left(state: Path, postgres_url: str) -> None:
    SqliteStore.open(str(state)).close()
    (state / "lockgate.db").write_bytes(b"garbage" * 1000)
    told("use", postgres_url)
    assert told("status")["usable"]
