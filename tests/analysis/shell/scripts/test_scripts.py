"""Files that a command runs: what is found in them, where, and what that gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockgate.core.model import Analysis, EffectKind, Variant
from lockgate.shell import analyse_shell
from support import tables
from support.projects import PROJECT, host_view

ROWS = [
    row
    for name in ("scripts", "make", "npm", "just")
    for row in tables.commands(Path(__file__).parent / f"{name}.yaml", f"{name} ")
]


def look(row) -> Analysis:
    """Say what a row's command does in a project that holds the row's files."""
    return analyse_shell(row["run"], row.get("cwd", PROJECT), host_view(row.get("files", {}), row.get("there", ())))


@pytest.mark.parametrize("row", ROWS)
def test_script_is_followed(row):
    analysis = look(row)
    assert {effect.kind.value for effect in analysis.effects} == set(row["effects"].split()), analysis.effects
    because = [effect.because for effect in analysis.effects]
    for said in row.get("says", ()):
        assert any(said in sentence for sentence in because), because
    assert {label.value for label in analysis.gives} == set(row.get("gives", "").split())


@pytest.mark.parametrize("row", ROWS)
def test_running_a_file_is_never_less_than_running_code(row):
    analysis = look(row)
    assert EffectKind.EXECUTE in {effect.kind for effect in analysis.effects}


@pytest.mark.parametrize("row", ROWS)
def test_what_a_sandbox_holds_is_decided_like_running_code(row):
    analysis = look(row)
    for effect in analysis.effects:
        if effect.variant is Variant.SCRIPT:
            assert effect.row == "execute"
            assert effect.changed is not None
        elif effect.changed is not None:
            assert effect.kind not in (EffectKind.EGRESS, EffectKind.PERSIST)


@pytest.mark.parametrize("row", [row for row in ROWS if "typed" in row.values[0]])
def test_what_the_command_itself_says_is_no_script(row):
    analysis = look(row)
    assert row["typed"] in {effect.row for effect in analysis.effects}


def test_a_project_that_is_the_gates_own_may_be_built():
    around = host_view({"setup.sh": "rm -rf .venv\nlockgate approve 1\n"})._replace(own_paths=(f"{PROJECT}/.venv",))
    rows = [effect.row for effect in analyse_shell("bash setup.sh", PROJECT, around).effects]
    assert rows == ["execute", "execute", "tamper_self"]
    assert "tamper_self" in {effect.row for effect in analyse_shell("rm -rf .venv", PROJECT, around).effects}
