"""``lockgate question``: shows one question whole, with the sources of its labels and the ways to answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from lockgate.cli.approvals import text
from lockgate.cli.approvals.find import ids, open_for_questions, question_of
from lockgate.cli.common.colour import paint
from lockgate.core.display_text import visible
from lockgate.core.model import Subject, Taint
from lockgate.gate.approvals import notification_text
from lockgate.gate.approvals.questions import IN_DIALOG, REACHED, WHOLE
from lockgate.gate.session import endorsements
from lockgate.gate.session.endorsements import UntrustedResult
from lockgate.store.audit.bodies import items, part
from lockgate.store.protocol import Store
from lockgate.store.rows import ApprovalRow
from lockgate.system.timestamps import utc


@click.command(short_help="Show a question of an agent whole, and how to answer it.")
@click.argument("approval", metavar="ID", shell_complete=ids)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def question(approval: str, as_json: bool) -> None:
    """Show what the client's window has no room for: the whole call, where it goes, each source of the labels.

    Only agents' calls that a person has to decide have a question. Nothing runs by this.

    Exit status: 0 shown, 1 there is no such question, 3 state not readable.
    """
    with open_for_questions() as store:
        row, now = question_of(store, approval), store.clock()
        sources, results = _sources(store, row)
    if as_json:
        click.echo(json.dumps(_to_json(row, sources)))
        return
    for line in (*text.lines(row, now), *_place_lines(row), *_source_lines(sources, results), *_ways(row)):
        click.echo(line)


def _sources(store: Store, row: ApprovalRow) -> tuple[list[Taint], list[UntrustedResult]]:
    """Everything that the agent has its labels from, and the results among that."""
    subject = Subject(row.session, row.agent)
    with store.reading() as tx:
        results = [each for each in endorsements.sources_of(tx, row.session) if each.subject == subject]
        return tx.taints(subject), results


def _to_json(row: ApprovalRow, sources: list[Taint]) -> dict[str, Any]:
    whole = {WHOLE: row.about[WHOLE]} if text.is_whole(row) else {}
    told = [
        {
            "label": taint.label.value,
            "source": taint.source,
            "tool": taint.tool,
            "call": taint.call_id,
            "at": utc(taint.at),
        }
        for taint in sources
    ]
    where = "dialog" if row.about.get(IN_DIALOG) else "elsewhere"
    decided = {"decided_by": row.decided_by, "reason": row.reason}
    return {
        **notification_text.facts(row),
        **whole,
        **decided,
        "asked_in": where,
        REACHED: items(part(row.about).get(REACHED)),
        "sources": told,
    }


def _place_lines(row: ApprovalRow) -> Iterator[str]:
    found = [str(each) for each in items(part(row.about).get(REACHED))]
    if found:
        yield paint("The addresses behind its names:", None, bold=True)
        yield from (f"  {paint(visible(each, 600), 'red')}" for each in found)


def _source_lines(sources: list[Taint], results: list[UntrustedResult]) -> Iterator[str]:
    """Each source, with the call that brought it, and what a person can say of its text."""
    if not sources:
        return
    yield paint("What locked this session:", None, bold=True)
    for taint in sources:
        call = f" [{visible(taint.call_id, 80)}]" if taint.call_id else ""
        yield f"  {paint(taint.label.value, 'yellow')}: {visible(taint.source, 600)}{call}"
    for result in results:
        if result.id and not result.problem:
            yield f"  read {visible(result.tool, 80)}'s text, and say that it is fine: lockgate endorse {result.id}"


def _ways(row: ApprovalRow) -> Iterator[str]:
    """How to answer."""
    shown = visible(row.approval, 40)
    yield paint("How to answer:", None, bold=True)
    if row.state == "denied":
        yield f"  take the no back:          lockgate approvals retract {shown}"
    elif row.state != "pending":
        yield "  it is over: the agent has to make the call again"
    else:
        in_dialog = bool(row.about.get(IN_DIALOG))
        yes = "in the client's window" if in_dialog else f"lockgate approve {shown}"
        also = ", and no in the client's window" if in_dialog else ""
        yield f"  yes, once:                 {yes}"
        yield f"  no, with words for it:     lockgate deny {shown} --say 'TEXT'{also}"
