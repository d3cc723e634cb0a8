"""Where nobody sits before the client, the configuration says who is asked: nobody, or a person elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gate.world import WORK, World
from lockgate.configuration.load import Configuration
from lockgate.core.events import Answer, ToolRequested
from lockgate.core.model import Tier, ToolCall, Verdict
from lockgate.core.questions import Need, PersonQuestion
from lockgate.gate import Consultants, Monitor
from lockgate.gate.approvals import questions as approvals

ASK, DENY, ALLOW = Verdict.ASK, Verdict.DENY, Verdict.ALLOW
PUSH = ToolCall("Bash", {"command": "git push origin main"}, WORK, "c1")


class Alone(World):
    """A machine whose client can be left alone."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (self.config / "lockgate.yaml").write_text("table: {egress: ask}\n")
        self.waits_for_person = False
        self.looked = 0
        self.gate = Monitor(self.gate._parts._replace(consultants=Consultants(waits_for_person=self._attended)))

    def _attended(self, _: Configuration) -> bool:
        self.looked += 1
        return self.waits_for_person

    def put(self, call: ToolCall = PUSH, *, yes: bool = True, **event: Any) -> tuple[Answer, list[Need]]:
        going = self.gate.deliberate(ToolRequested(self.context(), call, **event))
        asked: list[Need] = []
        try:
            while True:
                asked.append(going.send(None))
                question = asked[-1]
                assert isinstance(question, PersonQuestion)
                with self.store.transaction() as tx:
                    approvals.decide(tx, question.approval, approve=yes, by="ann", reason="", now=self._now())
                self.waits_for_person = False  # whoever watched may be gone again
        except StopIteration as end:
            return end.value, asked


@pytest.fixture
def alone(tmp_path: Path) -> Alone:
    return Alone(tmp_path)


@pytest.mark.parametrize(
    ("event", "waits_for_person", "verdict", "questions"),
    [
        ({"askable": True}, True, ASK, 0),
        ({"askable": False}, True, DENY, 0),
        ({"askable": True, "headless": True}, False, ASK, 0),
        ({"askable": False, "headless": True}, False, DENY, 0),
        ({"askable": True, "headless": True}, True, ALLOW, 1),
        ({"askable": False, "headless": True}, True, ALLOW, 1),
        ({"askable": False, "waits": True}, False, ALLOW, 1),
        ({"askable": True, "waits": True}, False, ALLOW, 1),
    ],
)
def test_who_is_asked(
    alone: Alone, event: dict[str, Any], waits_for_person: bool, verdict: Verdict, questions: int
) -> None:
    alone.waits_for_person = waits_for_person
    answer, asked = alone.put(**event)
    assert (answer.verdict, len(asked)) == (verdict, questions)
    assert answer.decision is not None
    assert (answer.decision.tier is Tier.PERSON) == bool(questions)


def test_what_needs_no_person_asks_nobody(alone: Alone) -> None:
    answer, asked = alone.put(ToolCall("Bash", {"command": "ls"}, WORK, "c1"), headless=True)
    assert (answer.verdict, asked, alone.looked) == (ALLOW, [], 0)


def test_a_no_is_a_no(alone: Alone) -> None:
    alone.waits_for_person = True
    assert alone.put(headless=True, yes=False)[0].verdict is DENY


def test_the_person_is_shown_the_whole_call(alone: Alone) -> None:
    tool_input = {"body": "x" * 100_000, "n": [1, {"a": None}]}
    call = ToolCall("mcp__mail__send", tool_input, WORK, "c1")
    going = alone.gate.deliberate(ToolRequested(alone.context(), call, waits=True))
    going.send(None)
    with alone.store.reading() as tx:
        assert [row.about["whole"] for row in tx.approvals()] == [tool_input]
    with pytest.raises(StopIteration):
        going.send(None)
    with alone.store.reading() as tx:
        assert not [row for row in tx.approvals() if "whole" in row.about], "it is forgotten with the question"


def test_a_long_brief_that_was_approved_elsewhere_was_seen_whole_there(alone: Alone) -> None:
    alone.taint()
    brief = "\n".join(f"line {number}" for number in range(30))
    call = ToolCall("Agent", {"prompt": brief, "subagent_type": "lockgate:delegate"}, WORK, "c9")
    answer, asked = alone.put(call, waits=True)
    assert (answer.verdict, len(asked)) == (ALLOW, 1)
    alone.ask("Read", {"file_path": "a.py"}, agent="d1", agent_type="lockgate:delegate", spawned_by="c9")
    assert alone.labels() == {"untrusted"}
    assert alone.labels("d1") == set()
