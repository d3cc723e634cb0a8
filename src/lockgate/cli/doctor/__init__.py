"""``lockgate doctor``: is this machine's agent really guarded?"""

from __future__ import annotations

import json
import os

import click

from lockgate.cli.common.state import paint
from lockgate.cli.doctor.clients import claude_version, client_checks, self_tests
from lockgate.cli.doctor.own import own_checks
from lockgate.clients.install.claude_settings_view import DoctorCheck, look
from lockgate.core.display_text import visible
from lockgate.system.folders import folders

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command(short_help="Check that the protection is in force.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    default=".",
    help="The project's folder.  [default: the current folder]",
)
def doctor(as_json: bool, project: str) -> None:
    """Look for every way in which the protection might not be in force, and say how to mend it.

    The last check sends a call that must be refused through the registered hook.

    Exit status: 0 nothing failed (there may be warnings), 1 something failed, 2 usage.
    """
    found = findings(project)
    failed = any(check.state == "fail" for check in found)
    if as_json:
        click.echo(json.dumps({"ok": not failed, "checks": [check._asdict() for check in found]}, indent=2))
    else:
        for check in found:
            click.echo(_line(check))
    raise click.exceptions.Exit(1 if failed else 0)


def findings(project: str) -> list[DoctorCheck]:
    """Everything that is looked at for a project's folder, in order."""
    seen = look(folders(), project, os.environ, claude_version())
    return [*client_checks(seen), *own_checks(seen), *self_tests(seen)]


def _line(check: DoctorCheck) -> str:
    state = paint(f"{check.state:4}", _COLOURS[check.state])
    mend = f"\n      -> {check.mend}" if check.mend and check.state != "ok" else ""
    return f"{state}  {check.name}: {visible(check.says, 600)}{mend}"
