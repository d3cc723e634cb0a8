"""``lockgate gate``: the resident gate of this person, which answers hooks fast."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from lockgate.cli.common.colour import paint
from lockgate.cli.common.person import require_person
from lockgate.cli.common.state import WRONG
from lockgate.cli.common.times import ago, iso
from lockgate.core.display_text import visible
from lockgate.core.errors import LockgateError
from lockgate.core.version import PACKAGE_FOLDER, __version__
from lockgate.system.folders import Folders, folders

if TYPE_CHECKING:
    from typing import Any, NoReturn

    from lockgate.clients.wire.resident_control import ResidentState

COMING_UP = 10.0
"""Seconds that a gate may take to come up."""


@click.group(short_help="The process that answers hooks fast.")
def gate() -> None:
    """Look at the resident gate, start it and stop it.

    The first hook starts it, and it ends when nobody has asked it for half an hour; so there is nothing that must be
    done here. Without it every hook decides by itself, as safely and more slowly. See also: lockgate service.
    """


@gate.command(short_help="Is it running, and how is it?")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(as_json: bool) -> None:
    """Say whether a gate runs for this state folder, of which version, how fast it decides and how large it is.

    Exit status: 0 it runs and answers, 1 none runs, 2 usage, 4 one runs and does not answer.
    """
    from lockgate.clients.wire.resident_control import look

    where = folders()
    found = look(where.state)
    if as_json:
        click.echo(json.dumps(_to_json(where, found), indent=2))
    else:
        for line in _lines(found):
            click.echo(line)
    raise click.exceptions.Exit(0 if found.answers else 4 if found.runs else WRONG)


@gate.command(short_help="Start it, if it does not run.")
@click.option("--foreground", is_flag=True, help="Be it, instead of starting it: for a service manager.")
@click.option("--idle", type=click.FloatRange(0), metavar="SECONDS", help="End when nobody asks for so long; 0: never.")
def start(foreground: bool, idle: float | None) -> None:
    """Start the gate now, and wait until it answers. The first hook would do it too.

    In the foreground it takes the place of one that runs already.

    Exit status: 0 it runs, 1 it does not come up, 2 usage.
    """
    require_person("start the gate")
    from lockgate.clients.hook.start_resident import launch

    where = folders()
    if foreground:
        _become(where, idle)
    from lockgate.clients.wire.resident_control import look

    if (found := look(where.state)).answers:
        click.echo(f"it runs already: process {found.facts.get('pid')}")
        return
    with _tell_errors("it cannot be started"):
        launch(where, sys.executable, idle)
    _await(where)


@gate.command(short_help="End it.")
def stop() -> None:
    """End the gate, and wait until it is gone. Hooks that wait for it decide by themselves.

    The next hook starts another. To keep hooks from that, set LOCKGATE_RESIDENT=off in the environment of the
    client.

    Exit status: 0 it is gone, or there was none; 1 it cannot be ended; 2 usage.
    """
    require_person("stop the gate")
    _stop(folders())


@gate.command(short_help="End it, and start another.")
@click.option("--idle", type=click.FloatRange(0), metavar="SECONDS", help="End when nobody asks for so long; 0: never.")
def restart(idle: float | None) -> None:
    """End the gate where one runs, and start one. After an upgrade it does so by itself.

    A gate that runs as a service is started by the service manager again, and does not end by itself.

    Exit status: 0 it runs, 1 it cannot be ended or does not come up, 2 usage.
    """
    require_person("restart the gate")
    from lockgate.cli.service import managers
    from lockgate.clients.hook.start_resident import launch

    where = folders()
    manager = managers.find_running(where)
    _stop(where)
    if manager is not None:
        managers.start_again(manager)
    else:
        with _tell_errors("it cannot be started"):
            launch(where, sys.executable, idle)
    _await(where)


@gate.command(short_help="What failed in it and in hooks.")
@click.option("-n", "--lines", type=click.IntRange(1, 100_000), default=50, show_default=True, help="How many lines.")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written from now on, until interrupted.")
def logs(lines: int, follow: bool) -> None:
    """Show what failed: a line for each failure of the gate, of hooks and of plugins, and nothing of their payloads.

    What was decided is in the audit: lockgate audit show.

    Exit status: 0, 2 usage, 3 the log cannot be read.
    """
    from lockgate.cli.gate.log_output import follow_lines, last_lines

    state = folders().state
    try:
        shown = last_lines(state, lines)
        for line in shown:
            click.echo(visible(line, 1000))
        if not shown and not follow:
            click.echo("nothing has failed", err=True)
        if follow:
            for line in follow_lines(state):
                click.echo(visible(line, 1000))
    except OSError as error:
        raise click.exceptions.Exit(_unreadable(error)) from None


# ---------------------------------------------------------------- doing
def _become(where: Folders, idle: float | None) -> NoReturn:
    from lockgate.clients.hook.start_resident import arguments, environment

    with _tell_errors("it cannot be started"):
        os.chdir("/")
        words = [sys.executable, *arguments(where, idle), "--replace", "yes"]
        os.execve(sys.executable, words, environment(where))  # noqa: S606 - without a shell is what is wanted
    raise AssertionError


def _stop(where: Folders) -> None:
    from lockgate.clients.wire.resident_control import stop_gate

    with _tell_errors("it cannot be ended"):
        click.echo("it has ended" if stop_gate(where.state) else "none was running")


def _await(where: Folders) -> None:
    from lockgate.clients.wire.resident_control import wait_for

    found = wait_for(where.state, COMING_UP)
    if not found.answers:
        why = found.problem or "it ended; see: lockgate gate logs"
        raise click.ClickException(f"it does not come up: {visible(why, 200)}")
    click.echo(f"it runs: process {found.facts.get('pid')}")


@contextmanager
def _tell_errors(what: str) -> Iterator[None]:
    """Tell a person what failed, instead of a traceback."""
    try:
        yield
    except (LockgateError, OSError) as error:
        raise click.ClickException(f"{what}: {visible(str(error), 400)}") from None


def _unreadable(error: OSError) -> int:
    click.echo(f"lockgate: the log cannot be read: {visible(str(error), 300)}", err=True)
    return 3


# ---------------------------------------------------------------- saying
def _to_json(where: Folders, found: ResidentState) -> Mapping[str, Any]:
    from lockgate.clients.hook import start_resident

    return {
        "runs": found.runs,
        "answers": found.answers,
        "problem": found.problem,
        "state": where.state,
        "switched_off": os.environ.get(start_resident.OFF) == "off",
        "installed_version": __version__,
        **found.facts,
    }


def _lines(found: ResidentState) -> Iterator[str]:
    if not found.runs:
        yield f"{paint('none runs', 'yellow')}: hooks decide by themselves, and one of the next starts it"
        yield "  where one has just ended, or could not be started, that takes up to ten seconds"
        return
    if found.problem:
        yield f"{paint('it runs and does not answer', 'red')}: {visible(found.problem, 300)}"
        yield "hooks decide by themselves meanwhile; to mend it: lockgate gate restart"
        return
    facts = found.facts
    since = iso(float(facts["started_at"]))
    yield f"{paint('it runs', 'green')}: process {facts['pid']}, version {visible(str(facts['version']), 40)}"
    yield f"  started      {ago(since)}; last asked {facts['idle_seconds']:.0f} s ago"
    yield f"  answered     {facts['answered']} ({facts['declined']} left to the hook, {facts['failed']} took too long)"
    if facts["p50_ms"] is not None:
        yield f"  a decision   p50 {facts['p50_ms']:.1f} ms, p99 {facts['p99_ms']:.1f} ms (of the last 2000 at most)"
    connections = "1 connection" if facts["connections"] == 1 else f"{facts['connections']} connections"
    yield f"  now          {connections}, {facts['waiting_for_others']} waiting for others"
    if facts["memory_mb"] is not None:
        yield f"  memory       {facts['memory_mb']:g} MB"
    if facts["version"] != __version__ or facts.get("program") != PACKAGE_FOLDER:
        yield f"it is not of this program ({__version__}, {PACKAGE_FOLDER}); the next hook of this one ends it"
