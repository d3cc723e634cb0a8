"""``lockgate files``: files of this machine into which an agent wrote what it had read of strangers."""

from __future__ import annotations

import json
import os

import click

from lockgate.cli.approvals.approve import forget_what_was_typed
from lockgate.cli.approvals.find import open_for_questions, person, tell_answer_errors
from lockgate.cli.approvals.key import signer
from lockgate.cli.common.person import require_approver
from lockgate.cli.common.state import clients, look_at_state
from lockgate.cli.common.times import ago, iso
from lockgate.core.display_text import BAR, visible, visible_block
from lockgate.gate.approvals import endorsing
from lockgate.gate.session import endorsements
from lockgate.system.digests import sha256
from lockgate.system.files import read_regular

_MOST_SHOWN = 20_000
"""Characters of a file that a person is shown; of a longer one nobody would read all."""


@click.group(invoke_without_command=True, short_help="Files that hold a stranger's text.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
@click.pass_context
def files(context: click.Context, as_json: bool) -> None:
    """List the files into which an agent wrote text that it had read of strangers.

    Whoever reads one of them, in any session, has read the stranger: the session is untrusted then. A file that is
    written anew, or is gone, is no longer listed.

    Exit status: 0 listed, 3 state not readable.
    """
    if context.invoked_subcommand is not None:
        return
    with look_at_state() as tx:
        found = endorsements.list_labelled_files(tx) if tx is not None else []
    found = [file for file in found if os.path.lexists(file.path)]
    if as_json:
        told = [
            {"path": file.path, "source": file.source, "session": file.session, "written_at": iso(file.at)}
            for file in found
        ]
        click.echo(json.dumps(told))
        return
    for file in found:
        click.echo(f"{visible(file.path, 300)}\n    {ago(iso(file.at))}, from {visible(file.source, 160)}")
    if not found:
        click.echo("no file holds a stranger's text", err=True)


@files.command(short_help="Say that a file is fine.")
@click.argument("path", type=click.Path())
@click.option("--yes", is_flag=True, help="Do not ask. It takes your terminal all the same.")
def endorse(path: str, yes: bool) -> None:
    """Show the file at PATH, ask whether its text is fine, and take its label away.

    This is said of what it holds now. Sessions that have read it keep their label.

    Only a person at a terminal of their own can do this.

    Exit status: 0 endorsed, 1 not confirmed, not labelled, too long to be shown, or not a person's terminal, 2 usage,
    3 state not writable.
    """
    place = os.path.abspath(path)
    with open_for_questions() as store:
        with store.reading() as tx:
            source = next((file.source for file in endorsements.list_labelled_files(tx) if file.path == place), None)
        if source is None:
            raise click.ClickException(f"{visible(place, 300)} is no labelled file (see: lockgate files)")
        require_approver("say that a file is fine", clients(store))
        data = _show(place, source)
        if not yes:
            forget_what_was_typed()
            click.confirm("Is this text fine, so that no session is held back by it?", default=False, abort=True)
        if read_regular(place, _MOST_SHOWN) != data:
            raise click.ClickException("the file holds something else by now: look at it again")
        signs, digest = signer(store), sha256(data).hexdigest()
        tell_answer_errors(lambda: endorsing.endorse_file(store, place, digest, by=person(), signer=signs))
    click.echo("endorsed")


def _show(path: str, source: str) -> bytes:
    """Show a file to a person; give what it holds."""
    try:
        data = read_regular(path, _MOST_SHOWN)
        text = data.decode("utf-8")
    except (OSError, ValueError) as error:
        raise click.ClickException(
            f"{visible(path, 300)} cannot be shown whole, so nobody can say that it is fine: remove it"
        ) from error
    click.echo(f"{visible(path, 300)}, from {visible(source, 300)}:")
    for line in visible_block(text, _MOST_SHOWN).split("\n"):
        click.echo(f"{BAR}{line}")
    return data
