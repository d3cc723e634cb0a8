"""``lockgate approve`` and ``lockgate deny``: answer a question of an agent."""

from __future__ import annotations

import termios
import time

import click

from lockgate.cli.approvals import text
from lockgate.cli.approvals.find import ids, open_for_questions, question_of, settle
from lockgate.cli.common.person import require_approver
from lockgate.cli.common.state import clients
from lockgate.core.errors import ApprovalError
from lockgate.gate.approvals.fetches import NO_FETCH, host_in
from lockgate.gate.approvals.questions import demand_open

_ONCE = "Let exactly this run, once?"
READING_SECONDS = 1.0
"""For which nothing that is typed counts as an answer: what comes sooner was typed, or pasted, before it was read."""


@click.command(short_help="Let one exact call of an agent run, once.")
@click.argument("approval", metavar="ID", shell_complete=ids)
@click.option("--yes", is_flag=True, help="Do not ask. It takes your terminal all the same.")
@click.option(
    "--fetches", is_flag=True, help="Also let the agent read all pages of this host, until it has another label."
)
def approve(approval: str, yes: bool, fetches: bool) -> None:
    """Show the whole call that an agent waits with, ask, and let exactly it run, once.

    Only a person at a terminal of their own can do this. A call that changes after it was shown is another call.

    Exit status: 0 approved, 1 not confirmed, nothing to approve any more, or not a person's terminal, 2 usage,
    3 state not usable.
    """
    with open_for_questions() as store:
        require_approver("approve", clients(store))
        row = question_of(store, approval)
        for line in text.lines(row, store.clock()):
            click.echo(line)
        try:
            demand_open(row)
        except ApprovalError as error:
            raise click.ClickException(str(error)) from error
        if not text.is_whole(row):
            raise click.ClickException("this call is not kept whole, so that nobody can see what they would approve")
        host = host_in(row) if fetches else ""
        if fetches and not host:
            raise click.ClickException(f"{NO_FETCH}: lockgate approve {row.approval[:12]}")
        if not yes:
            forget_what_was_typed()
            asked = f"Let this agent read every page of {host}, until it has another label?" if host else _ONCE
            click.confirm(asked, default=False, abort=True)
        settle(store, row, approve=True, fetches=fetches)
    click.echo("approved, and all fetches of its host" if fetches else "approved, once")


@click.command(short_help="Refuse a call of an agent.")
@click.argument("approval", metavar="ID", shell_complete=ids)
@click.option("--say", "--reason", "reason", default="", metavar="TEXT", help="What the agent is told.")
def deny(approval: str, reason: str) -> None:
    """Refuse a call that an agent waits with, and tell it why.

    For a question in the client's own window, press its *no* as well: this tells the agent your words, and keeps the
    same call from being asked about again.

    Exit status: 0 refused, 1 nothing to refuse any more, or an agent seems to ask, 2 usage, 3 state not usable.
    """
    with open_for_questions() as store:
        require_approver("answer for a person", clients(store))
        row = question_of(store, approval)
        settle(store, row, approve=False, reason=reason)
    click.echo("denied")


def forget_what_was_typed() -> None:
    """Give the person a moment to read, and take nothing for an answer that was typed before."""
    time.sleep(READING_SECONDS)
    termios.tcflush(0, termios.TCIFLUSH)
