"""Questions of which somebody has changed a value are shown as well as they can be: one hides no other."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from lockgate.cli.approvals import text as approvals_text
from lockgate.store.rows import ApprovalRow

ABOUT = {
    "cwd": "/work",
    "tool": "Bash",
    "input": {"command": "git push"},
    "whole": {"command": "git push", "timeout": 5},
    "column": "untrusted",
    "profile": "quarantine",
    "brief": "push it",
    "reasons": [{"rule": "program:git/push", "row": "egress", "because": "it sends"}],
    "effects": [
        {"row": "egress", "what": "origin", "rule": "program:git/push", "because": "it sends", "gives": None},
        {"row": "destructive", "what": "x", "rule": "r", "because": "it removes", "gives": None},
    ],
    "effects_omitted": 2,
    "provenance": [{"label": "untrusted", "source": "WebFetch", "tool": "x", "call": "c0", "at": 1e9, "origin": ""}],
    "guardrail": {"matches": [{"rule": "key", "type": "aws_key", "severity": "high"}]},
}
ODD: list[Any] = [
    None,
    True,
    -5,
    1e308,
    float("inf"),
    float("nan"),
    10**400,
    "",
    "\ud800",
    "\x1b[31m",
    [],
    [None],
    [[1]],
    [{}],
    {},
]


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in below:
        yield (*above, key)
        yield from _places(each, (*above, key))


def _row(about: Any) -> ApprovalRow:
    return ApprovalRow(
        approval="k2v7m9qxwp",
        session="s1",
        agent="",
        client="claude-code",
        call_id="c1",
        digest="d",
        basis="b",
        about=about,
        asked_at=1e9,
        expires_at=2e9,
    )


@pytest.mark.parametrize("place", list(_places(ABOUT)), ids=str)
def test_any_value_may_stand_in_any_place(place: tuple[Any, ...]) -> None:
    *above, last = place
    for odd in ODD:
        at: Any = (about := copy.deepcopy(ABOUT))
        for key in above:
            at = at[key]
        at[last] = odd
        shown = [approvals_text.summary(_row(about), 1e9), *approvals_text.lines(_row(about), 1e9)]
        assert "\x1b[31m" not in "\n".join(shown)
        assert "\n".join(shown).encode()


@pytest.mark.parametrize("about", [None, [], "x", 1])
def test_one_that_says_nothing_cannot_be_approved(about: Any) -> None:
    assert approvals_text.summary(_row(about), 1e9)
    assert list(approvals_text.lines(_row(about), 1e9))
    assert not approvals_text.is_whole(_row(about))
    assert not approvals_text.is_whole(_row({**ABOUT, "whole": about}))
    assert approvals_text.is_whole(_row(ABOUT))
