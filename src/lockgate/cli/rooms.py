"""``lockgate rooms``: what contained commands have left running, session by session."""

from __future__ import annotations

import json
from typing import Any

import click

from lockgate.cli.common.state import looking
from lockgate.containment.rooms import end, standing
from lockgate.core.display_text import visible
from lockgate.gate.monitor.rooms import names_in
from lockgate.system.folders import state_dir


@click.group(invoke_without_command=True, short_help="Show or end what contained commands left running.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
@click.pass_context
def rooms(ctx: click.Context, as_json: bool) -> None:
    """Show the rooms of contained commands: what those of one session, with the same labels, share.

    Exit status: 0 shown, 3 state not readable.
    """
    if ctx.invoked_subcommand is not None:
        return
    found = _found()
    if as_json:
        click.echo(json.dumps(found, indent=2))
    elif not found:
        click.echo("no contained command runs, and none has left anything running")
    for each in () if as_json else found:
        labels = " and ".join(each["labels"]) or "no labels"
        whose = f"session {visible(each['session'], 60)}" if each["session"] else "a session that is forgotten"
        delegate = f", delegate {visible(each['delegate'], 60)}" if each["delegate"] else ""
        click.echo(
            f"{each['room'][:12]}  {whose}{delegate}, {labels}: {each['running']} running, "
            f"{each['left']} have left processes, last call {int(each['idle']) // 60} min ago"
        )


@rooms.command("end", short_help="End rooms, with every process in them.")
@click.argument("names", nargs=-1, metavar="[ROOM]...")
def end_rooms(names: tuple[str, ...]) -> None:
    """End every process in the rooms whose names begin so; without a name, in all of them.

    Exit status: 0 ended, 1 there is no such room, 3 state not readable.
    """
    there = [each.name for each in standing(state_dir())]
    wanted = [name for name in there if not names or name.startswith(names)]
    ended = end(state_dir(), wanted)
    click.echo(f"ended: {len(ended)}")
    if names and not ended:
        raise click.exceptions.Exit(1)


def _found() -> list[dict[str, Any]]:
    there = {each.name: each for each in standing(state_dir())}
    whose: dict[str, dict[str, Any]] = {}
    with looking() as tx:
        sessions = [row.session for row in tx.sessions()] if tx is not None and there else []
        for session in sessions:
            for name, delegate, labels in names_in(tx, session) if tx is not None else ():
                if name in there:
                    words = sorted(label.name.lower() for label in labels)
                    whose[name] = {"session": session, "delegate": delegate, "labels": words}
    unknown = {"session": "", "delegate": "", "labels": []}
    return [
        {
            "room": each.name,
            **whose.get(each.name, unknown),
            "running": each.calls,
            "left": each.left,
            "idle": each.idle,
        }
        for each in there.values()
    ]
