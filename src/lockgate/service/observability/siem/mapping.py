"""Reads ``mapping.yaml``, and fills its fields from an audit record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from lockgate.core.version import __version__
from lockgate.store.audit.bodies import body_of
from lockgate.store.rows import AuditRow

Fields = Mapping[str, Any]
_LATEST = 1e10
"""Seconds since the epoch up to which a time is one; nanoseconds of it still fit into 64 bits."""
_ORDER = ("informational", "low", "medium", "high")


@cache
def read_mapping() -> dict[str, Any]:
    """What the file says."""
    import yaml

    text = resources.files(__package__).joinpath("mapping.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def fields(row: AuditRow) -> Fields:
    """A record as the paths of the mapping see it: its own fields, and what the mapping says of its event."""
    body = body_of(row.body)
    kind = next(each for each in read_mapping()["events"] if _fits(each, body))
    severity = _severity(kind["severity"], body)
    return {
        "seq": row.seq,
        "at": _moment(row.at),
        "digest": row.digest,
        "previous": row.previous,
        "body": body,
        "name": kind["name"],
        "kind": kind["ocsf"],
        "signature": ":".join(str(body[name]) for name in ("event", "verdict") if name in kind and name in body),
        "severity": read_mapping()["severities"][severity],
        "alert": _is_alert(kind, body),
        "version": __version__,
    }


def _moment(at: object) -> float:
    """A record's time; 0 where somebody has put something else in its place."""
    return float(at) if isinstance(at, int | float) and 0 <= at < _LATEST else 0.0


def _fits(kind: Fields, body: Fields) -> bool:
    said = {name: value for name, value in kind.items() if name in ("event", "verdict", "trial")}
    return all(value == "*" or body.get(name) == value for name, value in said.items())


def _is_alert(kind: Fields, body: Fields) -> bool:
    denied = body.get("verdict") == "deny" and kind.get("alert", True)
    return denied or bool(find_value(body, "guardrail.matches[].rule"))


def _severity(least: str, body: Fields) -> str:
    known = read_mapping()["matches"]
    said = find_value(body, "guardrail.matches[].severity") or ()
    words = [known[word] for word in said if isinstance(word, str) and word in known]
    return str(max([least, *words], key=_ORDER.index))


def fill_in(template: Any, record: Fields) -> Any:
    """A template of the mapping with values in the place of paths; ``None`` where nothing is left of it."""
    if isinstance(template, str):
        return find_value(record, template[1:]) if template.startswith("$") else template
    if isinstance(template, list):
        return [fill_in(each, record) for each in template]
    if not isinstance(template, dict):
        return template
    if "$" in template:
        return _field_value(template, record)
    made = {name: fill_in(value, record) for name, value in template.items()}
    return {name: value for name, value in made.items() if value is not None} or None


def find_value(record: Any, paths: str) -> Any:
    """What the first of several paths that leads somewhere leads to."""
    for path in paths.split("|"):
        value = _value_at(record, path.removeprefix("$").split("."))
        if value not in (None, "", [], {}):
            return value
    return None


def _value_at(value: Any, steps: Sequence[str]) -> Any:
    for number, step in enumerate(steps):
        if not isinstance(value, Mapping):
            return None
        value = value.get(step.removesuffix("[]"))
        if step.endswith("[]"):
            each = value if isinstance(value, list) else []
            if number + 1 == len(steps):
                return each
            return [one for one in (_value_at(entry, steps[number + 1 :]) for entry in each) if one is not None]
    return value


def _field_value(said: Fields, record: Fields) -> Any:
    value = find_value(record, str(said["$"]))
    if "by" in said:
        table: Fields = said["by"]
        return table.get(value, table.get("default")) if isinstance(value, str) else table.get("default")
    if value is None:
        return said.get("default")
    match said.get("as"):
        case "milliseconds":
            return int(value * 1000)
        case "integer":
            return int(value)
        case "json":
            value = json.dumps(value, sort_keys=True, ensure_ascii=False)
        case "joined":
            value = ", ".join(str(each) for each in value) if isinstance(value, list) else str(value)
        case "text":
            value = str(value)
    if value == "":
        return said.get("default")
    return value[: said["most"]] if "most" in said and isinstance(value, str) else value
