"""``install``, ``uninstall`` and ``update`` without a client's name: for all that are on this machine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence

import click

from lockgate.cli.install.one_client import InstallOptions, change_as_json, make_sure, say
from lockgate.clients.install import registration
from lockgate.clients.install.claude import SettingsChange
from lockgate.clients.install.claude_settings_view import look
from lockgate.core.display_text import visible
from lockgate.core.errors import InstallError
from lockgate.store.opening import ask_once
from lockgate.system.folders import Folders

Change = Callable[[str, InstallOptions, Folders], SettingsChange]


def find_clients(where: Folders, project: str) -> list[registration.ClientHere]:
    """The clients of this machine.

    Raises:
        click.ClickException: There is none.
    """
    here = registration.clients_here(look(where, project, os.environ, ""))
    if not here:
        raise click.ClickException("no agent client is on this machine; install one, or name it: lockgate install NAME")
    return here


def show(here: Iterable[registration.ClientHere], *, as_json: bool) -> None:
    """Print the clients, whether they are guarded, and what each can hold."""
    if as_json:
        rows = [{**one._asdict(), "holds": one.holds._asdict()} for one in here]
        click.echo(json.dumps({"clients": rows}))
        return
    for number, one in enumerate(here, 1):
        click.echo(f"{number}. {one.client}: {one.state}")
        click.echo(f"     program    {visible(one.program or 'not in PATH; its folder is there', 200)}")
        click.echo(f"     hooks in   {visible(one.file, 200)}")
        if one.problem:
            click.echo(f"     problem    {visible(one.problem, 300)}")
        click.echo("     refuses    yes; a hook that crashes or hangs: refused by the registered command")
        click.echo(f"     asks       {one.holds.asks}")
        click.echo(f"     contains   {one.holds.contains}")
        click.echo(f"     redacts    {one.holds.redacts}")


def own_entries(here: Iterable[registration.ClientHere]) -> list[str]:
    """The clients whose own files are to hold the hooks: all that nothing else guards."""
    return [one.client for one in here if not one.is_guarded_otherwise]


def choose_clients(here: Sequence[registration.ClientHere]) -> list[str]:
    """Ask the person which of the clients to guard.

    Raises:
        click.UsageError: Nobody can be asked.
        click.ClickException: The person chose none.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("nothing was installed: name a client, or take all of them with --all")
    lacking = [str(number) for number, one in enumerate(here, 1) if one.lacks_hooks]
    says = "Guard which? Numbers, or all, or none"
    answer = click.prompt(says, default=" ".join(lacking) or "none").replace(",", " ").split()
    if answer == ["none"]:
        raise click.ClickException("nothing was installed")
    if answer == ["all"]:
        return own_entries(here)
    if not all(word.isascii() and word.isdigit() and 1 <= int(word) <= len(here) for word in answer):
        raise click.UsageError(f"take numbers from 1 to {len(here)}, or all, or none")
    return list(dict.fromkeys(here[int(word) - 1].client for word in answer))


def for_each(clients: Iterable[str], change: Change, asked: InstallOptions, where: Folders, done: str) -> None:
    """Change the settings of several clients. A client that fails does not keep the others from it.

    Raises:
        click.ClickException: One of them failed; each failure is told.
    """
    rows: list[dict[str, object]] = []
    left: dict[str, None] = {}
    with ask_once(where.state):
        for client in clients:
            row: dict[str, object] = {"client": client}
            rows.append(row)
            try:
                made = change(client, asked, where)
                row.update(change_as_json(made, asked))
                if not asked.as_json:
                    say(made, asked, done)
                if done != "uninstalled":
                    left[make_sure(client, asked, where)] = None
            except (InstallError, click.ClickException) as error:
                says = error.message if isinstance(error, click.ClickException) else str(error)
                row["problem"] = says
                click.echo(f"{client}: {visible(says, 600)}", err=True)
    if asked.as_json:
        click.echo(json.dumps({"clients": rows}))
    else:
        for says in filter(None, left):
            click.echo(says)
    failed = [str(row["client"]) for row in rows if "problem" in row]
    if failed:
        raise click.ClickException(f"not everything is done: {', '.join(failed)}; see above")
