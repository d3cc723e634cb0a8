"""Compile the YAML tables beside this file to JSON: ``python -m lockgate.shell.inline.data.build [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from lockgate.system.documents import compile_tables

HERE = Path(__file__).parent
_FOR_PEOPLE = frozenset({"about", "examples"})


def tables() -> list[Path]:
    """All tables; ``schema.json`` holds for each of them."""
    return sorted(HERE.glob("*.yaml"))


def load(table: Path) -> dict[str, Any]:
    """Read a table and check it. Raises ``jsonschema.ValidationError``."""
    data: dict[str, Any] = compile_tables.load(table, HERE / "schema.json")
    return data


def compile_table(table: Path) -> str:
    """The JSON text that the product reads: the table without what is for people."""
    return compile_tables.compact({key: value for key, value in load(table).items() if key not in _FOR_PEOPLE})


if __name__ == "__main__":
    sys.exit(compile_tables.compile_tables(HERE, compile_table, sys.argv[1:]))
