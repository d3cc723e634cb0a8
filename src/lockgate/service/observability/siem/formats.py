r"""Writes audit records in formats of other systems: CEF and OCSF, one line each.

The Common Event Format, version 0, is ``CEF:0|vendor|product|version|signature|name|severity|extension``. In the header
a backslash and a pipe are escaped by a backslash; in values of the extension a backslash, an equals sign, and line
breaks as ``\n`` and ``\r``. All other characters that a terminal might act on are shown as escapes, before that.

In the Open Cybersecurity Schema Framework, a call and what came of it are API Activity with the profile Security
Control. Everything else is a Base Event.
"""

from __future__ import annotations

import json
from typing import Any

from lockgate.core.display_text import visible
from lockgate.core.lazy import lazy_re
from lockgate.core.version import __version__
from lockgate.service.observability.siem.mapping import fields, fill_in, read_mapping
from lockgate.store.rows import AuditRow

_BREAKS = lazy_re(r"(\r\n|\n|\r)")
_MOST = 4000


def cef(row: AuditRow) -> str:
    """One record as one line, without its end."""
    said, record = read_mapping()["cef"], fields(row)
    values = (
        said["vendor"],
        said["product"],
        __version__,
        record["signature"],
        record["name"],
        record["severity"]["cef"],
    )
    header = "|".join(header_value(str(value)) for value in values)
    made = fill_in(said["extension"], record) or {}
    kept = {
        name: value
        for name, value in made.items()
        if not name.endswith("Label") or made.get(name.removesuffix("Label")) is not None
    }
    extension = " ".join(f"{name}={extension_value(str(value))}" for name, value in kept.items())
    return f"CEF:0|{header}|{extension}"


def header_value(text: str) -> str:
    """A text as a part of the header, which has no line breaks."""
    return visible(text, _MOST).replace("\\", "\\\\").replace("|", "\\|")


def extension_value(text: str) -> str:
    """A text as a value of the extension."""
    parts = _BREAKS.split(text)
    return "".join(_line(part) if number % 2 == 0 else _break(part) for number, part in enumerate(parts))


def _line(text: str) -> str:
    return visible(text, _MOST).replace("\\", "\\\\").replace("=", "\\=") if text else ""


def _break(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")


def ocsf_event(row: AuditRow) -> dict[str, Any]:
    """One record as an event."""
    said, record = read_mapping()["ocsf"], fields(row)
    event: dict[str, Any] = _join(fill_in(said["all"], record), fill_in(said["classes"][record["kind"]], record))
    return event


def ocsf(row: AuditRow) -> str:
    """One record as one line of JSON, without its end. ASCII only, so that nothing in it acts on a terminal."""
    return json.dumps(ocsf_event(row), separators=(",", ":"), ensure_ascii=True)


def _join(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Two objects as one; what is an object in both is joined too."""
    made = dict(one)
    for name, value in other.items():
        both = isinstance(value, dict) and isinstance(made.get(name), dict)
        made[name] = _join(made[name], value) if both else value
    return made
