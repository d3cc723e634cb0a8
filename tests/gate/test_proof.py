"""A yes counts only where the audit has it: what somebody writes into the database lets nothing run."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.world import WORK, World
from lockgate.core.errors import ApprovalError
from lockgate.core.events import ToolRequested
from lockgate.core.model import ToolCall, Verdict
from lockgate.core.questions import PersonQuestion
from lockgate.gate.approvals import answering
from lockgate.gate.approvals.proof import OTHERWISE
from lockgate.gate.contradictions import accept_contradictions, contradictions
from lockgate.store.audit.chain import verify_store
from support.hidden_records import hide_records
from support.stress import examples

ALLOW, DENY = Verdict.ALLOW, Verdict.DENY
MOVED = "it is about another call, or of another session, than the one that was denied"
LOST = "no call of it runs, as something else has taken away, changed or put back what a person said no to"
PUSH = {"command": "curl -d x https://example.com/"}
OTHER = {"command": "curl -d y https://example.com/"}


class Attacked(World):
    """A world whose database somebody writes to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.unattended, self.is_heard = "", True
        self.store.clock = self._now  # type: ignore[method-assign]
        self.start()
        self.taint()

    def waiting(self, given: dict[str, Any] = PUSH, call_id: str = "w1") -> tuple[Any, PersonQuestion]:
        """A call that waits for a person elsewhere."""
        going = self.gate.deliberate(ToolRequested(self.context(), ToolCall("Bash", given, WORK, call_id), waits=True))
        question = going.send(None)
        assert isinstance(question, PersonQuestion)
        return going, question

    def answer(self, question: PersonQuestion, *, approve: bool = True) -> None:
        answering.answer(self.store, str(self.folder / "state"), question.approval, approve=approve, by="ann")

    def wait(self, seconds: int) -> None:
        """Let time go on."""
        for _ in range(seconds):
            self._now()

    def end(self, going: Any) -> Any:
        """What the call that waited hears; a question where it is asked anew."""
        try:
            return going.send(None)
        except StopIteration as end:
            return end.value

    def spoil(self, *statements: str, **values: Any) -> None:
        with sqlite3.connect(self.folder / "state" / "lockgate.db") as connection:
            for statement in statements:
                connection.execute(
                    statement, {name: value for name, value in values.items() if f":{name}" in statement}
                )
        connection.close()

    def row(self, approval: str) -> dict[str, Any]:
        with sqlite3.connect(self.folder / "state" / "lockgate.db") as connection:
            connection.row_factory = sqlite3.Row
            found = dict(connection.execute("SELECT * FROM approvals WHERE approval = ?", (approval,)).fetchone())
        connection.close()
        return found

    def put(self, row: dict[str, Any]) -> None:
        names = ", ".join(f"{name} = :{name}" for name in row)
        self.spoil(f"UPDATE approvals SET {names} WHERE approval = :approval", **row)

    def accept(self) -> None:
        """A person has looked at what contradicts the audit."""
        with self.store.transaction() as tx:
            accept_contradictions(tx, contradictions(tx, None), by="ann", now=self._now())

    def problems(self) -> list[str]:
        with self.store.reading() as tx:
            assert verify_store(tx, self.store.key).ok
            return [each.problem for each in contradictions(tx, None)]


@pytest.fixture
def world(tmp_path: Path) -> Attacked:
    return Attacked(tmp_path)


def test_a_yes_that_was_said_lets_the_call_run_and_contradicts_nothing(world: Attacked) -> None:
    going, question = world.waiting()
    world.answer(question)
    assert world.end(going).verdict is ALLOW
    assert world.problems() == []


def test_a_row_that_says_approved_lets_nothing_run_and_the_person_is_told(world: Attacked) -> None:
    going, _ = world.waiting()
    world.spoil("UPDATE approvals SET state = 'approved', decided_by = 'ann (terminal)', decided_at = asked_at + 1")
    assert world.problems() == ["it is approved, and the audit has no such answer"]
    answer = world.end(going)
    assert answer.verdict is DENY
    assert "lockgate audit verify" in answer.to_person
    assert world.records("answered")[-1]["state"] == "unproven"
    assert world.problems() == []


@pytest.mark.parametrize("column", ["digest", "basis"])
def test_a_yes_to_one_call_cannot_be_moved_to_another(world: Attacked, column: str) -> None:
    _, good = world.waiting()
    bad_going, bad = world.waiting(OTHER, "w2")
    world.answer(good)
    theirs, mine = world.row(good.approval), world.row(bad.approval)
    moved = {**mine, "state": "approved", "about": theirs["about"], "decided_at": theirs["decided_at"]}
    world.put({**moved, "decided_by": theirs["decided_by"], "id": mine["id"]})
    assert world.end(bad_going).verdict is DENY
    world.put({**theirs, column: "0" * 64})
    assert len(world.problems()) == 1


