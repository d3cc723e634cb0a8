"""``lockgate ci``: an agent in a job of a CI service."""

from __future__ import annotations

import click

from lockgate.cli.ci.apply import apply
from lockgate.cli.ci.output import output
from lockgate.cli.ci.report import report
from lockgate.cli.install import CLIENT


@click.group(invoke_without_command=True, short_help="Guard the agent of a CI job.")
@click.option(
    "--client",
    type=CLIENT,
    metavar="CLIENT",
    default=None,
    help=f"The agent client that a later step of the job starts: {', '.join(map(str, CLIENT.choices))}.",
)
@click.option("--base", metavar="SHA", default="", help="The base commit, where the event names none.")
@click.pass_context
def ci(context: click.Context, client: str | None, base: str) -> None:
    """Guard the agent of this CI job (GitHub Actions). Run it in the checkout, before any step that runs code of it.

    It reads who wrote the words of the job's event, and keeps that for the job's sessions. Configuration and
    instructions of agents are taken from the base commit. Hooks are registered with the client, and tried. From then on
    nobody is asked: what a person would have to decide is refused.

    Exit status: 0 guarded; 1 it cannot be, sessions would not be guarded, or an agent seems to ask; 2 usage.
    """
    if context.invoked_subcommand:
        return
    if client is None:
        raise click.UsageError("say which client the job starts: --client claude-code")
    from lockgate.cli.ci.job import set_up

    set_up(client, base)


for command in (apply, output, report):
    ci.add_command(command)
