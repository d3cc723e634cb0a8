"""Compile the YAML tables beside this file to JSON: ``python -m lockgate.clients.common.data.build [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from lockgate.system.documents import compile_tables

HERE = Path(__file__).parent
_FOR_PEOPLE = frozenset({"tools", "examples", "because"})


def tables() -> list[Path]:
    """All tables, one a client."""
    return sorted(HERE.glob("*.yaml"))


def load(table: Path) -> Any:
    """Read a table and check it. Raises ``jsonschema.ValidationError``."""
    return compile_tables.load(table, HERE / "schema.json")


def _rows(table: Path) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for row in load(table)["tools"]:
        for tool in row["tools"]:
            if tool in rows:
                raise ValueError(f"{table.name}: {tool} stands there twice")
            rows[tool] = {key: value for key, value in row.items() if key not in _FOR_PEOPLE}
    return rows


def compile_table(table: Path) -> str:
    """The JSON text that the product reads: each tool's row by the tool's name, without examples."""
    loaded = load(table)
    rows: dict[str, Any] = _rows(table.with_name(f"{loaded['extends']}.yaml")) if "extends" in loaded else {}
    rows.update(_rows(table))
    return compile_tables.compact({"tools": rows})


if __name__ == "__main__":
    sys.exit(compile_tables.compile_tables(HERE, compile_table, sys.argv[1:]))
