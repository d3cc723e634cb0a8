"""``lockgate install``, ``lockgate uninstall`` and ``lockgate update``."""

from __future__ import annotations

import json
import os

import click

from lockgate.cli.install import every_client
from lockgate.cli.install.one_client import (
    MANAGED,
    InstallOptions,
    change_as_json,
    make_sure,
    put_in,
    say,
    take_out,
    tell_plugin,
    tell_unchanged,
)
from lockgate.clients.adapter import CLIENTS
from lockgate.clients.common.hook_command import remote_words
from lockgate.clients.install import registration
from lockgate.clients.install.claude import SCOPES
from lockgate.core.display_text import visible
from lockgate.core.errors import InstallError
from lockgate.system.folders import Folders, folders

_ALIASES = {
    "claude": "claude-code",
    "gemini": "gemini-cli",
    "copilot": "copilot-cli",
    "cursor-agent": "cursor",
    "qwen": "qwen-code",
    "kimi": "kimi-code",
}
"""What people call clients whose names here are longer."""


class _Client(click.Choice[str]):
    """A client's name, or what people call it."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as the adapters have it."""
        return super().convert(_ALIASES.get(value, value), param, ctx)


CLIENT = _Client(CLIENTS)
"""The type of an option or argument that names a client."""


def _options(command: click.decorators.FC) -> click.decorators.FC:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing."),
        click.option(
            "--project",
            type=click.Path(exists=True, file_okay=False, resolve_path=True),
            default=".",
            help="The project's folder, for the scopes project and local.  [default: the current folder]",
        ),
        click.option(
            "--scope",
            type=click.Choice([*SCOPES, MANAGED]),
            default="user",
            show_default=True,
            help="Whose settings: yours for all projects, the project's, yours for the project, or those of all users.",
        ),
        click.option(
            "--managed", "scope", flag_value=MANAGED, help="Claude Code: for every user of this machine, as root."
        ),
        click.argument("client", type=CLIENT, required=False),
        click.option("--all", "every", is_flag=True, help="All clients that are found on this machine."),
    ):
        command = option(command)
    return command


@click.command()
@_options
@click.option("--statusline", is_flag=True, help="Also show the session's labels in the status line, if there is none.")
@click.option("--trust", is_flag=True, help="Codex: also trust these hooks, as its /hooks screen does.")
@click.option("--plugin", is_flag=True, help="Only tell the installed plugin where this program is; its hooks do it.")
@click.option("--remote", metavar="PLACE", default="", help="In a container: ipc:DIR, unix:PATH or https://HOST:PORT.")
@click.option("--key-file", metavar="FILE", default="", help="In a container: the key that its host has made for it.")
@click.option("--ca-file", metavar="FILE", default="", help="Certificates to trust instead of the system's.")
@click.option("--no-native", is_flag=True, help="Start the hooks with Python, though there is a native client.")
def install(
    client: str | None,
    every: bool,
    scope: str,
    project: str,
    dry_run: bool,
    as_json: bool,
    statusline: bool,
    trust: bool,
    plugin: bool,
    remote: str,
    key_file: str,
    ca_file: str,
    no_native: bool,
) -> None:
    """Register the gate with an agent client.

    Without a client's name: show the clients that are on this machine, what each can hold, and ask which to guard.

    Entries are added to the client's settings and nothing else in them changes. Doing it again renews the entries.
    The pattern library is compiled, which takes a few seconds the first time. At the end the registered hook is tried,
    with a call that it must refuse.

    Exit status: 0 installed; 1 it cannot be, sessions would not be guarded, or an agent seems to ask; 2 usage.
    """
    _check_usage(client, every, scope, statusline=statusline or plugin, trust=trust)
    if scope == MANAGED and (statusline or plugin or remote):
        raise click.UsageError("--managed takes no --statusline, --plugin or --remote")
    asked = InstallOptions(
        scope, project, dry_run, as_json, statusline, trust, _remote(remote, key_file, ca_file), not no_native
    )
    if client:
        _install_one(client, asked, plugin=plugin)
        return
    where = folders()
    here = every_client.find_clients(where, project)
    if not every:
        every_client.show(here, as_json=as_json)
        if as_json or dry_run:
            return
    names = every_client.own_entries(here) if every else every_client.choose_clients(here)
    every_client.for_each(names, put_in, asked, where, "installed")


