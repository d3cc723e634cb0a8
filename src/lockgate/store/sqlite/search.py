"""What a query of the audit is in SQLite.

The bodies are canonical JSON, so a field and its value stand in them as one fixed text, which is looked for first: that
is much cheaper than reading JSON. A text inside of a string cannot pass for it, for its quotes are escaped; what stands
deeper can, so that JSON decides in the end.
"""

from __future__ import annotations

import json

from lockgate.store.rows import AuditQuery, like_pattern

_Value = str | float

_FIELDS = ("call", "session", "verdict", "tool", "client")


def condition(query: AuditQuery) -> tuple[str, list[_Value]]:
    """The condition of an SQL ``WHERE`` on the table ``audit``, and its values."""
    parts: list[str] = ["1"]
    values: list[_Value] = []
    # Times first: they stand before the body, so that where they do not hold no body is read.
    for name, sign in (("since", ">="), ("until", "<")):
        if at := getattr(query, name):
            parts.append(f"at {sign} ?")
            values.append(at)
    # Then what few records have: SQLite takes conditions in this order, and looks at no other where one does not hold.
    for name in _FIELDS:
        _add_field(name, getattr(query, name), parts, values)
    if query.tier:
        parts.append(_guard("json_extract(body, '$.cascade.tier') = ?"))
        values += [_pair("tier", query.tier), query.tier]
    if query.rule:
        parts.append(_guard(f"({_has_rule('$.reasons')} OR {_has_rule('$.guardrail.matches')})"))
        values += [_pair("rule", query.rule), query.rule, query.rule]
    if query.matched:
        parts.append(_guard("json_array_length(body, '$.guardrail.matches') > 0"))
        values.append('"matches":[{')
    if query.text:
        parts.append(r"body LIKE ? ESCAPE '\'")
        values.append(like_pattern(query.text))
    _add_field("event", query.event, parts, values)
    return " AND ".join(parts), values


def _add_field(name: str, wanted: str, parts: list[str], values: list[_Value]) -> None:
    if wanted:
        parts.append(_guard(f"json_extract(body, '$.{name}') = ?"))
        values += [_pair(name, wanted), wanted]


def _guard(exact: str) -> str:
    """A condition on the JSON, tried only where a text stands in it."""
    return f"CASE WHEN instr(body, ?) > 0 AND json_valid(body) THEN {exact} ELSE 0 END"


def _has_rule(path: str) -> str:
    return f"EXISTS (SELECT 1 FROM json_each(body, '{path}') WHERE json_extract(value, '$.rule') = ?)"  # noqa: S608


def _pair(name: str, value: str) -> str:
    """A field as it stands in canonical JSON."""
    return f'"{name}":{json.dumps(value)}'