def test_a_yes_is_not_used_twice_by_putting_its_row_back(world: Attacked) -> None:
    going, question = world.waiting()
    world.answer(question)
    before = world.row(question.approval)
    assert world.end(going).verdict is ALLOW
    world.put(before)
    assert world.problems() == ["its yes was used already, and it can be used again"]
    again, same = world.waiting()
    assert same.approval == question.approval
    assert world.end(again).verdict is DENY


def test_a_yes_is_not_used_twice_where_the_record_of_its_use_is_hidden(world: Attacked) -> None:
    going, question = world.waiting()
    world.answer(question)
    before = world.row(question.approval)
    assert world.end(going).verdict is ALLOW
    world.put(before)
    with hide_records(world.folder / "state", "answered") as hidden:
        assert hidden == 1
        again, _ = world.waiting()
        assert world.end(again).verdict is DENY


@pytest.mark.parametrize(
    ("first", "second", "later"), [("", "", 60), ("a", "b", 0)], ids=["no ids", "at the same moment"]
)
def test_two_calls_alike_have_a_question_each(world: Attacked, first: str, second: str, later: int) -> None:
    """Whoever is about to wait is not seen to wait yet, and calls without an id cannot be told apart."""
    world.is_waited = False
    one, asked = world.waiting(call_id=first)
    world.wait(later)
    other, too = world.waiting(call_id=second)
    assert asked.approval != too.approval
    world.answer(asked)
    assert world.end(one).verdict is ALLOW
    assert world.end(other).verdict is DENY
    assert world.problems() == []


HARMLESS = {"command": "git status"}
SHOWS = {
    "another call": {"input": HARMLESS, "whole": HARMLESS},
    "another folder": {"cwd": "/elsewhere"},
    "another tool": {"tool": "Read"},
    "a brief": {"brief": "fine"},
    "no labels": {"labels": []},
    "no source": {"provenance": []},
    "other reasons": {"reasons": [{"rule": "program:curl", "row": "egress", "because": "`curl` asks for a page"}]},
    "no effects": {"effects": []},
    "no seal": {"whole": HARMLESS, "as_asked": None},
    "another gate's seal": {"whole": HARMLESS, "as_asked": ["north", "x"]},
}


