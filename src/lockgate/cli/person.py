"""Making sure that a person runs a command, and not an agent."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import click

_AGENT_VARIABLES = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CODEX_SANDBOX", "GEMINI_CLI", "OPENCODE", "CURSOR_AGENT")
"""Variables that agent clients set for the commands that they run."""


def inside_agent(environ: Mapping[str, str]) -> str:
    """Name the variable by which an agent's shell is recognised, empty outside of one."""
    return next((name for name in _AGENT_VARIABLES if environ.get(name)), "")


def require_person(action: str, environ: Mapping[str, str] | None = None) -> None:
    """Refuse a command that only a person may run, where an agent seems to run it.

    The gate denies these commands to agents anyway; this is the second line, for a client that is not guarded (yet).
    In a terminal inside of an agent's shell a person can confirm.

    Args:
        action: What the command does, for the message: ``change the agent's hooks``.
        environ: The environment, by default this process's own.

    Raises:
        click.ClickException: An agent seems to run it, or the person said no.
    """
    variable = inside_agent(os.environ if environ is None else environ)
    if not variable:
        return
    problem = f"this looks like an agent's shell ({variable} is set), and only a person may {action}"
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.ClickException(f"{problem}; run it in a terminal of your own")
    if not click.confirm(f"{problem}. Are you the person, and do you want it?", default=False):
        raise click.ClickException("nothing was changed")
