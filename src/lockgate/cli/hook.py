"""``lockgate hook``: its help text. ``lockgate.__main__`` runs the command itself, in ``hook``."""

from __future__ import annotations

import click

from lockgate.clients.adapter import CLIENTS


@click.command(
    "hook", short_help="Answer one event of an agent client.", context_settings={"ignore_unknown_options": True}
)
@click.argument("client", type=click.Choice(CLIENTS))
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def hook_command(client: str, options: tuple[str, ...]) -> None:
    """Answer one event of an agent client: JSON on stdin, the answer on stdout.

    Clients run this; `lockgate install` registers it. Options: --home, --state and --config name the folders. --event
    is the event that the hook is registered for, --settings the file that it is registered in. --deadline is the
    seconds it may take. Exit code 0: decided; 2: blocked because the gate could not decide.
    """
    from lockgate import hook

    hook.main([client, *options])
