"""Compiles YAML tables that people write to JSON, which a hook reads quickly."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


def load(table: Path, schema: Path) -> Any:
    """Read a table and check it. Raises ``jsonschema.ValidationError``."""
    import jsonschema
    import yaml

    data = yaml.safe_load(table.read_text(encoding="utf-8"))
    jsonschema.validate(data, json.loads(schema.read_text(encoding="utf-8")))
    return data


def compact(data: Any) -> str:
    """A value as the JSON that is kept: ASCII in one line, the same text for the same value."""
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"), sort_keys=True) + "\n"


def compile_tables(folder: Path, compile_table: Callable[[Path], str], arguments: list[str]) -> int:
    """Write the JSON files of a folder's tables, or with ``--check`` say which are stale. Returns the exit code.

    A file whose table is gone is stale too. Schemas (``schema.json``, ``NAME.schema.json``) are nobody's result.

    Args:
        folder: Where the tables lie.
        compile_table: Makes the text of a table's JSON file.
        arguments: Those of the command line.
    """
    wanted = {table.with_suffix(".json"): compile_table(table) for table in sorted(folder.glob("*.yaml"))}
    there = {file: file.read_text(encoding="utf-8") for file in folder.glob("*.json") if not _is_schema(file)}
    stale = sorted(file for file in wanted.keys() | there.keys() if wanted.get(file) != there.get(file))
    for file in stale:
        if "--check" in arguments:
            sys.stderr.write(f"{file.name} is stale: run make knowledge\n")
        elif file in wanted:
            file.write_text(wanted[file], encoding="utf-8")
        else:
            file.unlink()
    return 1 if stale and "--check" in arguments else 0


def write_derived(files: Mapping[Path, str], module: str, arguments: Sequence[str]) -> int:
    """Write derived files, or with ``--check`` say which are stale. Returns the exit code.

    Args:
        files: The files with their texts.
        module: The module that derives them, as a person runs it.
        arguments: Those of the command line.
    """
    if "--check" in arguments:
        stale = [path for path, text in files.items() if not path.is_file() or path.read_text("utf-8") != text]
        sys.stderr.writelines(f"{path} is stale: run `python -m {module}`\n" for path in stale)
        return 1 if stale else 0
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


def _is_schema(file: Path) -> bool:
    return file.name.endswith("schema.json")
