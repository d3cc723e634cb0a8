"""Assigns rooms: contained commands of one session with the same labels share network, processes and /tmp.

A delegate has a room of its own, whatever its labels: what is in its parent's must not reach it. A room is named by a
keyed hash, so that nobody can name one that they were not given.
"""

from __future__ import annotations

from itertools import combinations

from lockgate.core.model import Label, Subject
from lockgate.core.questions import Objection
from lockgate.core.record import TYPE_CHECKING
from lockgate.store import chain_links

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lockgate.core.model import ToolCall
    from lockgate.store.protocol import Transaction

RULE = "rules:rooms/another"
_DIGITS = 32


def name_of(tx: Transaction, subject: Subject, labels: Iterable[Label]) -> str:
    """The name of the room that a subject's commands are in, while it has these labels."""
    row = tx.agent(subject) if subject.agent else None
    return _name(tx, subject.session, subject.agent if row is not None and row.delegate else "", labels)


def names_in(tx: Transaction, session: str) -> Iterator[tuple[str, str, frozenset[Label]]]:
    """Every room that a session can have: its name, the delegate whose it is or an empty text, and the labels."""
    delegates = [row.agent for row in tx.agents(session) if row.delegate]
    for agent in ("", *delegates):
        for count in range(len(Label) + 1):
            for labels in combinations(Label, count):
                yield _name(tx, session, agent, labels), agent, frozenset(labels)


def find_room_name(call: ToolCall) -> str:
    """The room that the text of a call names, as the gate writes it; empty where it names none."""
    from lockgate.containment.rewriting import room_in

    command = call.tool_input.get("command")
    return room_in(command) if isinstance(command, str) else ""


def another(tx: Transaction, subject: Subject, labels: Iterable[Label], named: str) -> tuple[Objection, ...]:
    """What stands against a text that names a room which is not the one of its subject, or is so no longer."""
    if not named or named == name_of(tx, subject, labels):
        return ()
    why = "this text runs a command in a sandbox that is not, or no longer, this session's: give the command by itself"
    return (Objection(RULE, why),)


def _name(tx: Transaction, session: str, delegate: str, labels: Iterable[Label]) -> str:
    bound = {"session": session, "delegate": delegate, "labels": sorted(label.name for label in labels)}
    return tx.hash_with_key(chain_links.PURPOSE_ROOM, chain_links.canonical(bound))[:_DIGITS]
