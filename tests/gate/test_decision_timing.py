"""What a decision's record tells of the time that it took, and of the trace that it is a part of."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from gate.world import World
from lockgate.core.events import ToolRequested
from lockgate.core.model import ToolCall
from lockgate.core.questions import PersonQuestion
from lockgate.gate import Monitor
from lockgate.gate.approvals import questions as approvals
from lockgate.gate.host import assembly as runtime
from lockgate.system import caller

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def cascade(world: World) -> dict[str, Any]:
    told: dict[str, Any] = world.records("decision")[-1]["cascade"]
    return told


def test_each_step_is_timed(tmp_path: Path) -> None:
    world = World(tmp_path)
    ticks = itertools.count(0.0, 0.001)
    world.gate = Monitor(world.gate.parts._replace(timer=lambda: next(ticks), trace=lambda: TRACE))
    world.start()
    world.bash("ls")
    told = cascade(world)
    assert told["steps"] == {"configuration": 1.0, "analysis": 1.0, "patterns": 1.0, "transaction": 1.0}
    assert told["ms"] > sum(told["steps"].values())
    assert told["trace"] == TRACE


def test_what_took_no_time_is_not_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.start()
    world.bash("ls")
    assert cascade(world) == {"tier": "labels", "ms": 0.0}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        pytest.param(TRACE, TRACE, id="whole"),
        pytest.param("", "", id="none"),
        pytest.param(TRACE.replace("00-", "01-", 1), "", id="another version"),
        pytest.param(f"{TRACE}-x", "", id="more"),
        pytest.param(f"{TRACE}\n", "", id="a line break"),
        pytest.param(TRACE.upper(), "", id="upper case"),
        pytest.param("00-" + "0" * 32 + TRACE[35:], "", id="no trace"),
        pytest.param(TRACE[:36] + "0" * 16 + "-01", "", id="no span"),
        pytest.param("x" * 100_000, "", id="long"),
    ],
)
def test_the_trace_is_the_callers(tmp_path: Path, said: str, told: str) -> None:
    from lockgate.system.folders import Folders

    parts = runtime.open_parts(Folders(str(tmp_path), str(tmp_path / "state"), str(tmp_path / "c")))
    token = caller.stand_in_for(caller.Caller({"TRACEPARENT": said}, 1, 1))
    try:
        assert parts.trace() == told
    finally:
        caller.reset(token)
        parts.store.close()


def test_what_a_person_took_is_a_step_of_its_own(tmp_path: Path) -> None:
    """And is not counted as analysis, although the call is analysed anew after it."""
    world = World(tmp_path)
    (world.config / "lockgate.yaml").write_text("table: {egress: ask}\n")
    now = [0.0]
    world.gate = Monitor(world.gate.parts._replace(timer=lambda: now[0]))
    world.start()
    call = ToolCall("Bash", {"command": "git push"}, "/home/u/work", "c1")
    going = world.gate.deliberate(ToolRequested(world.context(), call, askable=False, waits=True))
    question = going.send(None)
    assert isinstance(question, PersonQuestion)
    with world.store.transaction() as tx:
        approvals.decide(tx, question.approval, approve=True, by="ann", reason="", now=1_000_100.0)
    now[0] = 4.5
    with pytest.raises(StopIteration):
        going.send(None)
    assert cascade(world)["steps"] == {"person": 4500.0}
    assert (cascade(world)["tier"], cascade(world)["ms"]) == ("person", 4500.0)