@click.command(short_help="Take the gate out of a client's settings.")
@_options
def uninstall(client: str | None, every: bool, scope: str, project: str, dry_run: bool, as_json: bool) -> None:
    """Take the gate out of an agent client's settings, and leave them as they were before.

    Labels and the audit are kept.

    Exit status: 0 taken out, 1 it cannot be, or an agent seems to ask, 2 usage.
    """
    _check_usage(client, every, scope)
    where, asked = _folders(scope), InstallOptions(scope, project, dry_run, as_json)
    if every:
        names = [one.client for one in every_client.find_clients(where, project) if one.may_have_hooks]
        every_client.for_each(names, take_out, asked, where, "uninstalled")
        return
    if not client:
        raise click.UsageError("nothing was taken out: name a client, or take all of them with --all")
    try:
        change = take_out(client, asked, where)
    except InstallError as error:
        raise click.ClickException(visible(str(error), 4000)) from None
    if as_json:
        click.echo(json.dumps(change_as_json(change, asked)))
    else:
        say(change, asked, "uninstalled")


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def update(dry_run: bool, as_json: bool) -> None:
    """Renew the hooks of every client that has them, after this program was upgraded or moved.

    Exit status: 0 all are as this version writes them; 1 one is not, none has hooks, or an agent seems to ask.
    """
    where, project = folders(), os.getcwd()
    guarded = [one for one in every_client.find_clients(where, project) if one.may_have_hooks]
    if not guarded:
        raise click.ClickException("no client has hooks of Lockgate; put them in: lockgate install")
    for one in guarded:
        if one.is_guarded_otherwise:
            says = f"its hooks ask a gate elsewhere, and stay. Renew them: lockgate install {one.client} --remote PLACE"
            click.echo(f"{one.client}: {says}", err=True)
    asked = InstallOptions("user", project, dry_run, as_json)
    old = {one.client for one in guarded if one.state is not registration.GuardState.GUARDED}
    every_client.for_each(
        every_client.own_entries(guarded),
        # Hooks that are as this version writes them stay, also where a person chose Python to start them.
        lambda client, asked, where: (put_in if client in old else tell_unchanged)(client, asked, where),
        asked,
        where,
        "renewed",
    )


def _check_usage(client: str | None, every: bool, scope: str, *, statusline: bool = False, trust: bool = False) -> None:
    if client and every:
        raise click.UsageError("--all is for all clients: name none")
    if not client and scope != "user":
        raise click.UsageError("--scope is for one client: name it")
    if client != "claude-code" and statusline:
        raise click.UsageError("--statusline and --plugin are for claude-code")
    if client not in ("codex", None) and trust:
        raise click.UsageError("--trust is for codex")


def _folders(scope: str) -> Folders:
    """The folders of whoever runs this. No variable says them for all users: ``sudo -E`` keeps another user's."""
    return folders({} if scope == MANAGED else None)


def _install_one(client: str, asked: InstallOptions, *, plugin: bool) -> None:
    where = _folders(asked.scope)
    try:
        if plugin:
            tell_plugin(asked, where)
            return
        change = put_in(client, asked, where)
    except InstallError as error:
        raise click.ClickException(visible(str(error), 4000)) from None
    if asked.as_json:
        click.echo(json.dumps(change_as_json(change, asked)))
    else:
        say(change, asked, "installed")
    then = make_sure(client, asked, where)
    if then and not asked.as_json:
        click.echo(then)


def _remote(place: str, key_file: str, ca_file: str) -> tuple[str, ...]:
    """The words that lead a hook to a gate outside of this container; none for a gate of this machine."""
    for value in (place, key_file, ca_file):
        if not value.isprintable():
            raise click.UsageError("a place and a path have no control characters")
    kind, _, path = place.partition(":")
    known = os.path.isabs(path) if kind in ("ipc", "unix") else kind in ("https", "http")
    if place and not known:
        raise click.UsageError("--remote is ipc:DIR or unix:PATH with an absolute path, or https://HOST:PORT")
    if bool(place) != bool(key_file):
        raise click.UsageError("--remote and --key-file go together")
    return remote_words(place, os.path.abspath(key_file) if key_file else "", ca_file and os.path.abspath(ca_file))
