"""Compile the YAML tables beside this file to JSON: ``python -m lockgate.resources.data.build [--check]``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lockgate.resources.globs import is_wild
from lockgate.resources.places import split_pattern
from lockgate.system.documents import compile_tables

HERE = Path(__file__).parent
_FOR_PEOPLE = ("yes", "no", "examples", "harmless", "shows_plain", "shows_secret")


def tables() -> list[Path]:
    """All tables, each with its schema ``NAME.schema.json``."""
    return sorted(HERE.glob("*.yaml"))


def load(table: Path) -> Any:
    """Read a table and check it. Raises ``jsonschema.ValidationError``."""
    return compile_tables.load(table, table.with_suffix(".schema.json"))


def compile_table(table: Path) -> str:
    """The JSON text that the product reads: the table without its examples."""
    rows = [{key: value for key, value in row.items() if key not in _FOR_PEOPLE} for row in load(table)]
    return compile_tables.compact(index_places(rows) if table.stem == "places" else rows)


def index_places(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The table of places with split patterns, and an index of them by a name that their paths must have."""
    by_name: dict[str, list[tuple[int, int]]] = {}
    others: list[tuple[int, int]] = []
    places = [_with_names(row) for row in rows]
    for number, row in enumerate(places):
        for which, pattern in enumerate(row["match"]):
            plain = [name for name in pattern[1:] if not is_wild(name)]
            place = by_name.setdefault(max(plain, key=len), []) if plain else others
            place.append((number, which))
    return {"places": places, "by_name": by_name, "others": others}


def _with_names(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its patterns split into names."""
    patterns = {key: [split_pattern(pattern) for pattern in row[key]] for key in ("match", "except") if key in row}
    return {**row, **patterns}


if __name__ == "__main__":
    sys.exit(compile_tables.compile_tables(HERE, compile_table, sys.argv[1:]))
