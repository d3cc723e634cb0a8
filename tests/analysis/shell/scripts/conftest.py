"""A project whose files are a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from lockgate.analysis.shell import analyse_shell
from lockgate.analysis.surroundings import ScriptFile, Surroundings
from lockgate.model import Analysis

PROJECT = "/work/project"
CHANGED = 1_000.0

Look = Callable[..., Analysis]


def surroundings(files: Mapping[str, str]) -> Surroundings:
    """A machine on which the project holds these files, named from its root."""
    held = {f"{PROJECT}/{name}": ScriptFile(text, CHANGED) for name, text in files.items()}
    return Surroundings(home="/home/user", workspace=PROJECT, read_script=held.get)


@pytest.fixture
def look() -> Look:
    """Say what a command does in a project that holds some files."""

    def analysed(command: str, files: Mapping[str, str], cwd: str = PROJECT) -> Analysis:
        return analyse_shell(command, cwd, surroundings(files))

    return analysed
