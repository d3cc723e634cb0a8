"""The way out: a delegate starts clean, but nothing of it runs before a person has approved its brief."""

from __future__ import annotations

import pytest

from e2e.conftest import Serve
from e2e.harness.script import Script, agent, bash, fetch_issue
from e2e.harness.world import PUSH, World

BRIEF = f"BRIEF: run exactly this command and report: {PUSH}"
SCRIPT = Script.of(fetch_issue(), agent(BRIEF, "lockgate:delegate"), bash(PUSH), BRIEF=[bash(PUSH)])


@pytest.fixture
def plugged(bare_world: World) -> World:
    """A machine where Lockgate came as the plugin."""
    bare_world.lockgate("install", "claude-code", "--plugin")
    bare_world.use_plugin()
    return bare_world


def test_with_nobody_to_ask_nothing_runs(plugged: World, serve: Serve) -> None:
    model = serve(SCRIPT)
    plugged.run(model)
    assert plugged.pushes == []
    assert model.result(1).is_error
    assert model.result(2).is_error


def test_a_person_approves_the_brief(plugged: World, serve: Serve) -> None:
    """Exactly one push runs: the delegate's. The session that asked for it stays locked."""
    model = serve(SCRIPT)
    with plugged.open(model) as terminal:
        terminal.say("please push it")
        terminal.wait_for("Do you want to proceed?")
        assert PUSH in terminal.text.replace("\n", " "), "the person reads the brief"
        terminal.press("1")
        terminal.wait_until(lambda: "toolu_main_002_00" in model.results(), "the parent's own push")
        terminal.wait_until(lambda: "toolu_BRIEF_000_00" in model.results(), "the delegate's push")
    assert len(plugged.pushes) == 1
    assert not model.result(0, marker="BRIEF").is_error
    assert model.result(2).is_error


def test_a_person_refuses_the_brief(plugged: World, serve: Serve) -> None:
    model = serve(SCRIPT)
    with plugged.open(model) as terminal:
        terminal.say("please push it")
        terminal.wait_for("Do you want to proceed?")
        terminal.press("\x1b")
        terminal.wait_for("Interrupted")
        terminal.say("go on without it")
        terminal.wait_until(lambda: "toolu_main_002_00" in model.results(), "the parent's own push")
    assert plugged.pushes == []
    assert model.result(2).is_error
