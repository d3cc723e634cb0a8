"""``lockgate setup``: prints the commands that only a system administrator can run. It changes nothing."""

from __future__ import annotations

import json
import os
import shlex
import sys
from importlib.resources import files
from typing import NamedTuple

import click

from lockgate.containment.host import Host, launchers, try_again
from lockgate.core.display_text import visible
from lockgate.system.folders import state_dir

_PROFILE_FILE = "/etc/apparmor.d/lockgate-contain"
_LOADED = "/sys/kernel/security/apparmor/profiles"
_RESTRICTED = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
"""Ubuntu 23.10 and later: whether AppArmor keeps programs without a profile from making user namespaces."""


class Setup(NamedTuple):
    """The commands for a person who may become root, and their reason."""

    why: str
    needed: bool = True
    """Whether something has to be set up here at all."""
    load: str = ""
    prove: str = ""
    take_out: str = ""

    @property
    def steps(self) -> tuple[tuple[str, str], ...]:
        """The commands, each with what it does."""
        named = (("load it", self.load), ("prove that it holds", self.prove), ("take it out", self.take_out))
        return tuple((what, command) for what, command in named if command)


@click.group(short_help="Print how to set up what needs the system's administrator.")
def setup() -> None:
    """Print how to set up what only the system's administrator can. Nothing is changed."""


@setup.command(short_help="Let the sandbox make user namespaces where the system forbids it.")
@click.option("--profile", "only_profile", is_flag=True, help="Print AppArmor's profile alone.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def sandbox(only_profile: bool, as_json: bool) -> None:
    """Print how to let the sandbox make user namespaces where AppArmor forbids them (Ubuntu 23.10 and later).

    They are the system's own tools: one loads a profile for a copy of the launcher that root owns, one proves that it
    holds, one takes it out again.

    Exit status: 0 printed, or there is nothing to set up; 1 nothing that is known would help.
    """
    if only_profile:
        click.echo(profile(), nl=False)
        return
    found = _find_setup(try_again(state_dir()))
    if as_json:
        click.echo(json.dumps({**_fields(found), "profile": profile() if found.load else ""}, indent=2))
    else:
        click.echo(visible(found.why, 500))
    for what, command in () if as_json else found.steps:
        click.echo(f"\nTo {what}:\n  {command}")
    if found.needed and not found.load:
        raise click.exceptions.Exit(1)


def _fields(found: Setup) -> dict[str, str]:
    return {"why": found.why, "load": found.load, "prove": found.prove, "take_out": found.take_out}


def profile() -> str:
    """The profile for the administrator's copy of the launcher, in AppArmor's language."""
    return files("lockgate.containment.linux").joinpath("data/lockgate-contain.apparmor").read_text("utf-8")


def _find_setup(host: Host) -> Setup:
    if sys.platform != "linux":
        return Setup("nothing to set up: this system has no user namespaces", needed=False)
    own, copy = launchers()
    if "namespaces" in (host.way, host.launcher):
        by = "the kernel's own namespaces" if host.way == "namespaces" else copy
        return Setup(f"nothing to set up: commands are contained by {by}", needed=False)
    if not _is_on(_RESTRICTED):
        return Setup(f"no setting of AppArmor is in the way: {host.problem or f'there is {host.way}'}")
    if not os.path.exists(own):
        return Setup(
            "AppArmor forbids programs to make user namespaces, and this installation has no native launcher to allow"
            " it to: install a C compiler or a wheel for this system, and Lockgate again"
        )
    return _apparmor_setup(own, copy)


def _apparmor_setup(own: str, copy: str) -> Setup:
    """The commands for AppArmor. No program of the user's runs as root."""
    text = f"lockgate setup sandbox --profile | sudo tee {_PROFILE_FILE} > /dev/null"
    made = f"sudo install -D -o root -g root -m 0755 {shlex.quote(own)} {copy}"
    return Setup(
        "AppArmor forbids programs to make user namespaces. A profile can allow it to the sandbox's launcher alone.",
        load=f"{made} && {text} && sudo apparmor_parser --replace {_PROFILE_FILE}",
        prove=f"sudo grep '^lockgate-contain' {_LOADED} && {copy} --try && lockgate doctor",
        take_out=f"sudo apparmor_parser --remove {_PROFILE_FILE} && sudo rm -r {_PROFILE_FILE} {os.path.dirname(copy)}",
    )


def _is_on(switch: str) -> bool:
    try:
        with open(switch, encoding="ascii") as file:
            return file.read(10).strip() not in ("", "0")
    except OSError:
        return False
