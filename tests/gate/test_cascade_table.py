"""The cascade's truth table, cell by cell, through the monitor, with a judge and a person who say what is due."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gate.world import World
from lockgate.core.events import Answer, ToolRefused, ToolRequested
from lockgate.core.model import Label, ToolCall, Verdict
from lockgate.core.questions import JudgeQuestion, Opinion, PersonQuestion
from lockgate.gate import Consultants, Monitor
from lockgate.gate.approvals import questions as approvals
from support.cascade_cases import CALLS, COLUMNS, Call, Case, cells, few

OPINIONS = {
    "fine": Opinion(flagged=False, reason="it builds the project", model="small"),
    "flags": Opinion(flagged=True, reason="it may send what was read", model="small"),
    "fails": Opinion(flagged=True, reason="", failed="no answer within 5 s"),
}


class Court(World):
    """A machine with a judge and a person, who say what a case has them say."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (self.config / "lockgate.yaml").write_text("profile: cascade\n")
        self.case: Case | None = None
        self.judged: list[JudgeQuestion] = []
        self.asked: list[PersonQuestion] = []
        self.later = 0.0
        parts = self.gate._parts
        self.gate = Monitor(
            parts._replace(
                clock=lambda: self._now() + self.later,
                contain=self._contain,
                consultants=Consultants(
                    can_judge=lambda _: self.now.judge != "absent", judge=self._judge, wait=self._wait
                ),
            )
        )
        for column, labels in COLUMNS.items():
            self.start(session_id=column)
            if Label.UNTRUSTED.value in labels:
                self.run("WebFetch", {"url": "https://example.com/", "prompt": "x"}, "x", session_id=column)
            if Label.SECRET.value in labels:
                self.run("Read", {"file_path": ".env"}, "KEY=1", session_id=column)
            assert self.labels(session_id=column) == labels

    @property
    def now(self) -> Case:
        """The case that is heard."""
        return self.case or cases_of(CALLS[0])[0]

    def hear(self, case: Case, *, native: bool = False) -> Answer:
        """The gate's answer in one cell, and nothing left of the call afterwards."""
        self.case, self.judged, self.asked = case, [], []
        call = ToolCall(case.call.tool, case.call.tool_input, "/home/u/work", f"c{next(self._ids)}")
        context = self.context(session_id=case.column)
        answer = self.gate.handle(ToolRequested(context, call, askable=native, waits=not native))
        self.gate.handle(ToolRefused(context, call, "only the decision is looked at"))
        with self.store.transaction() as tx:  # a person's no would hold in the next cell
            for row in tx.approvals(session=case.column, state="denied"):
                tx.put_approval(row._replace(state="changed"))
        return answer

    def newest(self, event: str) -> dict[str, Any]:
        """The newest record of an event, among the last few."""
        with self.store.reading() as tx:
            rows = list(tx.audit(after=max(tx.audit_head().seq - 5, 0)))
        bodies: list[dict[str, Any]] = [json.loads(row.body) for row in rows]
        return [body for body in bodies if body["event"] == event][-1]

    def _contain(self, _: object, call: ToolCall, *__: object) -> dict[str, Any] | None:
        able = self.now.contains and call.tool == "Bash"
        return {**call.tool_input, "command": "contained"} if able else None

    def _judge(self, question: JudgeQuestion) -> Opinion:
        self.judged.append(question)
        return OPINIONS[self.now.judge]

    def _wait(self, question: PersonQuestion) -> None:
        self.asked.append(question)
        if self.now.person == "expires":
            self.later += 301.0
            return
        with self.store.transaction() as tx:
            approvals.decide(
                tx,
                question.approval,
                approve=self.now.person == "approves",
                by="a test",
                reason="",
                now=self._now() + self.later,
            )


def cases_of(call: Call) -> list[Case]:
    return list(cells(call))


@pytest.fixture(scope="module")
def court(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    made = Court(tmp_path_factory.mktemp("court"))
    yield made
    made.store.close()


def tier_of(answer: Answer) -> str:
    assert answer.decision is not None
    return answer.decision.tier.value


FIRST = {call.kind: call for call in reversed(CALLS)}
"""A call of each kind, for which the words of those who are not asked are tried, too."""


def rows() -> Iterator[Any]:
    """All calls. Quick tests take three of each kind, so that none of a kind's cells is left out."""
    seen: Counter[str] = Counter()
    for call in CALLS:
        seen[call.kind] += 1
        yield pytest.param(call, id=call.name, marks=() if seen[call.kind] <= 3 else pytest.mark.slow)


@pytest.mark.sampled
@pytest.mark.parametrize("call", [*rows()])
def test_every_cell(court: Court, call: Call) -> None:
    wrong = []
    for case in cells(call, every=call is FIRST[call.kind]):
        answer = court.hear(case)
        found = (answer.verdict.word, tier_of(answer), bool(court.judged), bool(court.asked))
        if found != (case.verdict, case.tier, case.judged, case.asked):
            wrong.append((case.name, found))
    assert wrong == []


@pytest.mark.parametrize("case", few(), ids=lambda case: case.name)
def test_what_the_audit_says_of_it(court: Court, case: Case) -> None:
    court.hear(case)
    record = court.newest("decision")
    cascade = record["cascade"]
    assert (record["verdict"], cascade["tier"]) == (case.verdict, case.tier)
    assert ("judge" in cascade, "approval" in cascade) == (case.judged, case.asked)


@pytest.mark.parametrize("case", few(contains=False), ids=lambda case: case.name)
def test_where_the_client_asks_the_person_itself(court: Court, case: Case) -> None:
    answer = court.hear(case, native=True)
    assert (answer.verdict is Verdict.ASK) is case.asked
    assert court.asked == []
    if not case.asked:
        assert answer.verdict.word == case.verdict
