"""Tables of cases in YAML."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""In C where there is libyaml: all tables are read whenever tests are collected, by each process that runs some."""


def read(path: Path) -> Any:
    """What a file says."""
    return yaml.load(path.read_bytes(), Loader=_LOADER)


def sections(path: Path) -> list[Any]:
    """The rows of each section of a file together, as a parameter with the section's name."""
    return [pytest.param(rows, id=section) for section, rows in read(path).items()]


def commands(path: Path, before: str = "", *, shown: int | None = None) -> Iterator[Any]:
    """The rows of a file of sections, each as a parameter with a name: its section, its number, its command.

    Args:
        path: The file. A row is a command, or what is known of one, which is its ``run``.
        before: What each name begins with.
        shown: How many characters of a command are in its name; all where it is not said.
    """
    for section, rows in read(path).items():
        for number, row in enumerate(rows):
            command = row if isinstance(row, str) else row["run"]
            yield pytest.param(row, id=f"{before}{section} {number}: {command[:shown]!r}")
