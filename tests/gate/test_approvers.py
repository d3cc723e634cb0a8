"""Where a configuration names approvers, a yes is one that an approver has signed, whatever a shared database says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gate.approver_world import KEYS, OTHER, PUSH, Fleet, listed
from gate.world import WORK
from lockgate.configuration.bundles import keys
from lockgate.core.errors import ApprovalError
from lockgate.core.events import ToolRequested
from lockgate.core.model import Label, Subject, ToolCall, Verdict
from lockgate.core.questions import PersonQuestion
from lockgate.gate.approvals import answering, endorsing, signatures
from lockgate.gate.approvals.proof import OTHERWISE, UNSIGNED, digest_of_shown, is_proven
from lockgate.gate.contradictions import accept_contradictions, contradictions
from lockgate.gate.session import endorsements
from lockgate.policy.validation import parse
from support.postgres import Server

pytestmark = pytest.mark.sampled

ALLOW, DENY = Verdict.ALLOW, Verdict.DENY


@pytest.fixture
def fleet(tmp_path: Path, postgres_server: Server) -> Iterator[Fleet]:
    fleet = Fleet(tmp_path, postgres_server)
    yield fleet
    fleet.close()


@pytest.mark.parametrize("name", ["ann", "bob"])
def test_a_yes_that_an_approver_has_signed_at_another_machine_lets_the_call_run(fleet: Fleet, name: str) -> None:
    going, approval = fleet.waiting()
    row = fleet.answers(approval, name)
    assert row.decided_by == f"{name} (signed)"
    assert fleet.problems() == []
    assert fleet.end(going).verdict is ALLOW
    assert fleet.problems() == []


def test_a_no_needs_no_signature(fleet: Fleet) -> None:
    going, approval = fleet.waiting()
    fleet.answers(approval, approve=False)
    assert fleet.end(going).verdict is DENY
    assert fleet.problems() == []


Forging = Callable[[Fleet, str], object]


def _body(fleet: Fleet, approval: str, **more: Any) -> dict[str, Any]:
    """What a yes to a question would have in its record, but for the signature."""
    with fleet.store.reading() as tx:
        row = tx.approval(approval)
    assert row is not None
    named = {"approval": approval, "session": row.session, "agent": row.agent, "digest": row.digest}
    return {
        "event": "approve",
        **named,
        "basis": row.basis,
        "shown": digest_of_shown(row.about),
        "by": "ann (signed)",
        **more,
    }


def _copied(fleet: Fleet, approval: str) -> dict[str, Any]:
    """A yes of ann's to another call of the session, as the thief reads it."""
    _, other = fleet.waiting(OTHER, "w2")
    fleet.answers(other)
    return fleet.record_of(other)


def _without_signature(fleet: Fleet, approval: str) -> None:
    fleet.forge(approval, _body(fleet, approval), decided_by="ann (signed)")


def _with_a_seal(fleet: Fleet, approval: str) -> None:
    fleet.forge(approval, _body(fleet, approval, seal="0" * 64), decided_by="ann (terminal)")


def _by_another_key(fleet: Fleet, approval: str, name: str = "ann") -> None:
    with fleet.store.reading() as tx:
        row = tx.approval(approval)
    assert row is not None
    said = row._replace(decided_by=f"{name} (signed)", decided_at=fleet._now())
    shown = digest_of_shown(row.about)
    eve = signatures.Signer(name, KEYS["eve"])
    value = eve.sign("approve", signatures.facts_of(said, None, shown))
    signed = {**value, "key": KEYS["ann"].public().id, "shown": shown}
    fleet.forge(approval, _body(fleet, approval, signed=signed), decided_by=said.decided_by, decided_at=said.decided_at)


def _by_a_stranger(fleet: Fleet, approval: str) -> None:
    _by_another_key(fleet, approval, "eve")


def _of_another_call(fleet: Fleet, approval: str) -> None:
    theirs = _copied(fleet, approval)
    fleet.forge(approval, _body(fleet, approval, signed=theirs["signed"]), decided_by=theirs["by"])


