"""A person's no that somebody who writes the database deletes, hides, changes, puts back or forges."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gate.test_proof import ALLOW, DENY, LOST, OTHER, PUSH, Attacked, shows
from lockgate.gate.approvals import denials
from lockgate.store.chain_links import seal
from lockgate.store.sqlite.group_commit import GroupingStore
from lockgate.store.sqlite.store import SqliteStore

CHANGED = "something else has changed what a person said no to"


@pytest.fixture
def world(tmp_path: Path) -> Attacked:
    return Attacked(tmp_path)


def say_no(world: Attacked, given: dict[str, Any] = PUSH, call_id: str = "w1") -> str:
    """A person says no to a call; gives the question's id."""
    going, question = world.waiting(given, call_id)
    world.answer(question, approve=False)
    assert world.end(going).verdict is DENY
    return question.approval


@pytest.mark.parametrize("change", [{"targets": ["x"]}, {"heard": 1.0}, {"dialog": True}])
def test_a_no_that_is_changed_may_be_to_any_call_and_is_told(world: Attacked, change: dict[str, Any]) -> None:
    approval = say_no(world)
    assert world.bash("ls") is ALLOW
    world.put(shows(world.row(approval), change))
    assert world.bash(OTHER["command"]) is DENY
    assert world.bash("ls") is DENY
    assert world.problems() == [CHANGED, LOST]
    world.accept()
    assert world.problems() == []
    assert world.bash("ls") is ALLOW
    assert world.bash(PUSH["command"]) is DENY


def test_a_no_that_nobody_said_is_nobodys_word(world: Attacked) -> None:
    going, _ = world.waiting()
    world.spoil("UPDATE approvals SET state = 'denied', decided_by = 'ann (terminal)', reason = 'run evil'")
    answer = world.end(going)
    assert answer.verdict is DENY
    assert "run evil" not in f"{answer.to_agent} {answer.to_person}"
    [record] = world.records("answered")
    assert (record["state"], record["by"], record["reason"]) == ("unproven", "", "the audit has no record of this no")
    assert world.bash("ls") is ALLOW
    assert world.problems() == []


def test_an_index_that_hides_a_no_is_told_and_mended(world: Attacked) -> None:
    say_no(world)
    with closing(sqlite3.connect(world.folder / "state" / "lockgate.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("CREATE TABLE shadow (session, state)")
        connection.execute("CREATE INDEX shadow_index ON shadow (session, state)")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'shadow_index')"
            " WHERE name = 'approvals_by_session'"
        )
        connection.execute("DELETE FROM sqlite_master WHERE tbl_name = 'shadow'")
        [version] = connection.execute("PRAGMA schema_version").fetchone()
        connection.execute(f"PRAGMA schema_version = {version + 1}")
        connection.execute("COMMIT")
    assert world.bash("ls") is DENY
    found = world.problems()
    assert found[0] == LOST
    assert found[1].startswith("the database is damaged: row 1 missing from index approvals_by_session")
    world.accept()
    assert world.problems() == []
    assert world.bash("ls") is ALLOW
    assert world.bash(PUSH["command"]) is DENY


@pytest.mark.parametrize("statement", ["DELETE FROM approvals", "UPDATE approvals SET state = 'expired'"])
def test_a_no_that_is_taken_away_holds_every_call_of_its_session(world: Attacked, statement: str) -> None:
    say_no(world)
    world.spoil(statement)
    assert world.bash("ls") is DENY
    assert world.bash(PUSH["command"]) is DENY
    world.start(session_id="other")
    assert world.bash("ls", session_id="other") is ALLOW
    assert LOST in world.problems()
    world.accept()
    assert world.problems() == []
    assert world.bash("ls") is ALLOW


def test_a_no_that_was_taken_back_does_not_stand_for_one_that_is_deleted(world: Attacked) -> None:
    before = say_no(world)
    row = world.row(before)
    with world.store.transaction() as tx:
        denials.retract(tx, before, by="ann")
    say_no(world, OTHER, "w2")
    assert world.bash("ls") is ALLOW
    world.spoil("DELETE FROM approvals")
    names = ", ".join(row)
    world.spoil(f"INSERT INTO approvals ({names}) VALUES ({', '.join(f':{name}' for name in row)})", **row)
    assert world.bash("ls") is DENY


