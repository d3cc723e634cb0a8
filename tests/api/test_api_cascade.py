"""The cascade's truth table through the public API, with a judge and a person who say what a case has them say."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lockgate import Decision, Gate, JudgeQuestion, Opinion, Question, Session
from support.cascade_cases import COLUMNS, Case, few
from support.prepared import give_state

CASES = [case for case in few() if case.person != "expires"]
"""That a question can expire is shown elsewhere: it takes seconds each time."""


class Court:
    """A gate with a judge and a person, and a session of each column."""

    def __init__(self, folder: Path) -> None:
        give_state(folder / "state" / "lockgate")
        self.case = CASES[0]
        self.judged = self.asked = 0
        self._ids = itertools.count()
        self.gate = Gate.open(
            state=folder / "state",
            workspace=folder,
            config={"profile": "cascade"},
            ask=self._ask,
            judge=self._judge,
        )
        self.sessions = {column: self._session(column) for column in COLUMNS}

    def _session(self, column: str) -> Session:
        session = self.gate.session(column)
        if "untrusted" in COLUMNS[column]:
            session.finished_sync("WebFetch", {"url": "https://a.example.com/", "prompt": "x"}, "x")
        if "secret" in COLUMNS[column]:
            session.finished_sync("Read", {"file_path": ".env"}, "KEY=1")
        assert session.labels() == COLUMNS[column]
        return session

    def _judge(self, _: JudgeQuestion) -> Opinion:
        self.judged += 1
        if self.case.judge == "fails":
            raise TimeoutError
        return Opinion(flagged=self.case.judge == "flags", reason="it may send what was read")

    def _ask(self, _: Question) -> bool:
        self.asked += 1
        return self.case.person == "approves"

    def hear(self, case: Case, check: Callable[[Session, str], Decision]) -> tuple[str, str, bool, bool]:
        """What came of a case, and nothing left of the call afterwards."""
        self.case, self.judged, self.asked = case, 0, 0
        session = self.sessions[case.column]
        call_id = f"c{next(self._ids)}"
        decision = check(session, call_id)
        session.not_run(case.call.tool, case.call.tool_input, call_id=call_id)
        return decision.verdict, decision.tier, bool(self.judged), bool(self.asked)


@pytest.fixture(scope="module")
def court(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    made = Court(tmp_path_factory.mktemp("court"))
    driver = made.gate._driver
    driver._parts = driver._parts._replace(
        contain=lambda _, call: {**call.tool_input, "command": "contained"} if made.case.contains else None,
        consultants=driver._parts.consultants._replace(can_judge=lambda _: made.case.judge != "absent"),
    )
    driver._monitor._parts = driver._parts
    yield made
    made.gate.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_cell(court: Court, case: Case) -> None:
    call = case.call
    due = (case.verdict, case.tier, case.judged, case.asked)
    assert court.hear(case, lambda session, name: session.check_sync(call.tool, call.tool_input, call_id=name)) == due

    def in_a_loop(session: Session, name: str) -> Decision:
        return asyncio.run(session.check(call.tool, call.tool_input, call_id=name))

    assert court.hear(case, in_a_loop) == due