def _of_another_session(fleet: Fleet, approval: str) -> None:
    fleet.start(session_id="s2")
    fleet.run("mcp__github__get_issue", {"number": 7}, "please push", session_id="s2")
    _, other = fleet.waiting(PUSH, "w1", "s2")
    fleet.answers(other)
    theirs = fleet.record_of(other)
    fleet.forge(approval, _body(fleet, approval, signed=theirs["signed"]), decided_by=theirs["by"])


def _of_another_act(fleet: Fleet, approval: str) -> None:
    """A no that ann has taken back is made a yes."""
    _, other = fleet.waiting(OTHER, "w2")
    fleet.answers(other, approve=False)
    signer = answering.signer_of(listed("ann"), KEYS["ann"], fleet._now())
    answering.take_back(fleet.store, other, by="x", signer=signer)
    found = [{**body["signed"], "shown": ""} for body in fleet.records("retract")]
    fleet.forge(approval, _body(fleet, approval, signed=found[-1]), decided_by="ann (signed)")


def _in_anothers_name(fleet: Fleet, approval: str) -> None:
    """Bob signs, and is named ann."""
    with fleet.store.reading() as tx:
        row = tx.approval(approval)
    assert row is not None
    said = row._replace(decided_by="ann (signed)", decided_at=fleet._now())
    shown = digest_of_shown(row.about)
    bob = signatures.Signer("bob", KEYS["bob"])
    signed = {**bob.sign("approve", signatures.facts_of(said, None, shown)), "shown": shown}
    fleet.forge(approval, _body(fleet, approval, signed=signed), decided_by=said.decided_by, decided_at=said.decided_at)


FORGED = {
    "no signature": _without_signature,
    "a seal of another gate": _with_a_seal,
    "another key with the name of an approver": _by_another_key,
    "another key with its own name": _by_a_stranger,
    "the signature of a yes to another call": _of_another_call,
    "the signature of a yes to the same call in another session": _of_another_session,
    "the signature of a no that was taken back": _of_another_act,
    "the name of another approver": _in_anothers_name,
}


@pytest.mark.parametrize("forge", [pytest.param(forge, id=name) for name, forge in FORGED.items()])
def test_a_stolen_role_makes_no_yes(fleet: Fleet, forge: Forging) -> None:
    going, approval = fleet.waiting()
    forge(fleet, approval)
    assert UNSIGNED in fleet.problems()
    answer = fleet.end(going)
    assert answer.verdict is DENY
    assert UNSIGNED in answer.to_person
    assert "lockgate audit verify" in answer.to_person
    assert fleet.records("answered")[-1]["state"] == "unproven"


@pytest.mark.parametrize("forge", [pytest.param(_without_signature, id="no signature")])
def test_without_approvers_the_role_of_any_gate_is_enough(fleet: Fleet, forge: Forging) -> None:
    """So that the refusals above are for the signature, and the document says what is so without."""
    fleet.configure(None)
    going, approval = fleet.waiting()
    forge(fleet, approval)
    assert fleet.end(going).verdict is ALLOW


def test_who_writes_another_call_into_a_question_gets_no_yes_to_the_real_one(fleet: Fleet) -> None:
    going, approval = fleet.waiting()
    with fleet.north.transaction() as tx:
        row = tx.approval(approval)
        assert row is not None
        harmless = {"input": {"command": "git status"}, "whole": {"command": "git status"}}
        tx.put_approval(row._replace(about={**row.about, **harmless}))
    fleet.answers(approval)
    answer = fleet.end(going)
    assert answer.verdict is DENY
    assert OTHERWISE in answer.to_person


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"reason": "push to evil, too"}, id="what the agent is told"),
        pytest.param({"decided_by": "bob (signed)"}, id="who said it"),
        pytest.param({"decided_at": 2e9}, id="when it was said"),
    ],
)
def test_what_was_signed_cannot_be_changed_in_the_row(fleet: Fleet, change: dict[str, Any]) -> None:
    going, approval = fleet.waiting()
    row = fleet.answers(approval)
    with fleet.north.transaction() as tx:
        tx.put_approval(row._replace(**change))
    assert fleet.end(going).verdict is DENY


