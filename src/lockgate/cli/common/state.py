"""Opens and changes the state for the commands, and records a person's acts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import click

from lockgate.core.display_text import visible
from lockgate.core.errors import StoreError
from lockgate.core.events import Context
from lockgate.core.model import Subject
from lockgate.core.record import TYPE_CHECKING
from lockgate.store import files
from lockgate.store.audit.record import event_record
from lockgate.store.opening import open_existing, open_store
from lockgate.store.protocol import Store, Transaction
from lockgate.system.folders import state_dir

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from lockgate.configuration.pattern_library.layers import Gathered
    from lockgate.store.sqlite.head_anchors import HeadAnchors
    from lockgate.system.folders import Folders

WRONG = 1
"""Exit status: something wrong was found."""
UNREADABLE = 3
"""Exit status: the state could not be read."""


@contextmanager
def open_state() -> Iterator[Store | None]:
    """The store, or ``None`` where nothing was recorded yet. Never makes one; exits with 3 where it cannot be read."""
    with _exit_if_unreadable(), ExitStack() as stack:
        store = open_existing(state_dir())
        if store is not None:
            stack.callback(store.close)
        yield store


@contextmanager
def make_state() -> Iterator[Store]:
    """The store, made where there is none yet; exits with 3 where it cannot be used."""
    with _exit_if_unreadable(), closing(open_store(state_dir())) as store:
        yield store


@contextmanager
def _exit_if_unreadable() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise unreadable(error) from error


def record_act(tx: Transaction, now: float, event: str, facts: Mapping[str, Any]) -> None:
    """Write what a person has done with a command into the audit. ``now`` is the store's time."""
    tx.append_audit(now, event_record(Context("cli", Subject("")), event, facts))


def unreadable(error: StoreError) -> click.exceptions.Exit:
    """Say that the state cannot be read, or written, and return what ends the command with 3."""
    click.echo(f"lockgate: {visible(str(error), 600)}", err=True)
    return click.exceptions.Exit(UNREADABLE)


@contextmanager
def look_at_state() -> Iterator[Transaction | None]:
    """A consistent look at the state, or ``None`` where nothing was recorded yet."""
    with open_state() as store:
        if store is None:
            yield None
        else:
            with store.reading() as tx:
                yield tx


def patterns_here() -> Gathered:
    """What all layers of patterns come to in the current folder; exits with 3 where the state cannot be read."""
    from lockgate.configuration.load import find_workspace
    from lockgate.configuration.pattern_library.layers import gather_for_cli
    from lockgate.system.folders import folders

    where = folders()
    try:
        return gather_for_cli(where, find_workspace(os.getcwd(), where.home))
    except StoreError as error:
        raise unreadable(error) from error


def describe_ways_back(state: str) -> list[str]:
    """What a person can do about a state whose records do not hold; nothing where it is a shared one."""
    if os.path.lexists(os.path.join(state, files.ELSEWHERE)):
        return []
    copies = "find out what did it. Then look for a copy to go back to: lockgate store restore"
    return [copies, f"where there is none, {files.begin_anew(state)}"]


def head_anchors(where: Folders) -> HeadAnchors:
    """What is kept of the state outside of its folder, with the places that this person's configuration names."""
    from lockgate.configuration.load import load_for_cli
    from lockgate.store.sqlite.head_anchors import HeadAnchors

    return HeadAnchors(where.state, where.home, load_for_cli(where.home).options.audit)


def clients(store: Store) -> frozenset[str]:
    """The processes of agents' clients that the gate has seen, as ``pid:start-time``."""
    with store.reading() as tx:
        rows = tx.sessions()
    # Where the system tells no start, the number may long be another process's.
    return frozenset(row.process for row in rows if row.process and not (row.process[-1:] == ":" and row.ended_at))
