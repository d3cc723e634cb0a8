"""Lists of tasks that several sessions write to."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockgate.analysis import analyse
from lockgate.core.model import Label, ToolCall
from lockgate.gate.host.host_view import host_view_in
from lockgate.resources.host_view import HostView
from lockgate.system import caller
from lockgate.system.folders import Folders

PROJECT = "/home/user/work"


def _labels(tool: str, around: HostView) -> set[Label | None]:
    return {effect.gives for effect in analyse(ToolCall(tool, {"taskId": "1"}, PROJECT), around).effects}


@pytest.mark.parametrize("tool", ["TaskList", "TaskGet"])
def test_reading_a_shared_list_labels(tool: str) -> None:
    assert _labels(tool, HostView(shares_tasks=lambda: True)) == {Label.UNTRUSTED}
    assert _labels(tool, HostView()) == set()


@pytest.mark.parametrize("tool", ["TaskCreate", "TaskUpdate"])
def test_writing_one_does_not(tool: str) -> None:
    assert _labels(tool, HostView(shares_tasks=lambda: True)) == set()


@pytest.mark.parametrize(
    ("variables", "team", "shared"),
    [
        ({}, "", False),
        ({}, ".claude/teams/reviewers", True),
        ({}, ".claude/teams", False),
        ({"CLAUDE_CODE_TASK_LIST_ID": "all"}, "", True),
        ({"CLAUDE_CONFIG_DIR": "{home}/own"}, ".claude/teams/reviewers", False),
        ({"CLAUDE_CONFIG_DIR": "{home}/own"}, "own/teams/reviewers", True),
    ],
)
def test_a_list_is_shared_by_a_variable_or_a_team(
    tmp_path: Path, variables: dict[str, str], team: str, shared: bool
) -> None:
    if team:
        (tmp_path / team).mkdir(parents=True)
    home = str(tmp_path)
    environ = {name: value.format(home=home) for name, value in variables.items()}
    token = caller.stand_in_for(caller.Caller(environ, 1, 1))
    try:
        around = host_view_in(Folders(home=home, state=f"{home}/state", config=f"{home}/config"), PROJECT)
        assert around.shares_tasks() is shared
    finally:
        caller.reset(token)
