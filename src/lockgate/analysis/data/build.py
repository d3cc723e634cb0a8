"""Compile the YAML tables beside this file to JSON: ``python -m lockgate.analysis.data.build [--check]``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_FOR_PEOPLE = ("yes", "no", "examples", "harmless")


def tables() -> list[Path]:
    """All tables, each with its schema ``NAME.schema.json``."""
    return sorted(HERE.glob("*.yaml"))


def load(table: Path) -> Any:
    """Read a table and check it. Raises ``jsonschema.ValidationError``."""
    import jsonschema
    import yaml

    data = yaml.safe_load(table.read_text(encoding="utf-8"))
    schema = json.loads(table.with_suffix(".schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(data, schema)
    return data


def compiled(table: Path) -> str:
    """The JSON text that the product reads: the table without its examples."""
    rows = [{key: value for key, value in row.items() if key not in _FOR_PEOPLE} for row in load(table)]
    return json.dumps(rows, ensure_ascii=True, separators=(",", ":"), sort_keys=True) + "\n"


def main(arguments: list[str]) -> int:
    """Write the JSON files, or with ``--check`` say which are stale. Returns the exit code."""
    stale = [table for table in tables() if not _is_fresh(table)]
    for table in stale:
        if "--check" in arguments:
            sys.stderr.write(f"{table.name}: the compiled table is stale: run make knowledge\n")
        else:
            table.with_suffix(".json").write_text(compiled(table), encoding="utf-8")
    return 1 if stale and "--check" in arguments else 0


def _is_fresh(table: Path) -> bool:
    target = table.with_suffix(".json")
    return target.exists() and target.read_text(encoding="utf-8") == compiled(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