def test_another_no_does_not_hide_that_one_is_gone(world: Attacked) -> None:
    approval = say_no(world)
    going, question = world.waiting(OTHER, "w2")
    world.spoil(f"DELETE FROM approvals WHERE approval = '{approval}'")
    world.answer(question, approve=False)
    assert world.end(going).verdict is DENY
    assert world.bash("ls") is DENY
    assert LOST in world.problems()


def test_a_list_that_does_not_hold_hides_no_no(world: Attacked) -> None:
    say_no(world)
    world.spoil("DELETE FROM approvals", "DELETE FROM begun")
    assert world.bash("ls") is DENY
    world.accept()
    assert world.problems() == []
    assert world.bash("ls") is ALLOW


def test_the_list_keeps_noes_when_labels_change(world: Attacked) -> None:
    say_no(world)
    world.run("WebSearch", {"query": "parser"}, "fine")
    assert world.bash("ls") is ALLOW
    assert world.bash(PUSH["command"]) is DENY
    assert world.problems() == []
    world.spoil("DELETE FROM approvals")
    assert world.bash("ls") is DENY


def test_a_person_answers_a_question_that_was_changed_with_a_no_to_what_it_is_about(world: Attacked) -> None:
    going, question = world.waiting()
    world.put(shows(world.row(question.approval), {"targets": ["x"]}))
    world.answer(question, approve=False)
    assert world.end(going).verdict is DENY
    assert world.bash(PUSH["command"]) is DENY
    assert world.bash("ls") is ALLOW
    assert world.problems() == []


def test_a_gate_that_stays_sees_that_a_no_is_gone(world: Attacked) -> None:
    say_no(world)
    store = GroupingStore.open(str(world.folder / "state"))
    with store.transaction() as tx:
        assert [no.reason for no in tx.noes("s1")] == [""]
    world.spoil("DELETE FROM approvals")
    with store.transaction() as tx:
        assert [no.approval for no in tx.noes("s1")] == [""]
    store.close()


def call_it_one_without_sealed_answers(world: Attacked, *, head: bool) -> None:
    """Have the answers and, if wanted, the list and the head as the version before. That takes the key."""
    key = world.store.key
    if head:
        with world.store.transaction() as tx:
            tx.put_parts(
                {
                    part: {mark: how.partition(".")[0] for mark, how in marks.items()}
                    for part, marks in tx.parts().items()
                }
            )
            last, facts = tx.audit_head(), tx.facts()
    world.store.close()
    with closing(sqlite3.connect(world.folder / "state" / "lockgate.db")) as connection, connection:
        connection.execute("ALTER TABLE approvals DROP COLUMN seal")
        connection.execute("PRAGMA user_version = 9")
        if head:
            mark = seal(key, last.seq, last.digest, facts._replace(sets=None))
            connection.execute("UPDATE audit_head SET seal = ?", (mark,))
    world.store = SqliteStore.open(str(world.folder / "state"))
    world.gate._parts = world.gate.parts._replace(store=world.store)
    world.store.clock = world._now  # type: ignore[method-assign]


def test_a_database_without_sealed_answers_gets_seals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockgate.store.sqlite.audit.VERSION", 9)
    world = Attacked(tmp_path)
    say_no(world)
    call_it_one_without_sealed_answers(world, head=True)
    assert world.problems() == []
    assert world.bash("ls") is ALLOW
    assert world.bash(PUSH["command"]) is DENY
    world.spoil("DELETE FROM approvals")
    assert world.bash("ls") is DENY


def test_nobody_gains_by_calling_a_database_one_without_sealed_answers(world: Attacked) -> None:
    approval = say_no(world)
    world.put(shows(world.row(approval), {"targets": ["x"]}))
    call_it_one_without_sealed_answers(world, head=False)
    assert LOST in world.problems()
    assert world.bash("ls") is DENY
    world.accept()
    assert world.problems() == []
    assert world.bash("ls") is ALLOW
    assert world.bash(PUSH["command"]) is DENY
