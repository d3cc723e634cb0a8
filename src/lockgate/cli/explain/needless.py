"""``lockgate needless``: saves a stop that a person calls needless as a case to report."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from lockgate.cli.common.state import open_state, unreadable
from lockgate.cli.explain.explanation import explain_call
from lockgate.cli.status import session_here
from lockgate.core.display_text import visible
from lockgate.core.errors import LockgateError, StoreError
from lockgate.core.model import ToolCall
from lockgate.store.rows import AuditQuery
from lockgate.system.files import replace
from lockgate.system.folders import state_dir
from lockgate.system.ownership import make_folders

if TYPE_CHECKING:
    from lockgate.store.protocol import Store

REPORTS = "reports"
"""The folder below the state folder."""
_STOPS = ("deny", "ask")
_LOOKED_AT = 50


@click.command(short_help="Report a stop that was needless.")
@click.argument("stop", metavar="[ID]", default="")
def needless(stop: str) -> None:
    """Write a case that was asked about or refused into a file that you can report, without secrets and folders.

    ID is that of a question (`lockgate approvals list --all`), or the number of a record (`lockgate audit show`).
    Without one it is the last stop of this folder's session. Nothing is sent, and nothing is let run.

    Exit status: 0 written, 1 there is no such stop, 2 usage, 3 state not usable.
    """
    with open_state() as store:
        body = _stop(store, stop.strip().lower()) if store is not None else None
    if body is None:
        raise click.ClickException("there is no such stop; see: lockgate approvals list --all, lockgate audit show")
    click.echo(f"written: {visible(write(body), 300)}")
    click.echo("Read it once more before you report it.")


def write(body: Mapping[str, Any]) -> str:
    """Write the case of a recorded decision into a file, and give its path.

    Raises:
        click.ClickException: The call cannot be explained any more, or the file not be written.
    """
    try:
        return report(body)
    except StoreError as error:
        raise unreadable(error) from error
    except (LockgateError, OSError) as error:
        raise click.ClickException(visible(str(error), 600)) from error


def report(body: Mapping[str, Any]) -> str:
    """The same, for who is no command line.

    Raises:
        LockgateError: The call cannot be explained any more.
        OSError: The file cannot be written.
    """
    from lockgate.cli.explain.issue import describe_record, text

    given = body.get("input")
    call = ToolCall(str(body.get("tool", "")), given if isinstance(given, dict) else {}, str(body.get("cwd", "")))
    name = f"needless-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}.md"
    path = os.path.join(state_dir(), REPORTS, name)
    told = f"{text(explain_call(call), 'allow')}\n\n{describe_record(body)}\n"
    make_folders(os.path.dirname(path))
    replace(path, told.encode("utf-8", "backslashreplace"), draft=f"{path}.draft")
    return path


def _stop(store: Store, stop: str) -> Mapping[str, Any] | None:
    with store.reading() as tx:
        if stop and not stop.isdecimal():
            row = tx.approval(stop)
            return row.about if row is not None else None
        if stop:
            found = tx.audit(after=int(stop[:18]) - 1, limit=1)
        else:
            here = session_here(tx, "")
            query = AuditQuery(event="decision", session=here.session if here is not None else "-")
            found = tx.find_audit(query, limit=_LOOKED_AT)
        bodies = [(record.seq, json.loads(record.body)) for record in found]
    return next(
        (body for seq, body in bodies if body.get("verdict") in _STOPS and (not stop or str(seq) == stop)), None
    )
