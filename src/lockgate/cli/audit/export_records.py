"""``lockgate audit export``: writes the record of decisions for other programs."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import TextIO

import click

from lockgate.cli.common.state import look_at_state, unreadable
from lockgate.core.display_text import visible
from lockgate.core.errors import StoreError
from lockgate.core.record import Record
from lockgate.service.observability.tail import ChainPosition, Followed, pages, settle_position
from lockgate.store.audit.bodies import body_of
from lockgate.store.audit.chain import records
from lockgate.store.audit.exports import export_lines, record_line
from lockgate.store.protocol import Store, Transaction
from lockgate.store.rows import AuditRow
from lockgate.system.folders import state_dir

_POLL = 0.5
"""Seconds between two looks at the store while following it."""
FORMATS = ("jsonl", "cef", "ocsf")


class _Wanted(Record):
    """Selects the records that are exported."""

    after: int = 0
    since: float = float("-inf")
    until: float = float("inf")
    session: str = ""

    @property
    def is_all(self) -> bool:
        """Whether that is every record."""
        return self == _Wanted()

    def has(self, row: AuditRow) -> bool:
        """Whether a record is one of them."""
        # What somebody has put in the place of a time is left out of no export.
        timed = isinstance(row.at, int | float) and math.isfinite(row.at)
        if row.seq <= self.after or (timed and not self.since <= row.at < self.until):
            return False
        return not self.session or str(body_of(row.body).get("session", "")).startswith(self.session)


def moment(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """A date or time that somebody typed, in seconds since the epoch."""
    try:
        return datetime.fromisoformat(value).timestamp() if value is not None else None
    except (ValueError, OverflowError, OSError):
        raise click.BadParameter("this is no date in ISO 8601: 2026-01-31, or 2026-01-31T12:00:00+01:00") from None


@click.command(short_help="Write records for another program: JSON lines, CEF, OCSF.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="jsonl", show_default=True)
@click.option(
    "--output", type=click.Path(dir_okay=False), default="-", help="File to write; a new one only you can read."
)
@click.option("--since", metavar="DATE", callback=moment, help="Only records from this date or time on.")
@click.option("--until", metavar="DATE", callback=moment, help="Only records from before this date or time.")
@click.option("--session", default="", help="Only records of sessions whose id begins so.")
@click.option("--after", metavar="NUMBER", type=click.IntRange(min=0), help="Only records with a greater number.")
@click.option("--follow", is_flag=True, help="Go on with new records as they come; without --after, only these.")
def export(
    form: str,
    output: str,
    since: float | None,
    until: float | None,
    session: str,
    after: int | None,
    follow: bool,
) -> None:
    """Write records for another program.

    All of them as JSON lines (the default) are what `lockgate audit verify FILE` checks; the last line is the sealed
    head. CEF and OCSF are what SIEMs read; they have one record a line, as have JSON lines of only some records.

    Exit status: 0 written (also where there is nothing: then no file is made), 1 the file cannot be written, 2 usage, 3
    state not readable.
    """
    if follow and until is not None:
        raise click.UsageError("--follow has no end, and --until is one")
    wanted = _Wanted(
        after or 0,
        _Wanted().since if since is None else since,
        _Wanted().until if until is None else until,
        session,
    )
    try:
        if follow:
            _follow(_line_of(form), output, wanted, from_now=after is None and since is None)
        elif form == "jsonl" and wanted.is_all:
            write_chain(output)
        else:
            line_of = _line_of(form)
            _write(lambda tx: (line_of(row) for row in records(tx) if wanted.has(row)), output)
    except BrokenPipeError:
        # Who reads has ended. What is left in the buffer has nowhere to go, and must not be tried at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        pass


def _line_of(form: str) -> Callable[[AuditRow], str]:
    match form:
        case "cef":
            from lockgate.service.observability.siem.formats import cef

            return cef
        case "ocsf":
            from lockgate.service.observability.siem.formats import ocsf

            return ocsf
    return record_line


def write_chain(output: str) -> None:
    """Write the whole chain as JSON lines, with its sealed head: what ``lockgate audit verify FILE`` checks."""
    _write(lambda tx: export_lines(records(tx), tx.audit_head(), tx.audit_checkpoint()), output)


def _write(lines_of: Callable[[Transaction], Iterable[str]], output: str) -> None:
    with look_at_state() as tx:
        if tx is None:
            click.echo("nothing recorded yet", err=True)
            return
        with private(output) as file:
            file.writelines(line + "\n" for line in lines_of(tx))


def _follow(line_of: Callable[[AuditRow], str], output: str, wanted: _Wanted, *, from_now: bool) -> None:
    with private(output, add=True) as file:
        for row in _follow_records(None if from_now else wanted.after):
            # Where a chain was begun anew, its numbers are small again.
            if wanted._replace(after=0).has(row):
                file.write(line_of(row) + "\n")
                file.flush()


def _follow_records(after: int | None) -> Iterator[AuditRow]:
    """Records after a number, without end; those that come from now on, where none is said."""
    place = None if after is None else ChainPosition(after)
    followed = Followed(state_dir())
    try:
        while True:
            store = followed.open()
            if store is not None:
                place = _settle(store, place)
                for page in pages(store, place):
                    yield from page
                    place = ChainPosition(page[-1].seq, page[-1].digest)
            elif place is None:
                place = ChainPosition()
            time.sleep(_POLL)
    except StoreError as error:
        raise unreadable(error) from error
    finally:
        followed.close()


def _settle(store: Store, place: ChainPosition | None) -> ChainPosition:
    if place is not None and place.digest:
        return settle_position(store, place)[0]
    with store.reading() as tx:
        head = tx.audit_head()
        if place is None:
            return ChainPosition(head.seq, head.digest)
        rows = tx.audit(after=place.seq - 1, limit=1) if place.seq else []
    # A number that is not there yet is waited for: it was said by somebody who has seen it.
    return ChainPosition(place.seq, rows[0].digest) if rows and rows[0].seq == place.seq else place


def private(output: str, *, add: bool = False) -> AbstractContextManager[TextIO]:
    """Open a file that only its owner may read, or standard output; ``add`` keeps what is in it."""
    if output == "-":
        return nullcontext(sys.stdout)
    try:
        return open(
            output, "a" if add else "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)
        )
    except OSError as error:
        raise click.ClickException(f"cannot write {visible(output, 300)}: {error.strerror}") from error
