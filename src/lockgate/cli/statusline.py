"""``lockgate statusline``."""

from __future__ import annotations

import os

import click


@click.command(short_help="Print a session's labels on one line.")
@click.option("--state", type=click.Path(), default=None, help="The state folder.  [default: yours]")
def statusline(state: str | None) -> None:
    """Print the labels of a session on one line, for Claude Code's status line.

    Reads the client's JSON on stdin. `lockgate install claude-code --statusline` registers it.
    """
    from lockgate.statusline import main

    if os.isatty(0):
        raise click.UsageError("the client runs this, with JSON on standard input; for you there is: lockgate status")
    main(["--state", state] if state else [])
