"""Compile the words to JSON: ``python -m lockgate.patterns.credentials.data.build [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path

from lockgate.system.documents import compile_tables

HERE = Path(__file__).parent


def compile_table(table: Path) -> str:
    """The JSON text that the product reads."""
    return compile_tables.compact(compile_tables.load(table, HERE / "schema.json"))


if __name__ == "__main__":
    sys.exit(compile_tables.compile_tables(HERE, compile_table, sys.argv[1:]))
