"""``lockgate service``: have systemd or launchd keep the resident gate running."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import click

from lockgate.cli import service_files
from lockgate.cli.person import require_person
from lockgate.cli.state import WRONG
from lockgate.files import read_regular
from lockgate.folders import Folders, folders
from lockgate.resident import starting
from lockgate.resident.process import AGAIN
from lockgate.text import visible

_SECONDS = 20
_MOST_BYTES = 64 * 1024


class Manager(NamedTuple):
    """A service manager, and what it is told."""

    name: str
    path: str
    """The file that describes the service."""
    text: bytes
    """What should be in it."""
    before: tuple[tuple[str, ...], ...]
    """Commands that end what an earlier installation has started. They may fail."""
    up: tuple[tuple[str, ...], ...]
    """The commands that have it run from now on."""
    down: tuple[tuple[str, ...], ...]
    """Those that end it, before the file is removed."""
    after: tuple[tuple[str, ...], ...]
    """Those that follow when the file is gone."""
    alive: tuple[str, ...]
    """The command that succeeds while it runs."""
    again: tuple[str, ...]
    """The command that starts it, also where it has just ended."""
    ends_what_runs: bool
    """Whether ``down`` is only for what runs, and fails where nothing does."""


def manager(where: Folders, platform: str = sys.platform, uid: int | None = None) -> Manager:
    """The service manager of a system.

    Args:
        where: The folders that the gate serves.
        platform: As ``sys.platform``.
        uid: The user, by default this one.

    Raises:
        ValueError: A path cannot be written as the manager reads it.
    """
    command = [sys.executable, *starting.arguments(where, 0), "--replace", "yes"]
    environment = starting.environment(where)
    if platform == "darwin":
        path = os.path.join(where.home, "Library", "LaunchAgents", f"{service_files.LABEL}.plist")
        domain = f"gui/{os.getuid() if uid is None else uid}"
        job = f"{domain}/{service_files.LABEL}"
        return Manager(
            "launchd",
            path,
            service_files.property_list(command, environment),
            (("launchctl", "bootout", job),),
            (("launchctl", "bootstrap", domain, path),),
            (("launchctl", "bootout", job),),
            (),
            ("launchctl", "print", job),
            ("launchctl", "kickstart", "-k", job),
            ends_what_runs=True,
        )
    user = ("systemctl", "--user")
    restart = (*user, "restart", service_files.UNIT)
    return Manager(
        "systemd",
        os.path.join(where.home, ".config", "systemd", "user", service_files.UNIT),
        service_files.unit(command, environment, AGAIN, hardened=not _needs_privileges()).encode(),
        (),
        ((*user, "daemon-reload"), (*user, "enable", service_files.UNIT), restart),
        ((*user, "disable", "--now", service_files.UNIT),),
        ((*user, "daemon-reload"),),
        (*user, "is-active", "--quiet", service_files.UNIT),
        restart,
        ends_what_runs=False,
    )


def running(where: Folders) -> Manager | None:
    """The service manager, where it runs the gate of these folders now."""
    try:
        found = manager(where)
    except ValueError:
        return None
    return found if _written(found.path) == found.text and not _said(found.alive) else None


def start_again(found: Manager) -> None:
    """Have the service manager start its gate anew.

    Raises:
        ClickException: It cannot be told.
    """
    _all((found.again,))


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
    before = _written(found.path)
    new = _missing(os.path.dirname(found.path))
    try:
        _write(found)
    except OSError as error:
        raise click.ClickException(f"{visible(found.path, 600)}: {visible(str(error.strerror), 200)}") from None
    click.echo(f"written: {visible(found.path, 600)}")
    if not no_start:
        for command in found.before:
            _said(command)
        try:
            _all(found.up)
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
        if not (found.ends_what_runs and _said(found.alive)):
            _all(found.down)
    finally:
        os.unlink(found.path)
        click.echo(f"removed: {visible(found.path, 600)}")
    _all(found.after)


@service.command(short_help="Is it installed, and does it run?")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(as_json: bool) -> None:
    """Say whether the service is installed, as this version of Lockgate would, and runs.

    Exit status: 0 all of it, 1 something is missing, 2 usage.
    """
    found = _manager()
    written = _written(found.path)
    current = written == found.text
    runs = bool(written) and _said(found.alive) == ""
    if as_json:
        told = {"manager": found.name, "file": found.path, "installed": bool(written), "current": current, "runs": runs}
        click.echo(json.dumps(told, indent=2))
    elif not written:
        click.echo("it is not installed; a hook starts the gate, which is enough")
    else:
        click.echo(f"{found.name}: {visible(found.path, 600)}")
        click.echo("it runs" if runs else f"it does not run: {' '.join(found.alive)}")
        if not current:
            click.echo("its file is not what this version would write: lockgate service install")
    raise click.exceptions.Exit(0 if written and current and runs else WRONG)


def _manager() -> Manager:
    try:
        return manager(folders())
    except ValueError as error:
        raise click.ClickException(visible(str(error), 600)) from None


def _write(found: Manager) -> None:
    from lockgate.files import replace

    os.makedirs(os.path.dirname(found.path), exist_ok=True)
    replace(found.path, found.text, draft=f"{found.path}.{os.getpid()}.draft", mode=0o644)


def _missing(folder: str) -> list[str]:
    """Which of a folder and those above it are not there yet, the innermost first."""
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def _take_back(found: Manager, before: bytes) -> None:
    """Have everything as it was before an installation that has failed, as far as that goes."""
    if before:
        _write(found._replace(text=before))
        again = found.up
    else:
        for command in found.down:
            _said(command)
        os.unlink(found.path)
        again = found.after
    for command in again:
        _said(command)
    enough = "" if before else "; a hook starts the gate, which is enough"
    click.echo(f"{'as before' if before else 'removed again'}: {visible(found.path, 600)}{enough}", err=True)


def _written(path: str) -> bytes:
    try:
        return read_regular(path, _MOST_BYTES)
    except OSError:
        return b""


def _all(commands: Sequence[tuple[str, ...]]) -> None:
    for command in commands:
        problem = _said(command)
        if problem:
            raise click.ClickException(f"`{' '.join(command)}` failed: {visible(problem, 400)}")


def _said(command: tuple[str, ...]) -> str:
    """Why a command failed; empty where it did not."""
    program = shutil.which(command[0])
    if program is None:
        return f"there is no {command[0]} here"
    try:
        done = subprocess.run(  # noqa: S603 - the system's own program, with words of ours
            [program, *command[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    if done.returncode == 0:
        return ""
    return (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"


def _needs_privileges() -> bool:
    """Whether this system's sandbox program takes its rights from the set-user-ID bit."""
    program = shutil.which("bwrap")
    try:
        return program is not None and bool(os.stat(program).st_mode & stat.S_ISUID)
    except OSError:
        return False
