"""``lockgate status`` and ``lockgate sessions``: show what each session was exposed to, and what follows."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from lockgate.cli.common.colour import paint
from lockgate.cli.common.state import head_anchors, look_at_state, unreadable
from lockgate.cli.common.times import ago, clock, iso
from lockgate.core.display_text import visible
from lockgate.core.errors import StoreError
from lockgate.core.model import Label, LabelState, Subject, Taint, TaintState, Verdict
from lockgate.gate.session import column, labels_of, lock_state, provenance, state_warnings
from lockgate.gate.session.endorsements import may_end
from lockgate.store.protocol import Transaction
from lockgate.store.rows import SessionRow
from lockgate.system.folders import folders

if TYPE_CHECKING:
    from lockgate.policy.compiled import Policy

_COLOURS = {
    LabelState.CLEAN: "green",
    LabelState.UNTRUSTED: "yellow",
    LabelState.SECRET: "magenta",
    LabelState.BOTH: "red",
}
_MEANING = {
    LabelState.CLEAN: "has met nothing that others wrote, and no secrets",
    LabelState.UNTRUSTED: "has read what others wrote",
    LabelState.SECRET: "has read secrets",
    LabelState.BOTH: "has read secrets and what others wrote",
}
_ENDORSE = "read what it has read, and say that it is fine: lockgate endorse"
_WAYS_OUT = (
    "with the plugin, ask the agent for a delegate (skill lockgate:escape): a clean sub-agent does only what its brief"
    " says, once you have approved it",
    "accept a plan with its context cleared (plan mode), or /clear: the new session is clean",
    "do it yourself, outside the agent",
)
_OTHERS_WAYS_OUT = (
    "give it to a new session that has not read this, with every address and text written out",
    "do it yourself, outside the agent",
)
"""For the clients that have neither delegates nor plans whose context is cleared."""
_SHOWN_BLOCKED = 10
_SHOWN_TAINTS = 12


@click.command()
@click.option("--session", "wanted", default="", help="The session's id, or the beginning of it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(wanted: str, as_json: bool) -> None:
    """Show what a session has been exposed to, and where from.

    Without --session: the last session of the current folder's project.

    Exit status: 0 shown (also where nothing is recorded yet), 1 no such session, 2 usage, 3 state not readable.
    """
    with look_at_state() as tx:
        warnings = state_warnings(tx, time.time()) if tx is not None else []
        row = session_here(tx, wanted) if tx is not None else None
        told = _describe(tx, row) if tx is not None and row is not None else None
        endorsable = tx is not None and row is not None and may_end(tx, Subject(row.session))
    elsewhere = head_anchors(folders()).all_problems(time.time())
    for text in (*(each.note for each in warnings), *(f"Lockgate: {each.sentence}" for each in elsewhere)):
        click.echo(visible(text, 600), err=True)
    if told is None:
        _tell_nothing(wanted, as_json)
        return
    policies, until = _policies_in_force(told["workspace"] or told["cwd"])
    told |= {"profiles": list(dict.fromkeys(each.profile.name for each in policies)), "paused_until": iso(until)}
    wrong = [(each.says, each.mend) for each in warnings] + [(each.says, each.mend) for each in elsewhere]
    told["elsewhere"] = [{"says": says, "mend": mend} for says, mend in wrong]
    if as_json:
        click.echo(json.dumps(told, indent=2))
    else:
        state = LabelState(told["state"])
        closed = not until and any(each.profile.cell("egress", state) != (Verdict.ALLOW,) for each in policies)
        without = LabelState.SECRET if state is LabelState.BOTH else LabelState.CLEAN
        cells = [(each.profile.cell("egress", state), each.profile.cell("egress", without)) for each in policies]
        endorsable &= any(now != then for now, then in cells)
        click.echo("\n".join(_lines(told, closed=closed, endorsable=endorsable)))


@click.command()
@click.option("--all", "everything", is_flag=True, help="Ended sessions too.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="The most sessions to list.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def sessions(everything: bool, limit: int, as_json: bool) -> None:
    """List sessions, last seen first, with their labels.

    Exit status: 0 listed (also where there are none), 2 usage, 3 state not readable.
    """
    with look_at_state() as tx:
        rows = tx.sessions() if tx is not None else []
        chosen = [row for row in rows if everything or not row.ended_at][:limit]
        told = [_summary(tx, row) for row in chosen] if tx is not None else []
    if as_json:
        click.echo(json.dumps(told, indent=2))
    elif not rows:
        click.echo("nothing recorded yet")
    elif not told:
        click.echo("no session is running; --all lists ended ones")
    for entry in told if not as_json else ():
        state = LabelState(entry["state"])
        where = visible(entry["workspace"] or entry["cwd"], 60)
        ended = " ended" if entry["ended_at"] else ""
        click.echo(
            f"{visible(entry['session'], 64):36}  {paint(f'{state.value:9}', _COLOURS[state])}"
            f"  {ago(entry['seen_at']):>8}  {where}{ended}",
        )


def _tell_nothing(wanted: str, as_json: bool) -> None:
    if as_json:
        click.echo("null")
    if wanted:
        click.echo(f"no session begins with {visible(wanted, 80)}; `lockgate sessions --all` lists them", err=True)
        raise click.exceptions.Exit(1)
    if not as_json:
        click.echo("nothing recorded yet for this folder; `lockgate sessions` lists all sessions")


def session_here(tx: Transaction, wanted: str) -> SessionRow | None:
    """The session of an id or of the beginning of one; by default the last one of the current folder's project.

    Exits with 1 where several begin so.
    """
    if not wanted:
        here = os.path.realpath(os.getcwd())
        return next((row for row in tx.sessions() if _covers(row, here)), None)
    exact = tx.session(wanted)
    if exact is not None:
        return exact
    found = [row for row in tx.sessions() if row.session.startswith(wanted)]
    if len(found) > 1:
        click.echo(f"{len(found)} sessions begin with {visible(wanted, 80)}: give more of the id", err=True)
        raise click.exceptions.Exit(1)
    return found[0] if found else None


def _covers(row: SessionRow, here: str) -> bool:
    """Whether a folder is in a session's project."""
    root = os.path.realpath(row.workspace or row.cwd) if row.workspace or row.cwd else ""
    return bool(root) and (here == root or here.startswith(root.rstrip("/") + "/"))


