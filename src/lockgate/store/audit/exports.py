"""The chain as JSON lines: exports, which end with the sealed head, and archives, which end with a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from lockgate.core.errors import AuditError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import canonical, checkpoint_from
from lockgate.store.rows import AuditCheckpoint, AuditHead, AuditRow

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.audit.chain import Item

_WHOLE = AuditCheckpoint()


def export_lines(
    rows: Iterable[AuditRow], end: AuditHead | AuditCheckpoint, base: AuditCheckpoint = _WHOLE
) -> Iterator[str]:
    """The chain as JSON lines, which :func:`read_export` reads.

    Args:
        rows: The records.
        end: What the last line is: the head, or the checkpoint from which the rest of the chain goes on.
        base: What the first line is, where records were removed before these.
    """
    if base != _WHOLE:
        yield canonical({"checkpoint": base._asdict()})
    for row in rows:
        yield record_line(row)
    name = "head" if isinstance(end, AuditHead) else "checkpoint"
    yield canonical({name: end._asdict()})


def record_line(row: AuditRow) -> str:
    """One record as one line of JSON, without its end."""
    try:
        return canonical({**row._asdict(), "body": _body(row.body)})
    except (TypeError, ValueError, RecursionError):
        # Not written by us: as texts it is exported whole, and does not verify.
        return canonical({name: str(value) for name, value in row._asdict().items()})


def _body(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def read_export(lines: Iterable[str]) -> Iterator[Item]:
    """Read an export or an archive back: its beginning, its records, its end.

    Raises:
        AuditError: A line is no record, or the last line is no head and no checkpoint.
    """
    begun = ended = False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if ended:
            raise AuditError(f"line {number}: there is something after the end")
        item = _item(line, number)
        if not begun and not isinstance(item, AuditCheckpoint):
            yield _WHOLE
        ended = isinstance(item, AuditHead) or (begun and isinstance(item, AuditCheckpoint))
        begun = True
        yield item
    if not ended:
        raise AuditError("the last line, which is the head or a checkpoint, is missing: the file was cut")


def _item(line: str, number: int) -> Item:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    match found:
        case {"head": head}:
            return _head(head, number)
        case {"checkpoint": checkpoint}:
            return _checkpoint(checkpoint, number)
        case dict():
            return _record(found, number)
    raise AuditError(f"line {number}: this is no record of an audit export")


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


def _checkpoint(found: Any, number: int) -> AuditCheckpoint:
    made = checkpoint_from(found)
    if made is None:
        raise AuditError(f"line {number}: this is no checkpoint of an audit export")
    return made


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
