"""Generates the files that derive from the shipped patterns: ``python -m lockgate.patterns.library.build [--check]``.

All of ``library/*.yaml`` becomes one ``library/shipped.json``, checked. Where this is a checkout, the schema of pattern
files is published in its ``schema`` folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lockgate.core.errors import ConfigError
from lockgate.patterns.library.loading import PatternChecks, groups_of, load, real_checks, rule_id, schema_text
from lockgate.system.documents import compile_tables

FOLDER = Path(__file__).parents[1]


def join_files(files: Iterable[Path], checks: PatternChecks) -> dict[str, Any]:
    """The content of several files as that of one: groups of one id are joined, and their rules.

    Raises:
        ConfigError: A file is not valid, or two say different things about one group or rule.
    """
    whole: dict[str, Any] = {"schema_version": "1.0.0", "patterns": {"input": {}, "output": {}}, "tool_rules": {}}
    for path in files:
        loaded = load(path.read_bytes(), str(path), checks)
        if loaded.document is None:
            raise loaded.problems[0]
        value = loaded.document.value
        for side, group, content in groups_of(value):
            _join(whole["patterns"][side].setdefault(group, {"rules": []}), content, f"{path}: {group}")
        for tool, rule in value.get("tool_rules", {}).items():
            if whole["tool_rules"].setdefault(tool, rule) != rule:
                raise ConfigError(str(path), 0, f"tool_rules.{tool}", "another file says something else about it")
    return whole


def _join(known: dict[str, Any], content: Mapping[str, Any], where: str) -> None:
    ids = set(map(rule_id, known["rules"]))
    for rule in content.get("rules", ()):
        if rule_id(rule) in ids:
            raise ConfigError(where, 0, rule_id(rule), "another file has a rule with this id")
        known["rules"].append(rule)
    for key, value in content.items():
        if key == "include":
            known[key] = list(dict.fromkeys([*known.get(key, ()), *value]))
        elif key != "rules" and known.setdefault(key, value) != value:
            raise ConfigError(where, 0, key, "another file says something else about this group")


def derive_files(folder: Path) -> dict[Path, str]:
    """All derived files with their texts."""
    content = join_files(sorted((folder / "library").glob("*.yaml")), real_checks())
    files = {folder / "library" / "shipped.json": json.dumps(content, separators=(",", ":")) + "\n"}
    if (folder.parents[2] / "pyproject.toml").is_file():
        files[folder.parents[2] / "schema" / "patterns.schema.json"] = schema_text()
    return files


def main(arguments: Sequence[str] = ()) -> int:
    """Write all derived files; with ``--check`` only say which are stale, and give 1 if there are any."""
    try:
        files = derive_files(FOLDER)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    return compile_tables.write_derived(files, "lockgate.patterns.library.build", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