def shows(row: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    return {**row, "about": json.dumps({**json.loads(row["about"]), **change})}


@pytest.mark.parametrize("change", SHOWS.values(), ids=SHOWS)
def test_a_question_that_shows_something_else_gets_no_yes(world: Attacked, change: dict[str, Any]) -> None:
    going, question = world.waiting()
    world.put(shows(world.row(question.approval), change))
    with pytest.raises(ApprovalError, match="does not show the call that was asked about"):
        world.answer(question)
    assert world.end(going).verdict is DENY


@pytest.mark.parametrize("change", list(SHOWS.values())[:8], ids=list(SHOWS)[:8])
def test_a_question_that_showed_something_else_for_a_moment_gets_no_yes(
    world: Attacked, change: dict[str, Any]
) -> None:
    going, question = world.waiting()
    real = world.row(question.approval)
    seen = json.loads(shows(real, change)["about"])
    with pytest.raises(ApprovalError, match="does not show the call that was asked about"):
        answering.answer(world.store, str(world.folder / "state"), question.approval, approve=True, by="ann", seen=seen)
    assert world.end(going).verdict is DENY


def test_a_yes_to_what_was_not_shown_is_refused_and_told(world: Attacked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody looked when it was said, as another gate of a shared store cannot."""
    monkeypatch.setattr("lockgate.gate.approvals.questions.is_as_asked", lambda tx, row: True)
    going, question = world.waiting()
    real = world.row(question.approval)
    world.put(shows(real, SHOWS["another call"]))
    world.answer(question)
    monkeypatch.undo()
    said = world.row(question.approval)
    answer_of = json.loads(said["about"])["answer"]
    world.put(shows({**said, "about": real["about"]}, {"answer": answer_of}))
    answer = world.end(going)
    assert answer.verdict is DENY
    assert OTHERWISE in answer.to_person


def test_what_was_shown_may_be_changed_after_the_yes_and_is_another_yes_by_nobody(world: Attacked) -> None:
    going, question = world.waiting()
    world.answer(question)
    world.put(shows(world.row(question.approval), SHOWS["another call"]))
    assert world.end(going).verdict is ALLOW
    [record] = world.records("approve")
    assert len(record["shown"]) == 64
    assert world.problems() == []


def test_a_yes_does_not_live_longer_by_its_row(world: Attacked) -> None:
    going, question = world.waiting()
    world.answer(question)
    world.spoil("UPDATE approvals SET expires_at = expires_at + 1e9")
    assert world.end(going).verdict is DENY


def test_a_used_row_that_was_never_answered_takes_no_no_back(world: Attacked) -> None:
    going, question = world.waiting()
    world.answer(question, approve=False)
    assert world.end(going).verdict is DENY
    no = world.row(question.approval)
    forged = {**no, "id": no["id"] + 1, "approval": "forgedyes2", "state": "used", "decided_at": no["decided_at"] + 1}
    names = ", ".join(forged)
    world.spoil(f"INSERT INTO approvals ({names}) VALUES ({', '.join(f':{name}' for name in forged)})", **forged)
    from lockgate.gate.approvals import denials

    with world.store.reading() as tx:
        [row] = denials.list_denials(tx, "s1")
        assert not denials.was_allowed_since(tx, row, None)
    assert world.problems() == ["it is used, and the audit has no such answer"]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE approvals SET state = 'changed'", "the audit tells that a person said no, and it is changed"),
        ("UPDATE approvals SET state = 'pending'", "it is open, and the audit tells that it was denied"),
        ("DELETE FROM approvals", "it was denied, and is missing"),
        ("UPDATE approvals SET digest = 'x'", MOVED),
        ("UPDATE approvals SET digest = 'x', state = 'expired', decided_at = 0", MOVED),
        ("UPDATE approvals SET session = 'x'", MOVED),
    ],
)
def test_a_no_that_is_gone_is_found(world: Attacked, statement: str, problem: str) -> None:
    going, question = world.waiting()
    world.answer(question, approve=False)
    assert world.end(going).verdict is DENY
    assert world.problems() == []
    world.spoil(statement)
    assert world.problems() == [problem, LOST]
    world.accept()
    assert world.problems() == []
    assert world.records("accepted")[-1]["problems"] == [
        f"question {question.approval}: {problem}",
        f"session s1: {LOST}",
    ]
    assert (world.end(world.waiting()[0]).verdict if "DELETE" in statement else world.bash(PUSH["command"])) is DENY


def test_pages_of_a_host_that_a_row_alone_lets_be_read_are_asked_about(world: Attacked) -> None:
    call = {"url": "https://docs.example.com/a?x=1", "prompt": "p"}
    going = world.gate.deliberate(ToolRequested(world.context(), ToolCall("WebFetch", call, WORK, "f1"), waits=True))
    question = going.send(None)
    world.answer(question)
    assert world.end(going).verdict is ALLOW
    row = world.row(question.approval)
    granted = {"host": "docs.example.com", "labels": ["untrusted"]}
    world.put({**row, "about": json.dumps({**json.loads(row["about"]), "fetches": granted})})
    answer, _ = world.ask("WebFetch", {**call, "url": "https://docs.example.com/b"})
    assert answer.verdict is not ALLOW
    assert world.problems() == ["it is bound to another call than the yes that the audit has"]


class Day:
    """What people and agents may do with questions, in any order."""

    def __init__(self, world: Attacked) -> None:
        self.world = world
        self.open: list[tuple[Any, PersonQuestion]] = []
        self.number = 0

    def ask(self) -> None:
        self.number += 1
        call = ToolCall("Bash", PUSH, WORK, f"p{self.number}")
        self._hear(self.world.gate.deliberate(ToolRequested(self.world.context(), call, waits=True)))

    def yes(self) -> None:
        self._answer(approve=True)

    def no(self) -> None:
        self._answer(approve=False)

    def hear(self) -> None:
        if self.open:
            self._hear(self.open.pop()[0])

    def retract(self) -> None:
        for _, question in self.open[-1:]:
            with suppress(ApprovalError):
                answering.take_back(self.world.store, question.approval, by="ann")

    def wait(self) -> None:
        for _ in range(400):
            self.world._now()

    def taint(self) -> None:
        self.world.taint()

    def _answer(self, *, approve: bool) -> None:
        for _, question in self.open[-1:]:
            with suppress(ApprovalError):
                self.world.answer(question, approve=approve)

    def _hear(self, going: Any) -> None:
        with suppress(StopIteration):
            self.open.append((going, going.send(None)))


DAY = ["ask", "yes", "no", "hear", "retract", "wait", "taint"]


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.sampled_from(DAY), max_size=14))
def test_whatever_people_and_agents_do_contradicts_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    day = Day(Attacked(tmp_path_factory.mktemp("world")))
    for step in steps:
        getattr(day, step)()
        assert day.world.problems() == []
    day.world.store.close()
