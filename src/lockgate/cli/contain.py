"""``lockgate contain``: runs a command contained."""

from __future__ import annotations

import os
import shutil
import sys

import click

from lockgate.core.display_text import visible

_NO_PROGRAM = 127
"""The exit status that shells use for this."""


@click.command(
    "contain",
    short_help="Run a command in a sandbox without network.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    default=None,
    help="The folder that may be written to.  [default: the current project]",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def contain_command(workspace: str | None, command: tuple[str, ...]) -> None:
    """Run COMMAND in the sandbox that an agent's unknown code is put into.

    It has no network, sees no secrets, and writes to the project alone, but not to git hooks, CI, and settings of
    agents and editors.

    Exit status: the command's own; 125 where it was not run, because this machine cannot contain it; 127 where there
    is no such program.
    """
    if shutil.which(command[0]) is None:
        click.echo(f"lockgate: {visible(command[0], 200)}: no such program", err=True)
        raise SystemExit(_NO_PROGRAM)
    from lockgate import contain
    from lockgate.configuration.load import find_workspace
    from lockgate.containment.host import host
    from lockgate.containment.request import RunCommandLine
    from lockgate.system.folders import folders

    where = folders()
    project = workspace or find_workspace(os.getcwd(), where.home) or os.getcwd()
    options = {"home": where.home, "state": where.state, "config": where.config, "workspace": project}
    able = host(where.state)
    if able.launched_by and not able.way:  # only the launcher may make namespaces here
        given = [f"--{name}={value}" for name, value in options.items()]
        start = [able.launched_by, "--python", sys.executable, "--script", contain.__file__, *given, "--", *command]
        os.execv(able.launched_by, start)  # noqa: S606 - no shell is wanted
    contain.end(RunCommandLine(options, tuple(command)))
