"""Tells whether this machine was set up: before that a script may do what takes a person afterwards."""

from __future__ import annotations

import os
from contextlib import closing, suppress

from lockgate.cli.common.person import require_approver, require_person
from lockgate.cli.common.state import clients, unreadable
from lockgate.clients.install import registration
from lockgate.clients.install.claude_settings_view import look
from lockgate.core.errors import StoreError
from lockgate.store import administration
from lockgate.store.opening import open_existing
from lockgate.system.folders import folders


def require_approver_once_guarded(action: str, *, records: bool = False) -> None:
    """Refuse what loosens where no person sits at a terminal of their own.

    Whoever sets a machine up does so in a script, before any client has hooks and before the first session. Then there
    is no agent here that the gate watches, and nothing to loosen.

    Args:
        action: What the command does, for the message.
        records: Whether any record counts, and not only that of a client.

    Raises:
        click.ClickException: An agent seems to run it, or no person sits at its terminal.
        Exit: The state cannot be read.
    """
    state = folders().state
    try:
        is_used = administration.has_records(state) if records else administration.is_in_use(state)
    except StoreError as error:
        raise unreadable(error) from error
    if is_used or _has_hooks():
        require_approver(action, list_clients(state))
    else:
        require_person(action)


def list_clients(state: str) -> frozenset[str]:
    """The processes of agents' clients that the gate has seen; none where the state cannot be opened."""
    with suppress(StoreError):
        if (found := open_existing(state)) is not None:
            with closing(found):
                return clients(found)
    return frozenset()


def _has_hooks() -> bool:
    """Whether hooks of the gate are registered with a client, or may be."""
    where = folders()
    here = registration.clients_here(look(where, where.home, os.environ, ""))
    return any(client.may_have_hooks or client.is_guarded_otherwise for client in here)
