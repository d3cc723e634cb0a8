"""Compiles ``git.yaml`` to the JSON that a process reads: ``python -m lockgate.policy.git.build [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from lockgate.shell.knowledge.lookup import NO_VALUE, OPTIONAL, VALUE
from lockgate.system.documents.compile_tables import compact, compile_tables

FOLDER = Path(__file__).parent


def compile_table(table: Path) -> str:
    """The text of a table's JSON file."""
    import yaml

    raw = yaml.safe_load(table.read_text(encoding="utf-8"))
    commands: dict[str, Any] = {}
    for names, entry in raw["commands"].items():
        for name in names.split():
            commands[name] = {"does": entry["does"], "options": options(entry.get("options", {}))}
    return compact(
        {
            "programs": raw["programs"].split(),
            "global": options(raw["global"]),
            "commands": commands,
            "quiet": raw["quiet"].split(),
            "asks_for_branch": [line.split() for line in raw["asks_for_branch"]],
        }
    )


def options(raw: dict[str, str]) -> dict[str, tuple[str, int]]:
    """Option names to meaning and number of words, as the analysis has them.

    Raises:
        ValueError: An option has two meanings.
    """
    found: dict[str, tuple[str, int]] = {}
    for role, names in raw.items():
        for written in names.split():
            name = written.removesuffix("~").removesuffix("=")
            words = NO_VALUE
            if written.endswith("=~"):
                words = OPTIONAL
            elif written.endswith("="):
                words = VALUE
            if found.setdefault(name, (role, words)) != (role, words):
                raise ValueError(f"{name} has two meanings")
    return found


if __name__ == "__main__":
    sys.exit(compile_tables(FOLDER, compile_table, sys.argv[1:]))
