"""Hooks that ask at the same time: decided one by one, kept together, answered after that."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lockgate.clients.adapter import HookOutput
from lockgate.clients.wire import resident as wire
from lockgate.service.resident import loop as serving
from lockgate.service.resident.connection import Connection
from lockgate.service.resident.loop import Limit, Serving, TookTooLong
from lockgate.system.peer_credentials import Peer

ANSWER = HookOutput("told")
REFUSED = HookOutput("refused", "", 2)
NO_ANSWER = object()
QUESTION = object()


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is busy with other tests must not part a group, or make a request late."""
    monkeypatch.setattr(serving, "_GROUP_SECONDS", 60.0)
    monkeypatch.setattr(serving, "_LATE", 60.0)


class FakeDecider:
    """Says what each request gets, and notes what is done in which order."""

    def __init__(self, said: list[Any], *, keeps: bool) -> None:
        self.said = said
        self.key = bytes(32)
        self.keeps = keeps
        self.done: list[str] = []
        self.serving: Any = None
        self.left = len(said)
        self.refusals = SimpleNamespace(keep=lambda *_: self.done.append("keep"), record=lambda: None)

    def begin(self, _: wire.HookRequest, __: int) -> Any:
        asked = SimpleNamespace(name="PreToolUse", spell_failure=lambda _: REFUSED)
        return SimpleNamespace(asked=asked, spent=0.0, waiting=SimpleNamespace(tell=None), end=lambda: None)

    def step(self, _: Any, __: Any = None) -> Any:
        self.done.append("step")
        found = self.said.pop(0)
        self.left -= 1
        if not self.left:
            self.serving.ending = True  # the loop ends with this round
        if found is NO_ANSWER:
            raise TookTooLong
        return found

    def begin_group(self) -> None:
        self.done.append("begin")

    def look_ahead(self) -> None:
        self.serving.ending = True

    def end_group(self) -> bool:
        self.done.append("end" if self.keeps else "fail")
        return self.keeps

    def abandon_group(self) -> None:
        self.done.append("abandon")


def served(folder: Path, said: list[Any], *, keeps: bool = True) -> tuple[list[bytes], list[str]]:
    """What hooks hear that ask before the gate listens, and what was done."""
    before = os.getcwd()
    os.chdir(folder)
    decider = FakeDecider(list(said), keeps=keeps)
    hooks = []
    try:
        listening = socket.socket(socket.AF_UNIX)
        listening.bind("s")
        listening.listen(16)
        for _ in said:
            hook = socket.socket(socket.AF_UNIX)
            hook.settimeout(10)
            hook.connect("s")
            hook.sendall(wire.encode_request(wire.HookRequest(1, ("claude-code",), {}, b"{}")))
            hooks.append(hook)
        decider.serving = Serving(listening, decider, lambda _: True)  # type: ignore[arg-type]
        decider.serving.run()
        return [b"".join(iter(lambda hook=hook: hook.recv(4096), b"")) for hook in hooks], decider.done
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for hook in hooks:
            hook.close()
        os.chdir(before)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_answers_of_a_group_are_given_once_it_is_kept(tmp_path: Path, count: int) -> None:
    heard, done = served(tmp_path, [ANSWER] * count)
    assert heard == [wire.answer(*ANSWER)] * count
    assert done == ["begin", *["step"] * count, "end"]


def test_hooks_of_a_group_that_cannot_be_kept_decide_by_themselves(tmp_path: Path) -> None:
    heard, done = served(tmp_path, [ANSWER] * 3, keeps=False)
    assert heard == [wire.NOT_HERE] * 3
    assert done[-1] == "fail"


def test_after_a_step_that_does_not_end_nothing_of_its_group_is_kept(tmp_path: Path) -> None:
    heard, done = served(tmp_path, [ANSWER, ANSWER, NO_ANSWER])
    assert heard == [wire.NOT_HERE, wire.NOT_HERE, wire.answer(*REFUSED)]
    assert done == ["begin", "step", "step", "step", "abandon", "keep"]


def test_nobody_is_asked_about_a_decision_that_was_not_kept(tmp_path: Path) -> None:
    heard, done = served(tmp_path, [ANSWER, QUESTION], keeps=False)
    assert heard == [wire.NOT_HERE] * 2
    assert done[:4] == ["begin", "step", "step", "fail"]


def test_a_hook_decides_by_itself_where_there_can_be_no_thread_to_ask_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    heard, _ = served(tmp_path, [QUESTION, ANSWER])
    assert heard[0].endswith(wire.NOT_HERE)
    assert heard[1] == wire.answer(*ANSWER), "and the gate goes on"


def test_a_hook_that_is_alone_has_no_group(tmp_path: Path) -> None:
    heard, done = served(tmp_path, [ANSWER])
    assert heard == [wire.answer(*ANSWER)]
    assert done == ["step"]


@pytest.mark.parametrize("failed", [0, 1])
def test_after_a_step_that_does_not_end_nobodys_answer_is_decided_on(tmp_path: Path, failed: int) -> None:
    decider = FakeDecider([ANSWER], keeps=True)
    ours, hooks = socket.socketpair()
    with ours, hooks, socket.socket(socket.AF_UNIX) as listening:
        decider.serving = Serving(listening, decider, lambda _: True)  # type: ignore[arg-type]
        decider.serving.measures.failed = failed
        connection = Connection(ours, Peer(os.geteuid(), 1), bytes(32))
        decider.serving._on_advice(connection, decider.begin(wire.HookRequest(1, (), {}, b""), 1), None)
        assert hooks.recv(4096) == (wire.NOT_HERE if failed else wire.answer(*ANSWER))
        assert decider.done == ([] if failed else ["step"])
        decider.serving._end()


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Time is up once, just before the first step that is over says that it is."""
    rung: list[int] = []
    end = Limit.end

    def ended(limit: Limit) -> None:
        end(limit)
        if not rung:
            rung.append(1)
            raise TookTooLong

    monkeypatch.setattr(Limit, "end", ended)
    yield rung
    signal.setitimer(signal.ITIMER_REAL, 0)  # left running, it would end the process of a later test


def test_time_that_is_up_as_a_step_ends_refuses_what_it_decided(tmp_path: Path, late: list[int]) -> None:
    heard, done = served(tmp_path, [ANSWER, ANSWER])
    assert heard == [wire.answer(*REFUSED), b""], "and whose turn did not come decides by itself"
    assert late
    assert done == ["begin", "step", "abandon", "keep"]


def test_time_that_is_up_as_a_look_ahead_ends_has_the_gate_end_by_itself(late: list[int]) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        decider = FakeDecider([], keeps=True)
        decider.serving = Serving(listening, decider, lambda _: True)  # type: ignore[arg-type]
        decider.serving._look_ahead()
        assert late
        assert (decider.serving.ending, decider.serving.measures.failed) == (True, 1)
        decider.serving._end()
