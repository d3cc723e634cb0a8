"""Compile the YAML tables beside this file to JSON: ``python -m lockgate.cli.ci.build [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from lockgate.system.documents import compile_tables

HERE = Path(__file__).parent
_FOR_PEOPLE = ("text", "source", "examples", "yes", "no")


def load(table: Path) -> Any:
    """Read a table and check it. Raises ``jsonschema.ValidationError``."""
    return compile_tables.load(table, table.with_suffix(".schema.json"))


def compile_table(table: Path) -> str:
    """The JSON text that the product reads: the table without what is for people."""
    rows = [{key: value for key, value in row.items() if key not in _FOR_PEOPLE} for row in load(table)]
    return compile_tables.compact({row.pop("name"): row for row in rows})


if __name__ == "__main__":
    sys.exit(compile_tables.compile_tables(HERE, compile_table, sys.argv[1:]))
