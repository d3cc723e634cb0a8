"""``lockgate doctor``: is this machine's agent really guarded?"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import click

from lockgate.cli.common.colour import paint
from lockgate.cli.doctor.clients import claude_version, client_checks, self_tests
from lockgate.cli.doctor.own import check_memory, own_checks
from lockgate.clients.install.claude_settings_view import DoctorCheck, look
from lockgate.clients.install.session_checks import session_checks
from lockgate.core.display_text import visible
from lockgate.store.opening import ask_once
from lockgate.system.error_log import describe
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
@click.option("--sessions", is_flag=True, help="Compare the clients' own logs with the audit instead.")
@click.option("--days", default=7.0, show_default=True, help="How many days back --sessions looks.")
def doctor(as_json: bool, project: str, sessions: bool, days: float) -> None:
    """Look for every way in which the protection might not be in force, and say how to mend it.

    The last check sends a call that must be refused through the registered hook. With --sessions, it names each
    session of the last days that ran calls without the gate.

    Exit status: 0 nothing failed (there may be warnings), 1 something failed, 2 usage.
    """
    found = []
    for check in session_findings(project, days) if sessions else iterate_findings(project):
        found.append(check)
        if not as_json:  # at once: where memory is short, the process may be ended
            click.echo(_line(check))
    failed = any(check.state == "fail" for check in found)
    if as_json:
        click.echo(json.dumps({"ok": not failed, "checks": [check._asdict() for check in found]}, indent=2))
    raise click.exceptions.Exit(1 if failed else 0)


def findings(project: str) -> list[DoctorCheck]:
    """Everything that is looked at for a project's folder, in order."""
    return list(iterate_findings(project))


def iterate_findings(project: str) -> Iterator[DoctorCheck]:
    """The same, each as soon as it is known."""
    yield from check_memory()
    try:
        seen = look(folders(), project, os.environ, claude_version())
        with ask_once(seen.folders.state):
            yield from client_checks(seen)
            yield from own_checks(seen)
            yield _summarise_sessions(session_checks(seen, 1.0))
            yield from self_tests(seen)
    except MemoryError as error:
        yield DoctorCheck("memory", "fail", "what follows was not looked at", describe(error))


def _summarise_sessions(sessions: list[DoctorCheck]) -> DoctorCheck:
    """What is said of the last day's sessions among all checks."""
    bad = sum(check.state == "fail" for check in sessions)
    if not bad:
        return sessions[0]
    says = f"{bad} of the last day ran calls without the gate"
    return DoctorCheck(sessions[0].name, "fail", says, "run: lockgate doctor --sessions")


def session_findings(project: str, days: float) -> list[DoctorCheck]:
    """The sessions of the last days that ran calls without the gate, for a project's folder."""
    seen = look(folders(), project, os.environ, claude_version())
    return session_checks(seen, days)


def _line(check: DoctorCheck) -> str:
    state = paint(f"{check.state:4}", _COLOURS[check.state])
    mend = f"\n      -> {check.mend}" if check.mend and check.state != "ok" else ""
    return f"{state}  {check.name}: {visible(check.says, 600)}{mend}"
