"""``lockgate audit prune`` and ``archive``: decide how long the record of decisions is kept, and where."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import Any

import click

from lockgate.cli.approvals.key import approvers_in_force
from lockgate.cli.audit.export_records import moment
from lockgate.cli.common.person import require_person
from lockgate.cli.common.state import open_state
from lockgate.core.display_text import visible
from lockgate.core.errors import AuditError
from lockgate.core.record import Record
from lockgate.gate import contradictions
from lockgate.store.audit import archives, pruning
from lockgate.store.audit.chain import verify_parts, verify_store
from lockgate.store.protocol import Store
from lockgate.system.folders import state_dir
from lockgate.system.ownership import make_folders

_FOLDER = "archive"
_CONTRADICTS = "the state is not what the audit tells; look: lockgate audit verify; then: lockgate audit accept"
_BREATH = 0.02
"""Seconds between two transactions, in which hooks get at the store."""


class _Cut(Record):
    """The records that were removed."""

    first: int = 0
    last: int = 0
    archive: str = ""
    sha256: str = ""


_HOW_LONG = (
    click.option("--keep-days", type=click.IntRange(0, 36500), help="Remove records that are older than so many days."),
    click.option("--before", metavar="DATE", callback=moment, help="Remove records from before a date or time."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
)


def _add_duration_options(command: Any) -> Any:
    for option in reversed(_HOW_LONG):
        command = option(command)
    return command


@click.command()
@_add_duration_options
@click.option("--archive", type=click.Path(dir_okay=False), help="First write the records to this new file.")
def prune(keep_days: int | None, before: float | None, archive: str | None, as_json: bool) -> None:
    """Remove old records from the beginning of the chain.

    A sealed checkpoint takes their place, and the removal is a record of its own. So `lockgate audit verify` still
    accepts what is left, and nothing else. A chain that does not hold, or that the state contradicts, is not shortened.

    Exit status: 0 done (also where nothing is old enough), 1 not done, 2 usage, 3 state not readable.
    """
    require_person("shorten the audit")
    _print_result(_shorten(_limit(keep_days, before), archive or "", ""), as_json=as_json)


@click.command()
@_add_duration_options
@click.option("--folder", type=click.Path(file_okay=False), help="Where archives are kept, by default with the state.")
def archive(keep_days: int | None, before: float | None, folder: str | None, as_json: bool) -> None:
    """Move old records to a compressed file, and remove them only once that verifies.

    `lockgate audit verify ARCHIVE... EXPORT` checks archives and what is left as one whole chain.

    Exit status: 0 done (also where nothing is old enough), 1 not done, 2 usage, 3 state not readable.
    """
    require_person("shorten the audit")
    _print_result(
        _shorten(_limit(keep_days, before), "", folder or os.path.join(state_dir(), _FOLDER)), as_json=as_json
    )


def _limit(keep_days: int | None, before: float | None) -> float:
    if (keep_days is None) == (before is None):
        raise click.UsageError("say either --keep-days or --before")
    return before if before is not None else time.time() - (keep_days or 0) * 86400


def _shorten(limit: float, file: str, folder: str) -> _Cut:
    with open_state() as store:
        if store is None:
            return _Cut()
        try:
            return _cut(store, limit, file, folder)
        except AuditError as error:
            raise click.ClickException(f"nothing was removed: {visible(str(error), 600)}") from error


def _cut(store: Store, limit: float, file: str, folder: str) -> _Cut:
    now = time.time()
    with store.reading() as tx:
        base, last = tx.audit_checkpoint(), tx.audit_before(limit, now=now)
        if last <= base.seq:
            return _Cut()
        found = verify_store(tx, store.key)
        if not found.ok:
            raise AuditError(f"the audit chain does not hold: {found.problem}")
        if contradictions.contradictions(tx, approvers_in_force()):
            # Its records are all that tells what the state had.
            raise AuditError(_CONTRADICTS)
        kept: dict[str, Any] = {}
        if file or folder:
            end = pruning.make_checkpoint(tx, store.key, last, now)
            file = file or os.path.join(_make(folder), archives.archive_name(base.seq + 1, end))
            archives.write_archive(file, pruning.chain_beginning(tx, last), end)
    if file:
        kept = {"archive": {"file": os.path.basename(file), "sha256": _read_back(file, store.key, last - base.seq)}}
    _remove(store, last, now, {"by": "command", "before": limit, **kept})
    return _Cut(base.seq + 1, last, file, kept["archive"]["sha256"] if kept else "")


def _make(folder: str) -> str:
    try:
        make_folders(os.path.abspath(folder))
    except OSError as error:
        raise AuditError(f"cannot make {folder}: {error.strerror}") from error
    return folder


def _read_back(file: str, key: bytes, count: int) -> str:
    """Read an archive back; its digest."""
    with archives.open_records(file) as part:
        found = verify_parts([part], key)
    if not found.ok or found.records != count:
        raise AuditError(f"{file} does not verify: {found.problem or 'records are missing'}")
    return archives.file_digest(file)


def _remove(store: Store, last: int, now: float, body: Mapping[str, Any]) -> None:
    while True:
        with store.transaction() as tx:
            if not pruning.cut(tx, store.key, last, now, body):
                return
        time.sleep(_BREATH)


def _print_result(done: _Cut, *, as_json: bool) -> None:
    if as_json:
        said = {"removed": done.last - done.first + 1 if done.last else 0, **done._asdict()}
        click.echo(json.dumps({name: value or None for name, value in said.items()} | {"removed": said["removed"]}))
    elif not done.last:
        click.echo("nothing is old enough to be removed")
    else:
        click.echo(f"removed records {done.first} to {done.last}; the chain begins with a checkpoint now")
        if done.archive:
            click.echo(f"they are kept in {visible(done.archive, 600)}\nsha256 {done.sha256}")
