"""Makes sure that a person runs a command, and not an agent."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping

import click

from lockgate.core.display_text import visible

_AGENT_VARIABLES = (
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLINE_CONNECTOR_CLI_LAUNCH",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "COPILOT_CLI",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "KILO",
    "OPENCODE",
    "PI_CODING_AGENT",
    "QWEN_CODE",
    "LOCKGATE_CONTAINED",
)
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


def require_approver(action: str, known: Collection[str] = ()) -> None:
    """Refuse what only a person at a terminal of their own may do. Unlike above, nobody is asked whether they are one.

    The gate denies such a command to agents wherever it sees one; this stands where it sees none. It is no wall against
    a program of the same user that means to get by: see ``docs/threat-model.md``.

    Args:
        action: What the command does, for the message.
        known: Processes that are known to be clients, from the gate's records.

    Raises:
        click.ClickException: An agent seems to run it, or no person sits at its terminal.
    """
    from lockgate.cli.common.ancestors import agent_above

    reason = f"only a person may {action}, in a terminal of their own"
    if variable := inside_agent(os.environ):
        raise click.ClickException(f"{reason}: this is an agent's shell ({variable} is set)")
    if agent := agent_above(known):
        raise click.ClickException(f"{reason}: this runs below an agent ({visible(agent, 80)})")
    if not _is_in_foreground():
        raise click.ClickException(f"{reason}: this is none")


def _is_in_foreground() -> bool:
    """Whether input and output are this process's own terminal, and it is the one that a pressed key goes to."""
    try:
        return os.tcgetpgrp(0) == os.tcgetpgrp(1) == os.getpgrp()
    except OSError:  # another terminal than that of this session
        return False
