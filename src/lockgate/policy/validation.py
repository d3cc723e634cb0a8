"""A configuration file's bytes to a valid layer, or to every problem that it has.

The published JSON Schema is what is enforced; this module only says its errors in a person's words and adds what
a schema cannot say. Nothing here is imported by a hook unless a file has changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache

from lockgate.errors import ConfigError
from lockgate.policy.commands import STEPS
from lockgate.policy.dialect import DialectError, translate, translate_option
from lockgate.policy.profiles import chain
from lockgate.policy.reading import Document, Path, dotted, read
from lockgate.record import TYPE_CHECKING, Record
from lockgate.text import visible

if TYPE_CHECKING:
    from typing import Any

LOCKBOX_KEYS = ("bash_patterns", "tools", "mcp_tools", "mcp_default", "override_safe")
"""What Lockbox's own files hold."""
_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema")
_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}


class Parsed(Record):
    """What became of one file."""

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
    problems = tuple(_problems(document, file))
    return Parsed(None if problems else document.value, problems)


def _problems(document: Document, file: str) -> Iterator[ConfigError]:
    schema_errors = sorted(
        _validator("lockbox" if is_lockbox(file) else "lockgate").iter_errors(document.value),
        key=lambda error: [str(part) for part in error.absolute_path],
    )
    found = [pair for error in schema_errors for pair in _in_words(error)]
    if not found:
        found = list(_beyond_schema(document.value))
    for path, problem in sorted(dict.fromkeys(found), key=lambda pair: document.line(pair[0])):
        yield ConfigError(file, document.line(path), dotted(path), problem)


# ---------------------------------------------------------------- the schema's errors in a person's words


def _in_words(error: Any) -> Iterator[tuple[Path, str]]:
    path: Path = tuple(error.absolute_path)
    if error.validator == "additionalProperties" and error.validator_value is False:
        known = [*error.schema.get("properties", ())]
        for key in error.instance:
            if key not in known and not (key.startswith("_") and "patternProperties" in error.schema):
                yield (*path, key), "unknown key" + _did_you_mean(key, known)
    elif error.validator == "anyOf":
        yield from _any_of(error, path)
    else:
        yield path, _one(error)


def _any_of(error: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """The errors of the alternative that was meant, where its type tells; else what is wanted instead."""
    deeper = [inner for inner in error.context if len(inner.absolute_path) > len(path)]
    unknown = [inner for inner in error.context if inner.validator == "additionalProperties"]
    nested = deeper or unknown
    if nested:
        for inner in nested:
            yield from _in_words(inner)
    else:
        yield path, _one(error)


def _one(error: Any) -> str:
    wanted = error.validator_value
    texts: dict[str, Callable[[], str]] = {
        "type": lambda: f"must be {_TYPES.get(wanted, wanted)}, not {_kind(error.instance)}",
        "enum": lambda: (
            f"must be one of {_choices(wanted)}, not {_shown(error.instance)}" + _did_you_mean(error.instance, wanted)
        ),
        "minimum": lambda: f"must be at least {wanted}, not {_shown(error.instance)}",
        "maximum": lambda: f"must be at most {wanted}, not {_shown(error.instance)}",
        "maxItems": lambda: f"has {len(error.instance)} entries, and at most {wanted} are read",
        "maxProperties": lambda: f"has {len(error.instance)} entries, and at most {wanted} are read",
        "minItems": lambda: "must not be empty",
        "minLength": lambda: "must not be empty",
        "maxLength": lambda: f"has {len(error.instance)} characters, and at most {wanted} are read",
        "required": lambda: f"needs {_choices(wanted)}",
    }
    text = texts.get(error.validator)
    must = error.schema.get("x-must") if isinstance(error.schema, dict) else None
    if must and error.validator in ("pattern", "anyOf"):
        return f"must {must}, not {_shown(error.instance)}"
    return text() if text else f"is not valid: {visible(error.message, 200)}"


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return "text"
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "nothing"


def _shown(value: Any) -> str:
    return _kind(value) if isinstance(value, dict | list) else f"`{visible(json.dumps(value), 60)}`"


def _choices(values: Any) -> str:
    return ", ".join(str(value).lower() if isinstance(value, bool) else str(value) for value in values)


def _did_you_mean(word: Any, known: Any) -> str:
    names = [name for name in known if isinstance(name, str)]
    close = get_close_matches(word, names, n=1) if isinstance(word, str) else []
    return f"; did you mean `{close[0]}`?" if close else ""


# ---------------------------------------------------------------- what a schema cannot say


def _beyond_schema(value: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    yield from _bad_patterns(value)
    yield from _bad_tools(value)
    for row, cells in value.get("table", {}).items():
        columns = cells.items() if isinstance(cells, dict) else ((None, cells),)
        for column, cell in columns:
            try:
                chain(cell)
            except ValueError as error:
                yield ("table", row, column) if column else ("table", row), str(error)


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
    for name in value.get("mcp_tools", {}):
        if not name.startswith(("mcp__", "!mcp__", "_")):
            yield ("mcp_tools", name), "an MCP tool's name begins with mcp__; other tools stand in tools"
