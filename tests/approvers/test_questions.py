"""A question to a person is about one exact call, of one subject, for a while, and its answer is used once."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lockgate.core.errors import ApprovalError
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall
from lockgate.gate.approvals import questions as approvals
from lockgate.gate.approvals.answering import answer
from lockgate.gate.parts import call_digest
from lockgate.store.rows import ApprovalRow
from lockgate.store.sqlite.store import SqliteStore
from support.prepared import open_new

CALL = ToolCall("Bash", {"command": "git push origin main"}, "/work/shop", "toolu_1")
ANN = Subject("s1", "a1")
BASIS = "b" * 64
NOW = 1_000_000.0
SECONDS = 300.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = open_new(tmp_path / "state")
    yield store
    store.close()


def ask(store: SqliteStore, now: float = NOW, **changes: Any) -> ApprovalRow:
    call = changes.pop("call", CALL)
    subject, basis = changes.pop("subject", ANN), changes.pop("basis", BASIS)
    context = Context("claude-code", subject, call.cwd)
    with store.transaction() as tx:
        return approvals.ask(
            tx, context, call, call_digest(call), basis, {"tool": call.tool, "whole": {}}, now, SECONDS
        )


def decide(store: SqliteStore, row: ApprovalRow, *, approve: bool = True, now: float = NOW + 1) -> ApprovalRow:
    with store.transaction() as tx:
        return approvals.decide(tx, row.approval, approve=approve, by="ann", reason="", now=now)


def settle(store: SqliteStore, row: ApprovalRow, now: float = NOW + 2, **changes: Any) -> str:
    digest = call_digest(changes.get("call", CALL))
    subject, basis = changes.get("subject", ANN), changes.get("basis", BASIS)
    twice = changes.get("twice", False)
    with store.transaction() as tx:
        return approvals.settle(
            tx, row.approval, subject=subject, digest=digest, basis=basis, now=now, approvers=None, twice=twice
        ).state


def test_ids_are_short_different_and_easily_typed(store: SqliteStore) -> None:
    ids = {ask(store, call=CALL._replace(call_id=f"c{number}")).approval for number in range(300)}
    assert len(ids) == 300
    assert {len(name) for name in ids} == {10}
    assert not set("".join(ids)) & set("01loiOI-_.")


OTHERS = [
    pytest.param({"call": CALL._replace(tool_input={"command": "git push origin main "})}, "changed", id="one byte"),
    pytest.param({"call": CALL._replace(tool_input={"command": "git push origin evil"})}, "changed", id="another call"),
    pytest.param({"call": CALL._replace(cwd="/work/shop2")}, "changed", id="another folder"),
    pytest.param({"call": CALL._replace(tool="Write")}, "changed", id="another tool"),
    pytest.param({"basis": "c" * 64}, "changed", id="other labels, effects or configuration"),
]


@pytest.mark.parametrize(("other", "state"), OTHERS)
def test_a_yes_is_for_nothing_else_and_gone_then(store: SqliteStore, other: dict[str, Any], state: str) -> None:
    row = ask(store)
    decide(store, row)
    assert settle(store, row, **other) == state
    assert settle(store, row) == "changed"


@pytest.mark.parametrize("subject", [Subject("s2", "a1"), Subject("s1", "a2"), Subject("s1")], ids=str)
def test_a_yes_is_for_nobody_else_and_stays(store: SqliteStore, subject: Subject) -> None:
    row = ask(store)
    decide(store, row)
    with pytest.raises(ApprovalError, match="somebody else"):
        settle(store, row, subject=subject)
    assert settle(store, row) == "used"


def test_a_yes_is_used_once_and_stays_used(store: SqliteStore) -> None:
    row = ask(store)
    decide(store, row)
    assert [settle(store, row) for _ in range(3)] == ["used", "changed", "changed"]
    with store.reading() as tx:
        assert [each.state for each in tx.approvals()] == ["used"]


def test_a_no_stays_a_no(store: SqliteStore) -> None:
    row = ask(store)
    decide(store, row, approve=False)
    assert [settle(store, row) for _ in range(2)] == ["denied", "denied"]


TIMES = [
    # asked at NOW: answered at, settled at, what comes of it
    pytest.param(SECONDS - 0.001, SECONDS - 0.0005, "used", id="in time"),
    pytest.param(SECONDS - 0.001, SECONDS, "expired", id="expired before it is used"),
    pytest.param(SECONDS - 0.001, SECONDS + 1e6, "expired", id="clock jumps ahead"),
    pytest.param(1.0, -1.0, "used", id="clock put back a second"),
    pytest.param(1.0, -3600.0, "expired", id="clock put back an hour"),
]


@pytest.mark.parametrize(("answered", "settled", "state"), TIMES)
def test_time_is_looked_at_when_it_is_used(store: SqliteStore, answered: float, settled: float, state: str) -> None:
    row = ask(store)
    decide(store, row, now=NOW + answered)
    assert settle(store, row, NOW + settled) == state
    assert settle(store, row, NOW + 2) != "used", "whatever it was, it is over"


@pytest.mark.parametrize("now", [NOW + SECONDS, NOW + 1e9, NOW - 3600])
def test_what_is_over_cannot_be_approved(store: SqliteStore, now: float) -> None:
    row = ask(store)
    with pytest.raises(ApprovalError, match="time for this question is over"):
        decide(store, row, now=now)
    assert settle(store, row) == "expired"


@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_of_two_answers_the_first_counts(store: SqliteStore, first: bool, second: bool) -> None:
    row = ask(store)
    decide(store, row, approve=first)
    with pytest.raises(ApprovalError, match="not open any more"):
        decide(store, row, approve=second)
    assert settle(store, row) == ("used" if first else "denied")


def test_of_many_approvers_at_once_one_counts(tmp_path: Path, store: SqliteStore) -> None:
    row = ask(store, now=_now())
    told: list[str] = []

    def one(name: int) -> None:
        own = SqliteStore.open(str(tmp_path / "state"), busy_seconds=20)
        try:
            told.append(answer(own, str(tmp_path / "state"), row.approval, approve=name % 2 == 0, by=str(name)).state)
        except ApprovalError:
            told.append("late")
        finally:
            own.close()

    threads = [threading.Thread(target=one, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told)[-7:] == ["late"] * 7
    with store.reading() as tx:
        assert len([each for each in tx.audit() if '"event":"approve"' in each.body or '"deny"' in each.body]) == 1


def _now() -> float:
    import time

    return time.time()


def test_an_unknown_id_is_an_error(store: SqliteStore) -> None:
    row = ask(store)._replace(approval="2222222222")
    with pytest.raises(ApprovalError, match="no question with this id"):
        decide(store, row)
    with pytest.raises(ApprovalError, match="gone"):
        settle(store, row)


# ---------------------------------------------------------------- a gate that is ended and asked again
@pytest.mark.parametrize(("answered", "state"), [(None, "expired"), (True, "used"), (False, "denied")])
def test_a_gate_that_was_ended_finds_its_question_and_the_answer(
    store: SqliteStore, answered: bool | None, state: str
) -> None:
    row = ask(store)
    if answered is not None:
        decide(store, row, approve=answered)
    again = ask(store, NOW + 2)
    assert again.approval == row.approval
    assert settle(store, again) == state


def test_a_used_answer_is_not_found_again(store: SqliteStore) -> None:
    row = ask(store)
    decide(store, row)
    settle(store, row)
    assert ask(store, NOW + 3).approval != row.approval


@pytest.mark.parametrize(
    "other",
    [
        {"call": CALL._replace(call_id="toolu_2")},
        {"call": CALL._replace(cwd="/")},
        {"subject": Subject("s1", "")},
        {"subject": Subject("s2", "a1")},
        {"basis": "c" * 64},
    ],
    ids=repr,
)
def test_another_call_is_another_question(store: SqliteStore, other: dict[str, Any]) -> None:
    row = ask(store)
    decide(store, row)
    assert ask(store, NOW + 2, **other).approval != row.approval


@pytest.mark.parametrize("approve", [None, True, False])
def test_a_question_that_rests_on_something_else_by_now_is_over(store: SqliteStore, approve: bool | None) -> None:
    row = ask(store)
    if approve is not None:
        decide(store, row, approve=approve)
    again = ask(store, NOW + 2, basis="c" * 64)
    with store.reading() as tx:
        states = {each.approval: each.state for each in tx.approvals()}
    assert states == {row.approval: "denied" if approve is False else "changed", again.approval: "pending"}


def test_calls_without_an_id_are_each_their_own(store: SqliteStore) -> None:
    call = CALL._replace(call_id="")
    assert ask(store, call=call).approval != ask(store, call=call).approval


def test_what_was_shown_whole_is_forgotten_with_the_question(store: SqliteStore) -> None:
    row = ask(store)
    assert "whole" in row.about
    decide(store, row)
    settle(store, row)
    with store.reading() as tx:
        assert [each.about for each in tx.approvals()] == [{"tool": "Bash", "answer": [tx.gate, 1]}]


def test_what_nobody_waits_for_any_more_is_ended_by_the_next_question(store: SqliteStore) -> None:
    left, answered = ask(store), ask(store, call=CALL._replace(call_id="toolu_2"))
    decide(store, answered)
    ask(store, NOW + SECONDS, call=CALL._replace(call_id="toolu_3"))
    with store.reading() as tx:
        rows = [row for row in tx.approvals() if row.approval in (left.approval, answered.approval)]
    assert [(row.state, row.about, row.decided_at) for row in rows] == [
        ("expired", {"tool": "Bash"}, NOW + SECONDS),
        ("expired", {"tool": "Bash", "answer": [store.gate, 1]}, NOW + 1),
    ]


def test_every_way_through_ends_once_and_only_a_yes_in_time_runs(store: SqliteStore) -> None:
    """All orders of up to four acts, against the few words of the rule."""
    acts = ("approve", "deny", "settle", "late settle")
    for number, order in enumerate(itertools.product(acts, repeat=4)):
        row = ask(store, call=CALL._replace(call_id=f"way {number}"))
        runs, yes, closed = 0, False, False
        for act in order:
            if act in ("approve", "deny"):
                try:
                    decide(store, row, approve=act == "approve")
                except ApprovalError:
                    assert closed or yes
                else:
                    assert not closed
                    yes, closed = act == "approve", True
            else:
                state = settle(store, row, NOW + (2 if act == "settle" else SECONDS + 1))
                runs += state == "used"
                assert (state == "used") <= (yes and act == "settle")
                yes, closed = False, True
        assert runs <= 1, order


@pytest.mark.parametrize(("changes", "state"), [({}, "used"), *((each.values[0], "changed") for each in OTHERS)])
def test_a_second_hook_of_the_very_same_call_hears_the_same(
    store: SqliteStore, changes: dict[str, Any], state: str
) -> None:
    row = ask(store)
    decide(store, row)
    assert settle(store, row) == "used"
    assert settle(store, row, twice=True, **changes) == state
    assert settle(store, row, NOW + SECONDS, twice=True) == "changed"
    assert settle(store, row) == "changed"