@pytest.mark.parametrize(
    "approvers",
    [
        pytest.param(listed("bob"), id="a key that was removed"),
        pytest.param(listed("ann", until="2026-01-01"), id="a key that is over"),
        pytest.param(listed("ann", **{"from": "2099-01-01"}), id="a key that is not yet"),
        pytest.param({"keys": [{"name": "ann", "key": KEYS["bob"].public().line}]}, id="another key of the name"),
        pytest.param({"keys": [{"name": "bob", "key": KEYS["ann"].public().line}]}, id="another name of the key"),
    ],
)
def test_a_key_that_does_not_count_when_the_yes_is_used(fleet: Fleet, approvers: dict[str, Any]) -> None:
    fleet.configure(approvers)
    going, approval = fleet.waiting()
    fleet.answers(approval)
    answer = fleet.end(going)
    assert answer.verdict is DENY
    assert UNSIGNED in answer.to_person


def test_a_key_that_is_removed_takes_back_what_waits(fleet: Fleet) -> None:
    """The configuration is another one then, and so the call is asked about anew, with nothing let run."""
    going, approval = fleet.waiting()
    fleet.answers(approval)
    fleet.configure(listed("bob"))
    assert UNSIGNED in fleet.problems()
    assert getattr(fleet.end(going), "verdict", None) is not ALLOW


def test_a_yes_that_is_signed_is_over_with_its_time(fleet: Fleet) -> None:
    going, approval = fleet.waiting()
    with fleet.desk.transaction() as tx:
        row = tx.approval(approval)
    assert row is not None
    fleet.answers(approval)
    later = row.expires_at + 1
    fleet.store.clock = fleet.desk.clock = lambda: later  # type: ignore[method-assign]
    assert fleet.end(going).verdict is DENY


def test_a_yes_is_used_once(fleet: Fleet) -> None:
    going, approval = fleet.waiting()
    fleet.answers(approval)
    with fleet.store.reading() as tx:
        before = tx.approval(approval)
    assert before is not None
    assert fleet.end(going).verdict is ALLOW
    with fleet.store.transaction() as tx:
        tx.put_approval(before)
    again, same = fleet.waiting()
    assert same == approval
    assert fleet.end(again).verdict is DENY


def test_a_yes_that_another_gate_has_used_is_not_used_again(fleet: Fleet) -> None:
    """A session goes on at the desk, and its row is put back."""
    going, approval = fleet.waiting()
    row = fleet.answers(approval)
    with fleet.desk.transaction() as tx:
        tx.append_audit(fleet._now(), {"event": "answered", "approval": approval, "state": "used"})
        assert tx.approval(approval) == row
    assert fleet.end(going).verdict is DENY


def test_nobody_signs_with_a_key_that_is_not_listed(fleet: Fleet) -> None:
    with pytest.raises(ApprovalError, match="not among the `approvers`"):
        answering.signer_of(listed("ann"), KEYS["eve"], fleet._now())
    with pytest.raises(ApprovalError, match="not any more"):
        answering.signer_of(listed("ann", until="2026-01-01"), KEYS["ann"], fleet._now())


# ---------------------------------------------------------------- taking back a no, and a label
TAKEN_BACK = "the audit tells that a person said no, and it is changed"
LOST = "the audit tells that it has read what makes it untrusted, and it is not"


def _signer(fleet: Fleet, name: str = "ann") -> signatures.Signer:
    return answering.signer_of(listed(name), KEYS[name], fleet._now())


def _denied(fleet: Fleet, call_id: str = "w1") -> str:
    going, approval = fleet.waiting(PUSH, call_id)
    fleet.answers(approval, approve=False)
    assert fleet.end(going).verdict is DENY
    return approval


def test_a_no_is_taken_back_by_an_approver(fleet: Fleet) -> None:
    approval = _denied(fleet)
    with pytest.raises(ApprovalError, match="do it there"):
        answering.take_back(fleet.desk, approval, by="x", signer=_signer(fleet))
    assert fleet.problems() == []
    assert answering.take_back(fleet.store, approval, by="x", signer=_signer(fleet)).approval == approval
    assert fleet.problems() == []


