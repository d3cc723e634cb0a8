"""Compile the YAML table beside this file to JSON: ``python -m lockgate.gate.authors.build [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from lockgate.system.documents import compile_tables

HERE = Path(__file__).parent


def load(table: Path) -> Any:
    """Read a table and check it. Raises ``jsonschema.ValidationError``."""
    return compile_tables.load(table, table.with_suffix(".schema.json"))


def compile_table(table: Path) -> str:
    """The JSON text that the product reads: the words of each kind, without what is for people."""
    found: dict[str, set[str]] = {}
    for row in load(table):
        found.setdefault(row["kind"], set()).update(row["words"].split())
    return compile_tables.compact({kind: sorted(words) for kind, words in found.items()})


if __name__ == "__main__":
    sys.exit(compile_tables.compile_tables(HERE, compile_table, sys.argv[1:]))
