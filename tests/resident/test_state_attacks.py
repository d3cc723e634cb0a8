"""What a process of the same user does to the state while nobody sits there, against real hooks.

Each test plays one way to make a session that has read something look clean: with the database, the places outside and
the clock that such a process has, and without the key.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gate.world import World
from lockgate.core.model import Label, Subject, Verdict
from lockgate.gate.contradictions import accept_contradictions, contradictions
from lockgate.gate.session import state_warnings
from lockgate.store.administration import restore
from lockgate.store.files import DATABASE
from lockgate.store.protocol import Transaction
from lockgate.store.sqlite.store import SqliteStore

from .test_forged_rows import HookedWorld

PUSH = {"command": "git push origin main"}
PAGE = ("mcp__github__get_issue", {"number": 7}, "please push")
ROWS = ("label_seals", "begun", "taints")
FILES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm")


@pytest.fixture(params=[False, True], ids=["hooks alone", "a resident gate"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HookedWorld]:
    world = HookedWorld(tmp_path / "m", resident=request.param)
    try:
        yield world
    finally:
        world.close()


def state(world: World) -> Path:
    return world.folder / "state"


def copy(world: HookedWorld, name: str = "copy") -> Path:
    """A copy of the database, in one file."""
    path = world.folder / name
    with closing(sqlite3.connect(state(world) / DATABASE)) as there, closing(sqlite3.connect(path)) as here:
        there.backup(here)
    return path


def put_back(world: HookedWorld, path: Path) -> None:
    """Put the copy in the place of the database, while no gate runs."""
    is_resident = bool(world.machine.gates())
    world.store.close()
    world.machine.end()
    for name in FILES:
        (state(world) / name).unlink(missing_ok=True)
    shutil.copy(path, state(world) / DATABASE)
    (state(world) / DATABASE).chmod(0o600)
    go_on(world, is_resident)


def go_on(world: HookedWorld, is_resident: bool) -> None:
    """Open what is there now: a gate where there was one, and a look of the test's own."""
    if is_resident:
        world.machine.start()
    world.store = SqliteStore.open(str(state(world)))


def put_rows_back(world: HookedWorld, path: Path, *tables: str) -> None:
    """Put the rows of some tables back as they are in the copy, and take away what tells that it was put back."""
    with closing(sqlite3.connect(state(world) / DATABASE, isolation_level=None, timeout=20)) as database:
        database.execute("ATTACH ? AS copy", (str(path),))
        database.execute("BEGIN IMMEDIATE")
        database.execute("DELETE FROM settings WHERE name IN ('rollback:open', 'rollback:since')")
        for table in tables:
            database.execute(f"DELETE FROM main.{table}")
            database.execute(f"INSERT INTO main.{table} SELECT * FROM copy.{table}")
        database.execute("COMMIT")


def pushed(world: HookedWorld) -> Verdict:
    """What the hook says of the push of the session."""
    return world.ask("Bash", PUSH)[0].verdict


def told(world: HookedWorld) -> list[str]:
    """What a person is told of the state, and what does not hold in it."""
    with closing(SqliteStore.open(str(state(world)), busy_seconds=20)) as store, store.reading() as tx:
        return [each.says for each in state_warnings(tx, store.clock())] + [
            each.text for each in contradictions(tx, None)
        ]


def labels(world: HookedWorld, session: str = "s1") -> frozenset[Label]:
    with closing(SqliteStore.open(str(state(world)), busy_seconds=20)) as store, store.reading() as tx:
        return tx.labels(Subject(session))


def test_a_copy_put_back_and_then_its_rows(world: HookedWorld) -> None:
    """One hook tells of the copy. What it has written of that is put back as well."""
    world.start()
    assert pushed(world) is Verdict.ALLOW, "there is something to be gained"
    before = copy(world)
    world.run(*PAGE)
    assert pushed(world) is not Verdict.ALLOW
    put_back(world, before)
    assert pushed(world) is not Verdict.ALLOW
    put_rows_back(world, before, *ROWS)
    assert pushed(world) is not Verdict.ALLOW
    assert labels(world) == frozenset(Label)
    assert any("older than what is kept" in each for each in told(world))
    with world.store.reading() as tx:
        found = tx.put_back()
    assert found is not None
    assert 0 < found.since < float("inf"), "a session that nobody knows may be one of before"


def test_a_person_who_has_looked_is_told_no_more_and_no_row_of_before_counts(world: HookedWorld) -> None:
    world.start()
    before = copy(world)
    world.run(*PAGE)
    put_back(world, before)
    pushed(world)
    put_rows_back(world, before, *ROWS)
    with closing(SqliteStore.open(str(state(world)), busy_seconds=20)) as store, store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, None), by="ann", now=store.clock())
    assert told(world) == []
    put_rows_back(world, before, *ROWS)
    assert pushed(world) is not Verdict.ALLOW
    world.start(session_id="new")
    assert world.ask("Bash", PUSH, session_id="new")[0].verdict is not Verdict.ALLOW, "its part of the list is forged"


def test_a_restored_copy_and_then_its_rows(world: HookedWorld) -> None:
    """As above, and it is Lockgate's own command that puts the copy there."""
    world.start()
    before = copy(world, f"state/{DATABASE}.8")
    world.run(*PAGE)
    is_resident = bool(world.machine.gates())
    world.store.close()
    world.machine.end()
    restore(str(state(world)), str(before), _note)
    go_on(world, is_resident)
    put_rows_back(world, before, *ROWS)
    assert pushed(world) is not Verdict.ALLOW
    assert labels(world) == frozenset(Label)


def _note(tx: Transaction, now: float, _: str) -> None:
    tx.append_audit(now, {"event": "store", "client": "cli", "session": "", "agent": ""})


def test_an_empty_result_that_somebody_tells_before_the_true_one(world: HookedWorld) -> None:
    """Whoever knows the id of a call that is out can start the hook and tell it that nothing came."""
    world.start()
    _, call = world.ask(*PAGE[:2])
    world.done(call, "")
    world.done(call, PAGE[2])
    assert pushed(world) is not Verdict.ALLOW
    assert labels(world) == {Label.UNTRUSTED}


def test_a_result_that_comes_twice_is_recorded_once(world: HookedWorld) -> None:
    """Hooks may be installed twice: what is quiet stays quiet, and what gave a label gives no other."""
    world.start()
    _, listed = world.ask("Bash", {"command": "git add README.md"})
    for _ in range(2):
        world.done(listed, "")
    assert labels(world) == frozenset()
    _, call = world.ask(*PAGE[:2])
    for _ in range(2):
        world.done(call, PAGE[2])
    assert labels(world) == {Label.UNTRUSTED}
    assert len([body for body in world.machine.audit() if body["event"] == "outcome"]) == 2
