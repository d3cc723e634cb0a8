"""How a question to a person is shown: all of it, escaped, what matters first."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lockgate.cli.state import paint
from lockgate.escape.approvals import WHOLE
from lockgate.escape.telling import reaches
from lockgate.store.rows import ApprovalRow
from lockgate.text import condensed, visible

_NAME = 200
_SENTENCE = 600
_STATES = {"pending": "yellow", "approved": "green", "used": "green", "denied": "red", "expired": "red"}


def left(row: ApprovalRow, now: float) -> str:
    """How long a person has, or what became of the question."""
    if row.state != "pending":
        return row.state
    seconds = int(row.expires_at - now)
    if seconds <= 0:
        return "expired"
    return f"{seconds // 60} min {seconds % 60:02d} s left" if seconds >= 60 else f"{seconds} s left"


def summary(row: ApprovalRow, now: float) -> str:
    """The question in one line."""
    about = row.about
    detail = next(iter((about.get("input") or {}).values()), "")
    shown = visible(detail if isinstance(detail, str) else json.dumps(detail), 70)
    return (
        f"{paint(row.approval, 'cyan', bold=True)}  {left(row, now):<16} {visible(about.get('tool', ''), 40)}: {shown}"
    )


def lines(row: ApprovalRow, now: float) -> Iterator[str]:
    """The whole question."""
    about = row.about
    yield paint(f"Question {row.approval}", None, bold=True) + "  " + paint(left(row, now), _STATES.get(row.state))
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
    yield from _part("Why you are asked:", _reasons(about.get("reasons", ())))
    yield from _part("Whom it can reach:", _reached(about.get("effects", ())))
    yield from _part("What else it can do:", _others(about))
    yield from _part("What this session has read:", _read(about.get("provenance", ()), now))
    yield from _part("What the patterns found in it:", _found(about.get("guardrail") or {}))


def is_whole(row: ApprovalRow) -> bool:
    """Whether all of the call can be shown. What nobody can see, nobody can approve."""
    return WHOLE in row.about


def _part(title: str, body: Iterator[str]) -> Iterator[str]:
    shown = list(body)
    if shown:
        yield paint(title, None, bold=True)
        yield from (f"  {line}" for line in shown)


def _call(row: ApprovalRow) -> Iterator[str]:
    about = row.about
    yield paint(_uncut(str(about.get("tool", ""))), "cyan")
    values: Mapping[str, Any] = about[WHOLE] if is_whole(row) else about.get("input") or {}
    if not is_whole(row):
        yield "(no longer kept whole; this is what the audit has)"
    for name, value in values.items():
        first, *rest = _text(value if isinstance(value, str) else json.dumps(value, indent=1))
        yield f"{_uncut(name)}: {first}"
        yield from (f"  {line}" for line in rest)


def _text(text: str) -> Iterator[str]:
    """Every line of a text; many empty ones are counted."""
    yield from map(_uncut, condensed(text).split("\n"))


def _uncut(line: str) -> str:
    """One line of what a yes is about, whole: an escape takes at most ten characters."""
    return visible(line, 10 * len(line) + 1)


def _reasons(reasons: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for reason in reasons:
        yield f"{visible(str(reason['because']), _SENTENCE)} [{visible(str(reason['rule']), _NAME)}]"


def _reached(effects: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for what in dict.fromkeys(str(effect["what"]) for effect in effects if reaches(effect)):
        yield paint(visible(what, _SENTENCE), "red")


def _others(about: Mapping[str, Any]) -> Iterator[str]:
    told = {(str(reason["because"]), str(reason["rule"])) for reason in about.get("reasons", ())}
    for effect in about.get("effects", ()):
        if (str(effect["because"]), str(effect["rule"])) not in told:
            yield f"{visible(str(effect['row']), 40)}: {visible(str(effect['because']), _SENTENCE)}"
    if more := about.get("effects_omitted"):
        yield f"and {int(more)} more effects"


def _read(provenance: Sequence[Mapping[str, Any]], now: float) -> Iterator[str]:
    for taint in provenance:
        at = time.strftime("%H:%M:%S", time.localtime(taint["at"]))
        passed = max(int(now - taint["at"]), 0)
        inherited = f", from {visible(str(taint['origin']), 80)}" if taint.get("origin") else ""
        yield (
            f"{paint(visible(str(taint['label']), 20), 'yellow')}: {visible(str(taint['source']), _SENTENCE)} "
            f"at {at}, {f'{passed // 60} min' if passed >= 60 else f'{passed} s'} ago{inherited}"
        )


def _found(guardrail: Mapping[str, Any]) -> Iterator[str]:
    for match in guardrail.get("matches", ()):
        yield f"{visible(str(match['type']), _NAME)} ({visible(str(match['severity']), 20)}), masked above"
