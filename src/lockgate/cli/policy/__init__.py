"""``lockgate policy``: the policy of a fleet, made and signed in one place, and followed on every machine."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from lockgate.cli.common.colour import paint
from lockgate.cli.common.person import require_person
from lockgate.cli.common.set_up import require_approver_once_guarded
from lockgate.cli.common.state import WRONG, make_state, open_state, record_act
from lockgate.cli.common.times import clock, iso
from lockgate.cli.policy.files import problem_json, public_key, read_file, refusal_error, report
from lockgate.cli.policy.make import build, inspect, keygen, sign, verify
from lockgate.configuration.bundles import enrolment, manifest
from lockgate.configuration.bundles.acceptance import problems, verify_signed
from lockgate.configuration.bundles.fleet import Fleet, look
from lockgate.configuration.bundles.pins import MOST_KEYS, Pins, pins_of
from lockgate.core.display_text import visible
from lockgate.core.errors import BundleError
from lockgate.system.folders import state_dir

Tell = Callable[[Sequence[Any]], None]


@click.group(short_help="Make, sign and install a fleet's policy.")
def policy() -> None:
    """Make, sign and install a fleet's policy: one signed file that binds every machine which has pinned its key."""


for _command in (keygen, build, sign, inspect, verify):
    policy.add_command(_command)


@contextmanager
def _open_record() -> Iterator[Tell]:
    """What writes acts of a person into the audit; exits with 3 where the state cannot be written."""
    from lockgate.configuration.bundles.fleet import audit_writer

    try:
        with make_state() as store:
            yield audit_writer(store, "cli")
    except BundleError as error:
        raise refusal_error(error) from error


