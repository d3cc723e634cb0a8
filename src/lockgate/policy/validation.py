"""Validates a configuration file: gives a layer, or every problem of the file.

The published JSON Schema is what is enforced; this module only says its errors in a person's words and adds what
a schema cannot say. Nothing here is imported by a hook unless a file has changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache

from lockgate.core.display_text import visible
from lockgate.core.errors import ConfigError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.policy.lockbox.commands import STEPS
from lockgate.policy.lockbox.javascript_regex import DialectError, translate, translate_option
from lockgate.policy.profiles import chain
from lockgate.system.documents.reader import read
from lockgate.system.documents.schema import errors, problems
from lockgate.system.documents.values import Document, Path

if TYPE_CHECKING:
    from typing import Any

LOCKBOX_KEYS = ("bash_patterns", "tools", "mcp_tools", "mcp_default", "override_safe")
"""What Lockbox's own files hold."""
_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema")


class Parsed(Record):
    """The outcome of reading one file."""

    value: Mapping[str, Any] | None
    """The valid content, ``None`` where there is a problem."""
    problems: tuple[ConfigError, ...]


def is_lockbox(file: str) -> bool:
    """Whether a file is one of Lockbox's, by its name."""
    return os.path.basename(file) == "lockbox.json"


@cache
def schema_text(name: str) -> str:
    """The published schema, ``lockgate`` or ``lockbox``, as text."""
    with open(os.path.join(_FOLDER, f"{name}.schema.json"), encoding="utf-8") as file:
        return file.read()


@cache
def _validator(name: str) -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(json.loads(schema_text(name)))


def parse(data: bytes, file: str) -> Parsed:
    """Read and validate one file.

    Args:
        data: Its whole content.
        file: Its path: says which format and which schema it has, and stands in the problems.
    """
    try:
        document = read(data, file)
    except ConfigError as error:
        return Parsed(None, (error,))
    found = _problems(document, file)
    return Parsed(None if found else document.value, found)


def _problems(document: Document, file: str) -> tuple[ConfigError, ...]:
    found = problems(_validator("lockbox" if is_lockbox(file) else "lockgate"), document.value)
    return errors(document, file, found or _beyond_schema(document.value))


# ---------------------------------------------------------------- what a schema cannot say


def _beyond_schema(value: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    yield from _bad_patterns(value)
    yield from _bad_tools(value)
    yield from _bad_days(value)
    for row, cells in value.get("table", {}).items():
        columns = cells.items() if isinstance(cells, dict) else ((None, cells),)
        for column, cell in columns:
            try:
                chain(cell)
            except ValueError as error:
                yield ("table", row, column) if column else ("table", row), str(error)


def _bad_days(value: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Days that no calendar has: the key would count for nothing, and nobody would see why."""
    from datetime import date

    for index, each in enumerate(value.get("approvers", {}).get("keys", ())):
        for name in ("from", "until"):
            try:
                date.fromisoformat(each.get(name, "2000-01-01"))
            except ValueError:
                yield ("approvers", "keys", index, name), "no calendar has this day"


def pattern_lists(value: Mapping[str, Any]) -> Iterator[tuple[str, Path, list[str]]]:
    """The pattern lists of a file: step, path, entries."""
    for step in STEPS:
        if step in value.get("bash_patterns", {}):
            yield step, ("bash_patterns", step), value["bash_patterns"][step]
    if "override_safe" in value:
        yield "override_safe", ("override_safe",), value["override_safe"]


def _bad_patterns(value: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for _, path, entries in pattern_lists(value):
        for index, entry in enumerate(entries):
            if not entry.startswith("!") and (problem := pattern_problem(entry)):
                yield (*path, index), problem


def pattern_problem(pattern: str) -> str:
    """What is wrong with a regular expression, empty where nothing is."""
    import regex

    try:
        for expression in (translate(pattern), translate_option(pattern)):
            regex.compile(expression, regex.ASCII | regex.VERSION0)
    except (DialectError, regex.error) as error:
        return f"not a regular expression (JavaScript, no flags): {visible(str(error), 200)}"
    return ""


def _bad_tools(value: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for name, entry in value.get("tools", {}).items():
        names = entry if isinstance(entry, list) else [name]
        for index, tool in enumerate(names):
            if tool in ("Bash", "!Bash"):
                path: Path = ("tools", name, index) if isinstance(entry, list) else ("tools", name)
                yield path, "Bash is decided by its commands: use bash_patterns"
    if "Bash" in value.get("services", {}):
        yield ("services", "Bash"), "Bash is decided by its commands: use bash_patterns"
    for name in value.get("mcp_tools", {}):
        if not name.startswith(("mcp__", "!mcp__", "_")):
            yield ("mcp_tools", name), "an MCP tool's name begins with mcp__; other tools stand in tools"
