"""``lockgate service``: have systemd or launchd keep the resident gate running."""

from __future__ import annotations

import json
import os
from contextlib import suppress

import click

from lockgate.cli.common.person import require_person
from lockgate.cli.common.state import WRONG
from lockgate.cli.service.managers import ServiceManager, failure_of, manager, read_service_file, run_commands, runs
from lockgate.core.display_text import visible
from lockgate.system.folders import folders
from lockgate.system.ownership import make_folders


@click.group(short_help="Keep the resident gate running.")
def service() -> None:
    """Have systemd (Linux) or launchd (macOS) keep the resident gate running as long as you are logged in.

    Nothing needs this: the first hook starts a gate, which ends after half an hour without a question. As a service it
    is there from the start, never ends by itself, and is started again when it fails.
    """


@service.command(short_help="Write the service's file, and start it.")
@click.option("--dry-run", is_flag=True, help="Print the file, and change nothing.")
@click.option("--no-start", is_flag=True, help="Only write the file.")
def install(dry_run: bool, no_start: bool) -> None:
    """Write the file that describes the service, and have it run now and at each log-in.

    A gate that runs already ends; hooks decide by themselves until the service is there. Where the service manager
    cannot be told, everything is as it was before; --no-start writes the file all the same.

    Exit status: 0 done, 1 the service manager cannot be told, 2 usage.
    """
    found = _manager()
    if dry_run:
        click.echo(f"# {visible(found.path, 600)}")
        click.echo(found.text.decode().rstrip("\n"))
        return
    require_person("install a service")
    before = read_service_file(found.path)
    new = _find_missing_folders(os.path.dirname(found.path))
    try:
        _write(found)
    except OSError as error:
        raise click.ClickException(f"{visible(found.path, 600)}: {visible(str(error.strerror), 200)}") from None
    click.echo(f"written: {visible(found.path, 600)}")
    if not no_start:
        ended = [not failure_of(command) for command in found.before]
        try:
            run_commands(found.up, found.lets_go if any(ended) else 0.0)
        except click.ClickException:
            _take_back(found, before)
            for folder in new:
                with suppress(OSError):  # something else was put there meanwhile
                    os.rmdir(folder)
            raise
        click.echo(f"{found.name} runs the gate now, and at each log-in")


@service.command(short_help="End the service, and remove its file.")
def uninstall() -> None:
    """End the service, and remove its file. The next hook starts a gate by itself again.

    The file goes too where the service manager cannot be told, so that no later log-in starts the service.

    Exit status: 0 it is gone, or there was none; 1 the service manager cannot be told; 2 usage.
    """
    require_person("remove a service")
    found = _manager()
    if not os.path.lexists(found.path):
        click.echo("it is not installed")
        return
    try:
        if not (found.ends_what_runs and failure_of(found.alive)):
            run_commands(found.down)
    finally:
        os.unlink(found.path)
        click.echo(f"removed: {visible(found.path, 600)}")
    run_commands(found.after)


@service.command(short_help="Is it installed, and does it run?")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(as_json: bool) -> None:
    """Say whether the service is installed, as this version of Lockgate would, and runs.

    Exit status: 0 all of it, 1 something is missing, 2 usage.
    """
    found = _manager()
    there = read_service_file(found.path)
    current = there == found.text
    running = bool(there) and runs(found)
    if as_json:
        told = {
            "manager": found.name,
            "file": found.path,
            "installed": bool(there),
            "current": current,
            "runs": running,
        }
        click.echo(json.dumps(told, indent=2))
    elif not there:
        click.echo("it is not installed; a hook starts the gate, which is enough")
    else:
        click.echo(f"{found.name}: {visible(found.path, 600)}")
        click.echo("it runs" if running else f"it does not run: {' '.join(found.alive)}")
        if not current:
            click.echo("its file is not what this version would write: lockgate service install")
    raise click.exceptions.Exit(0 if there and current and running else WRONG)


def _manager() -> ServiceManager:
    try:
        return manager(folders())
    except ValueError as error:
        raise click.ClickException(visible(str(error), 600)) from None


def _write(found: ServiceManager) -> None:
    from lockgate.system.files import replace

    make_folders(os.path.dirname(found.path), 0o755)
    replace(found.path, found.text, draft=f"{found.path}.{os.getpid()}.draft", mode=0o644)


def _find_missing_folders(folder: str) -> list[str]:
    """Which of a folder and those above it are not there yet, the innermost first."""
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def _take_back(found: ServiceManager, before: bytes) -> None:
    """Have everything as it was before an installation that has failed, as far as that goes."""
    if before:
        _write(found._replace(text=before))
        again = found.up
    else:
        for command in found.down:
            failure_of(command)
        os.unlink(found.path)
        again = found.after
    for command in again:
        failure_of(command)
    enough = "" if before else "; a hook starts the gate, which is enough"
    click.echo(f"{'as before' if before else 'removed again'}: {visible(found.path, 600)}{enough}", err=True)
