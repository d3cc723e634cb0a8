"""Whether a contained command said the same as a bare one, but for what varies by itself.

What varies by itself is not guessed: the bare command runs twice, and only what differs between these runs is left out
of account, by the strictest of :data:`_VIEWS` in which all bare runs are equal. Known durations, addresses and names
of temporary files are left out always.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_VARYING = tuple(
    (re.compile(pattern), shown)
    for pattern, shown in (
        (r"\x1b\[[0-9;]*m", ""),
        (r"\b\d+(\.\d+)? ?(seconds|secs?|s|ms|µs|us|ns)\b( \(\d+:\d+:\d+\))?", "<time>"),
        (r"(?i)(duration(_ms)?\"?[: ]+)[\d.]+", r"\1<time>"),
        (r"\((\d+\.\d+)ms\)", "(<time>)"),
        (r"\b\d\d:\d\d:\d\d(\.\d+)?\b", "<time>"),
        (r"0x[0-9a-f]{6,}", "<address>"),
        (r"([=\-_*])\1{8,}", "<line>"),
        (r"build/bdist\S*|\.tmp-\w+|pytest-\d+|/tmp/\S+|\btmp\w{6,}", "<temporary>"),
    )
)
_NUMBER = re.compile(r"\b(0x)?(?=\w*\d)[0-9a-f]+\b|\d+")


class Done(NamedTuple):
    """How a command ended."""

    status: int
    """As a shell gives it."""
    output: str
    seconds: float
    decision: str = ""


def _lines(output: str) -> list[str]:
    for pattern, shown in _VARYING:
        output = pattern.sub(shown, output)
    return output.splitlines()


def _without_numbers(output: str) -> list[str]:
    return [_NUMBER.sub("#", line) for line in _lines(output)]


_VIEWS: dict[str, Callable[[str], list[str]]] = {
    "": _lines,
    "order": lambda output: sorted(_lines(output)),
    "numbers": _without_numbers,
    "order and numbers": lambda output: sorted(_without_numbers(output)),
    "order, numbers and repetitions": lambda output: sorted(set(_without_numbers(output))),
}
"""What is compared, from strict to lax, by what it leaves out."""


def varying(bare: Sequence[Done]) -> str | None:
    """What varies from one bare run to another by itself; ``None`` where they have nothing in common."""
    if len({done.status for done in bare}) > 1:
        return None
    for name, view in _VIEWS.items():
        if all(view(done.output) == view(bare[0].output) for done in bare):
            return name
    return None


def difference(bare: Sequence[Done], contained: Done) -> str:
    """What a contained command did otherwise than the bare ones; empty where all is the same."""
    if contained.decision not in ("contain", "allow"):
        return f"the gate says {contained.decision}"
    name = varying(bare)
    if name is None:
        other = next(done for done in bare if varying([bare[0], done]) is None)
        return f"two bare runs differ, of status {bare[0].status} and {other.status}: " + _shown(
            _lines(bare[0].output), _lines(other.output)
        )
    if bare[0].status != contained.status:
        return f"status {contained.status}, not {bare[0].status}: {contained.output[-2000:]}"
    view = _VIEWS[name]
    return _shown(view(bare[0].output), view(contained.output))


def _shown(before: list[str], after: list[str]) -> str:
    return "\n".join(list(difflib.unified_diff(before, after, "outside", "contained", lineterm="", n=0))[:40])
