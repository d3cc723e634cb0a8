"""Tool parameters that name several things at once: a patch, a list of paths, a text with addresses in it."""

from __future__ import annotations

from collections.abc import Iterator

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, ToolCall
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.host_view import HostView
from lockgate.resources.paths import read_effects, write_effects

if TYPE_CHECKING:
    from typing import Any

_MARKS = ("*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: ")
"""What stands before a path in a patch of Codex; its grammar is in ``codex-rs/apply-patch`` of its sources."""
_ADDRESS = lazy_re(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_MOST = 500
"""Paths and addresses that are looked at; a call that names more is not understood."""


def problem(role: str, value: Any) -> str:
    """What is wrong with the value of such a parameter, empty where nothing is."""
    if role == "reads":
        fits = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return "" if fits and len(value) <= _MOST else "is not a list of texts, or too long"
    if not isinstance(value, str):
        return "is not a text"
    found = len(patched_paths(value)) if role == "patch" else len(_addresses(value))
    what = "path" if role == "patch" else "address"
    return "" if 0 < found <= _MOST else f"holds no {what}" if not found else "names too much"


def effects(role: str, value: Any, call: ToolCall, around: HostView) -> Iterator[Effect]:
    """The effects of a parameter that :func:`problem` finds nothing wrong with."""
    if role == "patch":
        for path in patched_paths(value):
            yield from write_effects(path, call.cwd, around)
    elif role == "reads":
        for path in value:
            yield from read_effects(path, call.cwd, around)
    else:
        from lockgate.analysis.web import fetch_effects

        for address in _addresses(value):
            yield from fetch_effects(address, around)


def patched_paths(patch: str) -> list[str]:
    """Every path that a patch adds, deletes, changes or moves a file to, in order.

    Codex cuts white space off a line before it looks for a mark, and so does this. A context line of a change that
    looks like a mark counts too: that can only make a call stricter.
    """
    found: dict[str, None] = {}
    for line in patch.split("\n"):
        mark = line.strip()
        for prefix in _MARKS:
            if mark.startswith(prefix):
                found[mark[len(prefix) :].strip()] = None
    found.pop("", None)
    return list(found)


def _addresses(text: str) -> list[str]:
    """What looks like an address. Its spelling is kept: one that cannot be read is an unknown place."""
    return list(dict.fromkeys(match[0].rstrip("()[]<>\"',.;") for match in _ADDRESS.finditer(text)))
