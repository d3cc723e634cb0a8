"""Parses tool parameters that name several things: a patch, a list of paths, a text with addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, ToolCall
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.host_view import HostView
from lockgate.resources.paths import read_effects, write_effects

if TYPE_CHECKING:
    from typing import Any

_MARKS = ("*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: ")
"""What stands before a path in a patch of Codex; its grammar is in ``codex-rs/apply-patch`` of its sources."""
_ADDRESS = lazy_re(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_MOST = 500
"""Paths and addresses that are looked at; a call that names more is not understood."""


class _Parameter(Record):
    names: Callable[[Any], list[str]]
    """Paths or addresses that a value names."""
    problem: Callable[[Any], str]
    """What is wrong with a value, empty where nothing is."""
    effects: Callable[[str, ToolCall, HostView], Iterable[Effect]]
    """What one of the names means."""


def problem(role: str, value: Any) -> str:
    """What is wrong with the value of such a parameter, empty where nothing is."""
    return _PARAMETERS[role].problem(value)


def effects(role: str, value: Any, call: ToolCall, around: HostView) -> Iterator[Effect]:
    """The effects of a parameter that :func:`problem` finds nothing wrong with."""
    parameter = _PARAMETERS[role]
    for name in parameter.names(value):
        yield from parameter.effects(name, call, around)


def paths_of_patch(patch: str) -> list[str]:
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


def _list_problem(value: Any) -> str:
    fits = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return "" if fits and len(value) <= _MOST else "is not a list of texts, or too long"


def _text_problem(what: str, names: Callable[[str], list[str]]) -> Callable[[Any], str]:
    def problem_of(value: Any) -> str:
        if not isinstance(value, str):
            return "is not a text"
        found = len(names(value))
        if not found:
            return f"holds no {what}"
        return "" if found <= _MOST else "names too much"

    return problem_of


def _write_effects_of(path: str, call: ToolCall, around: HostView) -> Iterable[Effect]:
    return write_effects(path, call.cwd, around)


def _read_effects_of(path: str, call: ToolCall, around: HostView) -> Iterable[Effect]:
    return read_effects(path, call.cwd, around)


def _fetch_effects(address: str, _: ToolCall, around: HostView) -> Iterable[Effect]:
    from lockgate.analysis.web import fetch_effects

    return fetch_effects(address, around)


_PARAMETERS = {
    "patch": _Parameter(paths_of_patch, _text_problem("path", paths_of_patch), _write_effects_of),
    "reads": _Parameter(list, _list_problem, _read_effects_of),
    "addresses": _Parameter(_addresses, _text_problem("address", _addresses), _fetch_effects),
}
"""By the role that ``resources/data/tools.yaml`` gives a parameter."""
