"""``lockgate pause`` and ``lockgate resume``: let everything run for a while, or hold calls back again."""

from __future__ import annotations

import os
import re

import click

from lockgate.cli.common.person import require_approver
from lockgate.cli.common.state import UNREADABLE, clients, make_state
from lockgate.configuration import pause
from lockgate.configuration.load import load_for_cli
from lockgate.core.display_text import visible
from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.folders import state_dir
from lockgate.system.timestamps import local_time
from lockgate.system.uptime import instant

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction

_UNITS = {"s": 1, "m": 60, "h": 3600}


def _seconds(_: click.Context, __: click.Parameter, value: str) -> float:
    """The seconds of a number and a unit: ``90s``, ``30m``, ``2h``."""
    found = re.fullmatch(r"([0-9]{1,6})([smh])", value)
    seconds = float(int(found[1]) * _UNITS[found[2]]) if found else 0.0
    if not 0 < seconds <= pause.LONGEST:
        hours = pause.LONGEST / 3600
        raise click.BadParameter(f"{visible(value, 40)!r} is not 1s to {hours:.0f}h: write 90s, 30m or 2h")
    return seconds


@click.command("pause", short_help="Let everything run for a while.")
@click.argument("duration", callback=_seconds, default="30m")
def pause_command(duration: float) -> None:
    """Let agents do everything on this machine for DURATION (90s, 30m, 2h; at most 8h), by default 30m.

    Labels are kept, and the audit says what would have been decided. What would change the gate itself is refused all
    the same. Containers that this machine decides for are not paused. `lockgate resume` ends it at once.

    Exit status: 0 paused, 1 forbidden by the configuration, or not a person's terminal, 2 usage, 3 state not usable.
    """
    with make_state() as store:
        require_approver("pause the gate", clients(store))
        try:
            allowed = pause.may_pause(load_for_cli(os.getcwd()))
        except StoreError as error:
            raise click.ClickException(visible(str(error), 600)) from error
        if not allowed:
            raise click.ClickException("the configuration here forbids a pause (`lockgate config show`)")
        with store.transaction() as tx:
            until = _begin(tx, duration)
    at = local_time(until)
    click.echo(f"paused until {at}: agents may do everything; `lockgate resume` ends it")


@click.command(short_help="End a pause.")
def resume() -> None:
    """End a pause at once.

    Exit status: 0 not paused (any more), 2 usage, 3 state not usable.
    """
    with make_state() as store, store.transaction() as tx:
        try:
            was = pause.end(tx, state_dir(), instant())
        except OSError as error:
            raise _unusable(error) from error
    click.echo("no longer paused" if was else "there was no pause")


def _begin(tx: Transaction, seconds: float) -> float:
    now = instant()
    if not now.boot:
        raise click.ClickException("this system does not tell one start from another, so a pause might not end")
    try:
        return pause.begin(tx, state_dir(), now, seconds)
    except OSError as error:
        raise _unusable(error) from error


def _unusable(error: OSError) -> click.exceptions.Exit:
    click.echo(f"lockgate: the state folder cannot be written: {error.strerror}", err=True)
    return click.exceptions.Exit(UNREADABLE)
