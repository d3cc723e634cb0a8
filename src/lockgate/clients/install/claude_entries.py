"""Checks whether the hook entries in Claude Code's settings hold every call, whoever changed them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from lockgate.clients.common.hook_command import REPORTS, is_own_command
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_SHORTEST = 5
"""Seconds below which the client may give up before the gate, which answers within 3, has answered."""
_OTHERWISE = " || "
"""What stands between the hook and what blocks where it could not run."""


def find_weakened_events(settings: Any, entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """List the events for which entries of this program stand in the settings and none holds every call.

    An entry of another version, or of another place, still holds. One does not that is for some tools only, or that the
    client does not wait for. Nor does one whose failure lets the call run, or whose command goes on behind the gate's
    answer. Events that only report hold nothing, so they are not looked at.

    Args:
        settings: The parsed settings.
        entries: The hook entries of each event as they should stand there, see :func:`valid_entries`.
    """
    hooks = settings.get("hooks") if isinstance(settings, dict) else None
    found = []
    for event, valid in entries.items():
        if event in REPORTS:
            continue
        own = [pair for pair in _pairs(hooks.get(event) if isinstance(hooks, dict) else None) if _is_own(pair[1])]
        if own and not any(_is_for_all(group) and _holds(entry, valid) for group, entry in own):
            found.append(event)
    return found


def _pairs(groups: Any) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The hook entries of an event, each with its group."""
    for group in groups if isinstance(groups, list) else ():
        inside = group.get("hooks") if isinstance(group, dict) else None
        for entry in inside if isinstance(inside, list) else ():
            if isinstance(entry, dict):
                yield group, entry


def _is_own(entry: Mapping[str, Any]) -> bool:
    return is_own_command(entry.get("command"))


def _is_for_all(group: Mapping[str, Any]) -> bool:
    return group.get("matcher") in (None, "", "*")


def _holds(entry: Mapping[str, Any], valid: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an entry has a call wait for the gate's answer, and blocks it where there is none."""
    seconds = entry.get("timeout")
    if not set(entry) <= set(valid[0]) or not isinstance(seconds, int | float) or seconds < _SHORTEST:
        return False
    if any(entry.get(name) != valid[0][name] for name in ("type", "onFailure")):
        return False
    head, _, tail = entry["command"].partition(_OTHERWISE)
    blocks = _shape(tail) in {_shape(each["command"].partition(_OTHERWISE)[2]) for each in valid}
    return bool(tail) and blocks and _is_one_command(head)


def _shape(tail: str) -> str:
    """What a shell does where the hook did not answer, whatever places it names: these stand in single quotes."""
    return re.sub("""'[^']*'(?:"'"'[^']*')*""", "''", tail)


def _is_one_command(text: str) -> bool:
    """Whether a shell would read a text as one command, with nothing that ends it or takes its place."""
    words = shlex.shlex(text, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    try:
        return not any(set(word) <= set("();<>|&") for word in words)
    except ValueError:
        return False
