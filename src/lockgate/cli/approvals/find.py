"""Finds a question to a person, and answers it, for the commands that do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from click.shell_completion import CompletionItem

from lockgate.cli.approvals.text import summary
from lockgate.cli.common.state import open_state, unreadable
from lockgate.core.errors import ApprovalError, EndorsementError, LockgateError, StoreError
from lockgate.gate.approvals.answering import answer
from lockgate.gate.approvals.questions import IN_DIALOG
from lockgate.store.opening import open_existing
from lockgate.store.protocol import Store
from lockgate.store.rows import ApprovalRow
from lockgate.system.folders import state_dir, user_name


@contextmanager
def open_for_questions() -> Iterator[Store]:
    """The store; exits with 1 where nothing was ever recorded, and with 3 where it cannot be used."""
    with open_state() as store:
        if store is None:
            raise click.ClickException("nothing was recorded yet, so that no question waits")
        yield store


def open_questions(store: Store, *, here: bool = True) -> list[ApprovalRow]:
    """The questions that wait for an answer, oldest first.

    Args:
        store: The store.
        here: Only those that can be answered with yes here: others are put in the client's own window.
    """
    with store.reading() as tx:
        now = store.clock()
        rows = [row for row in tx.approvals(state="pending") if not row.is_over(now)]
    return [row for row in rows if not (here and row.about.get(IN_DIALOG))]


def is_waited(row: ApprovalRow) -> bool | None:
    """Whether somebody waits for the answer to a question; ``None`` where that cannot be told.

    It is told of open questions of this machine, which are not put in a client's own window.
    """
    from lockgate.gate.approvals.wakeups import is_waited_for
    from lockgate.store.files import ELSEWHERE

    state = state_dir()
    if row.state != "pending" or row.about.get(IN_DIALOG) or os.path.lexists(os.path.join(state, ELSEWHERE)):
        return None
    return is_waited_for(state, row.approval)


def question_of(store: Store, approval: str) -> ApprovalRow:
    """The question of an id, as a person types it.

    Raises:
        click.ClickException: There is none.
    """
    with store.reading() as tx:
        row = tx.approval(approval.strip().lower())
    if row is None:
        raise click.ClickException("there is no question with this id; see: lockgate approvals list")
    return row


def settle(store: Store, row: ApprovalRow, *, approve: bool, reason: str = "", fetches: bool = False) -> None:
    """Answer for the person at this terminal, who was shown this row.

    Raises:
        click.ClickException: It cannot be answered (any more).
    """
    from lockgate.cli.approvals.key import signer

    signs = signer(store) if approve else None
    state, by = state_dir(), person()
    tell_answer_errors(
        lambda: answer(
            *(store, state, row.approval),
            approve=approve,
            by=by,
            reason=reason,
            fetches=fetches,
            signer=signs,
            seen=row.about,
        )
    )


def person() -> str:
    """The person at this terminal, as a question and the audit name them."""
    return f"{user_name()} (terminal)"


def tell_answer_errors(act: Callable[[], object]) -> None:
    """Do something with a question, or with what a person endorses.

    Raises:
        click.ClickException: It cannot be done (any more).
    """
    try:
        act()
    except (ApprovalError, EndorsementError) as error:
        raise click.ClickException(str(error)) from error
    except StoreError as error:
        raise unreadable(error) from error


def ids(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the id of a question that waits."""
    try:
        store = open_existing(state_dir())
        if store is None:
            return []
        try:
            rows, now = open_questions(store), store.clock()
        finally:
            store.close()
    except LockgateError:
        return []
    # What is completed stands on the command line as it is: in a shared store an id can be any text.
    found = [row for row in rows if row.approval.startswith(incomplete) and _is_plain(row.approval)]
    return [CompletionItem(row.approval, help=click.unstyle(summary(row, now))) for row in found]


def _is_plain(approval: str) -> bool:
    return approval.isascii() and approval.isalnum()
