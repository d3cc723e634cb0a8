"""Programs in a folder of the project in which the shell looks for them: whatever they are called, code runs."""

from __future__ import annotations

import pytest

from lockgate.resources.host_view import HostView
from lockgate.shell import analyse_shell

WORK = "/home/user/work"
PLANTED = "shell:project-file"
HELPER = "shell:project-helper"


def _rules(command: str, folders: tuple[str, ...], there: set[str], cwd: str = WORK) -> set[str]:
    around = HostView("/home/user", WORK, program_folders=folders, is_there=there.__contains__)
    return {effect.rule for effect in analyse_shell(command, cwd, around).effects}


VENV = f"{WORK}/.venv/bin"


@pytest.mark.parametrize(
    ("command", "folders", "there", "found"),
    [
        pytest.param("ruff check .", (VENV,), {f"{VENV}/ruff"}, {PLANTED}, id="a tool of the environment"),
        pytest.param('python -c "print(1)"', (VENV,), {f"{VENV}/python"}, {PLANTED}, id="its interpreter"),
        pytest.param("jq . x.json", (VENV,), {f"{VENV}/jq"}, {PLANTED}, id="a name of the system's"),
        pytest.param("env jq . x.json", (VENV,), {f"{VENV}/jq"}, {PLANTED}, id="behind another"),
        pytest.param("cat a | jq .", (VENV,), {f"{VENV}/jq"}, {PLANTED}, id="in a pipe"),
        pytest.param("jq . x.json", ("node_modules/.bin",), {f"{WORK}/node_modules/.bin/jq"}, {PLANTED}, id="relative"),
        pytest.param("jq . x.json", (".",), {f"{WORK}/jq"}, {PLANTED}, id="the folder itself"),
        pytest.param("wc -l a", (VENV,), {f"{VENV}/git"}, {HELPER}, id="one that others start"),
        pytest.param("wc -l a", (VENV,), {f"{VENV}/ruff"}, set(), id="one that nobody starts"),
        pytest.param("jq . x.json", (VENV,), set(), set(), id="not there"),
        pytest.param("jq . x.json", (), {f"{VENV}/jq"}, set(), id="not looked for there"),
        pytest.param("/usr/bin/jq . x.json", (VENV,), {f"{VENV}/jq"}, set(), id="the system's by its path"),
        pytest.param("echo jq", (VENV,), {f"{VENV}/jq"}, set(), id="a builtin"),
    ],
)
def test_a_program_in_the_project_is_code(
    command: str, folders: tuple[str, ...], there: set[str], found: set[str]
) -> None:
    assert _rules(command, folders, there) & {PLANTED, HELPER} == found


def test_where_nobody_knows_the_folder_a_relative_one_may_hold_it() -> None:
    assert PLANTED in _rules('cd "$X"; jq . x.json', ("bin",), set())