def _summary(tx: Transaction, row: SessionRow) -> dict[str, Any]:
    return {
        "session": row.session,
        "client": row.client,
        "cwd": row.cwd,
        "workspace": row.workspace,
        "parent": row.parent or None,
        "how": row.how or None,
        "started_at": iso(row.started_at),
        "seen_at": iso(row.seen_at),
        "ended_at": iso(row.ended_at),
        "why": row.why or None,
        "state": column(tx, Subject(row.session)).value,
        "labels": sorted(labels_of(tx, Subject(row.session))),
        **lock_state(tx, row.session),
    }


def _describe(tx: Transaction, row: SessionRow) -> dict[str, Any]:
    main = [_taint(tx, row, taint) for taint in provenance(tx, Subject(row.session), limit=0)]
    return {
        **_summary(tx, row),
        "provenance": main,
        "pending": [taint for taint in main if taint["state"] == TaintState.PENDING.value],
        "agents": [
            {
                "agent": agent.agent,
                "type": agent.agent_type,
                "parent": agent.parent,
                "state": agent.state,
                "delegate": agent.delegate or None,
                "labels": sorted(labels_of(tx, Subject(row.session, agent.agent))),
                "started_at": iso(agent.started_at),
            }
            for agent in tx.agents(row.session)
        ],
        "delegates": [
            {"brief": brief.brief, "state": brief.state, "agent": brief.agent, "text": brief.text, "at": iso(brief.at)}
            for brief in tx.briefs(row.session)
        ],
        "blocked": [{"agent": agent, "what": what, "at": iso(at)} for agent, what, at in tx.list_blocked(row.session)],
    }


def _policies_in_force(folder: str) -> tuple[Sequence[Policy], float]:
    """What decides in a project, and until when it is paused; 0 where it is not."""
    from lockgate.configuration.load import load_for_cli
    from lockgate.configuration.pause import look_at_pause, may_pause
    from lockgate.system.folders import state_dir
    from lockgate.system.uptime import instant

    try:
        configuration = load_for_cli(folder)
    except StoreError as error:
        raise unreadable(error) from error
    with look_at_state() as tx:
        until = look_at_pause(tx, state_dir(), instant()).until if tx is not None else 0.0
    return configuration.policies, until if may_pause(configuration) else 0.0


def _taint(tx: Transaction, row: SessionRow, taint: Taint) -> dict[str, Any]:
    call = tx.call(row.session, taint.call_id) if taint.call_id and taint.state is TaintState.PENDING else None
    return {
        "label": taint.label.value,
        "source": taint.source,
        "tool": taint.tool,
        "call": taint.call_id,
        "at": iso(taint.at),
        "state": taint.state.value,
        "asked": call is not None and call.state == "asked",
        "origin": taint.origin or None,
    }


