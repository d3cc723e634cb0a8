"""A gate in this process with a judge and a person who say what a case of the cascade's truth table has them say."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from lockgate import Gate, JudgeQuestion, Opinion, Question, Session
from lockgate.gate import Monitor, Parts
from support.cascade_cases import COLUMNS, Case, few
from support.prepared import give_state

T = TypeVar("T")

CASES = [case for case in few() if case.person != "expires"]
"""That a question can expire is shown elsewhere: it takes seconds each time."""
CONTAINED = "contained"
"""The command that a contained one is rewritten to."""


class Court:
    """The gate, and a session of each column, which has the column's name."""

    def __init__(self, folder: Path) -> None:
        give_state(folder / "state" / "lockgate")
        self.case = CASES[0]
        self.judged = self.asked = False
        self._ids = itertools.count()
        self.gate = Gate.open(
            state=folder / "state", workspace=folder, config={"profile": "cascade"}, ask=self._ask, judge=self._judge
        )
        driver = self.gate.driver
        driver._parts = driver._parts._replace(
            contain=lambda _, call, __: {**call.tool_input, "command": CONTAINED} if self.case.contains else None,
            consultants=driver._parts.consultants._replace(can_judge=lambda _: self.case.judge != "absent"),
        )
        driver._monitor = Monitor(driver._parts)
        driver._unchanged = Monitor(driver._parts._replace(contain=lambda *_: None))
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
        self.judged = True
        if self.case.judge == "fails":
            raise TimeoutError
        return Opinion(flagged=self.case.judge == "flags", reason="it may send what was read")

    def _ask(self, _: Question) -> bool:
        self.asked = True
        return self.case.person == "approves"

    def hear(self, case: Case, check: Callable[[Session, str], T]) -> T:
        """What comes of a case, and nothing left of the call afterwards. Who was asked, is in the attributes.

        Args:
            case: The case.
            check: Has the call decided, in a session and under an id.
        """
        self.case, self.judged, self.asked = case, False, False
        session = self.sessions[case.column]
        call_id = f"c{next(self._ids)}"
        said = check(session, call_id)
        session.not_run(case.call.tool, case.call.tool_input, call_id=call_id)
        self.gate.driver.submit(lambda parts: _forget_noes(parts, case.column)).result()
        return said


def _forget_noes(parts: Parts, session: str) -> None:
    """A person's no would hold in the next cell."""
    with parts.store.transaction() as tx:
        for row in tx.approvals(session=session, state="denied"):
            tx.put_approval(row._replace(state="changed"))
