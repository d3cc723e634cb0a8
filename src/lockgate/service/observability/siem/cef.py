r"""Records of the audit in the Common Event Format, version 0: one line each.

``CEF:0|vendor|product|version|signature|name|severity|extension``. In the header a backslash and a pipe are escaped by
a backslash; in values of the extension a backslash, an equals sign, and line breaks as ``\n`` and ``\r``. All other
characters that a terminal might act on are shown as escapes, before that.
"""

from __future__ import annotations

from lockgate.core.display_text import visible
from lockgate.core.lazy import lazy_re
from lockgate.core.version import __version__
from lockgate.service.observability.siem.mapping import fields, filled, mapping
from lockgate.store.rows import AuditRow

_BREAKS = lazy_re(r"(\r\n|\n|\r)")
_MOST = 4000


def cef(row: AuditRow) -> str:
    """One record as one line, without its end."""
    said, record = mapping()["cef"], fields(row)
    values = (
        said["vendor"],
        said["product"],
        __version__,
        record["signature"],
        record["name"],
        record["severity"]["cef"],
    )
    header = "|".join(header_value(str(value)) for value in values)
    made = filled(said["extension"], record) or {}
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
