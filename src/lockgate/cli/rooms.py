"""``lockgate rooms``: lists what contained commands have left running, by session."""

from __future__ import annotations

import json
from typing import Any

import click

from lockgate.cli.common.state import look_at_state
from lockgate.containment import rooms
from lockgate.core.display_text import visible
from lockgate.core.errors import ContainmentError
from lockgate.gate.monitor.rooms import names_in
from lockgate.system.folders import state_dir


@click.group("rooms", invoke_without_command=True, short_help="Show or end what contained commands left running.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
@click.pass_context
def rooms_command(ctx: click.Context, as_json: bool) -> None:
    """Show the rooms of contained commands: what those of one session, with the same labels, share.

    Exit status: 0 shown, 3 state not readable.
    """
    if ctx.invoked_subcommand is not None:
        return
    found = _find_rooms()
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


@rooms_command.command("end", short_help="End rooms, with every process in them.")
@click.argument("names", nargs=-1, metavar="[ROOM]...")
def end_rooms(names: tuple[str, ...]) -> None:
    """End every process in the rooms whose names begin so; without a name, in all of them.

    Exit status: 0 ended, 1 there is no such room, 3 state not readable.
    """
    there = [each.name for each in rooms.find_standing(state_dir())]
    wanted = [name for name in there if not names or name.startswith(names)]
    ended = rooms.end(state_dir(), wanted)
    click.echo(f"ended: {len(ended)}")
    if names and not ended:
        raise click.exceptions.Exit(1)


@rooms_command.command("forward", short_help="Let your browser see a server that a contained command runs.")
@click.argument("port", type=click.IntRange(1, 65535))
@click.option(
    "--room", default="", metavar="ROOM", help="The room, by the beginning of its name.  [default: whichever]"
)
@click.option("--to", "host_port", type=click.IntRange(0, 65535), help="The port here.  [default: the same]")
def forward_port(port: int, room: str, host_port: int | None) -> None:
    """Pass on from a port of this machine's loopback to PORT in a room, until Ctrl+C or the room's end.

    It leads in only. But a page that you open is a page of the session's: it can make your browser send what it shows
    to anywhere. So open what you would open from a stranger.

    Exit status: 0 ended, 1 nothing listens there, or the port here is taken.
    """
    listens = [each.name for each in rooms.find_standing(state_dir()) if port in rooms.ports(state_dir(), [each.name])]
    found = [name for name in listens if name.startswith(room)]
    if not found:
        raise click.ClickException(f"nothing listens at port {port} in a room (see: lockgate rooms)")
    if len(found) > 1:
        names = ", ".join(name[:12] for name in found)
        raise click.ClickException(f"port {port} is listened at in several rooms: {names}; choose one with --room")
    try:
        rooms.forward(state_dir(), found[0], port, port if host_port is None else host_port, _say_where)
    except ContainmentError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        return
    click.echo("the room has ended")


def _say_where(port: int) -> None:
    click.echo(f"http://127.0.0.1:{port}/ leads to the room; Ctrl+C ends that")


def _find_rooms() -> list[dict[str, Any]]:
    there = {each.name: each for each in rooms.find_standing(state_dir())}
    whose: dict[str, dict[str, Any]] = {}
    with look_at_state() as tx:
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
