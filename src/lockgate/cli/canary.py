"""``lockgate canary``: manages values that open nothing, and that no tool call may carry."""

from __future__ import annotations

import json
import re
import secrets
import time
from typing import Any

import click

from lockgate.cli.common.person import require_person
from lockgate.cli.common.set_up import require_approver_once_guarded
from lockgate.cli.common.state import look_at_state, make_state, open_state, record_act
from lockgate.cli.common.times import ago, iso
from lockgate.configuration.known_secrets.canaries import StoredCanary, keep, name_setting, read_canaries, settings
from lockgate.core.display_text import visible
from lockgate.patterns.known_values.canary_formats import SHAPES, make
from lockgate.patterns.known_values.values import KnownKind, KnownValue, Marker, Named
from lockgate.store.protocol import Store, Transaction

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_MOST = 500
"""Canaries at a time."""


@click.group(short_help="Make values that must never leave.")
def canary() -> None:
    """Make values that look like keys and open nothing. Put one where only a thief would look.

    Every tool call that carries one, in any encoding, is denied, and you are told which one it was.
    """


@canary.command(short_help="Make a canary and print it, once.")
@click.option("--name", default="", help="What to call it: letters, digits and hyphens.  [default: SHAPE-N]")
@click.option("--as", "shape", type=click.Choice(list(SHAPES)), default="text", show_default=True, help="Its looks.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def new(name: str, shape: str, as_json: bool) -> None:
    """Make a canary and print it. It is not kept in clear and cannot be shown again.

    Exit status: 0 made, 1 the name is taken or an agent seems to ask, 2 usage, 3 state not writable.
    """
    require_person("make a canary")
    if name and not _NAME.fullmatch(name):
        raise click.UsageError("a name has up to 40 small letters, digits and hyphens")
    bait = make(shape, secrets.randbelow)
    with make_state() as store, store.transaction() as tx:
        kept = StoredCanary(_free_name(tx, name, shape), shape, time.time())
        keep(tx, kept, _entry(kept.name, bait.values, store.key))
        record_act(tx, store.clock(), "canary", {"canary": kept.name})
    if as_json:
        click.echo(json.dumps({**_to_json(kept), "text": bait.text}))
        return
    click.echo(bait.text)
    click.echo(f"canary {kept.name}: put this somewhere; it is not shown again", err=True)


@canary.command("list", short_help="List canaries, without their values.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def list_canaries(as_json: bool) -> None:
    """List canaries: name, looks and date. Their values are not kept.

    Exit status: 0 listed, 1 an agent seems to ask, 3 state not readable.
    """
    require_person("list canaries")
    with look_at_state() as tx:
        found = read_canaries(settings(tx)) if tx is not None else []
    if as_json:
        click.echo(json.dumps([_to_json(kept) for kept in found]))
        return
    for kept in found:
        click.echo(f"{visible(kept.name, 40):40} {visible(kept.shape, 10):8} made {ago(iso(kept.made))}")
    if not found:
        click.echo("no canaries: lockgate canary new makes one", err=True)


@canary.command(short_help="Look for a canary no longer.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def revoke(name: str, as_json: bool) -> None:
    """Look for the canary NAME no longer.

    Only a person at a terminal of their own can do this, once a client has hooks or a session was recorded.

    Exit status: 0 revoked, 1 there is none or not a person's terminal, 3 state not writable.
    """
    require_approver_once_guarded("revoke a canary")
    with open_state() as store:
        if store is None or not _revoke(store, name):
            raise click.ClickException(f"there is no canary {visible(name, 80)!r}")
    click.echo(json.dumps({"name": name, "revoked": True}) if as_json else f"{name} is not looked for any more")


def _revoke(store: Store, name: str) -> bool:
    with store.transaction() as tx:
        if tx.setting(name_setting(name)) is None:
            return False
        tx.put_setting(name_setting(name), None)
        record_act(tx, store.clock(), "canary_revoked", {"canary": name})
    return True


def _free_name(tx: Transaction, name: str, shape: str) -> str:
    taken = {kept.removeprefix(name_setting("")) for kept in settings(tx)}
    if len(taken) >= _MOST:
        raise click.ClickException(f"there are {_MOST} canaries: revoke some first")
    if name in taken:
        raise click.ClickException(f"there is a canary {name} already: revoke it first, or choose another name")
    return name or next(free for number in range(1, _MOST + 1) if (free := f"{shape}-{number}") not in taken)


def _entry(name: str, values: tuple[str, ...], salt: bytes) -> KnownValue:
    """What is kept of a canary: the marks of all its values under its one name."""
    marker = Marker(salt)
    entries = [marker.entry(Named(name, value.encode("ascii"), KnownKind.CANARY)) for value in values]
    return KnownValue(name, KnownKind.CANARY, tuple(mark for entry in entries for mark in entry.marks))


def _to_json(kept: StoredCanary) -> dict[str, Any]:
    return {"name": kept.name, "shape": kept.shape, "made_at": iso(kept.made)}
