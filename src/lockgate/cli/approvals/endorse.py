"""``lockgate endorse``: says that one result, which made a session untrusted, is fine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from lockgate.cli.approvals.approve import forget_what_was_typed
from lockgate.cli.approvals.find import open_for_questions, person, tell_answer_errors
from lockgate.cli.approvals.key import signer
from lockgate.cli.common.person import require_approver
from lockgate.cli.common.state import clients, unreadable
from lockgate.cli.status import session_here
from lockgate.core.display_text import BAR, condense, visible, visible_block
from lockgate.core.errors import EndorsementError, StoreError
from lockgate.gate.approvals import endorsing
from lockgate.gate.session import endorsements
from lockgate.system.timestamps import local_time

if TYPE_CHECKING:
    from lockgate.gate.session.endorsements import UntrustedResult
    from lockgate.store.protocol import Store

_LONGEST = 60_000
"""Characters that the escapes of the lines that are kept may take."""


@click.command(short_help="Say that a result is fine.")
@click.argument("result", metavar="[ID|FOLDER]", default="")
@click.option(
    "--session", "session", default="", metavar="ID", help="A session; by default the last one of this folder."
)
@click.option(
    "--packages", "of_packages", is_flag=True, help="Packages that a session with untrusted text has installed."
)
@click.option("--yes", is_flag=True, help="Do not ask. It takes your terminal all the same.")
def endorse(result: str, session: str, of_packages: bool, yes: bool) -> None:
    """Show what made a session untrusted, and say of one result that its text is fine.

    Without an ID: list the results. With one: show the result's first lines, ask, and take its label back. This is said
    of that result alone: what is read later, also from the same page, gives the label anew. A session that has gone on
    by what it read, by writing a file or starting an agent, keeps the label.

    With --packages it is about packages that such a session has installed contained. Code that may load them runs
    contained in every session. That ends by your word here, or by your commit of the lock file. Without a FOLDER: list
    the folders.

    Only a person at a terminal of their own can do this.

    Exit status: 0 listed or endorsed, 1 not confirmed, nothing to endorse, or not a person's terminal, 2 usage,
    3 state not usable.
    """
    with open_for_questions() as store:
        if of_packages:
            _endorse_packages(store, result, yes=yes)
            return
        if not result:
            _list(store, session)
            return
        require_approver("say that a result is fine", clients(store))
        source = _find(store, result)
        for line in _lines(source):
            click.echo(line)
        if source.problem:
            raise click.ClickException(f"this result cannot be endorsed: {source.problem}")
        if not yes:
            forget_what_was_typed()
            click.confirm("Is this text fine, so that the session is not held back by it?", default=False, abort=True)
        signs = signer(store)
        try:
            left = endorsing.endorse(store, source, by=person(), signer=signs)
        except EndorsementError as error:
            raise click.ClickException(str(error)) from error
        except StoreError as error:
            raise unreadable(error) from error
    click.echo(f"endorsed; the session is {'still ' + ' and '.join(sorted(left)) if left else 'clean'} now")


def _endorse_packages(store: Store, folder: str, *, yes: bool) -> None:
    every = endorsing.packages_to_endorse(store)
    if not folder:
        for each in every:
            click.echo(f"{visible(each.folder, 300)}  {local_time(each.at)}")
        if not every:
            click.echo("no packages were installed by a session with untrusted text")
        return
    require_approver("say that installed packages are fine", clients(store))
    path = os.path.realpath(folder)
    found = next((each for each in every if each.folder == path), None)
    if found is None:
        raise click.ClickException("nothing was installed there by such a session; see: lockgate endorse --packages")
    click.echo(f"Packages in {visible(found.folder, 300)}, installed {local_time(found.at)}")
    click.echo(f"  session  {visible(found.session, 80)}, which had read {' and '.join(found.labels)} text")
    for name in found.files:
        click.echo(f"  by       {visible(name, 300)}")
    if not yes:
        forget_what_was_typed()
        click.confirm("Are they fine, so that they may run without a sandbox?", default=False, abort=True)
    signs = signer(store)
    tell_answer_errors(lambda: endorsing.endorse_packages(store, found, by=person(), signer=signs))
    click.echo("endorsed; they run as the rest of the project does")


def _list(store: Store, session: str) -> None:
    with store.reading() as tx:
        row = session_here(tx, session)
        sources = endorsements.sources_of(tx, row.session) if row is not None else []
    if not sources:
        click.echo("no result makes this session untrusted")
    for source in sources:
        at = local_time(source.at)
        agent = f" (agent {visible(source.subject.agent, 40)})" if source.subject.agent else ""
        click.echo(f"{source.id or '-':16}  {at}  {visible(source.sources[0], 160)}{agent}")
        if source.problem:
            click.echo(f"{'':16}  cannot be endorsed: {visible(source.problem, 300)}")


def _find(store: Store, result: str) -> UntrustedResult:
    with store.reading() as tx:
        try:
            return endorsements.find(tx, [row.session for row in tx.sessions()], result)
        except EndorsementError as error:
            raise click.ClickException(str(error)) from error


def _lines(source: UntrustedResult) -> list[str]:
    """The result for a person. No line of it looks like one of ours, or moves the cursor."""
    of = source.subject
    lines = [
        f"Result {source.id}",
        f"  session  {visible(of.session, 80)}" + (f", agent {visible(of.agent, 80)}" if of.agent else ""),
        f"  tool     {visible(source.tool, 80)}, {local_time(source.at)}",
        *(f"  source   {visible(each, 300)}" for each in source.sources),
    ]
    if source.text:
        block = visible_block(condense(source.text), _LONGEST)
        lines += ["What it says:", *(f"{BAR}{line}" for line in block.split("\n"))]
        lines.append(f"{source.more} more lines are not shown" if source.more else "That is all of it.")
    return lines
