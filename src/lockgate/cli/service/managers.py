"""The service managers that can keep the resident gate running: systemd and launchd."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import click

from lockgate.cli.service import units
from lockgate.clients.hook import start_resident
from lockgate.core.display_text import visible
from lockgate.service.resident.process import AGAIN
from lockgate.system.files import read_regular
from lockgate.system.folders import Folders
from lockgate.system.programs import run

_SECONDS = 20
_PAUSE = 0.5
_MOST_BYTES = 64 * 1024


class ServiceManager(NamedTuple):
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
    """The command that succeeds while it runs, or is at least known to the manager."""
    ended: str
    """What that command says of a service that is known and does not run; empty where there is no such thing."""
    again: tuple[str, ...]
    """The command that starts it, also where it has just ended."""
    ends_what_runs: bool
    """Whether ``down`` is only for what runs, and fails where nothing does."""
    lets_go: float = 0.0
    """Seconds for which what was ended may stand in the way of the next one."""


def manager(where: Folders, platform: str = sys.platform, uid: int | None = None) -> ServiceManager:
    """The service manager of a system.

    Args:
        where: The folders that the gate serves.
        platform: As ``sys.platform``.
        uid: The user, by default this one.

    Raises:
        ValueError: A path cannot be written as the manager reads it.
    """
    command = [sys.executable, *start_resident.arguments(where, 0), "--replace", "yes"]
    environment = start_resident.environment(where)
    if platform == "darwin":
        return _launchd(where.home, command, environment, os.getuid() if uid is None else uid)
    return _systemd(where.home, command, environment)


def _launchd(home: str, command: Sequence[str], environment: Mapping[str, str], uid: int) -> ServiceManager:
    path = os.path.join(home, "Library", "LaunchAgents", f"{units.LABEL}.plist")
    domain = f"gui/{uid}"
    job = f"{domain}/{units.LABEL}"
    return ServiceManager(
        "launchd",
        path,
        units.property_list(command, environment),
        (("launchctl", "bootout", job),),
        (("launchctl", "bootstrap", domain, path),),
        (("launchctl", "bootout", job),),
        (),
        ("launchctl", "print", job),
        "state = not running",  # the job ended well, as after `lockgate gate stop`: it stays loaded
        ("launchctl", "kickstart", "-k", job),
        ends_what_runs=True,
        # bootout does not wait for the process, which has 5 s before it is killed; until it has gone, bootstrap
        # fails (5, Input/output error). So it was measured with macOS 26 and 27.
        lets_go=15.0,
    )


def _systemd(home: str, command: Sequence[str], environment: Mapping[str, str]) -> ServiceManager:
    user = ("systemctl", "--user")
    restart = (*user, "restart", units.UNIT)
    return ServiceManager(
        "systemd",
        os.path.join(home, ".config", "systemd", "user", units.UNIT),
        units.unit(command, environment, AGAIN, hardened=not _needs_privileges()).encode(),
        (),
        ((*user, "daemon-reload"), (*user, "enable", units.UNIT), restart),
        ((*user, "disable", "--now", units.UNIT),),
        ((*user, "daemon-reload"),),
        (*user, "is-active", "--quiet", units.UNIT),
        "",
        restart,
        ends_what_runs=False,
    )


def find_running(where: Folders) -> ServiceManager | None:
    """The service manager, where it runs the gate of these folders now."""
    try:
        found = manager(where)
    except ValueError:
        return None
    return found if read_service_file(found.path) == found.text and runs(found) else None


def start_again(found: ServiceManager) -> None:
    """Make the service manager start its gate anew.

    Raises:
        ClickException: It cannot be told.
    """
    run_commands((found.again,))


def read_service_file(path: str) -> bytes:
    """What a service's file holds; empty where there is none."""
    try:
        return read_regular(path, _MOST_BYTES)
    except OSError:
        return b""


def run_commands(commands: Sequence[tuple[str, ...]], retry_seconds: float = 0.0) -> None:
    """Run commands of a service manager.

    Args:
        commands: They are run one after another.
        retry_seconds: For how many seconds what fails is tried again.

    Raises:
        ClickException: One of them failed.
    """
    until = time.monotonic() + retry_seconds
    for command in commands:
        while problem := failure_of(command):
            if time.monotonic() >= until:
                raise click.ClickException(f"`{' '.join(command)}` failed: {visible(problem, 400)}")
            time.sleep(_PAUSE)


def runs(found: ServiceManager) -> bool:
    """Whether the service runs, as its manager says."""
    problem, text = _answer(found.alive)
    return not problem and not (found.ended and found.ended in text)


def failure_of(command: tuple[str, ...]) -> str:
    """Why a command failed; empty where it did not."""
    return _answer(command)[0]


def _answer(command: tuple[str, ...]) -> tuple[str, str]:
    """Why a command failed, empty where it did not; and what it printed."""
    program = shutil.which(command[0])
    if program is None:
        return f"there is no {command[0]} here", ""
    ran = run([program, *command[1:]], _SECONDS)
    if ran.problem or ran.code == 0:
        return ran.problem, ran.out
    return (ran.err or ran.out).strip() or f"exit status {ran.code}", ran.out


def _needs_privileges() -> bool:
    """Whether this system's sandbox program takes its rights from the set-user-ID bit."""
    program = shutil.which("bwrap")
    try:
        return program is not None and bool(os.stat(program).st_mode & stat.S_ISUID)
    except OSError:
        return False
