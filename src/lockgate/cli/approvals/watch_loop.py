"""``lockgate approvals watch``: shows questions as they arrive, and takes the answers."""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Callable

import click

from lockgate.cli.approvals import text
from lockgate.cli.approvals.approve import forget_what_was_typed
from lockgate.cli.approvals.find import is_waited, open_for_questions, open_questions, question_of, settle
from lockgate.cli.common.person import require_approver
from lockgate.cli.common.state import clients, make_state
from lockgate.core.display_text import visible
from lockgate.gate.approvals import notification_text
from lockgate.gate.approvals.waiting import LOOK_SECONDS, WATCHERS
from lockgate.gate.approvals.wakeups import WakeupSocket
from lockgate.store.protocol import Store
from lockgate.store.rows import ApprovalRow
from lockgate.system.folders import folders

_BELL = "\a"
_LINE = 4096


def run(*, as_json: bool) -> None:
    """Show questions until the process is ended.

    Raises:
        click.ClickException: It is to answer questions, and no person sits at its terminal.
    """
    with make_state():
        pass  # one that runs before the first hook waits for it
    state = folders().state
    with (
        open_for_questions() as store,
        WakeupSocket(state, WATCHERS) as wakeup,
        store.listen(_make_waker(wakeup), watching=True),
    ):
        if not as_json:
            require_approver("answer questions", clients(store))
            click.echo("waiting for questions of agents; end with Ctrl-C", err=True)
        shown: set[str] = set()
        while True:
            rows = open_questions(store)
            shown &= {row.approval for row in rows}
            fresh = [row for row in rows if row.approval not in shown]
            for row in fresh:
                shown.add(row.approval)
                if as_json:
                    click.echo(json.dumps(notification_text.facts(row)))
                else:
                    _ask(store, row, wakeup)
            if not fresh:
                wakeup.wait(LOOK_SECONDS)


def _make_waker(wakeup: WakeupSocket) -> Callable[[str], None]:
    """A function that wakes this process whenever a shared store tells of any question."""
    wake = wakeup.waker()
    return lambda _: wake()


def _ask(store: Store, row: ApprovalRow, wakeup: WakeupSocket) -> None:
    """Show one question and take its answer, unless it is answered elsewhere or over before."""
    if not _is_open(store, row):
        return
    click.echo(_BELL, nl=False)
    for line in text.lines(row, store.clock()):
        click.echo(line)
    if is_waited(row) is False:
        click.echo(text.LEFT)
    may_approve = text.is_whole(row)
    forget_what_was_typed()
    choices = "n, n REASON, needless (writes a report), or nothing to leave it"
    choices = f"y, {choices}" if may_approve else choices
    click.echo(f"Let exactly this run, once? [{choices}] ", nl=False)
    said = _read_line(store, row, wakeup)
    if said is None:
        click.echo(f"\n{text.time_left(question_of(store, row.approval), store.clock())}")
        return
    word, _, reason = said.strip().partition(" ")
    try:
        _settle(store, row, word, reason, may_approve=may_approve)
    except click.ClickException as problem:
        problem.show()


def _settle(store: Store, row: ApprovalRow, word: str, reason: str, *, may_approve: bool) -> None:
    """Do with a question what the person has typed."""
    if word.lower() in ("y", "yes") and may_approve:
        settle(store, row, approve=True)
        click.echo("approved, once")
    elif word.lower() in ("n", "no"):
        settle(store, row, approve=False, reason=reason.strip())
        click.echo("denied")
    else:
        if word.lower() == "needless":
            from lockgate.cli.explain.needless import write

            click.echo(f"written: {visible(write(row.about), 300)}")
        click.echo(f"left open: lockgate approve {visible(row.approval)}")


def _read_line(store: Store, row: ApprovalRow, wakeup: WakeupSocket) -> str | None:
    """The line that is typed; ``None`` where the question is not open any more before one is."""
    listening = [0] if wakeup.socket is None else [0, wakeup.socket.fileno()]
    while _is_open(store, row):
        left = min(row.expires_at - store.clock(), LOOK_SECONDS)
        ready, _, _ = select.select(listening, [], [], max(left, 0.0))
        if 0 in ready:
            line = os.read(0, _LINE)
            if not line:
                sys.exit(0)  # the terminal was closed
            return line.decode("utf-8", "replace")
        wakeup.drain()
    return None


def _is_open(store: Store, row: ApprovalRow) -> bool:
    now = question_of(store, row.approval)
    return now.state == "pending" and not now.is_over(store.clock())
