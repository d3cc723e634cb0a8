"""A session whose transcript holds results that the store does not know has every label."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gate.world import World
from lockgate.clients.adapter import ClientAdapter
from lockgate.clients.claude.events import Claude
from lockgate.clients.codex.events import ADAPTER as CODEX
from lockgate.core.events import Context, SessionEnded, SessionStarted, ToolFinished, ToolRequested
from lockgate.core.model import Label, ToolCall, Verdict
from lockgate.gate import Monitor
from lockgate.store.audit.refusals import Refusal, sweep
from lockgate.store.rows import CallRow, SessionRow
from lockgate.store.sqlite.rollback import OutsideHead
from lockgate.store.sqlite.store import SqliteStore

BOTH = set(Label)
NEXT = 1_000_000.0


def result(call: str, at: float, text: str = "found", **more: Any) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
    block = {"type": "tool_result", "tool_use_id": call, "content": text, **more.pop("block", {})}
    line = {"type": "user", "timestamp": f"{seconds}.500Z", "message": {"role": "user", "content": [block]}, **more}
    return json.dumps(line) + "\n"


class Counting(Claude):
    """The client's adapter, which counts how often a transcript is read."""

    looks = 0

    def results_since(self, context: Context, since: float) -> Sequence[str]:
        self.looks += 1
        return super().results_since(context, since)


class Told(World):
    """A gate whose client writes a transcript."""

    stays = False

    def __init__(self, folder: Path) -> None:
        self.transcript = folder / "t.jsonl"
        self.at = NEXT
        self.counting = Counting()
        self.client: ClientAdapter = self.counting
        super().__init__(folder)

    def _monitor(self) -> Monitor:
        read_on = self.client.make_reader_of_newer(str(self.folder / "state"), stays=self.stays)
        look_back = self.client.make_reader_of_older(str(self.folder / "state"), stays=self.stays)
        return Monitor(super()._monitor().parts._replace(results_since=read_on, results_before=look_back))

    def _now(self) -> float:
        self.at += 10
        return self.at

    def context(self, agent: str = "", *, session_id: str = "s1", **more: Any) -> Context:
        return super().context(agent, session_id=session_id, transcript=str(self.transcript), **more)

    def write(self, *lines: str) -> None:
        with self.transcript.open("a", encoding="utf-8") as file:
            file.writelines(lines)

    def copy(self) -> None:
        """Copy the state, and all that is kept of it elsewhere."""
        self.store.close()
        for place in self._places():
            shutil.copytree(place, self.folder / "copies" / place.relative_to("/"), dirs_exist_ok=True)
        self.reopen()

    def put_back(self) -> None:
        """Put all of it back, as somebody does who knows each place of this machine."""
        self.store.close()
        for place in self._places():
            shutil.rmtree(place)
            shutil.copytree(self.folder / "copies" / place.relative_to("/"), place)
        self.reopen()

    def reopen(self) -> None:
        self.store.close()
        self.store = SqliteStore.open(str(self.folder / "state"))
        self.gate = self._monitor()

    def _places(self) -> list[Path]:
        outside = OutsideHead(str(self.folder / "state"), self.store.key).places
        return [self.folder / "state", *{Path(os.path.dirname(place)) for place in outside}]


@pytest.fixture
def world(tmp_path: Path) -> Told:
    world = Told(tmp_path)
    world.start()
    assert world.bash("ls") is Verdict.ALLOW
    return world


def read_page(world: Told) -> None:
    world.run("mcp__github__get_issue", {"number": 7}, "please push")
    world.write(result("lost", world.at))


def ask(world: Told) -> None:
    world.ask("Bash", {"command": "ls"})


def begin_again(world: Told) -> None:
    world.gate.handle(SessionStarted(world.context(), "resume"))


def end(world: Told) -> None:
    world.gate.handle(SessionEnded(world.context(), "other"))


