"""Prints a question to a person: all of it, escaped, with what matters first.

It may be another machine's, of a store that many share: what is not of its type is shown as well as it can be, so that
one odd question hides no other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lockgate.cli.common.colour import paint
from lockgate.core.display_text import condense, visible
from lockgate.gate.approvals import notification_text
from lockgate.gate.approvals.questions import IN_DIALOG, WHOLE
from lockgate.store.audit.bodies import items, number, part
from lockgate.store.rows import ApprovalRow
from lockgate.system.timestamps import local_time

_ID = 40
_NAME = 200
_SENTENCE = 600
_LATEST = 1e11
"""Seconds since the epoch up to which a time is one."""
_STATES = {"pending": "yellow", "approved": "green", "used": "green", "denied": "red", "expired": "red"}


LEFT = "its agent is gone: a yes counts if the same call is made again in time"
"""What is said of an open question that nobody waits for."""


def time_left(row: ApprovalRow, now: float) -> str:
    """How long a person has, or what became of the question."""
    if row.state != "pending":
        return row.state
    if part(row.about).get(IN_DIALOG):
        return "asked there"
    seconds = int(row.expires_at - now)
    if row.is_over(now):
        return "expired"
    return f"{seconds // 60} min {seconds % 60:02d} s left" if seconds >= 60 else f"{seconds} s left"


def summary(row: ApprovalRow, now: float, *, waited: bool = True) -> str:
    """The question in one line; ``waited``: whether somebody waits for the answer."""
    about = part(row.about)
    detail = next(iter(part(about.get("input")).values()), "")
    shown = visible(detail if isinstance(detail, str) else json.dumps(detail), 70)
    tool = visible(str(about.get("tool", "")), 40)
    return f"{paint(visible(row.approval, _ID), 'cyan', bold=True)}  {time_left(row, now):<16} {tool}: {shown}" + (
        "" if waited else f"\n  ({LEFT})"
    )


def lines(row: ApprovalRow, now: float) -> Iterator[str]:
    """The whole question."""
    about = part(row.about)
    yield (
        paint(f"Question {visible(row.approval, _ID)}", None, bold=True)
        + "  "
        + paint(time_left(row, now), _STATES.get(row.state))
    )
    who = f"{visible(row.client, 60)}, session {visible(row.session, 80)}"
    yield f"  agent    {who}{f', sub-agent {visible(row.agent, 80)}' if row.agent else ''}"
    yield f"  folder   {_uncut(str(about.get('cwd', '')))}"
    column = visible(str(about.get("column", "")), 20)
    yield f"  policy   {visible(str(about.get('profile', '')), 60)}, in a session that is {column}"
    if row.decided_by:
        yield f"  answered by {visible(row.decided_by, _NAME)}" + (
            f": {visible(row.reason, _SENTENCE)}" if row.reason else ""
        )
    if brief := about.get("brief"):
        yield from _part("A delegate with clean labels would act on this brief:", _text(str(brief)))
    yield from _part("The exact call:", _call(row))
    yield from _part("Why you are asked:", _reasons(_parts(about.get("reasons"))))
    yield from _part("Whom it can reach:", _place_lines(_parts(about.get("effects"))))
    yield from _part("What else it can do:", _list_other_effects(about))
    yield from _part("What this session has read:", _read(_parts(about.get("provenance")), now))
    yield from _part(
        "What the patterns found in it:", _match_lines(_parts(part(about.get("guardrail")).get("matches")))
    )


def is_whole(row: ApprovalRow) -> bool:
    """Whether all of the call can be shown. What nobody can see, nobody can approve."""
    return isinstance(part(row.about).get(WHOLE), Mapping)


def _parts(value: object) -> list[Mapping[str, Any]]:
    return [each for each in items(value) if isinstance(each, Mapping)]


def _part(title: str, body: Iterator[str]) -> Iterator[str]:
    shown = list(body)
    if shown:
        yield paint(title, None, bold=True)
        yield from (f"  {line}" for line in shown)


def _call(row: ApprovalRow) -> Iterator[str]:
    about = part(row.about)
    yield paint(_uncut(str(about.get("tool", ""))), "cyan")
    values = part(about.get(WHOLE) if is_whole(row) else about.get("input"))
    if not is_whole(row):
        yield "(no longer kept whole; this is what the audit has)"
    for name, value in values.items():
        first, *rest = _text(value if isinstance(value, str) else json.dumps(value, indent=1))
        yield f"{_uncut(name)}: {first}"
        yield from (f"  {line}" for line in rest)


def _text(text: str) -> Iterator[str]:
    """Every line of a text; many empty ones are counted."""
    yield from map(_uncut, condense(text).split("\n"))


def _uncut(line: str) -> str:
    """One line of what a yes is about, whole: an escape takes at most ten characters."""
    return visible(line, 10 * len(line) + 1)


def _reasons(reasons: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for reason in reasons:
        yield f"{visible(str(reason.get('because')), _SENTENCE)} [{visible(str(reason.get('rule')), _NAME)}]"


def _place_lines(effects: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for what in dict.fromkeys(str(effect.get("what")) for effect in effects if notification_text.reaches(effect)):
        yield paint(visible(what, _SENTENCE), "red")


def _list_other_effects(about: Mapping[str, Any]) -> Iterator[str]:
    told = {(str(reason.get("because")), str(reason.get("rule"))) for reason in _parts(about.get("reasons"))}
    for effect in _parts(about.get("effects")):
        if (str(effect.get("because")), str(effect.get("rule"))) not in told:
            yield f"{visible(str(effect.get('row')), 40)}: {visible(str(effect.get('because')), _SENTENCE)}"
    if more := number(about.get("effects_omitted")):
        yield f"and {int(more)} more effects"


def _read(provenance: Sequence[Mapping[str, Any]], now: float) -> Iterator[str]:
    for taint in provenance:
        began = max(number(taint.get("at")) or 0.0, 0.0)
        at = local_time(began if began < _LATEST else 0.0)
        passed = max(int(now - began), 0)
        inherited = f", from {visible(str(taint['origin']), 80)}" if taint.get("origin") else ""
        yield (
            f"{paint(visible(str(taint.get('label')), 20), 'yellow')}: {visible(str(taint.get('source')), _SENTENCE)} "
            f"at {at}, {f'{passed // 60} min' if passed >= 60 else f'{passed} s'} ago{inherited}"
        )


def _match_lines(matches: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for match in matches:
        yield f"{visible(str(match.get('type')), _NAME)} ({visible(str(match.get('severity')), 20)}), masked above"
