"""Records of the audit as events of the Open Cybersecurity Schema Framework, one JSON object a line.

A call and what came of it are API Activity with the profile Security Control; everything else is a Base Event.
"""

from __future__ import annotations

import json
from typing import Any

from lockgate.service.observability.siem.mapping import fields, filled, mapping
from lockgate.store.rows import AuditRow


def ocsf_event(row: AuditRow) -> dict[str, Any]:
    """One record as an event."""
    said, record = mapping()["ocsf"], fields(row)
    event: dict[str, Any] = _joined(filled(said["all"], record), filled(said["classes"][record["kind"]], record))
    return event


def ocsf(row: AuditRow) -> str:
    """One record as one line of JSON, without its end. ASCII only, so that nothing in it acts on a terminal."""
    return json.dumps(ocsf_event(row), separators=(",", ":"), ensure_ascii=True)


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Two objects as one; what is an object in both is joined too."""
    made = dict(one)
    for name, value in other.items():
        both = isinstance(value, dict) and isinstance(made.get(name), dict)
        made[name] = _joined(made[name], value) if both else value
    return made