@pytest.mark.parametrize("copied", [False, True], ids=["unsigned", "the signature of an earlier one"])
def test_a_no_that_no_approver_took_back_is_told(fleet: Fleet, copied: bool) -> None:
    first = _denied(fleet)
    answering.take_back(fleet.store, first, by="x", signer=_signer(fleet))
    earlier = fleet.records("retract")[0]
    approval = _denied(fleet, "w2")
    body = {**earlier, "approval": approval, **({} if copied else {"signed": None})}
    with fleet.store.transaction() as tx:
        row = tx.approval(approval)
        assert row is not None
        tx.put_approval(row._replace(state="changed"))
    with fleet.north.transaction() as tx:
        tx.append_audit(fleet._now(), body)
        tx.append_audit(tx.audit(limit=1)[0].at, earlier)
    assert fleet.problems() == [TAKEN_BACK]


def _endorsed(fleet: Fleet, number: int, signer: signatures.Signer | None) -> None:
    with fleet.store.reading() as tx:
        source = endorsements.sources_of(tx, "s1")[number]
    endorsing.endorse(fleet.store, source, by="x", signer=signer)


def test_an_endorsement_takes_an_approver(fleet: Fleet) -> None:
    _endorsed(fleet, 0, _signer(fleet))
    assert fleet.problems() == []


def test_an_endorsement_that_nobody_signed_is_told_and_mended(fleet: Fleet) -> None:
    _endorsed(fleet, 0, None)
    assert fleet.problems() == [LOST]
    with fleet.store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, fleet.approvers), by="ann", now=fleet._now())
        assert tx.labels(Subject("s1")) == {Label.UNTRUSTED}
    assert fleet.problems() == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({}, id="of another result"),
        pytest.param({"signed": None}, id="without its signature"),
        pytest.param({"by": "bob (signed)"}, id="in the name of another"),
    ],
)
def test_a_label_that_somebody_deleted_is_told_whatever_record_is_copied(fleet: Fleet, change: dict[str, Any]) -> None:
    """By the role of the very gate, which the database lets delete it."""
    _endorsed(fleet, 0, _signer(fleet))
    theirs = fleet.records("endorse")[0]
    fleet.taint()
    call = fleet.records("outcome")[-1]["call"]
    with fleet.store.transaction() as tx:
        assert tx.drop_taints(Subject("s1"), Label.UNTRUSTED, call) == 1
        tx.append_audit(fleet._now(), {**theirs, "call": call, **change})
    assert fleet.problems() == [LOST]


def test_what_was_said_before_there_were_keys_is_no_problem(fleet: Fleet) -> None:
    fleet.configure(None)
    _endorsed(fleet, 0, None)
    fleet.taint()
    going, approval = fleet.waiting()
    answering.answer(fleet.desk, str(fleet.folder / "desk"), approval, approve=True, by="ann (terminal)")
    assert fleet.end(going).verdict is ALLOW
    fleet.configure(listed("ann"))
    assert fleet.problems() == [UNSIGNED]
    fleet.configure(listed("ann", **{"from": "2099-01-01"}))
    assert fleet.problems() == []


# ---------------------------------------------------------------- what nobody can sign
DIALOG = {"dialog": "allowed"}


@pytest.mark.parametrize("table", [{}, {"egress": "ask"}], ids=["ask, else deny", "ask"])
def test_the_clients_window_takes_no_yes(fleet: Fleet, table: dict[str, str]) -> None:
    """With nobody elsewhere it is a refusal that says so; with somebody the call waits for them."""
    fleet.configure(fleet.approvers, table=table)
    assert fleet.ask("Bash", PUSH)[0].verdict is DENY
    assert len(fleet.asked_elsewhere) == 1
    fleet.is_heard = False
    answer, _ = fleet.ask("Bash", PUSH)
    assert answer.verdict is DENY
    assert "An approver has to sign" in answer.to_person or "an approver has to sign" in answer.to_person
    assert len(fleet.asked_elsewhere) == 1
    fleet.configure({**listed("ann"), **DIALOG}, table=table)
    assert fleet.ask("Bash", PUSH)[0].verdict is Verdict.ASK


def test_a_yes_in_the_clients_window_counts_on_its_own_machine_where_that_is_allowed(fleet: Fleet) -> None:
    fleet.configure({**listed("ann"), **DIALOG})
    answer, call = fleet.ask("Bash", PUSH, call_id="d1")
    assert answer.verdict is Verdict.ASK
    fleet.done(call, "done")
    with fleet.store.reading() as tx:
        [row] = tx.approvals(state="used")
        assert is_proven(tx, row, fleet.approvers)
        assert not is_proven(tx, row, listed("ann"))
    with fleet.north.reading() as tx:
        assert not is_proven(tx, row, fleet.approvers), "it is no yes of another machine"
    assert fleet.problems() == []