@pytest.mark.parametrize("event", [ask, begin_again, end, lambda world: world.prompt("go on")])
def test_who_puts_back_every_place_at_once_does_not_clean_a_session(
    world: Told, event: Callable[[Told], object]
) -> None:
    world.copy()
    read_page(world)
    world.put_back()
    assert world.labels() == set(), "all places of this machine agree"
    event(world)
    assert world.labels() == BOTH
    assert [body["calls"] for body in world.records("unknown-results")] == [["lost"]]
    ask(world)
    assert len(world.records("unknown-results")) == 1, "told once"


def test_what_the_gate_has_seen_is_no_news(world: Told) -> None:
    for number in range(3):
        answer, call = world.ask("Bash", {"command": f"ls {number}"})
        assert answer.verdict is Verdict.ALLOW
        world.write(result(call.call_id, world.at))
        world.done(call, "a.py")
    _, call = world.ask("Bash", {"command": "lockgate approve 1"})
    world.write(result(call.call_id, world.at + 3))
    ask(world)
    assert world.counting.looks
    assert world.labels() == set()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(result("x", NEXT + 9), id="older"),
        pytest.param(
            result("x", NEXT + 5000, "<tool_use_error>No such tool</tool_use_error>", block={"is_error": True}),
            id="no call at all",
        ),
        pytest.param(result("x", NEXT + 5000, toolUseResult="User rejected tool use"), id="a person's no"),
        pytest.param(result("x", NEXT + 5000, type="assistant"), id="not the client's line"),
        pytest.param('{"type": "user", "timestamp": "9", "message": {"content": []}}\n', id="another time"),
        pytest.param('"tool_result"\n[1]\n{"timestamp": 7}\n\n{', id="anything"),
    ],
)
def test_what_is_no_new_result(world: Told, line: str) -> None:
    world.write(line)
    ask(world)
    assert world.counting.looks
    assert world.labels() == set()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(result("x", NEXT + 5000, "<tool_use_error>a</tool_use_error>"), id="it says so itself"),
        pytest.param(
            result("x", NEXT + 5000, "<tool_use_error>a</tool_use_error> b", block={"is_error": True}), id="and more"
        ),
        pytest.param(result("x", NEXT + 5000, "z" * 300_000), id="a long one"),
        pytest.param(result("x", NEXT + 5000) + result("y", NEXT - 50, "z" * 200_000), id="an older one behind it"),
    ],
)
def test_what_is_a_new_result(world: Told, line: str) -> None:
    world.write(line)
    ask(world)
    assert world.labels() == BOTH


@pytest.mark.parametrize("recorded", [False, True])
def test_a_call_that_nobody_could_decide_on_has_brought_nothing(world: Told, recorded: bool) -> None:
    refusal = Refusal(str(world.folder / "state"), "hook")
    refusal.about("claude-code", "PreToolUse", {"call": "late", "session": "s1"})
    refusal.keep("time was up")
    if recorded:
        assert sweep(str(world.folder / "state"), world.store) == 1
    world.write(result("late", world.at + 5, "Lockgate blocks to be safe", block={"is_error": True}))
    ask(world)
    assert world.counting.looks
    assert world.labels() == set()


def codex_result(call: str, at: float) -> str:
    stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at))}.500Z"
    ran = {"type": "function_call", "name": "exec_command", "call_id": call, "arguments": '{"cmd": "ls"}'}
    bodies = ran, {"type": "function_call_output", "call_id": call, "output": "found"}
    lines = [{"timestamp": stamp, "type": "response_item", "payload": body} for body in bodies]
    return "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)


def test_a_transcript_of_codex_is_compared_too(tmp_path: Path) -> None:
    world = Told(tmp_path)
    world.client = CODEX
    world.reopen()
    world.start()
    _, call = world.ask("Bash", {"command": "ls"})
    world.write(codex_result(call.call_id, world.at))
    world.done(call, "a.py")
    ask(world)
    assert world.labels() == set(), "the gate has seen it"
    world.write(codex_result("lost", world.at + 5))
    ask(world)
    assert world.labels() == BOTH
    assert [body["calls"] for body in world.records("unknown-results")] == [["lost"]]


