"""``lockgate brief``: shows the whole of a delegate's brief that is too long for the client's question."""

from __future__ import annotations

import click

from lockgate.cli.approvals.find import open_for_questions, person
from lockgate.cli.common.person import require_approver
from lockgate.cli.common.state import clients, unreadable
from lockgate.core.display_text import BAR, condense, visible, visible_block
from lockgate.core.errors import StoreError
from lockgate.gate.delegates import briefs


@click.command(short_help="Read a delegate's brief.")
@click.argument("brief", metavar="ID")
def brief(brief: str) -> None:
    """Show the whole of a brief that an agent wants a delegate to act on. The question in the client names its ID.

    Once it was shown, your yes in the client counts. Only a person at a terminal of their own can do this.

    Exit status: 0 shown, 1 there is no such brief, or not a person's terminal, 2 usage, 3 state not usable.
    """
    with open_for_questions() as store:
        require_approver("read a brief for a delegate", clients(store))
        try:
            row = briefs.note_shown(store, brief.strip().lower(), by=person())
        except StoreError as error:
            raise unreadable(error) from error
    if isinstance(row, briefs.BriefRefusal):
        raise click.ClickException(row.because)
    waits = row.state == briefs.READ and not row.agent
    state = "read by you, and waiting for your answer in the client" if waits else row.state
    click.echo(f"Brief {row.brief[: briefs.SHOWN_ID]}, of session {visible(row.session, 80)}: it is {state}")
    # Escapes make it longer: none of it may be left out.
    for line in visible_block(condense(row.text), briefs.LONGEST * 8).split("\n"):
        click.echo(f"{BAR}{line}")
    if briefs.steps(row.text):
        click.echo("Each line after `$` may run once, whatever the steps before it print.")
    if row.state == briefs.READ:
        click.echo("That is all of it. Answer in the client.")
