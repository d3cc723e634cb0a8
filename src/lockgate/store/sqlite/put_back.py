"""What follows where what is kept outside of the state folder is missing, or is not in the chain.

A state that somebody has put back from a copy does not know what was read since. So all its seals of labels go: every
session and agent that it knows has every label then, until a person has looked (``lockgate audit accept``). One that it
does not know has them, too, unless its client says that it begins.

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
from lockgate.store.files import DATABASE, PUT_BACK, PUT_BACK_SINCE
from lockgate.store.sqlite import rollback
from lockgate.store.sqlite.rollback import KEPT_AT, NEVER
from lockgate.store.sqlite.transaction import SqliteTransaction
from lockgate.system.digests import json_object
from lockgate.system.uptime import instant

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from sqlite3 import Connection

    from lockgate.store.sqlite.rollback import Kept, OutsideHead, Step

EVENT = "put-back"
"""The event of the record of all this."""
_OLDER = "the state is older than what is kept of it elsewhere, or another one"
_GONE = "what is kept of the state elsewhere is gone"
_COPIED = "the state is a copy of one that is still there"
_REPLACED = "another state was in this folder, before or meanwhile: one that was deleted, moved aside or put back"
_MOVED = "the state came here from another folder"
_KILLED = "a process ended before it had written what it had announced"
_MOUNTS = "/proc/self/mountinfo"
_HANDLES = "/proc/self/fdinfo"
_SOURCE = "a call whose process ended before it had written what was read"


class _Found(Record):
    """What is against what."""

    is_older: bool
    """Whether the state is older than what was kept."""
    lost: tuple[Step, ...]
    """The steps that the chain does not have."""


class _Before(Record):
    """What the state says of itself: where its head was kept before this."""

    state: str = ""
    """The state folder, as a path without links; empty where nothing is said."""
    above: str = ""
    """The folder above that, as :func:`rollback.folder_id` tells it; empty where nothing is said."""
    lasts: bool = True
    """Whether what was kept lasts as long as the state."""
    others: frozenset[str] | None = frozenset()
    """The other installations that were in its folder; ``None`` of a build that did not ask."""


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
        told = outside.read_places()
        if told and outside.is_in(connection, told) and outside.is_noted(connection):
            return  # another process was in the middle of it, or has done it meanwhile
        tx = SqliteTransaction(connection, key, writable=True)
        lost = _settle(outside, tx, connection, told, _before(tx))
        connection.execute("COMMIT")
        outside.advance(connection, force=True)
        # They are forgotten when what follows from them is there, and not before: this process may be killed.
        begin()
        outside.drop_steps(lost)
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
        tx.put_setting(KEPT_AT, outside.note(lasts=outside.lasts()))
    outside.drop_steps([step for each in outside.read_places() for step in each.steps])
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
    outside: OutsideHead, tx: SqliteTransaction, connection: Connection, told: Sequence[Kept], before: _Before
) -> tuple[Step, ...]:
    """What follows, all of it in one transaction; the steps that the chain does not have."""
    now, here = time.time(), os.path.realpath(outside.state)
    is_here = before.state == here and before.above in ("", outside.above())
    others = [] if told and is_here else outside.of_before(before.state)
    found = _find(outside, connection, [*told, *others])
    heads = dict.fromkeys(head for each in told for head in each.heads)
    reason = _contradiction(outside, before, told, others, is_older=found.is_older, is_empty=not tx.audit_head().seq)
    if reason:
        distrust(tx, reason, now)
    else:
        # As it is, it is believed: a process that is killed now leaves nothing that looks like a state put back.
        heads[rollback.head_of(connection)] = None
        if before.state not in ("", here):
            _record(tx, _MOVED, now)
    if found.lost and not found.is_older:
        _record(tx, _KILLED, now)
        tx.end_answers()  # one of them may have been used
    for session, agent, label in dict.fromkeys(gain for step in found.lost for gain in step.gains):
        tx.add_taints(Subject(session, agent), [Taint(Label(label), _SOURCE, "", "", now)])
    heads[rollback.head_of(connection)] = None
    is_kept = outside.put_all(heads)
    note = outside.note(lasts=(is_kept and outside.lasts()) or (before.state == here and before.lasts))
    if tx.setting(KEPT_AT) != note:
        tx.put_setting(KEPT_AT, note)
    if is_kept and not reason:
        # Else a copy from before the move, put where it was, would have them say that it is the state.
        outside.forget(before.state)
    return found.lost


def _contradiction(
    outside: OutsideHead,
    before: _Before,
    told: Sequence[Kept],
    others: Sequence[Kept],
    *,
    is_older: bool,
    is_empty: bool,
) -> str:
    """Why the state is not taken for the one that was there; empty where it is.

    Args:
        outside: What is kept outside of the state folder.
        before: What the state says of itself.
        told: What its own places have.
        others: What places have that were its own before.
        is_older: Whether any of them has what the chain lacks.
        is_empty: Whether the chain is.
    """
    is_moved = before.state not in ("", os.path.realpath(outside.state))
    if is_older:
        return _OLDER
    if is_moved and _is_still_there(before.state, outside.state):
        return _COPIED
    if before.others is not None and not outside.others() <= before.others:
        return _REPLACED
    # A volume is mounted where it was: one that is moved has brought nothing along.
    may_be_gone = is_empty or not before.lasts or not (is_moved or _lasts(outside))
    return "" if told or may_be_gone or (is_moved and others) else _GONE


def _before(tx: SqliteTransaction) -> _Before:
    told = tx.setting(KEPT_AT)
    if told == NEVER:
        return _Before(lasts=False, others=None)
    found = json_object(told or "") or {}  # builds of before have kept a hash there
    others = found.get("others") if found else ()
    known = None if others is None else frozenset(map(str, others))
    state, above = str(found.get("state", "")), str(found.get("above", ""))
    return _Before(state, above, bool(found.get("lasts", True)), known)


def _is_still_there(before: str, now: str) -> bool:
    """Whether the folder in which the state was before has a database, and another one."""
    try:
        return not os.path.samefile(os.path.join(before, DATABASE), os.path.join(now, DATABASE))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


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
    """Whether what is kept beside the state folder can last as long as it does.

    It cannot where the folder is a volume, which outlasts its container, or where the folder above is somebody else's.
    A user's own programs can mount a file system of theirs (FUSE). In a mount namespace of their own they can mount
    anything, and a path leads there (``/proc/PID/root``). So neither counts.
    """
    above = os.path.dirname(outside.state)
    if _is_of_a_user(outside.state) or _is_of_a_user(above):
        return True
    if os.stat(outside.state).st_dev != os.stat(above).st_dev:
        return False
    return os.stat(above).st_uid == os.geteuid() or os.access(above, os.W_OK)


def _is_of_a_user(folder: str) -> bool:
    """Whether a folder is in a mount that a user can make: in FUSE, or in none of this process's own namespace."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with open(f"{_HANDLES}/{handle}", encoding="ascii") as file:
                number = next(line.split()[1] for line in file if line.startswith("mnt_id:"))
        finally:
            os.close(handle)
        with open(_MOUNTS, encoding="utf-8", errors="replace") as file:
            kinds = [kind for mount, _, kind in (line.partition(" - ") for line in file) if mount.split()[0] == number]
    except (OSError, StopIteration):  # another system than Linux
        return False
    return not kinds or kinds[0].startswith("fuse")
