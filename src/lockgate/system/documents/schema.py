"""Words the errors of a JSON Schema for a person, each with file, line and key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches

from lockgate.core.display_text import visible
from lockgate.core.errors import ConfigError
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.documents.values import Document, Path, format_path

if TYPE_CHECKING:
    from typing import Any

_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}


def problems(validator: Any, value: Any) -> list[tuple[Path, str]]:
    """What a validator of ``jsonschema`` finds wrong: the path of each value, and what is wrong with it."""
    found = sorted(validator.iter_errors(value), key=lambda error: [str(part) for part in error.absolute_path])
    return [pair for error in found for pair in _describe(error)]


def errors(document: Document, file: str, found: Iterable[tuple[Path, str]]) -> tuple[ConfigError, ...]:
    """Problems with their lines, in the order of the lines; none is said twice."""
    in_order = sorted(dict.fromkeys(found), key=lambda pair: document.line(pair[0]))
    return tuple(ConfigError(file, document.line(path), format_path(path), problem) for path, problem in in_order)


def _describe(error: Any) -> Iterator[tuple[Path, str]]:
    path: Path = tuple(error.absolute_path)
    if error.validator == "additionalProperties" and error.validator_value is False:
        known = [*error.schema.get("properties", ())]
        for key in error.instance:
            if key not in known and not (key.startswith("_") and "patternProperties" in error.schema):
                yield (*path, key), "unknown key" + did_you_mean(key, known)
    elif error.validator == "anyOf":
        yield from _describe_alternatives(error, path)
    else:
        yield path, _describe_one(error)


def _describe_alternatives(error: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """The errors of the alternative that was meant, where its type tells; else what is wanted instead."""
    deeper = [inner for inner in error.context if len(inner.absolute_path) > len(path)]
    unknown = [inner for inner in error.context if inner.validator == "additionalProperties"]
    nested = deeper or unknown
    if nested:
        for inner in nested:
            yield from _describe(inner)
    else:
        yield path, _describe_one(error)


def _describe_one(error: Any) -> str:
    wanted = error.validator_value
    texts: dict[str, Callable[[], str]] = {
        "type": lambda: f"must be {_TYPES.get(wanted, wanted)}, not {_kind(error.instance)}",
        "enum": lambda: (
            f"must be one of {_choices(wanted)}, not {_show(error.instance)}" + did_you_mean(error.instance, wanted)
        ),
        "minimum": lambda: f"must be at least {wanted}, not {_show(error.instance)}",
        "maximum": lambda: f"must be at most {wanted}, not {_show(error.instance)}",
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
        return f"must {must}, not {_show(error.instance)}"
    return text() if text else f"is not valid: {visible(error.message, 200)}"


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return "text"
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else "nothing"


def _show(value: Any) -> str:
    return _kind(value) if isinstance(value, dict | list) else f"`{visible(json.dumps(value), 60)}`"


def _choices(values: Any) -> str:
    return ", ".join(str(value).lower() if isinstance(value, bool) else str(value) for value in values)


def did_you_mean(word: Any, known: Any) -> str:
    """What stands behind a word that is not known: the nearest that is, if there is one."""
    names = [name for name in known if isinstance(name, str)]
    close = get_close_matches(word, names, n=1) if isinstance(word, str) else []
    return f"; did you mean `{close[0]}`?" if close else ""
