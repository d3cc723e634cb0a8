"""Compile ``sources.yaml`` to JSON: ``python -m lockgate.configuration.known_secrets.build [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from lockgate.system.documents import compile_tables

HERE = Path(__file__).parent
_FOR_PEOPLE = ("examples", "source")


def load(table: Path) -> Any:
    """Read the table and check it. Raises ``jsonschema.ValidationError``."""
    return compile_tables.load(table, table.with_suffix(".schema.json"))


def compile_table(table: Path) -> str:
    """The JSON text that the product reads: the table without what is for people."""
    data = load(table)
    files = [_drop_prose(row) for row in data["files"]]
    return compile_tables.compact({"files": files, "names": _drop_prose(data["names"])})


def _drop_prose(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in _FOR_PEOPLE}


if __name__ == "__main__":
    sys.exit(compile_tables.compile_tables(HERE, compile_table, sys.argv[1:]))
