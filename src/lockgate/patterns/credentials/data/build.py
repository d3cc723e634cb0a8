"""Compile the words to JSON: ``python -m lockgate.patterns.credentials.data.build [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path

from lockgate.system.documents import compile_tables as compiling

HERE = Path(__file__).parent


def compiled(table: Path) -> str:
    """The JSON text that the product reads."""
    return compiling.compact(compiling.load(table, HERE / "schema.json"))


if __name__ == "__main__":
    sys.exit(compiling.compile_tables(HERE, compiled, sys.argv[1:]))
