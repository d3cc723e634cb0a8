"""The clock of a machine was ahead by a year once, and is right again: what was kept of then holds up nothing."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from bundles.fleets import DAY, NOW, packed
from bundles.fleets import Machine as FleetMachine
from gate.world import WORK, World
from lockgate.cli.main import cli
from lockgate.clients.wire.messages import ContainerRequest
from lockgate.clients.wire.request_ids import new_id
from lockgate.core.events import Context, SessionEnded, ToolFinished
from lockgate.core.model import Label, Subject, Taint, ToolCall, Verdict
from lockgate.gate.approvals import denials
from lockgate.gate.approvals import questions as approvals
from lockgate.gate.approvals.proof import as_asked
from lockgate.gate.approvals.waiting import was_told
from lockgate.gate.contradictions import contradictions
from lockgate.gate.monitor.turns import find_calls_in_turn
from lockgate.gate.session import forgeries, sessions
from lockgate.service.containers.replays import Replays
from lockgate.service.http.views.sessions import is_silent
from lockgate.store.audit.record import event_record
from lockgate.store.rows import ApprovalRow, SessionRow
from lockgate.store.sqlite.head_anchors import SILENT, list_place_problems
from support.prepared import open_new

RIGHT = 1_000_000_000.0
AHEAD = RIGHT + 365 * DAY


class Clocked(World):
    """A machine with a clock that a test sets."""

    def __init__(self, folder: Path) -> None:
        self.at = RIGHT
        super().__init__(folder)
        self.store.clock = self._now  # type: ignore[method-assign]

    def _now(self) -> float:
        return self.at

    def end(self, session_id: str) -> None:
        self.gate.handle(SessionEnded(self.context(session_id=session_id), "logout"))

    def kept(self) -> set[str]:
        with self.store.reading() as tx:
            return {row.session for row in tx.sessions()}


@pytest.fixture
def world(tmp_path: Path) -> Clocked:
    return Clocked(tmp_path)


def _day(world: Clocked, number: float, name: str) -> None:
    """A session on a day, which begins and ends."""
    world.at = RIGHT + number * DAY
    world.start(session_id=name)
    world.end(name)


# ---------------------------------------------------------------- retention
def test_retention_forgets_nothing_by_a_clock_that_is_ahead_for_a_while(world: Clocked) -> None:
    (world.config / "lockgate.yaml").write_text("retention_days: 30\naudit: {retention_days: 30}\n")
    for number in range(3):
        _day(world, number, f"d{number}")
    for hours in (1, 2, 20):
        _day(world, 365 + hours / 24, f"ahead{hours}")
    _day(world, 3, "d3")
    _day(world, 4.5, "d4")
    assert {"d0", "d1", "d2", "d3", "d4"} <= world.kept()
    assert world.records("pruned") == []


def test_retention_forgets_a_day_later_at_most(world: Clocked) -> None:
    (world.config / "lockgate.yaml").write_text("retention_days: 30\n")
    for number in (0, 1, 2, 20, 31, 32.5, 34):
        _day(world, number, f"d{number}")
    assert world.kept() == {"d20", "d31", "d32.5", "d34"}


def test_a_clock_that_was_behind_forgets_nothing_young(world: Clocked) -> None:
    (world.config / "lockgate.yaml").write_text("retention_days: 30\n")
    for number in (0, 1.5, -3650, -3649.5, 2, 3.5, 5):
        _day(world, number, f"d{number}")
    assert {"d0", "d1.5", "d2", "d3.5", "d5"} <= world.kept()


# ---------------------------------------------------------------- sessions
def test_a_session_that_was_seen_then_is_seen_now(world: Clocked) -> None:
    world.at = AHEAD
    world.start(session_id="then")
    world.bash("ls", session_id="then")
    world.at = RIGHT
    world.start(session_id="now")
    world.bash("ls", session_id="now")
    world.at += 5
    world.bash("ls", session_id="then")
    with world.store.reading() as tx:
        found = tx.session("then")
        assert found is not None
        assert found.seen_at == world.at


@pytest.mark.parametrize(("began", "asked"), [(RIGHT - 50, RIGHT - 50), (AHEAD - 50, 0.0)])
def test_a_transcript_is_compared_all_the_same(world: Clocked, began: float, asked: float) -> None:
    """Else a result that the state does not know would be looked for among those of next year."""
    since: list[float] = []
    context = Context("claude-code", Subject("s1"), WORK, WORK, transcript="/t.jsonl")

    def results(_: Context, at: float) -> list[str]:
        since.append(at)
        return ["unknown"]

    with world.store.transaction() as tx:
        tx.put_session(SessionRow("s1", how="resume", started_at=began, seen_at=AHEAD))
        assert sessions.label_unknown_results(tx, context, RIGHT, results) == ["unknown"]
        assert tx.labels(Subject("s1")) == frozenset(Label)
    assert since == [asked]


def test_labels_of_then_are_not_those_of_calls_of_the_same_message() -> None:
    context, call = Context("claude-code", Subject("s1"), WORK, WORK), ToolCall("Bash", {"command": "x"}, WORK, "c2")
    for at, found in ((RIGHT - 10, {"c1": RIGHT - 10}), (AHEAD, {}), (RIGHT - 700, {})):
        taint = Taint(Label.UNTRUSTED, "a page", "WebFetch", "c1", at)
        assert find_calls_in_turn(context, call, [taint], Verdict.DENY, RIGHT) == found


def test_what_a_session_of_then_has_lost_is_told(world: Clocked) -> None:
    world.at = AHEAD
    world.start()
    world.at = RIGHT
    world.taint()
    with world.store.transaction() as tx:
        tx.drop_taints(Subject("s1"), Label.UNTRUSTED, "c1")
        assert [each.missing for each in contradictions(tx, None)] == [frozenset({Label.UNTRUSTED})]


def test_a_session_of_then_is_not_open_for_a_year() -> None:
    row = SessionRow("s1", started_at=AHEAD, seen_at=AHEAD)
    assert is_silent(row, RIGHT, local=False)


# ---------------------------------------------------------------- people
def _answered(world: Clocked, name: str, at: float, *, approve: bool) -> ApprovalRow:
    """A question about one thing, answered at a time by the clock of then."""
    about = {denials.TARGETS: ["t1"]}
    with world.store.transaction() as tx:
        row = ApprovalRow(name, "s1", "", "claude-code", name, name, "b", about, "pending", at, at + 300)
        tx.put_approval(as_asked(tx, row))
        approvals.decide(tx, name, approve=approve, by="ann", reason="", now=at)
        found = tx.approval(name)
        assert found is not None
        tx.put_approval(found._replace(state="used" if approve else "denied"))
        return found


@pytest.mark.parametrize(("first", "then"), [(RIGHT, RIGHT + 9), (AHEAD, RIGHT), (RIGHT, AHEAD)])
@pytest.mark.parametrize("said", [(True, False), (False, True)], ids=["yes-no", "no-yes"])
def test_the_later_answer_counts_whatever_the_clock_said(
    world: Clocked, first: float, then: float, said: tuple[bool, bool]
) -> None:
    world.start()
    rows = [_answered(world, f"q{at:.0f}", at, approve=yes) for at, yes in zip((first, then), said, strict=True)]
    no = rows[said.index(False)]
    with world.store.reading() as tx:
        assert denials.was_allowed_since(tx, no, None) is said[1]


def test_a_question_of_then_is_over_and_recorded(world: Clocked) -> None:
    with world.store.transaction() as tx:
        tx.put_approval(ApprovalRow("q1", "s1", "", "c", "c1", "d", "b", {}, "pending", AHEAD, AHEAD + 300))
        approvals._end_overdue(tx, RIGHT)
        row = tx.approval("q1")
        assert row is not None
        assert row.state == "expired"


def test_nobody_listens_because_they_did_then(world: Clocked) -> None:
    facts = {"approval": "q1", "by": "webhook", "problem": ""}
    for at, told in ((AHEAD, False), (RIGHT - 5, True)):
        with world.store.transaction() as tx:
            tx.append_audit(at, event_record(world.context(), "notified", facts))
            assert was_told(tx, RIGHT) is told


def test_a_forgery_of_then_is_told_for_a_day_and_the_next_is_recorded(world: Clocked) -> None:
    with world.store.transaction() as tx:
        forgeries.record_forged_answer(tx, world.context(), "x", AHEAD)
        forgeries.record_forged_pause(tx, world.context(), "was put back", AHEAD)
        assert forgeries.tell_of_forged_answer(tx, AHEAD + 5)
        assert forgeries.tell_of_forged_answer(tx, RIGHT) == forgeries.tell_of_forged_pause(tx, RIGHT) == ""
        forgeries.record_forged_pause(tx, world.context(), "was put back", RIGHT)
    assert len(world.records("forged-pause")) == 2


# ---------------------------------------------------------------- other machines
def test_a_container_is_heard_though_the_host_began_then() -> None:
    clock = [AHEAD, 100.0]
    replays = Replays(lambda: clock[0], lambda: clock[1])

    def use(at: float) -> None:
        name = f"{int(at * 1000):012x}" + new_id()[12:]
        event = ToolFinished(Context("c", Subject("s")), ToolCall("Bash", {"command": "x"}, WORK), None)
        replays.use("web", ContainerRequest(name, event, at))

    clock[:] = [RIGHT, 160.0]
    use(RIGHT - 1)
    for before in (RIGHT - 61, AHEAD):
        with pytest.raises(Exception, match=r"before the host started|do both clocks agree"):
            use(before)


def test_a_place_that_cannot_be_reached_since_then_is_told() -> None:
    told = list(list_place_problems("git", {"problem": "it is gone", "at": AHEAD}, RIGHT))
    assert len(told) == 1
    assert list(list_place_problems("git", {"problem": "it is gone", "at": RIGHT - SILENT / 2}, RIGHT)) == []


def test_a_fleets_next_policy_is_taken_though_this_machine_has_seen_it_expire(tmp_path: Path) -> None:
    machine = FleetMachine(tmp_path)
    machine.pin("ann")
    machine.put(packed(5, expires=NOW + 30 * DAY))
    assert machine.serial() == 5
    assert "expired" in machine.problems(NOW + 365 * DAY)
    assert "was ahead then, or is behind now" in machine.problems(NOW)
    machine.put(packed(6, expires=NOW + 60 * DAY))
    assert machine.serial(NOW + 365 * DAY) == 5
    assert (machine.serial(NOW), machine.problems(NOW)) == (6, "")


# ---------------------------------------------------------------- what a person is told
def test_doctor_tells_of_a_clock_that_was_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_STATE_HOME", "CLAUDECODE"):
        monkeypatch.delenv(name, raising=False)
    state = tmp_path / ".local" / "state" / "lockgate"

    def told(at: float) -> list[str]:
        with closing(open_new(state)) as store, store.transaction() as tx:
            tx.append_audit(at, {"event": "prompt"})
        checks = json.loads(CliRunner().invoke(cli, ["doctor", "--json"]).output)["checks"]
        return [check["says"] for check in checks if check["name"] == "clock"]

    assert told(time.time()) == []
    (says,) = told(time.time() + 365 * DAY)
    assert says.startswith("1 records tell a time that has not come yet")
    assert "the clock was ahead then, or is behind now" in says
