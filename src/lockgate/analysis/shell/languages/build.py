"""Compile the YAML tables beside this file to JSON: ``python -m lockgate.analysis.shell.languages.build [--check]``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_FOR_PEOPLE = frozenset({"about", "examples"})


def tables() -> list[Path]:
    """All tables; ``schema.json`` holds for each of them."""
    return sorted(HERE.glob("*.yaml"))


def load(table: Path) -> dict[str, Any]:
    """Read a table and check it. Raises ``jsonschema.ValidationError``."""
    import jsonschema
    import yaml

    data: dict[str, Any] = yaml.safe_load(table.read_text(encoding="utf-8"))
    jsonschema.validate(data, json.loads((HERE / "schema.json").read_text(encoding="utf-8")))
    return data


def compiled(table: Path) -> str:
    """The JSON text that the product reads: the table without what is for people."""
    data = {key: value for key, value in load(table).items() if key not in _FOR_PEOPLE}
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"), sort_keys=True) + "\n"


def main(arguments: list[str]) -> int:
    """Write the JSON files, or with ``--check`` say which are stale. Returns the exit code."""
    stale = [table for table in tables() if not _is_fresh(table)]
    for table in stale:
        if "--check" in arguments:
            sys.stderr.write(f"{table.name}: the compiled table is stale: run make knowledge\n")
        else:
            table.with_suffix(".json").write_text(compiled(table), encoding="ascii")
    return 1 if stale and "--check" in arguments else 0


def _is_fresh(table: Path) -> bool:
    target = table.with_suffix(".json")
    return target.exists() and target.read_text(encoding="ascii") == compiled(table)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
