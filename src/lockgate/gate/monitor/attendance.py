"""Finds out where a person can be asked about a call, and when a session has asked often enough.

The client's adapter and the state folder say where a person is. The questions that the session has had so far say
whether one more may be put.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

    from lockgate.configuration.load import Configuration
    from lockgate.core.events import ToolRequested
    from lockgate.core.model import Effect
    from lockgate.gate.parts import Consultants
    from lockgate.store.protocol import Transaction
    from lockgate.store.rows import ApprovalRow

IN_DIALOG = "dialog"
"""What :data:`lockgate.gate.approvals.questions.IN_DIALOG` is, which a decision that asks nobody does not load."""
CHANGED = "changed input"
"""The name under which a question says that another call came back than the one that was asked about."""
HEARD = "prompted"
"""The name under which a no says when the person has said something else since, in seconds since the epoch."""
MOST_OPEN = 3
"""Questions without a yes since the person's last word after which nobody is asked any more."""
SIGNED_ALONE = "an approver has to sign the yes, which the client's window cannot do"
_MOST_NOES = 2
"""Noes to the same effects on the same targets, after which nobody is asked about such a call."""


class PersonLocation(StrEnum):
    """The place where a person can be asked about a call, as far as it is proven."""

    DIALOG = "dialog"
    """Before the client, which shows the question whole, and lets nobody else answer."""
    TOOL = "tool"
    """Before the client, where the agent can have them asked by a tool. The dialog about the call does not do."""
    ELSEWHERE = "elsewhere"
    """At another window, where somebody is known to listen."""
    NOBODY = "nobody"


class LocatedPerson(Record):
    """A person's place, and why that is not the client's dialog."""

    where: PersonLocation
    because: str = ""
    """Why the client's dialog does not count, in words; empty where that goes without saying."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether somebody listens at another window."""
        return self.where is PersonLocation.ELSEWHERE

    @property
    def needs_no_dialog(self) -> bool:
        """Whether they can be asked without the client's dialog about the call."""
        return self.where in (PersonLocation.ELSEWHERE, PersonLocation.TOOL)

    @property
    def is_reachable(self) -> bool:
        """Whether anybody can be asked at all."""
        return self.where is not PersonLocation.NOBODY


def place_of(
    consultants: Consultants, configuration: Configuration, event: ToolRequested, tx: Transaction, *, asked: bool
) -> LocatedPerson:
    """Where the person is who can be asked about a call.

    Args:
        consultants: Who knows.
        configuration: What holds.
        event: The call.
        tx: The transaction.
        asked: Whether a person elsewhere was asked about it already.
    """
    if asked:
        return LocatedPerson(PersonLocation.ELSEWHERE)
    because = SIGNED_ALONE if configuration.is_signed_alone else _not_in_dialog(consultants, event, tx)
    if because is None:
        return LocatedPerson(PersonLocation.DIALOG)
    if consultants.is_heard(configuration, tx):
        return LocatedPerson(PersonLocation.ELSEWHERE, because)
    by_tool = because != SIGNED_ALONE and can_ask_by_tool(consultants, event, tx)
    return LocatedPerson(PersonLocation.TOOL if by_tool else PersonLocation.NOBODY, because)


def can_ask_by_tool(consultants: Consultants, event: ToolRequested, tx: Transaction) -> bool:
    """Whether the person before the client, and nobody else, can be asked by the client's tool for questions."""
    tool, context = consultants.asking_tool, event.context
    # A sub-agent has no such tool.
    if not tool or event.headless or event.waits or context.subject.agent or _has_changed(tx, context.subject.session):
        return False
    return not consultants.unattended(context, event.call._replace(tool=tool, tool_input={}))


def _has_changed(tx: Transaction, session: str) -> bool:
    """Whether another call came back in a session than the one that a person was asked about."""
    return any(CHANGED in row.about for row in tx.approvals(session=session, state="changed"))


def _not_in_dialog(consultants: Consultants, event: ToolRequested, tx: Transaction) -> str | None:
    """Why a question cannot be put in the client's dialog; empty where that goes without saying, ``None`` if it can."""
    context = event.context
    if event.headless or event.waits:
        return ""
    if not event.askable:
        return f"in the permission mode {context.mode or 'that holds'} the client can lose a question about this call"
    if _has_changed(tx, context.subject.session):
        return "another call came back in this session than the one that a person was asked about"
    return consultants.unattended(context, event.call) or None


def ends_asking(
    tx: Transaction,
    session: str,
    noes: Sequence[ApprovalRow],
    effects: Sequence[Effect],
    approvers: Mapping[str, Any] | None,
) -> str:
    """Why a person is not asked about a call before they have said something else; empty where they can be.

    Args:
        tx: The transaction.
        session: The session.
        noes: The noes that stand in it.
        effects: All that the call can do.
        approvers: The ``approvers`` of the configuration: a yes counts only where one of them has signed it.
    """
    from lockgate.gate.approvals import denials

    fresh = [row for row in noes if HEARD not in row.about]
    like = denials.all_alike(tx, fresh, effects, approvers)
    if any(map(is_in_window, like)) or len(like) >= _MOST_NOES:
        return "a person said no to a call that does the same to the same target"
    waiting = [row for row in tx.approvals(session=session, state="pending") if is_in_window(row)]
    if len(waiting) + sum(map(is_in_window, fresh)) >= MOST_OPEN:
        return f"{MOST_OPEN} questions of this session have had no yes"
    return ""


def is_in_window(row: ApprovalRow) -> bool:
    """Whether a question is one for the client's window: in its dialog about the call, or by its tool."""
    return IN_DIALOG in row.about or "by_tool" in row.about


def is_in_dialog(row: ApprovalRow) -> bool:
    """Whether a question is put in the client's own dialog, where alone it can be answered with yes."""
    return bool(row.about.get(IN_DIALOG))


def mark_question(row: ApprovalRow, facts: Mapping[str, object]) -> ApprovalRow:
    """A question that also says something else about itself."""
    return row._replace(about={**row.about, **facts})