def _lines(told: dict[str, Any], *, closed: bool, endorsable: bool) -> list[str]:
    state = LabelState(told["state"])
    follows = _follows(told, closed=closed) if Label.UNTRUSTED.value in told["labels"] else ""
    lines = [f"{paint(state.value, _COLOURS[state], bold=True)}: this session {_MEANING[state]}{follows}"]
    lines += _about(told)
    lines += _sources(told["provenance"], ended=bool(told["ended_at"]))
    lines += _agents(told)
    lines += _format_blocked(told["blocked"])
    if closed and Label.UNTRUSTED.value in told["labels"]:
        ways = _WAYS_OUT if told["client"] == "claude-code" else _OTHERS_WAYS_OUT
        ways = (f"{_ENDORSE} --session {shlex.quote(visible(told['session'], 80))}", *ways) if endorsable else ways
        lines += ["", "to act outside all the same:", *(f"  - {way}" for way in ways)]
    return lines


def _follows(told: dict[str, Any], *, closed: bool) -> str:
    """What follows from a label for external actions, under what is in force."""
    if closed:
        return ": external actions are closed"
    lets = "the gate is paused, and" if told["paused_until"] else f"profile {visible(', '.join(told['profiles']), 80)}"
    return f"; {lets} lets external actions run"


def _about(told: dict[str, Any]) -> list[str]:
    paused = f", paused until {clock(told['paused_until'])}" if told["paused_until"] else ""
    lines = [
        "",
        f"profile  {visible(', '.join(told['profiles']), 80)}{paused}",
        f"session  {visible(told['session'], 80)} ({visible(told['client'], 40)})",
        f"project  {visible(told['workspace'] or told['cwd'], 120)}",
        f"began    {clock(told['started_at'])} by {visible(told['how'] or 'an event before its start was seen', 40)}"
        f", last seen {ago(told['seen_at'])}",
    ]
    if told["ended_at"]:
        lines.append(f"ended    {clock(told['ended_at'])} ({visible(told['why'] or 'other', 40)})")
    if told["parent"]:
        lines.append(f"from     session {visible(told['parent'], 80)}")
    return lines


def _sources(taints: list[dict[str, Any]], *, ended: bool) -> list[str]:
    came = [taint for taint in taints if taint["state"] != TaintState.PENDING.value]
    open_ = [taint for taint in taints if taint["state"] == TaintState.PENDING.value]
    return [
        *_list_lines("where its labels come from:", came, ended=ended),
        *_list_lines("nothing has come back of these calls, but it may, so they count as well:", open_, ended=ended),
    ]


def _list_lines(title: str, taints: list[dict[str, Any]], *, ended: bool) -> list[str]:
    if not taints:
        return []
    lines = ["", title]
    for taint in taints[:_SHOWN_TAINTS]:
        origin = f", from {visible(taint['origin'], 60)}" if taint["origin"] else ""
        came = _came(taint, ended=ended)
        lines.append(f"  {clock(taint['at'])}  {taint['label']:9}  {visible(taint['source'], 120)}{origin}{came}")
    more = len(taints) - _SHOWN_TAINTS
    return [*lines, f"  and {more} more (--json lists them)"] if more > 0 else lines


def _came(taint: dict[str, Any], *, ended: bool) -> str:
    """What is known of a call whose result has not come. A client does not tell that its own question was refused."""
    if taint["state"] != TaintState.PENDING.value:
        return ""
    if taint["asked"]:
        return " (you were asked; if you said no, nothing comes)"
    return " (no result came)" if ended else " (no result yet)"


def _agents(told: dict[str, Any]) -> list[str]:
    lines = [
        f"  {visible(agent['agent'], 40)}  {visible(agent['type'], 40)}  {agent['state']}"
        f"  {'delegate, ' if agent['delegate'] else ''}{', '.join(agent['labels']) or 'clean'}"
        for agent in told["agents"]
    ]
    lines = ["", "sub-agents:", *lines] if lines else []
    briefs = [f"  {brief['state']:8}  {visible(brief['text'], 200)}" for brief in told["delegates"]]
    return [*lines, "", "delegates' briefs:", *briefs] if briefs else lines


def _format_blocked(blocked: list[dict[str, Any]]) -> list[str]:
    if not blocked:
        return []
    lines = [
        f"  {clock(entry['at'])}  {visible(entry['what'], 160)}"
        + (f"  (agent {visible(entry['agent'], 40)})" if entry["agent"] else "")
        for entry in blocked[-_SHOWN_BLOCKED:]
    ]
    more = len(blocked) - _SHOWN_BLOCKED
    return ["", "blocked:", *([f"  {more} earlier (--json lists them)"] if more > 0 else []), *lines]