@policy.command(short_help="Put a bundle in force on this machine.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def install(file: str) -> None:
    """Put the bundle FILE in force on this machine, where a pinned key has signed it and it is not old.

    Exit status: 0 in force, 1 refused, 2 usage, 3 state not writable.
    """
    require_person("install a fleet's policy")
    path = os.path.abspath(file)
    data = read_file(path)
    with _open_record() as tell:
        current = enrolment.install(state_dir(), data, time.time(), path, tell)
    click.echo(f"{current.fleet}/{current.serial} is in force, signed by {current.key}")


@policy.command(short_help="Offer a bundle to all gates of this gate's store.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def publish(file: str) -> None:
    """Offer the bundle FILE to all gates that share this one's store. Each of them verifies it, and takes it or not.

    Exit status: 0 published, 1 refused, 2 usage, 3 state not writable.
    """
    require_person("publish a fleet's policy")
    data = read_file(file)
    pins = pins_of(state_dir())
    try:
        if pins is None or pins.problem:
            raise BundleError(pins.problem if pins else "no key is pinned here to verify it with")
        bundle = verify_signed(data, pins.keys).bundle
        if bundle.fleet != pins.fleet:
            raise BundleError(f"it is for the fleet {bundle.fleet}, and this machine belongs to {pins.fleet}")
        report(problems(bundle))
        with make_state() as store, store.transaction() as tx:
            if not tx.put_policy(bundle.fleet, bundle.serial, data):
                raise BundleError(f"{bundle.fleet}/{bundle.serial} is not newer than what is published")
            facts = {"fleet": bundle.fleet, "serial": bundle.serial}
            record_act(tx, store.clock(), "policy-published", facts)
    except BundleError as error:
        raise refusal_error(error) from error
    click.echo(f"{bundle.fleet}/{bundle.serial} is published")


# ---------------------------------------------------------------- keys


@policy.command(short_help="Belong to a fleet: take its policy by these keys.")
@click.argument("lines", metavar="KEY...", nargs=-1, required=True)
@click.option("--fleet", required=True, help="The fleet's name.")
@click.option("--source", type=click.Path(), help="Where newer bundles come: a file, or the folder of a policy.bundle.")
@click.option("--yes", is_flag=True, help="Do not ask. It takes your terminal all the same.")
def pin(lines: tuple[str, ...], fleet: str, source: str | None, yes: bool) -> None:
    """Belong to a fleet: take its policy where one of these public keys has signed it. KEY is the line, or its file.

    From then on, nothing but local work is allowed until the fleet's first policy is here. Keys that are pinned already
    stay.

    Only a person at a terminal of their own can do this, once a client has hooks or a session was recorded. Before that
    a script that sets a machine up can, with --yes; later the administrator's `fleet.json` does it.

    Exit status: 0 pinned, 1 not pinned, or not a person's terminal, 2 usage, 3 state not writable.
    """
    require_approver_once_guarded("pin the keys of a fleet")
    if not manifest.is_fleet(fleet):
        raise click.UsageError("a fleet's name has small letters, digits, dots and dashes, 64 characters at most")
    before = _own_pins()
    if before is not None and before.fleet != fleet:
        raise click.ClickException(f"this machine belongs to {before.fleet}; first: lockgate policy unpin --all")
    known = {key.raw: key for key in (*(before.keys if before else ()), *map(public_key, lines))}
    if len(known) > MOST_KEYS:
        raise click.ClickException(f"more than {MOST_KEYS} keys")
    for key in known.values():
        click.echo(f"{key.id} {key.comment}".rstrip())
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("this asks a person: run it in a terminal, or give --yes")
        click.confirm(f"Let whoever has one of these keys bind this machine as {fleet}?", default=False, abort=True)
    watched = os.path.abspath(source) if source else before.source if before else ""
    with _open_record() as tell:
        enrolment.pin(state_dir(), fleet, tuple(known.values()), watched, tell)
    click.echo(f"pinned; keys of {fleet}: {len(known)}")


@policy.command(short_help="Take a key back, or leave the fleet.")
@click.argument("ids", metavar="[FINGERPRINT...]", nargs=-1)
@click.option("--all", "leave", is_flag=True, help="Leave the fleet: its policy does not hold any more.")
def unpin(ids: tuple[str, ...], leave: bool) -> None:
    """Take keys back by their fingerprints. What only they have signed does not hold any more.

    Only a person at a terminal of their own can do this, once a client has hooks or a session was recorded.

    Exit status: 0 done, 1 there is no such key, or not a person's terminal, 2 usage, 3 state not writable.
    """
    require_approver_once_guarded("take the keys of a fleet back")
    if bool(ids) == leave:
        raise click.UsageError("give fingerprints, or --all")
    if leave:
        with _open_record() as tell:
            enrolment.leave(state_dir(), tell)
        click.echo("this machine belongs to no fleet by its own settings")
        return
    before = _own_pins()
    keys = before.keys if before else ()
    unknown = set(ids) - {key.id for key in keys}
    if before is None or unknown:
        raise click.ClickException(f"not pinned: {visible(', '.join(sorted(unknown or ids)), 300)}")
    left = tuple(key for key in keys if key.id not in ids)
    if not left:
        raise click.ClickException("that would be the last key; to leave the fleet: lockgate policy unpin --all")
    with _open_record() as tell:
        enrolment.pin(state_dir(), before.fleet, left, before.source, tell)
    click.echo(f"taken back; keys left: {len(left)}")


def _own_pins() -> Pins | None:
    """What the user has pinned; refuses where the administrator says it."""
    found = pins_of(state_dir())
    if found is not None and found.managed:
        raise click.ClickException(f"the administrator's file says it: {found.path}")
    if found is not None and found.problem:
        raise click.ClickException(
            f"{visible(found.path, 300)}: {found.problem}; to begin anew: lockgate policy unpin --all"
        )
    return found


# ---------------------------------------------------------------- status


@policy.command(short_help="Show the fleet's policy that is in force here.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
def status(json_: bool) -> None:
    """Show which fleet this machine belongs to, by which keys, which policy is in force, and what is wrong with it.

    Exit status: 0 nothing is wrong, 1 something is, 3 state not readable.
    """
    state = state_dir()
    with open_state() as store:
        found = look(state, store.clock(), store=store) if store is not None else look(state, time.time())
    if json_:
        click.echo(json.dumps(_status_json(found), indent=2))
    elif found is None:
        click.echo("this machine belongs to no fleet")
    else:
        for line in _status_lines(found):
            click.echo(line)
    raise click.exceptions.Exit(WRONG if found is not None and found.problems else 0)


def _status_json(found: Fleet | None) -> dict[str, Any]:
    if found is None:
        return {"fleet": None, "keys": [], "source": None, "policy": None, "highest": {}, "problems": []}
    current = found.current
    return {
        "fleet": found.name or None,
        "managed": found.pins.managed if found.pins else None,
        "keys": [{"id": key.id, "comment": key.comment} for key in found.pins.keys] if found.pins else [],
        "source": (found.pins.source if found.pins else "") or None,
        "policy": current
        and {
            "serial": current.serial,
            "sha256": current.digest,
            "key": current.key,
            "created": iso(current.created),
            "expires": iso(current.expires),
            "accepted": iso(current.at),
            "from": current.source,
            "files": dict(current.files),
        },
        "highest": found.highest,
        "problems": [problem_json(problem) for problem in found.problems],
    }


def _status_lines(found: Fleet) -> Iterator[str]:
    pins, current = found.pins, found.current
    yield f"fleet      {found.name or 'not known'}"
    if pins is not None:
        for key in pins.keys:
            yield f"key        {key.id} {visible(key.comment, 100)}".rstrip()
        yield f"pinned in  {visible(pins.path, 300)}{' (the administrator)' if pins.managed else ''}"
        yield f"source     {visible(pins.source, 300) or 'none: lockgate policy install'}"
    if current is None:
        yield paint("policy     none: every call is denied that does more than local work", "red")
    else:
        yield f"policy     {current.fleet}/{current.serial}, in force since {clock(iso(current.at))}"
        yield f"           created {clock(iso(current.created))}, expires {clock(iso(current.expires))}"
        yield f"           {', '.join(current.files)}; signed by {current.key}"
    for problem in found.problems:
        yield paint(f"problem    {visible(str(problem), 600)}", "yellow")