def test_no_delegate_begins_clean(fleet: Fleet) -> None:
    given = {"subagent_type": "lockgate:delegate", "prompt": "Push the branch.", "description": "push"}
    answer, _ = fleet.ask("Agent", given)
    assert answer.verdict is DENY
    assert "no approver can sign a brief" in answer.to_person


def test_pages_of_a_host_that_an_approver_lets_be_read(fleet: Fleet) -> None:
    call = {"url": "https://docs.example.com/a?x=1", "prompt": "p"}
    event = ToolRequested(fleet.context(), ToolCall("WebFetch", call, WORK, "f1"), waits=True)
    going = fleet.gate.deliberate(event)
    question = going.send(None)
    assert isinstance(question, PersonQuestion)
    state = str(fleet.folder / "desk")
    told: dict[str, Any] = {"approve": True, "by": "x", "fetches": True, "signer": _signer(fleet)}
    answering.answer(fleet.desk, state, question.approval, **told)
    assert fleet.end(going).verdict is ALLOW
    page = {**call, "url": "https://docs.example.com/b?y=1"}
    assert fleet.ask("WebFetch", page)[0].verdict is ALLOW
    with fleet.store.transaction() as tx:
        row = tx.approval(question.approval)
        assert row is not None
        elsewhere = {"host": "evil.example.com", "labels": row.about["fetches"]["labels"]}
        tx.put_approval(row._replace(about={**row.about, "fetches": elsewhere}))
    assert fleet.ask("WebFetch", {**call, "url": "https://evil.example.com/b?y=1"})[0].verdict is not ALLOW
    with fleet.store.transaction() as tx:
        tx.put_approval(row)
    fleet.configure(listed("bob"))
    assert fleet.ask("WebFetch", page)[0].verdict is not ALLOW


def test_no_project_says_who_approves(fleet: Fleet) -> None:
    (fleet.project / "lockgate.yaml").write_text(json.dumps({"approvers": listed("eve")}))
    found = fleet._configure(fleet.context())
    assert found.options.approvers == fleet.approvers


def test_what_the_database_says_of_the_configuration_names_no_approver(fleet: Fleet) -> None:
    """What the files come to is kept there, where the role of the very gate may write."""
    with psycopg.connect(fleet.url.replace("postgres@", "south_role@")) as connection:
        kept = "SELECT name, value FROM lockgate.settings WHERE name LIKE 'config:compiled:%'"
        [(name, value)] = connection.execute(kept).fetchall()
        forged = value.replace(KEYS["ann"].public().line, KEYS["eve"].public().line)
        assert forged != value
        connection.execute("UPDATE lockgate.settings SET value = %s WHERE name = %s", (forged, name))
    assert fleet._configure(fleet.context()).options.approvers == fleet.approvers
    with fleet.store.reading() as tx:
        assert tx.setting(name) == value, "it is found out anew"


@pytest.mark.parametrize(
    ("each", "problem"),
    [
        pytest.param({"key": "ssh-rsa AAAA"}, "public key", id="another kind of key"),
        pytest.param({"key": KEYS["ann"].public().line[:-3]}, "public key", id="a key that is cut"),
        pytest.param({"name": "ann (signed)"}, "name of letters", id="a name that looks like more"),
        pytest.param({"until": "2027-02-31"}, "no calendar", id="no day"),
        pytest.param({"until": "tomorrow"}, "be a day", id="no day at all"),
    ],
)
def test_entries_that_are_not_valid(each: dict[str, str], problem: str) -> None:
    said = {"name": "ann", "key": KEYS["ann"].public().line, **each}
    found = parse(json.dumps({"approvers": {"keys": [said]}}).encode(), "lockgate.yaml")
    assert found.value is None
    assert problem in str(found.problems[0])


def test_without_the_library_no_yes_counts(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    going, approval = fleet.waiting()
    fleet.answers(approval)

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(keys, "library", missing)
    assert fleet.end(going).verdict is DENY
