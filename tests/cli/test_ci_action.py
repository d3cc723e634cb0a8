"""The composite action: its one step, run with stand-ins for Python, pip and the program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
(STEP,) = ACTION["runs"]["steps"]

_STAND_IN = f"""#!{sys.executable}
import json, os, sys
log, fails = os.environ["LOG"], os.environ.get("FAILS", "-")
with open(log, "a") as file:
    file.write(json.dumps([os.path.basename(sys.argv[0]), os.getcwd(), *sys.argv[1:]]) + "\\n")
if "venv" in sys.argv:
    bin = os.path.join(sys.argv[-1], "bin")
    os.makedirs(bin)
    for name in ("python", "lockgate"):
        os.link(sys.argv[0], os.path.join(bin, name))
sys.exit(fails in sys.argv)
"""
"""Writes down what it was called with, and makes a virtual environment of itself."""


class ActionRun:
    """A run of the step."""

    def __init__(self, folder: Path, **inputs: str) -> None:
        self.checkout, self.temp, self.path, self.log = (folder / name for name in ("checkout", "temp", "path", "log"))
        self.checkout.mkdir()
        self.temp.mkdir()
        python = folder / "python3"
        python.write_text(_STAND_IN)
        python.chmod(0o755)
        given = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | inputs
        environ = {name: given[re.sub(r"\W|inputs", "", value)] for name, value in STEP["env"].items()} | {
            "PATH": f"{folder}:/usr/bin:/bin",
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_PATH": str(self.path),
            "GITHUB_ACTION_PATH": str(ROOT),
            "LOG": str(self.log),
            "FAILS": inputs.get("fails", "-"),
        }
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEP["run"]]
        done = subprocess.run(command, cwd=self.checkout, env=environ, capture_output=True, text=True, timeout=60)
        self.code = done.returncode
        self.calls = [yaml.safe_load(line) for line in self.log.read_text().splitlines()]


def test_it_installs_by_hashes_and_sets_the_job_up(tmp_path: Path) -> None:
    run = ActionRun(tmp_path, client="claude-code")
    assert run.code == 0
    venv, libraries, program, set_up = run.calls
    assert venv[2:] == ["-I", "-m", "venv", "--clear", str(run.temp / "lockgate")]
    assert libraries[2:6] == program[2:6] == ["-I", "-m", "pip", "install"]
    assert libraries[-3:] == ["--require-hashes", "--requirement", str(ROOT / "requirements.lock")]
    assert program[-2:] == ["--no-deps", str(ROOT)]
    assert set_up == ["lockgate", str(run.checkout), "ci", "--client", "claude-code"]
    assert run.path.read_text() == f"{run.temp}/lockgate/bin\n"


def test_no_python_runs_in_the_checkout(tmp_path: Path) -> None:
    """Where it could import a module that the change brings along."""
    run = ActionRun(tmp_path, client="codex")
    assert {call[1] for call in run.calls if call[0] != "lockgate"} == {str(run.temp)}
    assert all(call[2] == "-I" for call in run.calls if call[0] != "lockgate")


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        pytest.param({"base": "a" * 40}, ["--base", "a" * 40], id="a base"),
        pytest.param({"base": "x; touch /tmp/y"}, ["--base", "x; touch /tmp/y"], id="a base that is no commit"),
        pytest.param({"client": "$(id)"}, [], id="a client that is none"),
    ],
)
def test_inputs_are_values_and_never_code(tmp_path: Path, inputs: dict[str, str], words: list[str]) -> None:
    run = ActionRun(tmp_path, **{"client": "codex", **inputs})
    assert run.calls[-1][2:] == ["ci", "--client", inputs.get("client", "codex"), *words]


def test_a_plan_is_carried_out_without_a_client(tmp_path: Path) -> None:
    run = ActionRun(tmp_path, apply="$(id) plan.json", base="a" * 40)
    assert run.calls[-1][2:] == ["ci", "apply", "--plan", "$(id) plan.json", "--base", "a" * 40]


@pytest.mark.parametrize(
    ("fails", "calls"),
    [("venv", 1), ("--require-hashes", 2), ("--no-deps", 3), ("ci", 4)],
    ids=lambda value: str(value),
)
def test_a_step_that_fails_ends_the_job(tmp_path: Path, fails: str, calls: int) -> None:
    run = ActionRun(tmp_path, client="codex", fails=fails)
    assert (run.code, len(run.calls)) == (1, calls)


def test_the_action_has_the_form_that_the_service_reads() -> None:
    """Source: https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax"""
    assert set(ACTION) == {"name", "description", "inputs", "runs"}
    assert set(ACTION["runs"]) == {"using", "steps"}
    assert ACTION["runs"]["using"] == "composite"
    assert set(STEP) == {"shell", "env", "run"}
    assert "${{" not in STEP["run"], "a value in the script would be code"
    assert set(ACTION["inputs"]) == {"client", "apply", "token", "base", "python"}
    assert not any(one.get("required") for one in ACTION["inputs"].values()), "a client or a plan: one of them is given"
    assert all(set(one) <= {"description", "required", "default"} for one in ACTION["inputs"].values())
