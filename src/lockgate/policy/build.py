"""Generates the files of this folder that derive from its data: ``python -m lockgate.policy.build [--check]``.

``profiles.yaml`` becomes the ``profiles.json`` that a process reads. The part of Lockgate's schema that Lockbox's
files may hold becomes ``lockbox.schema.json``. Where this is a checkout, both schemas are published in its
``schema`` folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lockgate.core.model import LabelState
from lockgate.policy.profiles import COLUMNS, Chain, Profile, chain, verdict
from lockgate.policy.validation import LOCKBOX_KEYS
from lockgate.system.documents import compile_tables

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
            unknown_services=profile["unknown_services"],
        )
        for name, profile in written.items()
    }
    whole = {
        name: profile._replace(shadow=plain[written[name]["shadow"]]) if "shadow" in written[name] else profile
        for name, profile in plain.items()
    }
    compiled = {name: profile.to_json() for name, profile in whole.items()}
    return json.dumps(compiled, sort_keys=True) + "\n"


def lockbox_schema(source: str) -> str:
    """The text of ``lockbox.schema.json`` for the text of ``lockgate.schema.json``."""
    schema = json.loads(source)
    schema["$id"] = "urn:lockgate:schema:lockbox"
    schema["title"] = "Lockbox configuration, as Lockgate reads it"
    schema["description"] = "lockbox.json: categories of commands and tools. Every key may be left out."
    schema["properties"] = {key: schema["properties"][key] for key in ("$schema", *LOCKBOX_KEYS)}
    schema["$defs"] = {key: schema["$defs"][key] for key in ("category", "patterns", "tools")}
    return json.dumps(schema, indent=2) + "\n"


def derive_files(folder: Path) -> dict[Path, str]:
    """All derived files with their texts, for the sources in a folder."""
    schemas = folder / "schema"
    lockgate = (schemas / "lockgate.schema.json").read_text(encoding="utf-8")
    files = {
        folder / "profiles.json": compile_profiles((folder / "profiles.yaml").read_text(encoding="utf-8")),
        schemas / "lockbox.schema.json": lockbox_schema(lockgate),
    }
    published = folder.parents[2] / "schema"
    if (folder.parents[2] / "pyproject.toml").is_file():
        files[published / "lockgate.schema.json"] = lockgate
        files[published / "lockbox.schema.json"] = files[schemas / "lockbox.schema.json"]
    return files


def main(arguments: Sequence[str] = ()) -> int:
    """Write all derived files; with ``--check`` only say which are stale, and give 1 if there are any."""
    return compile_tables.write_derived(derive_files(FOLDER), "lockgate.policy.build", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
