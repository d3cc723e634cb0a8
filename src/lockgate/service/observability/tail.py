"""Follows the audit and the log of errors from where the last look ended.

What was counted is kept in the state folder. So counts go on where they were when a process begins anew. Neither a
restart nor a removal of old records makes them fall.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence

from lockgate.core.record import Record
from lockgate.service.observability.counters import Counts, count
from lockgate.store.opening import open_existing
from lockgate.store.protocol import Store
from lockgate.store.rows import AuditRow
from lockgate.system.error_log import NAME
from lockgate.system.files import read_regular, replace

FILE = "telemetry.json"
_FORMAT = 1
_MOST_BYTES = 8_000_000
PAGE = 500
"""Records that are looked at together, at most."""
_LOG_BYTES = 1_000_000


class ChainPosition(Record):
    """A place in the audit chain: the last record that was seen."""

    seq: int = 0
    digest: str = ""


class TailState(Record):
    """The state that one look leaves for the next."""

    counts: Counts
    counted: ChainPosition = ChainPosition()
    sent: ChainPosition | None = None
    """How far traces and logs were sent; ``None`` where none ever were."""
    log_inode: int = 0
    log_offset: int = 0


class Followed:
    """The store of a state folder, for one look after another.

    It is opened for each: the state may be moved aside meanwhile, or be kept in a database from now on. The one before
    is let go of only then, so that all looks at the same database take one connection.
    """

    def __init__(self, state: str) -> None:
        """Open nothing yet."""
        self._state = state
        self._store: Store | None = None

    def open(self) -> Store | None:
        """The store as it is now, or ``None`` where nothing was recorded yet. It is closed by the next look.

        Raises:
            StoreError: It cannot be opened or trusted.
        """
        before, self._store = self._store, None
        try:
            self._store = open_existing(self._state)
        finally:
            if before is not None:
                before.close()
        return self._store

    def close(self) -> None:
        """Close the store; it can be opened again."""
        store, self._store = self._store, None
        if store is not None:
            store.close()


def load(state: str) -> TailState:
    """What the last look left; where that cannot be read, counting begins anew."""
    try:
        found = json.loads(read_regular(os.path.join(state, FILE), _MOST_BYTES))
        if found["format"] != _FORMAT:
            return TailState(Counts())
        sent = found["sent"]
        return TailState(
            Counts(found["counts"]),
            ChainPosition(*found["counted"]),
            None if sent is None else ChainPosition(*sent),
            int(found["log"][0]),
            int(found["log"][1]),
        )
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError):
        return TailState(Counts())


def save(state: str, kept: TailState) -> None:
    """Leave something for the next look.

    Raises:
        OSError: It cannot be written.
    """
    value = {
        "format": _FORMAT,
        "counts": kept.counts.as_json(),
        "counted": kept.counted,
        "sent": kept.sent,
        "log": [kept.log_inode, kept.log_offset],
    }
    path = os.path.join(state, FILE)
    replace(path, json.dumps(value).encode(), draft=f"{path}.{os.getpid()}.{os.urandom(4).hex()}")


def pages(store: Store, place: ChainPosition) -> Iterator[Sequence[AuditRow]]:
    """Records after a place, some at a time, each time from a look of its own: nobody is kept waiting."""
    while True:
        with store.reading() as tx:
            page = tx.audit(after=place.seq, limit=PAGE)
        if not page:
            return
        yield page
        place = ChainPosition(page[-1].seq, page[-1].digest)


def settle_position(store: Store, place: ChainPosition) -> tuple[ChainPosition, int]:
    """Where to go on from a place, and how many records after it are gone unseen.

    A chain that has another record there is another chain: the state was moved aside and begun anew.
    """
    with store.reading() as tx:
        base, head = tx.audit_checkpoint(), tx.audit_head()
        if place.seq > head.seq:
            return ChainPosition(base.seq, base.digest), 0
        if place.seq <= base.seq:
            same = place.seq < base.seq or place.digest == base.digest or not place.seq
            return ChainPosition(base.seq, base.digest), base.seq - place.seq if same and place.seq else 0
        rows = tx.audit(after=place.seq - 1, limit=1)
    if rows and rows[0].digest == place.digest:
        return place, 0
    return ChainPosition(base.seq, base.digest), 0


def count_new(store: Store, state: str, kept: TailState) -> TailState:
    """Count what is new in the audit and in the log of errors.

    Raises:
        StoreError: The store cannot be read.
    """
    place, missed = settle_position(store, kept.counted)
    counts = kept.counts.copy()  # a look that fails half-way has counted nothing, and the next one begins where it did
    if missed:
        counts.add("audit_records_missed", by=missed)
    for page in pages(store, place):
        for row in page:
            count(counts, row)
        place = ChainPosition(page[-1].seq, page[-1].digest)
    return _errors_counted(state, kept._replace(counts=counts, counted=place))


def _errors_counted(state: str, kept: TailState) -> TailState:
    """Count the lines of the log of errors that have come, also of the one that was rotated away meanwhile."""
    path = os.path.join(state, NAME)
    inode, offset = kept.log_inode, kept.log_offset
    for name in (f"{path}.1", path):
        try:
            found = os.stat(name)
        except OSError:
            continue
        if name != path and found.st_ino != inode:
            continue
        start = offset if found.st_ino == inode and offset <= found.st_size else 0
        inode, offset = found.st_ino, start + _lines_counted(name, start, kept.counts)
    return kept._replace(log_inode=inode, log_offset=offset)


def _lines_counted(path: str, start: int, counts: Counts) -> int:
    try:
        with open(path, "rb") as file:
            file.seek(start)
            data = file.read(_LOG_BYTES)
    except OSError:
        return 0
    whole = data[: data.rfind(b"\n") + 1]  # a line may be half written
    for line in whole.decode("utf-8", "replace").splitlines():
        words = line.split(" ")
        # when, what was being done (which may be several words), the error's class, the place
        counts.add("errors", words[-2] if len(words) >= 4 and words[-2].isidentifier() else "unreadable")
    return len(whole)
