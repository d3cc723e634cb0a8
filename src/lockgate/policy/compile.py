"""Compiles ``profiles.yaml`` to the ``profiles.json`` that a process reads: ``python -m lockgate.policy.compile``."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lockgate.model import LabelState
from lockgate.policy.profiles import COLUMNS, Chain, Profile, chain, verdict

FOLDER = Path(__file__).parent


def row(cell: Any) -> dict[LabelState, Chain]:
    """A row as it is written: one cell for all columns, or a cell for each column."""
    if isinstance(cell, Mapping):
        return {column: chain(cell[column.value]) for column in COLUMNS}
    return dict.fromkeys(COLUMNS, chain(cell))


def compile_profiles(source: str) -> str:
    """The text of ``profiles.json`` for the text of ``profiles.yaml``."""
    import yaml

    written = yaml.safe_load(source)
    plain = {
        name: Profile(
            name=name,
            table={key: row(cell) for key, cell in profile["table"].items()},
            flagged={
                key: {LabelState(column): verdict(word) for column, word in cells.items()}
                for key, cells in profile.get("flagged", {}).items()
            },
        )
        for name, profile in written.items()
    }
    whole = {
        name: profile._replace(shadow=plain[written[name]["shadow"]]) if "shadow" in written[name] else profile
        for name, profile in plain.items()
    }
    compiled = {name: profile.to_json() for name, profile in whole.items()}
    return json.dumps(compiled, sort_keys=True) + "\n"


def main() -> int:
    """Write ``profiles.json``."""
    text = compile_profiles((FOLDER / "profiles.yaml").read_text(encoding="utf-8"))
    (FOLDER / "profiles.json").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