def test_a_gate_that_stays_looks_once(tmp_path: Path) -> None:
    Told.stays = True
    try:
        world = Told(tmp_path)
        world.start()
        for number in range(5):
            world.write(result(f"t{number}", NEXT + 9))
            ask(world)
        assert world.counting.looks == 1
        world.at -= 1000  # another state with an earlier time, put under it
        with world.store.transaction() as tx:
            row = tx.session("s1")
            assert row is not None
            tx.put_session(row._replace(seen_at=NEXT - 500))
        ask(world)
        assert world.labels() == BOTH
    finally:
        Told.stays = False


# ---------------------------------------------------------------- another installation in the place of this one
def claude_result(call: str, at: float) -> str:
    return result(call, at)


WRITES = {"claude-code": claude_result, "codex": codex_result}
CLIENTS: dict[str, ClientAdapter] = {"claude-code": Claude(), "codex": CODEX}


class Beginning(NamedTuple):
    """How a session begins at :data:`NEXT` + 10, and what its transcript holds by then."""

    lines: tuple[tuple[str, float], ...]
    labels: set[Label]
    how: str = "startup"
    parents: tuple[str, ...] = ()
    made: frozenset[str] = frozenset()
    """The calls that the parents have made."""


LINES = (("a", NEXT - 3000), ("b", NEXT - 1000))
BEGINNINGS = {
    "it begins, and has read something before": Beginning(LINES, BOTH),
    "it was cleared, and has read something before": Beginning(LINES, BOTH, "clear"),
    "one result is older": Beginning((("a", NEXT - 100), ("b", NEXT + 9)), BOTH),
    "nothing yet": Beginning((), set()),
    "a clock that is not as exact": Beginning((("a", NEXT + 8),), set()),
    "a fork has what its parents have": Beginning(LINES, set(), "fork", ("known",), frozenset(dict(LINES))),
    "a fork whose parents made no such call": Beginning(LINES, BOTH, "fork", ("known",)),
    "a fork of one that nobody knows": Beginning(LINES, {Label.UNTRUSTED}, "fork"),
    "it is resumed": Beginning(LINES, {Label.UNTRUSTED}, "resume"),
}


@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("name", BEGINNINGS)
@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_session_has_read_before_it_began(
    tmp_path: Path, client: str, name: str, stays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another state than the one that was there says that it begins now."""
    monkeypatch.setattr(Told, "stays", stays)
    world, case = Told(tmp_path), BEGINNINGS[name]
    world.client = CLIENTS[client]
    world.reopen()
    with world.store.transaction() as tx:
        tx.put_session(SessionRow("known", started_at=1.0, seen_at=1.0))
        for call in case.made:
            tx.put_call(CallRow("known", call, state="finished"))
    for call, at in case.lines:
        world.write(WRITES[client](call, at))
    world.gate.handle(SessionStarted(world.context(), case.how, case.parents))
    ask(world)
    ask(world)
    told = [body["calls"] for body in world.records("unknown-results")]
    assert told == ([[case.lines[0][0]]] if case.labels == BOTH and case.how != "fork" else [])
    assert world.labels() == case.labels


@pytest.mark.parametrize("client", CLIENTS)
def test_ids_of_old_calls_that_are_told_to_another_state(tmp_path: Path, client: str) -> None:
    """They were not let run by it: the session has every label."""
    world = Told(tmp_path)
    world.client = CLIENTS[client]
    world.reopen()
    world.write(WRITES[client]("toolu_1", NEXT - 3000))
    world.start()
    world.store.close()
    world.reopen()
    call = ToolCall("Bash", {"command": "ls"}, "", "toolu_1")
    world.gate.handle(ToolRequested(world.context()._replace(transcript=""), call))
    world.gate.handle(ToolFinished(world.context()._replace(transcript=""), call, "a.py"))
    assert world.labels() == set(), "of an event that names no transcript nothing can be asked"
    assert world.bash("git push") is Verdict.DENY
    assert world.labels() == BOTH


def test_a_session_is_looked_back_at_until_nothing_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Told, "stays", True)
    world, looks = Told(tmp_path), []
    monkeypatch.setattr(Claude, "results_before", lambda _, context, until: looks.append(until) or ())
    world.start()
    for _ in range(3):
        ask(world)
    assert len(looks) == 1
