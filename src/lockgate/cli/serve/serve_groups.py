"""``lockgate serve groups``: manages the containers that this machine decides for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

import click

from lockgate.cli.common.person import require_approver, require_person
from lockgate.cli.common.set_up import list_clients
from lockgate.cli.common.state import make_state, record_act
from lockgate.core.display_text import visible
from lockgate.core.errors import RemoteError
from lockgate.policy.profiles import read_shipped_profiles
from lockgate.service.containers.groups import ContainerGroup, Groups, new_secret
from lockgate.system.folders import folders

_UNSEALED = "an older version or something else has written its file, so nothing is decided for it."


@click.group(short_help="The containers that are decided for.")
def groups() -> None:
    """The containers that this machine decides for: each group has labels, a key and a folder of its own."""


@groups.command()
@click.argument("name")
@click.option("--ipc", metavar="DIR", required=True, type=click.Path(file_okay=False), help="As for lockgate serve.")
@click.option("--profile", metavar="NAME", default="", help="The profile that decides for it.")
@click.option("--uid", type=click.IntRange(0), help="The user of its agent, as this machine numbers users.  [yours]")
@click.option("--inside", metavar="DIR", default="/workspace/ipc", show_default=True, help="Where it is mounted.")
@click.option("--client-asks", is_flag=True, help="Let its client put questions, where a person sits before it.")
@click.option("--no-local", is_flag=True, help="Let it run nothing before this machine has answered.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def add(
    name: str, ipc: str, profile: str, uid: int | None, inside: str, client_asks: bool, no_local: bool, as_json: bool
) -> None:
    """Add a group: make its folders and its key, and print what to mount.

    Exit status: 0 added, 1 it cannot be, 2 usage, 3 the state cannot be used.
    """
    require_person("let a container ask the gate")
    if profile and profile not in read_shipped_profiles():
        raise click.UsageError(
            f"there is no profile {visible(profile)!r}; known: {', '.join(sorted(read_shipped_profiles()))}"
        )
    if not os.path.isabs(inside) or not inside.isprintable():
        raise click.UsageError("--inside must be an absolute path")
    folder = os.path.join(os.path.realpath(ipc), name)
    user = os.geteuid() if uid is None else uid
    group = ContainerGroup(
        name, new_secret(), folder, user, profile, client_asks, not no_local, os.path.normpath(inside)
    )
    _change_groups("container-added", name, lambda known: known.add(group), {"profile": profile, "uid": user})
    if as_json:
        click.echo(json.dumps(_to_json(group)))
        return
    click.echo(f"{name} can ask the gate. Mount into its container:")
    for mount in group.mounts:
        click.echo(f"  -v {visible(mount.source, 400)}:{visible(mount.target, 400)}:{mount.mode}")
    click.echo("and inside of it:")
    click.echo(f"  lockgate install claude-code --remote ipc:{inside} --key-file /run/lockgate/key")


@groups.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def list_command(as_json: bool) -> None:
    """List the groups. Keys are not shown.

    Exit status: 0 listed (also where there are none).
    """
    known = Groups(folders().state)
    for group in known.all().values():
        shown = _to_json(group)
        if as_json:
            click.echo(json.dumps(shown))
        else:
            profile = group.profile or "as configured"
            click.echo(f"{group.name}  profile: {profile}  uid: {group.uid}  {visible(group.folder, 400)}")
    for name in known.find_unsealed():
        click.echo(f"{name}: {_UNSEALED} `lockgate serve groups rotate {name}` shows it, and asks", err=True)


@groups.command()
@click.argument("name")
def remove(name: str) -> None:
    """Remove a group and its folders. Its labels and its audit stay.

    Exit status: 0 removed, 1 there is none or an agent seems to ask, 3 the state cannot be used.
    """
    require_person("take a container from the gate")
    _change_groups("container-removed", name, lambda known: known.remove(name), {})
    click.echo(f"{visible(name)} is not decided for any more: its container is refused everything")


@groups.command()
@click.argument("name")
def rotate(name: str) -> None:
    """Give a group another key, at once. What it asks with the old one is refused.

    Where its file has no seal of this installation, what it says is shown first. Then a person at a terminal of their
    own is asked whether it is to hold.

    Exit status: 0 changed; 1 there is none, not confirmed, or an agent seems to ask; 3 the state cannot be used.
    """
    require_person("change a container's key")
    unsealed = Groups(folders().state).find_unsealed().get(name)
    if unsealed is None:
        _change_groups("container-key", name, lambda known: known.rotate(name), {})
    else:
        _seal_again(unsealed)
    click.echo(f"{visible(name)} has a new key; it lies where the old one did, so nothing is to be mounted again")


@groups.command()
@click.argument("name")
def token(name: str) -> None:
    """Print the group's bearer token, for programs of your own over the Unix socket or HTTPS.

    Exit status: 0 printed, 1 there is none or an agent seems to ask.
    """
    require_person("see a container's token")
    group = Groups(folders().state).all().get(name)
    if group is None:
        raise click.ClickException(f"there is no group {visible(name)!r}; see: lockgate serve groups list")
    click.echo(group.key.token)


def _seal_again(group: ContainerGroup) -> None:
    """Let a group be what its file says, where a person says so who has seen it."""
    require_approver("say that a container's file is right", list_clients(folders().state))
    click.echo(f"{group.name}: {_UNSEALED}", err=True)
    for name, value in _to_json(group).items():
        if name != "mounts":
            click.echo(f"  {name}: {visible(str(value), 400)}")
    click.confirm("Is that what it is to be?", default=False, abort=True)
    facts = {"profile": group.profile, "uid": group.uid}
    _change_groups("container-added", group.name, lambda known: known.seal(group), facts)


def _to_json(group: ContainerGroup) -> Mapping[str, Any]:
    return {
        "name": group.name,
        "folder": group.folder,
        "uid": group.uid,
        "profile": group.profile,
        "client_asks": group.client_asks,
        "local": group.local,
        "mounts": [{"from": each.source, "to": each.target, "mode": each.mode} for each in group.mounts],
    }


def _change_groups(event: str, name: str, act: Callable[[Groups], object], facts: Mapping[str, Any]) -> None:
    """Change the groups, and write it into the audit."""
    try:
        with make_state() as store:
            act(Groups(folders().state))
            with store.transaction() as tx:
                record_act(tx, store.clock(), event, {"group": name, **facts})
    except RemoteError as error:
        raise click.ClickException(visible(str(error), 600)) from None
