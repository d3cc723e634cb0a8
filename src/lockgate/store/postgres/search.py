r"""What a query of the audit is in PostgreSQL.

The bodies are canonical JSON, so a field and its value stand in them as one fixed text: the database looks for that,
and what it finds is read here. It cannot read all of it itself: ``jsonb`` refuses ``\u0000`` and half a surrogate pair.
"""

from __future__ import annotations

import json

from lockgate.core.record import TYPE_CHECKING
from lockgate.store.rows import AuditQuery, like_pattern
from lockgate.system.digests import json_object

if TYPE_CHECKING:
    from typing import Any

_FIELDS = ("event", "session", "client", "tool", "call", "verdict")


def narrow(query: AuditQuery) -> tuple[str, list[str | float]]:
    """Conditions that every record meets which the query looks for, each with `` AND `` before it, and their values."""
    parts: list[str] = []
    values: list[str | float] = []
    for name, sign in (("since", ">="), ("until", "<")):
        if at := getattr(query, name):
            parts.append(f" AND at {sign} %s")
            values.append(at)
    pairs = [
        f'"{name}":{json.dumps(wanted)}' for name in (*_FIELDS, "tier", "rule") if (wanted := getattr(query, name))
    ]
    if query.matched:
        pairs.append('"matches":[{')
    for pair in pairs:
        parts.append(" AND strpos(body, %s) > 0")
        values.append(pair)
    if query.text:
        parts.append(r" AND body ILIKE %s ESCAPE '\'")
        values.append(like_pattern(query.text))
    return "".join(parts), values


def meets(query: AuditQuery, body: str) -> bool:
    """Whether a record that meets the conditions has each text in its place."""
    if not any((query.tier, query.rule, query.matched, *(getattr(query, name) for name in _FIELDS))):
        return True
    found = json_object(body)
    if found is None:
        return False
    matches = _within(found, "guardrail", "matches")
    rules = [each.get("rule") for each in (*_list(found.get("reasons")), *_list(matches)) if isinstance(each, dict)]
    return (
        all(found.get(name) == wanted for name in _FIELDS if (wanted := getattr(query, name)))
        and (not query.tier or _within(found, "cascade", "tier") == query.tier)
        and (not query.rule or query.rule in rules)
        and (not query.matched or bool(_list(matches)))
    )


def _within(found: dict[str, Any], name: str, inner: str) -> Any:
    value = found.get(name)
    return value.get(inner) if isinstance(value, dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
