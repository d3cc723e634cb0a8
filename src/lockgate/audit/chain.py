"""Whether the audit chain holds: functions of its records, its head and the key.

What a chain that holds proves: no record was changed, removed, added or moved since it was written, and none is missing
at the end, unless by somebody who had the installation's key. Who can read the key can write another chain; against
that, keep an export, or the head that ``lockgate audit verify`` prints, somewhere else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from lockgate.errors import AuditError
from lockgate.record import TYPE_CHECKING, Record
from lockgate.store.links import ROOT, canonical, link_digest, seal
from lockgate.store.rows import AuditHead, AuditRow

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.protocol import Transaction

_PAGE = 500


class Verification(Record):
    """What was found."""

    ok: bool
    records: int
    """How many records hold, from the first."""
    problem: str = ""
    """What is wrong, empty where nothing is."""
    seq: int = 0
    """The record where it is wrong, 0 where that is not one record."""
    head: AuditHead = AuditHead()


def verify(rows: Iterable[AuditRow], head: AuditHead, key: bytes | None) -> Verification:
    """Check a whole chain.

    Args:
        rows: All records in the order in which they are kept.
        head: The sealed head.
        key: The installation's key; ``None`` leaves the head's seal unchecked (another installation's export).
    """
    count, last = 0, ROOT
    for row in rows:
        problem = _broken(row, count + 1, last)
        if problem:
            return Verification(False, count, problem, row.seq, head)
        count, last = row.seq, row.digest
    problem = _head_broken(head, count, last, key)
    return Verification(not problem, count, problem, 0, head)


def _broken(row: AuditRow, expected: int, previous: str) -> str:
    if row.seq != expected:
        return f"record {expected} is missing" if row.seq > expected else f"record {row.seq} is not in its place"
    if row.previous != previous:
        return f"record {row.seq} does not follow the one before it"
    if link_digest(row.previous, row.seq, row.at, row.body) != row.digest:
        return f"record {row.seq} was changed"
    return ""


def _head_broken(head: AuditHead, count: int, last: str, key: bytes | None) -> str:
    if not head.digest:
        return "the head is missing"
    if key is not None and seal(key, head.seq, head.digest) != head.seal:
        return "the head's seal does not hold: the head was changed, or sealed by another installation"
    if head.seq > count:
        missing = head.seq - count
        return f"the last {missing} records are missing" if missing > 1 else "the last record is missing"
    if head.seq < count:
        return f"the records after {head.seq} were not written by Lockgate"
    return "" if head.digest == last else "the head names another last record"


def records(tx: Transaction) -> Iterator[AuditRow]:
    """All records, in order, read page by page: also what somebody put before the first one."""
    after = -(2**63)  # SQLite's least integer
    while page := tx.audit(after=after, limit=_PAGE):
        yield from page
        after = page[-1].seq


def export_lines(rows: Iterable[AuditRow], head: AuditHead) -> Iterator[str]:
    """The chain as JSON lines: one record a line, and last its head. What :func:`read_export` reads."""
    for row in rows:
        yield canonical({**row._asdict(), "body": _body(row.body)})
    yield canonical({"head": head._asdict()})


def _body(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text  # not written by us; as text it is exported whole, and does not verify


def read_export(lines: Iterable[str]) -> tuple[list[AuditRow], AuditHead]:
    """Read an export back.

    Raises:
        AuditError: A line is no record, or the last line is no head.
    """
    rows: list[AuditRow] = []
    head: AuditHead | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if head is not None:
            raise AuditError(f"line {number}: there is something after the head")
        found = _object(line, number)
        if "head" in found:
            head = _head(found["head"], number)
        else:
            rows.append(_record(found, number))
    if head is None:
        raise AuditError("the last line, which is the head, is missing: the file was cut")
    return rows, head


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise AuditError(f"line {number}: this is no record of an audit export")
    return found


def _record(found: dict[str, Any], number: int) -> AuditRow:
    try:
        seq, at, previous, digest = found["seq"], found["at"], found["previous"], found["digest"]
        body = canonical(found["body"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise AuditError(f"line {number}: this is no record of an audit export") from error
    if not (_is_int(seq) and isinstance(at, float) and isinstance(previous, str) and isinstance(digest, str)):
        raise AuditError(f"line {number}: this is no record of an audit export")
    return AuditRow(seq, at, body, previous, digest)


def _head(found: Any, number: int) -> AuditHead:
    match found:
        case {"seq": seq, "digest": str(digest), "seal": str(mark)} if _is_int(seq):
            return AuditHead(seq, digest, mark)
    raise AuditError(f"line {number}: this is no head of an audit export")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
