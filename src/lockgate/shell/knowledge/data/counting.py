"""How much is known of programs: the table of ``build.py --stats``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

Families = Iterable[tuple[str, dict[str, Any], dict[str, Any]]]
"""Of each family its name, its programs as they are written, and what they come to."""


def statistics(families: Families) -> list[tuple[str, int, int, int, int, int, int]]:
    """A row a family: its name, names of programs, entries, those with a grammar, subcommands, options and examples.

    An entry has a grammar where its options or subcommands are told apart, or an operand has a role.
    """
    table = []
    for name, raw, known in families:
        entries = [item for item in known.values() if isinstance(item, dict)]
        counts = [_counted(item) for item in entries]
        told = sum(
            any(count) or not {"local", "local..."}.issuperset(item.get("operands", ()))
            for item, count in zip(entries, counts, strict=True)
        )
        commands, options = (sum(count[at] for count in counts) for at in (0, 1))
        examples = sum(len(item["examples"]) for item in raw.values())
        table.append((name, len(known), len(entries), told, commands, options, examples))
    return table


def _counted(item: dict[str, Any]) -> tuple[int, int]:
    """How many subcommands and options an entry has, with all below it."""
    commands, options = 0, len(item.get("options", {}))
    for below in item.get("commands", {}).values():
        commands += 1
        if isinstance(below, dict):
            inner = _counted(below)
            commands, options = commands + inner[0], options + inner[1]
    return commands, options


def show(families: Families) -> None:
    """Print the table with its sums."""
    table = statistics(families)
    total = ("total", *(sum(row[column] for row in table) for column in range(1, 7)))  # type: ignore[misc]
    heading = ("family", "programs", "entries", "with grammar", "subcommands", "options", "examples")
    for row in (heading, *table, total):
        sys.stdout.write(f"{row[0]:14}" + "".join(f"{cell:>14}" for cell in row[1:]) + "\n")
