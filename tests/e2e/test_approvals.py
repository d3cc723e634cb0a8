"""Nobody sits before the client: a person elsewhere decides, and the client waits for it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

import pytest

from e2e.conftest import Serve
from e2e.harness.script import Script, bash, fetch_issue
from e2e.harness.scripted_model import ToolResult
from e2e.harness.terminal import Terminal
from e2e.harness.world import PUSH, World
from lockgate.store.rows import ApprovalRow
from lockgate.store.sqlite.store import SqliteStore

_PATIENCE = 40.0


@pytest.fixture
def asking(world: World) -> World:
    """A machine where a person wants to be asked before anything leaves."""
    _configure(world, "{headless: wait}")
    return world


def _configure(world: World, approvals: str) -> None:
    config = world.home / ".config" / "lockgate"
    config.mkdir(parents=True, exist_ok=True)
    (config / "lockgate.yaml").write_text(f"table: {{egress: {{untrusted: ask}}}}\napprovals: {approvals}\n")


def _questions(world: World) -> list[ApprovalRow]:
    store = SqliteStore.open(str(world.home / ".local" / "state" / "lockgate"))
    try:
        with store.reading() as tx:
            return tx.approvals()
    finally:
        store.close()


def _when_asked(world: World, then: Callable[[ApprovalRow], None]) -> threading.Thread:
    """Do something as soon as a question waits."""

    def look() -> None:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            for row in _questions(world):
                if row.state == "pending":
                    then(row)
                    return
            time.sleep(0.05)

    thread = threading.Thread(target=look)
    thread.start()
    return thread


def _terminal(world: World, *arguments: str) -> Terminal:
    argv = [sys.executable, "-m", "lockgate", *arguments]
    return Terminal(argv, world.environment, world.home)


def _approve(world: World, row: ApprovalRow) -> None:
    with _terminal(world, "approve", row.approval) as terminal:
        terminal.wait_for("Let exactly this run, once?")
        assert PUSH in terminal.text
        assert "git.example.com" in terminal.text
        assert "fetch_issue" in terminal.text, "the person reads where the label came from"
        terminal.press("y\r")
        terminal.wait_for("approved, once")


@pytest.mark.parametrize("bypass", [True, False], ids=["bypass", "default"])
def test_approved_elsewhere_it_runs_once(asking: World, serve: Serve, bypass: bool) -> None:
    model = serve(Script.of(fetch_issue(), bash(PUSH)))
    approver = _when_asked(asking, lambda row: _approve(asking, row))
    asking.run(model, "look and push", "--allowedTools", "mcp__tracker__fetch_issue", bypass=bypass)
    approver.join()
    assert len(asking.pushes) == 1
    assert [row.state for row in _questions(asking)] == ["used"]
    assert not model.result(1).is_error


def test_denied_elsewhere_the_agent_reads_why(asking: World, serve: Serve) -> None:
    model = serve(Script.of(fetch_issue(), bash(PUSH)))

    def deny(row: ApprovalRow) -> None:
        with _terminal(asking, "deny", row.approval, "--reason", "not on a Friday") as terminal:
            terminal.wait_for("denied")

    approver = _when_asked(asking, deny)
    asking.run(model)
    approver.join()
    assert asking.pushes == []
    assert model.result(1).is_error
    assert "not on a Friday" in model.result(1).text
    assert _questions(asking)[0].approval not in model.result(1).text, "an agent is not told what a person types"


def test_where_nobody_answers_in_time_it_is_refused(world: World, serve: Serve) -> None:
    _configure(world, "{headless: wait, expire_seconds: 5}")
    model = serve(Script.of(fetch_issue(), bash(PUSH)))
    world.run(model)
    assert world.pushes == []
    assert "nobody answered in time" in model.result(1).text
    assert [row.state for row in _questions(world)] == ["expired"]


def test_where_nobody_is_told_nobody_waits(world: World, serve: Serve) -> None:
    _configure(world, "{headless: auto}")
    model = serve(Script.of(fetch_issue(), bash(PUSH)))
    world.run(model)
    assert world.pushes == []
    assert model.result(1).is_error
    assert _questions(world) == []


def test_it_waits_for_one_who_watches(world: World, serve: Serve) -> None:
    _configure(world, "{headless: auto}")
    model = serve(Script.of(fetch_issue(), bash(PUSH)))
    with _terminal(world, "approvals", "watch") as terminal:
        terminal.wait_for("waiting for questions")
        client = threading.Thread(target=world.run, args=(model,))
        client.start()
        terminal.wait_for("Let exactly this run, once?")
        assert PUSH in terminal.text
        terminal.press("y\r")
        terminal.wait_for("approved, once")
        client.join()
    assert len(world.pushes) == 1


APPROVING = (
    "lockgate approve {id} --yes",
    "script -qec 'lockgate approve {id} --yes' /dev/null",
    "python3 -c \"import pty; pty.spawn(['lockgate', 'approve', '{id}', '--yes'])\"",
)


@pytest.mark.parametrize("command", APPROVING)
def test_an_agent_cannot_answer_for_the_person(asking: World, serve: Serve, command: str) -> None:
    """Even one whose session has read nothing."""
    waiting = serve(Script.of(fetch_issue(), bash(PUSH)))
    refused: list[ToolResult] = []

    def try_it(row: ApprovalRow) -> None:
        model = serve(Script.of(bash(command.format(id=row.approval))))
        asking.run(model)
        refused.append(model.result(0))
        with _terminal(asking, "deny", row.approval) as terminal:
            terminal.wait_for("denied")

    approver = _when_asked(asking, try_it)
    asking.run(waiting)
    approver.join()
    assert refused[0].is_error
    assert "No agent may do this" in refused[0].text
    assert asking.pushes == []
