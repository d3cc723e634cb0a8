"""The cascade's truth table through the public API, with a judge and a person who say what a case has them say."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from lockgate import Decision, Session
from support.cascade_cases import Case
from support.court import CASES, Court


@pytest.fixture(scope="module")
def court(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    made = Court(tmp_path_factory.mktemp("court"))
    yield made
    made.gate.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("way", ["blocking", "awaited"])
def test_a_cell(court: Court, case: Case, way: str) -> None:
    call = case.call

    def check(session: Session, name: str) -> Decision:
        if way == "blocking":
            return session.check_sync(call.tool, call.tool_input, call_id=name)
        return asyncio.run(session.check(call.tool, call.tool_input, call_id=name))

    decision = court.hear(case, check)
    found = (decision.verdict, decision.tier, court.judged, court.asked)
    assert found == (case.verdict, case.tier, case.judged, case.asked)
