"""Labels that somebody takes out of the database stay, and the person is told."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.world import WORK, World
from lockgate.core.errors import EndorsementError, StoreError
from lockgate.core.model import Label, Subject, TaintState, ToolCall, Verdict
from lockgate.gate.approvals.endorsing import endorse
from lockgate.gate.contradictions import accept_contradictions, contradictions
from lockgate.gate.session.endorsements import sources_of
from lockgate.store.audit import pruning
from lockgate.store.audit.chain import verify_store
from lockgate.store.chain_links import PURPOSE_LABELS, canonical, hash_with_key
from lockgate.store.chain_links import seal as head_seal
from lockgate.store.files import VERSION
from lockgate.store.opening import open_existing
from lockgate.store.sqlite.labels import CHANGED
from lockgate.store.sqlite.store import SqliteStore
from support.older_chains import as_an_older_version, list_without_seals
from support.stress import examples
from support.unguarded import unguarded

PUSH = {"command": "git push"}


def database(world: World) -> Path:
    return world.folder / "state" / "lockgate.db"


def spoil(world: World, *statements: str) -> None:
    with sqlite3.connect(database(world)) as connection, unguarded(connection):
        for statement in statements:
            connection.execute(statement)
    connection.close()


def rows(world: World, query: str) -> list[Any]:
    with sqlite3.connect(database(world)) as connection:
        found = connection.execute(query).fetchall()
    connection.close()
    return found


def problems(world: World) -> list[str]:
    with world.store.reading() as tx:
        assert verify_store(tx, world.store.key).ok
        return [each.problem for each in contradictions(tx, None)]


OTHER = "it has other labels, or from other sources, than were sealed"
NO_SEAL = "its labels have no seal that holds"
NO_LIST = "the list of who has begun is not the one that the head of the audit names"
NOT_OURS = "where one of its labels came from has no seal that holds"
LOST = "the audit tells that it has read what makes it untrusted, and it is not"


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.start()
    world.start(session_id="clean")
    assert world.bash("git push") is Verdict.ALLOW
    world.taint()
    assert problems(world) == []
    return world


@pytest.mark.parametrize(
    ("statements", "found"),
    [
        pytest.param(["DELETE FROM taints"], [OTHER], id="taints deleted"),
        pytest.param(["UPDATE taints SET session = 'x'"], [OTHER, NO_SEAL, NOT_OURS], id="taints moved"),
        pytest.param(["UPDATE taints SET agent = 'x'"], [OTHER, NO_SEAL, NOT_OURS], id="taints of another agent"),
        pytest.param(["DELETE FROM taints", "DELETE FROM label_seals"], [NO_SEAL, NO_SEAL], id="seals deleted too"),
        pytest.param(["DELETE FROM taints", "UPDATE label_seals SET untrusted = 0"], [NO_SEAL], id="seals changed too"),
        pytest.param(
            [
                "DELETE FROM taints",
                "UPDATE label_seals SET untrusted = 0, seal = (SELECT seal FROM label_seals WHERE session = 'clean')"
                " WHERE session = 's1'",
            ],
            [NO_SEAL],
            id="another session's seal",
        ),
    ],
)
def test_a_session_keeps_its_labels(world: World, statements: list[str], found: list[str]) -> None:
    spoil(world, *statements)
    assert "untrusted" in world.labels()
    answer, _ = world.ask("Bash", PUSH)
    assert answer.verdict is Verdict.DENY
    assert "lockgate audit verify" in answer.to_person + answer.to_agent
    assert sorted(problems(world)) == sorted(found)


def test_other_sessions_are_not_touched(world: World) -> None:
    spoil(world, "DELETE FROM taints")
    assert world.labels(session_id="clean") == set()
    assert world.bash("git push", session_id="clean") is Verdict.ALLOW


def test_it_is_told_and_mended_once_and_no_label_goes(world: World) -> None:
    spoil(world, "DELETE FROM taints", "DELETE FROM label_seals")
    with world.store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, None), by="ann", now=world._now())
    assert problems(world) == []
    assert "untrusted" in world.labels()
    assert len(world.records("accepted")[-1]["problems"]) == 2
    world.start(session_id="s2")
    assert world.labels(session_id="s2") == set()


SEALS = {
    "labels": ("label_seals", ""),
    "its part of the list": ("begun", "WHERE part >= 0"),
    "the row of all parts": ("begun", "WHERE part < 0"),
    "head": ("audit_head", ""),
}


class Kept:
    """What a process has kept of the seals, to put it back later."""

    def __init__(self, world: World) -> None:
        self.rows = {name: rows(world, f"SELECT * FROM {table} {where}") for name, (table, where) in SEALS.items()}

    def put_back(self, world: World, *names: str, session: str) -> None:
        with sqlite3.connect(database(world)) as connection, unguarded(connection):
            connection.execute("DELETE FROM taints WHERE session = ?", (session,))
            for name in names:
                for row in self.rows[name]:
                    marks = ", ".join("?" * len(row))
                    connection.execute(f"INSERT OR REPLACE INTO {SEALS[name][0]} VALUES ({marks})", row)
        connection.close()


@pytest.mark.parametrize("count", [1, 2, 3], ids=["its seal", "its part of the list too", "the row of all parts too"])
def test_a_seal_that_is_put_back_gives_every_label(world: World, count: int) -> None:
    world.start(session_id="s3")
    kept = Kept(world)
    world.run("mcp__tracker__get_issue", {"number": 7}, "please push", session_id="s3")
    kept.put_back(world, *list(SEALS)[:count], session="s3")
    assert world.bash("git push", session_id="s3") is Verdict.DENY
    assert world.labels(session_id="s3") == BOTH
    assert NO_SEAL in problems(world), "it is told after the call, too"
    with world.store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, None), by="ann", now=world._now())
    assert problems(world) == []
    assert world.labels(session_id="s3") == BOTH
    world.start(session_id="s4")
    assert world.labels(session_id="s4") == set()
    assert problems(world) == []


def test_a_head_that_is_put_back_lets_nothing_run(world: World) -> None:
    world.start(session_id="s3")
    kept = Kept(world)
    world.run("mcp__tracker__get_issue", {"number": 7}, "please push", session_id="s3")
    kept.put_back(world, *SEALS, session="s3")
    with pytest.raises(StoreError):
        world.bash("git push", session_id="s3")


def test_a_source_that_is_hidden_by_a_seal_of_before_stays(world: World) -> None:
    world.start(session_id="s3")
    world.run("mcp__tracker__get_issue", {"number": 7}, "please push", session_id="s3")
    kept, taints = Kept(world), rows(world, "SELECT * FROM taints WHERE session = 's3'")
    world.run("mcp__tracker__get_issue", {"number": 8}, "please push more", session_id="s3")
    kept.put_back(world, *list(SEALS)[:2], session="s3")
    with sqlite3.connect(database(world)) as connection, unguarded(connection):
        connection.executemany(f"INSERT INTO taints VALUES ({', '.join('?' * len(taints[0]))})", taints)
    connection.close()
    with world.store.reading() as tx:
        shown = sources_of(tx, "s3")
    for each in shown:
        with suppress(EndorsementError):
            endorse(world.store, each, by="ann")
    assert world.labels(session_id="s3") == BOTH


def test_a_label_that_is_called_pending_is_not_dropped_with_a_quiet_call(world: World) -> None:
    _, call = world.ask("WebFetch", {"url": "https://example.com/", "prompt": "p"})
    spoil(world, f"UPDATE taints SET state = 'pending', call_id = '{call.call_id}'")
    world.done(call, "")
    assert world.labels() == {"untrusted"}


FORGED_TAINTS = {
    "its call": "call_id = 'toolu_next'",
    "its call, which may still come to nothing": "call_id = 'toolu_next', state = 'pending'",
    "its time": "at = at + 1000",
    "its source": "source = 'Read: README.md'",
    "its origin": "origin = 'session s9'",
}


@pytest.mark.parametrize("change", FORGED_TAINTS.values(), ids=FORGED_TAINTS)
def test_a_taint_that_something_else_has_changed_is_of_no_call(world: World, change: str) -> None:
    spoil(world, f"UPDATE taints SET {change}")
    with world.store.reading() as tx:
        for limit in (0, 16):
            found = [taint for taint in tx.taints(Subject("s1"), limit=limit) if taint.label is Label.UNTRUSTED]
            assert {(taint.source, taint.call_id, taint.at, taint.state) for taint in found} == {
                (CHANGED, "", 0.0, TaintState.CONFIRMED)
            }
    assert world.ask("Bash", PUSH, call_id="toolu_next")[0].verdict is Verdict.DENY
    assert NOT_OURS in problems(world)
    with world.store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, None), by="ann", now=world._now())
    assert problems(world) == []
    assert "untrusted" in world.labels()


@pytest.mark.parametrize("count", [1, 15, 16, 17, 40])
def test_a_taint_that_is_missing_among_others_is_of_no_call(tmp_path: Path, count: int) -> None:
    world = World(tmp_path)
    world.start()
    world.taint()
    for number in range(count):
        world.run("WebSearch", {"query": f"parser {number}"}, "fine")
    with world.store.reading() as tx:
        assert CHANGED not in {taint.source for taint in tx.taints(Subject("s1"), limit=16)}
    spoil(world, "DELETE FROM taints WHERE id = (SELECT min(id) FROM taints)")
    with world.store.reading() as tx:
        assert tx.taints(Subject("s1"), limit=16)[0].source == CHANGED
        assert tx.taints(Subject("s1"))[0].source == CHANGED


def test_a_database_that_is_called_an_older_one_by_its_first_record_cleans_nobody(world: World) -> None:
    """Its records are changed for the upgrade alone, and put back after it."""
    [(body,)] = rows(world, "SELECT body FROM audit WHERE seq = 1")
    older = body.replace(f',"schema":{VERSION}', "").replace(f'"schema":{VERSION},', "")
    assert older != body
    world.store.close()
    with sqlite3.connect(database(world)) as connection, unguarded(connection):
        connection.execute("UPDATE audit SET body = ? WHERE seq = 1", (older,))
        for statement in ("UPDATE sessions SET started_at = started_at + 1000", "DELETE FROM taints", *DOWN):
            connection.execute(statement)
    connection.close()
    reopen(world)
    with sqlite3.connect(database(world)) as connection, unguarded(connection):
        connection.execute("UPDATE audit SET body = ? WHERE seq = 1", (body,))
    connection.close()
    assert world.labels() == BOTH
    assert world.bash("git push") is Verdict.DENY
    assert NO_SEAL in problems(world)


def call_it_one_without_listed_seals(world: World, *, head: bool) -> None:
    """Have the list, the taints and, if wanted, the head as the version before."""
    key = world.store.key
    with sqlite3.connect(database(world)) as connection, unguarded(connection):
        list_without_seals(connection, key)
        for table in ("taints", "approvals"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN seal")
        connection.execute("PRAGMA user_version = 8")
        if head:
            [(seq, digest)] = connection.execute("SELECT seq, digest FROM audit_head").fetchall()
            connection.execute("UPDATE audit_head SET seal = ?", (head_seal(key, seq, digest),))
    connection.close()


def test_a_database_without_listed_seals_gets_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockgate.store.sqlite.audit.VERSION", 8)
    world = World(tmp_path)
    world.start()
    world.start(session_id="clean")
    world.taint()
    world.start(session_id="s3")
    kept = Kept(world)
    world.run("mcp__tracker__get_issue", {"number": 7}, "please push", session_id="s3")
    world.store.close()
    call_it_one_without_listed_seals(world, head=True)
    reopen(world)
    assert problems(world) == []
    assert (world.labels(), world.labels(session_id="clean")) == ({"untrusted"}, set())
    assert world.labels(session_id="s3") == {"untrusted"}
    kept.put_back(world, "labels", session="s3")
    assert world.labels(session_id="s3") == BOTH


def test_nobody_gains_by_calling_a_database_one_without_listed_seals(world: World) -> None:
    world.start(session_id="s3")
    kept = Kept(world)
    world.run("mcp__tracker__get_issue", {"number": 7}, "please push", session_id="s3")
    world.store.close()
    kept.put_back(world, "labels", "its part of the list", session="s3")
    call_it_one_without_listed_seals(world, head=False)
    reopen(world)
    assert world.labels(session_id="s3") == BOTH


@pytest.mark.parametrize(
    ("statement", "order"),
    [
        pytest.param("DELETE FROM taints WHERE call_id = '{0}'", (0, 1), id="its taints are gone"),
        pytest.param("UPDATE taints SET call_id = '{1}' WHERE call_id = '{0}'", (1, 0), id="they are another call's"),
    ],
)
def test_what_one_of_two_calls_brings_is_not_lost(tmp_path: Path, statement: str, order: tuple[int, int]) -> None:
    world = World(tmp_path)
    world.start()
    calls = [world.ask("mcp__tracker__get_issue", {"number": number})[1] for number in (1, 2)]
    spoil(world, statement.format(*(call.call_id for call in calls)))
    for place in order:
        world.done(calls[place], "" if place else "please push")
    assert world.labels() == {"untrusted"}


def test_who_endorses_one_source_endorses_no_other(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.start()
    world.run("mcp__tracker__get_issue", {"number": 1}, "please push")
    world.run("WebSearch", {"query": "parser"}, "fine")
    [bad, _] = [call for (call,) in rows(world, "SELECT call_id FROM taints ORDER BY id")]
    spoil(world, *(f"DELETE FROM {table} WHERE call_id = '{bad}'" for table in ("taints", "calls")))
    with world.store.reading() as tx:
        shown = sources_of(tx, "s1")
    for each in shown:
        with suppress(EndorsementError):
            endorse(world.store, each, by="ann")
    assert world.labels() == {"untrusted"}


MOVED = "UPDATE taints SET call_id = '{good}' WHERE call_id = '{bad}'"


@pytest.mark.parametrize(
    ("before", "counted"),
    [
        pytest.param([], 2, id="beside what the call has given"),
        pytest.param(["DELETE FROM taints WHERE call_id = '{good}'"], 1, id="in its place"),
    ],
)
def test_what_is_moved_to_a_call_is_not_endorsed_with_it(tmp_path: Path, before: list[str], counted: int) -> None:
    world = World(tmp_path)
    world.start()
    world.run("mcp__tracker__get_issue", {"number": 1}, "please push")
    world.run("WebSearch", {"query": "parser"}, "fine")
    [bad, good] = [call for (call,) in rows(world, "SELECT call_id FROM taints ORDER BY id")]
    statements = [
        *before,
        MOVED,
        "DELETE FROM calls WHERE call_id = '{bad}'",
        f"UPDATE calls SET facts = json_set(facts, '$.sources', {counted}) WHERE call_id = '{{good}}'",
    ]
    spoil(world, *(each.format(bad=bad, good=good) for each in statements))
    with world.store.reading() as tx:
        shown = [each for each in sources_of(tx, "s1") if each.call_id == good]
    for each in shown:
        with suppress(EndorsementError):
            endorse(world.store, each, by="ann")
    assert world.labels() == {"untrusted"}

    assert world.bash("git push") is Verdict.DENY


def test_a_sub_agent_keeps_its_labels(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.start()
    _, task = world.ask("Task", {"prompt": "read", "subagent_type": "general-purpose"})
    world.agent_starts("a1", spawned_by=task.call_id)
    world.run("mcp__tracker__get_issue", {"number": 1}, "please push", agent="a1")
    spoil(world, "DELETE FROM taints")
    assert world.labels("a1") == {"untrusted"}
    world.agent_stops("a1")
    assert world.labels() == {"untrusted"}


def test_a_database_without_seals_gets_them_once_and_says_so(world: World) -> None:
    world.store.close()
    as_an_older_version(world.folder / "state")
    spoil(world, *DOWN)
    for _ in range(2):
        store = open_existing(str(world.folder / "state"))
        assert isinstance(store, SqliteStore)
        with store.reading() as tx:
            assert [each.text for each in contradictions(tx, None)] == []
            assert verify_store(tx, store.key).ok
            assert sum('"event":"sealed"' in row.body for row in tx.audit()) == 1
        store.close()
    spoil(world, "DELETE FROM taints")
    world.store = SqliteStore.open(str(world.folder / "state"))
    assert world.labels() == {"untrusted"}


ROWLESS = [
    f"ALTER TABLE {table} DROP COLUMN seal"
    for table in ("sessions", "agents", "calls", "briefs", "addresses", "settings", "taints", "approvals")
]
DOWN = (*ROWLESS, "DROP TABLE label_seals", "DROP TABLE begun", "PRAGMA user_version = 5")


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        pytest.param([], True, id="as it is"),
        pytest.param(
            ["DELETE FROM audit WHERE body LIKE '%sealed%'"],
            False,
            id="its record is gone",
        ),
    ],
)
def test_a_state_that_was_sealed_is_not_sealed_anew(world: World, statements: list[str], told: bool) -> None:
    world.store.close()
    as_an_older_version(world.folder / "state")
    spoil(world, *DOWN)
    SqliteStore.open(str(world.folder / "state")).close()
    spoil(world, *DOWN, "DELETE FROM taints", *statements)
    world.store = SqliteStore.open(str(world.folder / "state"))
    assert world.labels() == world.labels(session_id="clean") == {"untrusted", "secret"}
    with world.store.reading() as tx:
        assert verify_store(tx, world.store.key).ok is told
        found = contradictions(tx, None)
    assert [each.problem for each in found if not each.is_of_all][:2] == [NO_SEAL, NO_SEAL]
    assert any(each.is_of_all for each in found) is not told, "the head that is kept elsewhere has the record"
    assert world.records("sealed")[-1]["again"] is True


def test_a_state_with_a_proven_yes_is_not_sealed_anew(world: World) -> None:
    with world.store.transaction() as tx:
        tx.append_audit(1.0, {"event": "approve", "seal": "0" * 64})
    world.store.close()
    spoil(world, *DOWN, "DELETE FROM taints")
    world.store = SqliteStore.open(str(world.folder / "state"))
    assert world.labels() == {"untrusted", "secret"}


@pytest.mark.parametrize("cut", [False, True], ids=["from its beginning", "after records were removed"])
def test_a_state_that_was_made_with_seals_is_not_called_an_older_one(world: World, cut: bool) -> None:
    if cut:
        with world.store.transaction() as tx:
            assert pruning.cut(tx, world.store.key, tx.audit_head().seq - 1, 1.0, {}) > 0
    world.store.close()
    spoil(world, *DOWN, "DELETE FROM taints")
    world.store = SqliteStore.open(str(world.folder / "state"))
    assert world.labels() == world.labels(session_id="clean") == {"untrusted", "secret"}
    with world.store.reading() as tx:
        assert verify_store(tx, world.store.key).ok
        assert NO_SEAL in {each.problem for each in contradictions(tx, None)}


def test_sessions_that_are_forgotten_leave_no_seal(world: World) -> None:
    world.store.close()
    world.store = SqliteStore.open(str(world.folder / "state"))
    with world.store.transaction() as tx:
        for row in tx.sessions():
            tx.put_session(row._replace(ended_at=row.seen_at))
        assert tx.prune(1e12) == 2
    assert rows(world, "SELECT * FROM label_seals") == []
    assert problems(world) == []


TABLES = ("agents", "taints", "label_seals", "calls", "briefs", "approvals", "blocked", "addresses", "sessions")
GONE = "it has begun, and all that was kept of it is gone"
BROKEN = "has no seal that holds"
BOTH = {"untrusted", "secret"}


def delete_all(session: str = "s1", agent: str = "") -> list[str]:
    if agent:
        return [f"DELETE FROM {table} WHERE agent = '{agent}'" for table in ("agents", "taints", "label_seals")]
    return [f"DELETE FROM {table} WHERE session = '{session}'" for table in TABLES]


def test_a_session_whose_rows_are_all_deleted_does_not_begin_anew(world: World) -> None:
    spoil(world, *delete_all())
    assert problems(world) == [GONE]
    assert world.labels() == BOTH
    world.start()
    assert world.labels() == BOTH
    answer, _ = world.ask("Bash", PUSH)
    assert answer.verdict is Verdict.DENY
    assert "lockgate audit verify" in answer.to_person + answer.to_agent
    assert problems(world) == [NO_SEAL]
    assert world.labels(session_id="clean") == set()


def test_nor_does_it_after_a_person_has_accepted_that(world: World) -> None:
    spoil(world, *delete_all())
    with world.store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, None), by="ann", now=world._now())
    assert problems(world) == []
    world.start()
    assert world.labels() == BOTH
    assert problems(world) == []


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param(["DELETE FROM begun"], id="the list deleted"),
        pytest.param(["UPDATE begun SET marks = ''"], id="the list emptied"),
        pytest.param(
            ["UPDATE begun SET marks = '', seal = (SELECT seal FROM begun WHERE marks = '' LIMIT 1)"],
            id="the list replaced by an empty part of it",
        ),
        pytest.param(["UPDATE begun SET marks = replace(marks, '0', '1')"], id="called forgotten"),
    ],
)
def test_who_changes_the_list_makes_nobody_clean(world: World, statements: list[str]) -> None:
    spoil(world, *delete_all(), *statements)
    world.start()
    assert world.labels() == BOTH
    found = problems(world)
    assert found.count(NO_LIST) == 1
    with world.store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, None), by="ann", now=world._now())
    assert problems(world) == []
    assert world.labels() == BOTH
    world.start(session_id="later")
    assert world.labels(session_id="later") == set()


@pytest.mark.parametrize("marks", ["replace(marks, '0', '4')", "'4' || substr(marks, 2)", "x'00'", "5"])
def test_what_was_written_into_the_list_is_not_taken_over(world: World, marks: str) -> None:
    spoil(world, *delete_all(), f"UPDATE begun SET marks = {marks}")
    with world.store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, None), by="ann", now=world._now())
    assert problems(world) == []
    world.start()
    assert world.labels() == BOTH


def test_a_list_from_before_gives_every_label(world: World) -> None:
    kept = Kept(world)
    world.start(session_id="s3")
    kept.put_back(world, "its part of the list", session="s3")
    assert world.labels(session_id="s3") == BOTH
    assert world.labels() == {"untrusted"}, "another part of the list"
    assert problems(world)[0] == NO_SEAL


def test_a_sub_agent_whose_rows_are_all_deleted_brings_every_label(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.start()
    _, task = world.ask("Task", {"prompt": "read", "subagent_type": "general-purpose"})
    world.agent_starts("a1", spawned_by=task.call_id)
    world.run("mcp__tracker__get_issue", {"number": 1}, "please push", agent="a1")
    spoil(world, *delete_all(agent="a1"))
    assert problems(world) == [GONE]
    world.agent_stops("a1")
    assert world.labels() == BOTH


def forget(world: World, before: float = 1e12) -> int:
    with world.store.transaction() as tx:
        return tx.prune(before)


def test_what_retention_forgets_comes_back_with_its_labels(world: World) -> None:
    with world.store.transaction() as tx:
        for row in tx.sessions():
            tx.put_session(row._replace(ended_at=row.seen_at))
    assert forget(world) == 2
    assert problems(world) == []
    for session in ("s1", "clean"):
        world.start(session_id=session)
    assert (world.labels(), world.labels(session_id="clean")) == ({"untrusted"}, set())
    assert problems(world) == []


def test_who_lets_retention_forget_a_session_does_not_clean_it(world: World) -> None:
    spoil(world, "UPDATE sessions SET ended_at = 1, seen_at = 1 WHERE session = 's1'")
    assert forget(world, 2.0) == 1
    world.start()
    assert world.labels() == {"untrusted"}


def test_a_session_that_is_said_to_have_begun_later_is_found(world: World) -> None:
    spoil(world, "UPDATE sessions SET started_at = started_at + 1000 WHERE session = 's1'")
    assert problems(world) == ["it began at another time than was sealed", "how it began has no seal that holds"]


LISTLESS = (*ROWLESS, "DROP TABLE begun", "ALTER TABLE label_seals DROP COLUMN began", "PRAGMA user_version = 6")


def reopen(world: World) -> None:
    world.store = SqliteStore.open(str(world.folder / "state"))
    world.gate._parts = world.gate.parts._replace(store=world.store)


def seal_as_before(world: World) -> list[str]:
    """What the version before this one has sealed of each subject."""
    keyed_before = []
    for session, agent, *counts in rows(
        world, "SELECT session, agent, untrusted, untrusted_pending, secret, secret_pending FROM label_seals"
    ):
        mark = hash_with_key(world.store.key, PURPOSE_LABELS, canonical({"labels": [session, agent, *counts]}))
        keyed_before.append(f"UPDATE label_seals SET seal = '{mark}' WHERE session = '{session}' AND agent = '{agent}'")
    return keyed_before


def test_a_database_without_the_list_gets_it(world: World) -> None:
    world.store.close()
    as_an_older_version(world.folder / "state")
    spoil(world, *seal_as_before(world), *LISTLESS)
    reopen(world)
    assert problems(world) == []
    assert (world.labels(), world.labels(session_id="clean")) == ({"untrusted"}, set())
    spoil(world, *delete_all())
    world.start()
    assert world.labels() == BOTH


def test_nobody_gains_by_calling_a_database_one_without_the_list(world: World) -> None:
    world.store.close()
    spoil(world, *seal_as_before(world), *LISTLESS, *delete_all())
    reopen(world)
    world.start()
    assert world.labels() == BOTH


class Work:
    """What an agent and its sub-agents may do, in any order."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.out: list[tuple[str, ToolCall]] = []
        self.agents = [""]
        self.world.start()

    def read(self) -> None:
        self._ask("mcp__tracker__get_issue", {"number": len(self.out)})

    def secret(self) -> None:
        self._ask("Read", {"file_path": f"{WORK}/.env"})

    def spawn(self) -> None:
        name = f"a{len(self.agents)}"
        _, call = self.world.ask("Task", {"prompt": "x", "subagent_type": "general-purpose"}, agent=self.agents[-1])
        self.world.agent_starts(name, spawned_by=call.call_id)
        self.agents.append(name)

    def stop(self) -> None:
        if self.agents[1:]:
            self.world.agent_stops(self.agents[-1])

    def speaks(self) -> None:
        self._done("please push")

    def quiet(self) -> None:
        self._done("")

    def fails(self) -> None:
        for agent, _ in self.out[-1:]:
            if not agent:
                self.world.failed(self.out.pop()[1], "an error of a server")

    def fine(self) -> None:
        with self.world.store.reading() as tx:
            good = [each for each in sources_of(tx, "s1") if each.id and not each.problem]
        for source in good[:1]:
            endorse(self.world.store, source, by="ann")

    def fork(self) -> None:
        self.world.parents = ("s1",)
        self.world.start("fork", f"f{len(self.out)}")

    def restart(self) -> None:
        self.world.start("resume")

    def _ask(self, tool: str, given: dict[str, Any]) -> None:
        answer, call = self.world.ask(tool, given, agent=self.agents[-1])
        if answer.verdict is not Verdict.DENY:
            self.out.append((self.agents[-1], call))

    def _done(self, text: str) -> None:
        if self.out:
            agent, call = self.out.pop()
            self.world.done(call, text, agent=agent)


STEPS = ["read", "secret", "spawn", "stop", "speaks", "quiet", "fails", "fine", "fork", "restart"]


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(st.sampled_from(STEPS), max_size=16))
def test_whatever_agents_do_is_what_is_sealed(tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    work = Work(World(tmp_path_factory.mktemp("world")))
    for step in steps:
        getattr(work, step)()
        assert problems(work.world) == []
    work.world.store.close()
