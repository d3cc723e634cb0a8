"""What follows where what is kept outside of the state folder is missing, or is not in the chain.

A state that somebody has put back from a copy does not know what was read since. So all its seals of labels go: every
session and agent that it knows has every label then, until a person has looked (``lockgate audit accept``). One that it
does not know has them, too, where its transcript shows that it has read something.

A step that was announced and is not there is given its labels, and no more: a process was killed before its commit.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress

from lockgate.core.errors import StoreError
from lockgate.core.model import Label, Subject, Taint
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store.files import PUT_BACK, PUT_BACK_SINCE
from lockgate.store.sqlite import rollback
from lockgate.store.sqlite.transaction import SqliteTransaction
from lockgate.system.digests import sha256
from lockgate.system.files import read_regular
from lockgate.system.uptime import instant

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from sqlite3 import Connection

    from lockgate.store.sqlite.rollback import Kept, OutsideHead, Step

KEPT_AT = "rollback:kept"
"""The setting that says on which machine, and of which folder, the head was first kept."""
EVENT = "put-back"
"""The event of the record of all this."""
_OLDER = "the state is older than what is kept of it elsewhere, or another one"
_GONE = "what is kept of the state elsewhere is gone"
_MOVED = "the state came here from another machine or folder"
_KILLED = "a process ended before it had written what it had announced"
_SOURCE = "a call whose process ended before it had written what was read"


class _Found(Record):
    """What is against what."""

    is_older: bool
    """Whether the state is older than what was kept."""
    lost: tuple[Step, ...]
    """The steps that the chain does not have."""


def settle(outside: OutsideHead, connection: Connection, key: bytes, begin: Callable[[], None]) -> None:
    """Find out what is the case, and do what follows from it. Raises an error of SQLite.

    Args:
        outside: What is kept outside of the state folder.
        connection: To the database, in no transaction.
        key: The installation's.
        begin: Takes the lock for writing.
    """
    begin()
    try:
        told = outside.kept()
        if told and outside.is_in(connection, told):
            return  # another process was in the middle of it, or has done it meanwhile
        found = _find(outside, connection, told)
        _settle(outside, SqliteTransaction(connection, key, writable=True), connection, told, found)
        connection.execute("COMMIT")
        outside.advance(connection, force=True)
        # They are forgotten when what follows from them is there, and not before: this process may be killed.
        begin()
        outside.drop_steps(found.lost)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def begin_anew(outside: OutsideHead, connection: Connection, key: bytes, begin: Callable[[], None]) -> None:
    """Take a database that a person has just had made for the one that is right, whatever was kept of another.

    The arguments are those of :func:`settle`.
    """
    begin()
    tx = SqliteTransaction(connection, key, writable=True)
    if outside.put_all([rollback.head_of(connection)]):
        tx.put_setting(KEPT_AT, _here(outside.state))
    outside.drop_steps([step for each in outside.kept() for step in each.steps])
    connection.execute("COMMIT")


def _find(outside: OutsideHead, connection: Connection, told: Sequence[Kept]) -> _Found:
    heads = {head for each in told for head in each.heads}
    steps = dict.fromkeys(step for each in told for step in each.steps)
    there = outside.in_chain(connection, heads.union(step.head for step in steps))
    lost = tuple(step for step in steps if step.head not in there)
    is_older = any(there.isdisjoint(each.heads) and not _is_cut_off(each, there) for each in told)
    return _Found(is_older or not all(step.is_whole for step in lost), lost)


def _is_cut_off(kept: Kept, there: set[rollback.Head]) -> bool:
    """Whether the machine has stopped since, and the disk may have lost the last commits: all of them are steps here.

    Each of the steps that are lost gives its labels, so nobody wins anything by stopping the machine.
    """
    return kept.boot != instant().boot and any(step.head in there for step in kept.steps)


def _settle(
    outside: OutsideHead, tx: SqliteTransaction, connection: Connection, told: Sequence[Kept], found: _Found
) -> None:
    here, before, now = _here(outside.state), tx.setting(KEPT_AT), time.time()
    heads = dict.fromkeys(head for each in told for head in each.heads)
    if found.is_older:
        distrust(tx, _OLDER, now)
    elif not told and before == here and _lasts(outside):
        distrust(tx, _GONE, now)
    else:
        # As it is, it is believed: a process that is killed now leaves nothing that looks like a state put back.
        heads[rollback.head_of(connection)] = None
        if not told and before not in (None, here):
            _record(tx, _MOVED, now)
    if found.lost and not found.is_older:
        _record(tx, _KILLED, now)
        tx.end_answers()  # one of them may have been used
    for session, agent, label in dict.fromkeys(gain for step in found.lost for gain in step.gains):
        tx.add_taints(Subject(session, agent), [Taint(Label(label), _SOURCE, "", "", now)])
    heads[rollback.head_of(connection)] = None
    if outside.put_all(heads):
        tx.put_setting(KEPT_AT, here)


def distrust(tx: SqliteTransaction, reason: str, now: float) -> None:
    """Let every subject have every label, no yes count, and a person be told until they have looked."""
    _record(tx, reason, now)
    tx.distrust_labels()
    tx.end_answers()
    tx.put_setting(PUT_BACK, reason)
    tx.put_setting(PUT_BACK_SINCE, str(now))


def _record(tx: SqliteTransaction, reason: str, now: float) -> None:
    # A chain whose ends do not hold takes no record; every decision is refused then, until a person has looked.
    with suppress(StoreError, sqlite3.IntegrityError):
        tx.append_audit(now, {"event": EVENT, "client": "", "session": "", "agent": "", "reason": reason})


def _lasts(outside: OutsideHead) -> bool:
    """Whether what is kept beside the state folder lasts as long as it: a volume of a container outlasts that."""
    state = outside.state
    return os.stat(state).st_dev == os.stat(os.path.dirname(state)).st_dev


def _here(state: str) -> str:
    """This machine and this folder, told by nothing that another one has too."""
    machine = b""
    with suppress(OSError, ValueError):
        machine = read_regular("/etc/machine-id", 1000)
    return sha256(b"\n".join((machine, os.uname().nodename.encode(), os.fsencode(os.path.realpath(state))))).hexdigest()
