"""``lockgate store``: where everything is kept, and moving it to a database that gates share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from typing import Any

import click

from lockgate.cli.common.person import require_approver, require_person
from lockgate.cli.common.set_up import list_clients, require_approver_once_guarded
from lockgate.cli.common.state import UNREADABLE, WRONG, record_act, unreadable
from lockgate.cli.common.times import clock, iso
from lockgate.cli.store.store_status import LOCAL, describe_chains, status_lines, status_of, verify_chains
from lockgate.clients.wire.resident_control import stop_gate
from lockgate.core.display_text import visible
from lockgate.core.errors import AuditError, StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store import administration
from lockgate.store.files import ELSEWHERE
from lockgate.store.opening import open_existing
from lockgate.store.postgres.settings import without_password
from lockgate.store.protocol import Store
from lockgate.store.rows import GateRow
from lockgate.system.folders import folders

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction
    from lockgate.store.sqlite.copies import DatabaseCopy


@click.group()
def store() -> None:
    """Show where everything is kept, and move it to a PostgreSQL database that gates share, or back."""


@store.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(as_json: bool) -> None:
    """Show which store this gate has, and whether it can be used.

    Exit status: 0 it can be used (also where nothing was recorded yet), 2 usage, 3 it cannot.
    """
    told = status_of(folders().state)
    _say(told, status_lines, as_json)
    if not told["usable"]:
        raise click.exceptions.Exit(UNREADABLE)


@store.command(short_help="Make the tables of a shared database, or make them newer.")
@click.argument("url", required=False)
@click.option("--gate-role", "gate_roles", multiple=True, help="A role that gets the rights of a gate, and no more.")
@click.option("--reader-role", "reader_roles", multiple=True, help="A role that gets the right to look.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def migrate(url: str | None, gate_roles: tuple[str, ...], reader_roles: tuple[str, ...], as_json: bool) -> None:
    """Make the tables of the shared database at URL, or bring older ones to this version.

    Its owner does this, once and after an upgrade. Without URL it is the store that this gate uses. Gates wait for it;
    those of an older version refuse everything afterwards, and say why. A store of this gate's own is upgraded by
    itself. It needs this only where it is so large that a hook has no time for it.

    Exit status: 0 done, or nothing to do; 1 no URL, or not a person's shell; 2 usage; 3 it cannot be made.
    """
    require_person("change a shared store")
    state = folders().state
    try:
        if url is None and not os.path.lexists(os.path.join(state, ELSEWHERE)):
            _migrate_own(state, as_json=as_json)
            return
        if url is None:
            url = _url_of(state)
        done = administration.migrate_shared(state, url, gate_roles=gate_roles, reader_roles=reader_roles)
    except StoreError as error:
        raise unreadable(error) from error
    if as_json:
        click.echo(json.dumps({"where": without_password(url), **done._asdict()}))
        return
    if done.before == done.after:
        click.echo(f"the tables are of version {done.after} already")
    else:
        click.echo(
            f"the tables are of version {done.after} now" + (f", and were of {done.before}" if done.before else "")
        )
    for gate in done.unbound:
        click.echo(
            f"nobody knows which role has gate {visible(gate, 100)}: say it, with `lockgate store bind GATE ROLE`"
        )


def _migrate_own(state: str, *, as_json: bool) -> None:
    done = administration.migrate_own(state)
    if done is None:
        raise click.ClickException("nothing is recorded yet; for a shared store say its address, postgresql://...")
    path, before, after = done
    if as_json:
        click.echo(json.dumps({"where": state, "before": before, "after": after}))
    elif before == after:
        click.echo(f"the tables are of version {after} already")
    else:
        click.echo(f"the tables are of version {after} now; what was before is in {path}.{before}")


@store.command(short_help="Go back to a copy of this gate's own store.")
@click.argument("copy", type=click.Path(dir_okay=False), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def restore(copy: str | None, as_json: bool) -> None:
    """Put COPY in the place of the database in the state folder; without COPY, list the copies that are there.

    Each upgrade that changes the tables keeps a copy, lockgate.db.N. What was recorded since is not in it. So every
    session that it knows gets both labels; start new ones. The database of now is kept beside it. The gate is ended.

    Exit status: 0 done, or listed; 1 not a person's terminal; 2 usage; 3 it cannot be used: nothing was changed.
    """
    from lockgate.store.sqlite.copies import copies

    state = folders().state
    if copy is None:
        _list_copies(copies(state), as_json=as_json)
        return
    require_approver("replace what is recorded", list_clients(state))
    path = os.path.abspath(copy)

    def record(tx: Transaction, now: float, replaced: str) -> None:
        record_act(tx, now, "store", {"restored": path, "replaced": replaced})

    try:
        administration.demand_own(state)
        stop_gate(state)
        replaced, labelled = administration.restore(state, path, record)
    except (StoreError, OSError) as error:
        raise unreadable(error if isinstance(error, StoreError) else StoreError(str(error))) from error
    if as_json:
        click.echo(json.dumps({"restored": path, "replaced": replaced, "labelled": labelled}))
        return
    click.echo(f"restored: {visible(path, 300)}" + (f"; what was there is in {replaced}" if replaced else ""))
    click.echo(f"sessions that have both labels now: {labelled}. Start new ones.")


@store.command(short_help="Take out of the database what Lockgate does not make.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def mend(as_json: bool) -> None:
    """Remove triggers, views and indexes that Lockgate does not make, and make those that are missing.

    Look first at what `lockgate doctor` names: somebody has put it there. It may have changed rows, so run
    `lockgate audit verify` afterwards. The gate is ended.

    Exit status: 0 done, or nothing to do; 1 not a person's terminal; 2 usage; 3 it cannot be mended: nothing was
    changed.
    """
    state = folders().state
    require_approver("change what the database has", list_clients(state))
    try:
        stop_gate(state)
        done = administration.mend_schema(state)
        facts = {"removed": list(done.removed), "made": list(done.made), "version": done.version}
        found = open_existing(state)
        if found is not None and any(facts.values()):
            with closing(found), found.transaction() as tx:
                record_act(tx, found.clock(), "store", {"mended": facts})
    except (StoreError, OSError) as error:
        raise unreadable(error if isinstance(error, StoreError) else StoreError(str(error))) from error
    _say(facts, _describe_mended, as_json)


def _describe_mended(facts: dict[str, Any]) -> Iterable[str]:
    yield from (f"removed: {visible(each, 300)}" for each in facts["removed"])
    yield from (f"made: {each}" for each in facts["made"])
    if facts["version"]:
        yield f"put right: the number of the version, which was {facts['version']}"
    yield "run: lockgate audit verify" if any(facts.values()) else "nothing to mend"


def _list_copies(found: Sequence[DatabaseCopy], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"copies": [{**each._asdict(), "fits": each.fits} for each in found]}, indent=2))
        return
    for each in found:
        fits = "" if each.fits else ", not for this version"
        fits += "" if each.is_of_before or not each.schema else ", replaced by a restore"
        click.echo(f"{clock(iso(each.made_at))}  {visible(each.path, 300)} (schema {each.schema}{fits})")
    if found:
        click.echo("to go back to one: lockgate store restore COPY, with its path from above")
    else:
        click.echo("there are no copies: no upgrade has changed the tables")


@store.command(short_help="Say which role of the database a gate has.")
@click.argument("gate")
@click.argument("role")
@click.option("--url", default="", help="The address of the database for its owner; else the one that this gate uses.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def bind(gate: str, role: str, url: str, as_json: bool) -> None:
    """Let GATE record with ROLE from now on, and with no other: with its id, the beginning of it, or its name.

    A gate has the role with which it first recorded. The owner of the database does this, where a machine gets another.

    Exit status: 0 done; 1 no address, or not a person's shell; 2 usage; 3 there is no such gate or role, or the address
    is not the owner's.
    """
    require_person("say who may record for a gate")
    try:
        found = administration.bind_gate(url or _url_of(folders().state), gate, role)
    except StoreError as error:
        raise unreadable(error) from error
    said = visible(role, 100)
    click.echo(json.dumps({"gate": found, "role": role}) if as_json else f"gate {visible(found, 100)} is {said}'s now")


def _url_of(state: str) -> str:
    where = administration.read_shared_address(state)
    if where is None:
        raise click.ClickException("this gate uses no shared store: say its address, postgresql://...")
    return where.url


@store.command(short_help="Let this gate use a shared database, or its own folder again.")
@click.argument("where")
@click.option("--gate", "name", default="", help="What people call this gate; else user and host.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def use(where: str, name: str, as_json: bool) -> None:
    """Let this gate keep everything at WHERE from now on: the address of a database, or `sqlite`.

    The database is tried first. Nothing is moved: see `lockgate store copy`. A gate that runs notices by itself. Where
    something is recorded already, or a client has hooks, only a person at a terminal of their own may do this.

    Exit status: 0 it is used from now on; 1 not a person's terminal; 2 usage; 3 it cannot be used: nothing was changed.
    """
    state = folders().state
    try:
        require_approver_once_guarded("choose where everything is kept", records=True)
        if where == LOCAL:
            _leave(state, LOCAL)
            administration.use_own(state)
        else:
            _try(state, where, name)
            if not _is_used(state, where):
                is_own = not os.path.lexists(os.path.join(state, ELSEWHERE))
                _leave(state, where)
                if is_own:
                    with suppress(StoreError):  # one that cannot be opened is none to come back to
                        administration.leave_own(state)
            administration.use_shared(state, where, name)
    except StoreError as error:
        raise unreadable(error) from error
    except OSError as error:
        raise click.ClickException(f"cannot write {state}: {error.strerror}") from error
    said = LOCAL if where == LOCAL else without_password(where)
    if as_json:
        click.echo(json.dumps({"store": said}))
        return
    place = f"this gate's own folder, {state}" if where == LOCAL else said
    click.echo(f"from now on everything is kept in {visible(place, 300)}")
    click.echo("what was recorded before stays where it is, unless `lockgate store copy` has taken it along")


def _record(found: Store, facts: dict[str, Any]) -> None:
    with found.transaction() as tx:
        record_act(tx, found.clock(), "store", facts)


def _try(state: str, url: str, name: str) -> None:
    """Write into the store what is about to happen: whoever can do that can use it."""
    with administration.open_shared_store(state, url, name) as found:
        _record(found, {"begins": without_password(url)})
        if name:  # `copy`, or a former `use`, may have made this gate known by another one
            with found.transaction() as tx:
                tx.call_gate(name)
        with found.reading() as tx:
            _warn_of_namesakes(tx.gates())


def _warn_of_namesakes(gates: Sequence[GateRow]) -> None:
    own = next((gate.name for gate in gates if gate.own), None)
    if sum(gate.name == own for gate in gates) > 1:
        click.echo(f"another gate is called {visible(own or '', 100)} too: give this one a name with --gate", err=True)


def _is_used(state: str, url: str) -> bool:
    """Whether the state folder names this very database already, so that none is left."""
    with suppress(StoreError):
        where = administration.read_shared_address(state)
        return where is not None and where.url == url
    return False


def _leave(state: str, where: str) -> None:
    """Record in the store that was used so far that it is left. One that is lost is left all the same."""
    with suppress(StoreError):
        found = open_existing(state)
        if found is not None:
            try:
                _record(found, {"leaves_for": where if where == LOCAL else without_password(where)})
            finally:
                found.close()


@store.command(short_help="Copy everything to a shared database, or back.")
@click.argument("to")
@click.option("--from", "source", default="", help="The address of the database to copy from, where TO is sqlite.")
@click.option("--gate", "name", default="", help="What people call this gate there; else user and host.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def copy(to: str, source: str, name: str, as_json: bool) -> None:
    """Copy everything that this gate keeps to TO: the address of a shared database, or `sqlite`.

    The audit chain is copied with its seals, and verified in both. What other gates have recorded stays where it is.
    Doing it twice changes nothing. Nothing is removed, and `lockgate store use` decides which of the two is used.

    Exit status: 0 copied; 1 a chain does not hold, or not a person's terminal; 2 usage; 3 a store cannot be used. In
    all cases but 0 nothing was changed.
    """
    state = folders().state
    if to == LOCAL:
        require_approver("replace what is recorded", list_clients(state))
    else:
        require_person("copy what is recorded")
    try:
        url = (source or _url_of(state)) if to == LOCAL else to
        done, head = administration.copy_store(state, url, name, back=to == LOCAL)
    except StoreError as error:
        raise unreadable(error) from error
    except AuditError as error:
        raise click.ClickException(str(error)) from error
    told = {**done._asdict(), "head": {"seq": head.seq, "digest": head.digest}}
    if as_json:
        click.echo(json.dumps(told))
        return
    rows = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in told["rows"].items() if count)
    click.echo(f"copied: {rows or 'no sessions'}, and {told['records']} new records of the audit")
    click.echo(f"the audit chain holds in both stores, up to record {told['head']['seq']}")
    if told["addresses_left"]:
        click.echo("addresses that sessions have seen were not copied: the stores have different keys for them")
    if to == LOCAL or not _is_used(state, to):
        click.echo(f"nothing has been switched: `lockgate store use {LOCAL if to == LOCAL else 'ADDRESS'}` does that")


@store.command(short_help="Check the audit of every gate, and the central record of them.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(as_json: bool) -> None:
    """Check the audit chain of every gate of the store, and that each is the one that was anchored.

    Seals are checked of this gate's own chain: no other gate has its key. See also `lockgate audit verify`.

    Exit status: 0 all hold, 1 something does not, 2 usage, 3 the store cannot be read.
    """
    told = verify_chains(folders().state)
    _say(told, describe_chains, as_json)
    if not told["ok"]:
        raise click.exceptions.Exit(WRONG)


def _say(told: dict[str, Any], lines: Callable[[dict[str, Any]], Iterable[str]], as_json: bool) -> None:
    for line in [json.dumps(told, indent=2)] if as_json else lines(told):
        click.echo(line)
