"""The reader of makefiles against GNU make itself: both name the same recipes, in the same order."""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from lockgate.shell.scripts.make.files import Makefile, MakeText

CASES = tomllib.loads((Path(__file__).parent / "make_reading.toml").read_text(encoding="utf-8"))["case"]
_OF_MAKE = frozenset({"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "GNUMAKEFLAGS"})
"""What a make that runs the tests hands on, by which the one below would print more."""


def read(text: str, goal: str) -> list[str]:
    """The lines that the reader finds, a continued line as several."""
    made = Makefile(lambda _: "", lambda _: None, lambda _: None)
    made.read(MakeText(text))
    assert made.problem == ""
    steps = made.rules.steps([goal] if goal else made.goals(), lambda _: False)
    return [row.strip() for step in steps for row in step.text.split("\n")]


def told(text: str, goal: str, folder: Path) -> list[str]:
    """The lines that make says it would run."""
    (folder / "Makefile").write_text(text)
    goals = [goal] if goal else []
    done = subprocess.run(
        ["make", "-n", *goals],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name not in _OF_MAKE},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [row.strip() for row in done.stdout.splitlines()]


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{index}") for index, case in enumerate(CASES)])
def test_the_same_recipes(case: dict[str, str], tmp_path: Path) -> None:
    assert read(case["text"], case["goal"]) == told(case["text"], case["goal"], tmp_path)
