"""What a person does to a store, and no gate: its tables, which one a state folder uses, whose gates are, moving it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress

from lockgate.core.display_text import visible
from lockgate.core.errors import AuditError, StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.audit.anchors import Anchored, verify_anchors, verify_chain
from lockgate.store.audit.chain import Verification, verify_store
from lockgate.store.chain_links import BY_A_PERSON, fleet_key_of
from lockgate.store.copy.copying import CopyResult, copy
from lockgate.store.copy.ends import PostgresEnd, SqliteEnd
from lockgate.store.files import DATABASE, ELSEWHERE, KEY, KEY_BYTES, VERSION, own_folder, read_key
from lockgate.store.opening import open_existing, read_chosen
from lockgate.store.postgres import migrations
from lockgate.store.postgres.anchor_notes import NOTES, read_noted
from lockgate.store.postgres.migrations import Migrated
from lockgate.store.postgres.opening import open_at
from lockgate.store.postgres.settings import StoreAddress, read_where, seal_of
from lockgate.store.postgres.store import PostgresStore
from lockgate.store.rows import AuditHead, GateRow
from lockgate.store.sqlite import create, restoring
from lockgate.store.sqlite.copies import look
from lockgate.store.sqlite.rollback import OWN_STORE, OutsideHead
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.digests import json_object
from lockgate.system.files import replace

if TYPE_CHECKING:
    from lockgate.store.protocol import Store, Transaction
    from lockgate.store.sqlite.schema_objects import MendedSchema

_COPY_SECONDS = 600.0
"""Seconds that a copy may take for one statement."""
_MOST_BEFORE_USE = 200
"""Acts of whoever sets a machine up, at most."""
_LEFT = "this gate has used a shared store, and its own does not know what was read meanwhile"


def read_shared_address(state: str) -> StoreAddress | None:
    """The shared store that a state folder names; ``None`` where it has a database of its own.

    Raises:
        StoreError: What the folder says cannot be read or trusted.
    """
    return read_chosen(state)


def mend_schema(state: str) -> MendedSchema:
    """Take out of a state folder's own database what this version does not make; see ``store/sqlite/schema_objects``.

    Raises:
        StoreError: It cannot be mended.
    """
    from lockgate.store.sqlite import schema_objects

    return schema_objects.mend_schema(state)


def use_shared(state: str, url: str, name: str) -> None:
    """Let a state folder use a shared store from now on.

    Args:
        state: The state folder.
        url: The address of the database.
        name: What people call this gate; empty for user and host.

    Raises:
        OSError: It cannot be written; what was used before still is.
        StoreError: The key cannot be read.
    """
    key = read_key(state)
    seal = seal_of(key, StoreAddress(url, name))
    text = json.dumps({"url": url, **({"gate": name} if name else {}), "seal": seal})
    path = os.path.join(state, ELSEWHERE)
    with _keep_choice(state, key, seal):
        replace(path, text.encode(), draft=f"{path}.{os.urandom(6).hex()}", sync=True)


def has_records(state: str) -> bool:
    """Whether a state folder has records, or had some: its places outside may still tell, of whatever installation.

    Raises:
        StoreError: The key cannot be read.
    """
    if any(os.path.lexists(os.path.join(state, name)) for name in (DATABASE, ELSEWHERE)):
        return True
    has_key = os.path.lexists(os.path.join(state, KEY))
    if not os.path.isdir(os.path.dirname(state)):
        return False
    outside = OutsideHead(state, read_key(state) if has_key else bytes(KEY_BYTES))
    return bool(outside.others() or (has_key and outside.read_places()))


def is_in_use(state: str) -> bool:
    """Whether anybody but a person with a command has been recorded in a state folder, or there was another state.

    Raises:
        StoreError: It cannot be read.
    """
    found = open_existing(state)
    if found is None:
        return has_records(state)
    with closing(found), found.reading() as tx:
        records = tx.audit(limit=_MOST_BEFORE_USE + 1)
        if tx.audit_checkpoint().seq or len(records) > _MOST_BEFORE_USE:
            return True
        return any((json_object(row.body) or {}).get("client") not in BY_A_PERSON for row in records)


def use_own(state: str) -> None:
    """Let a state folder use its own database from now on.

    Raises:
        OSError: The name of the shared store cannot be removed.
        StoreError: The folder cannot be made or trusted, or the key cannot be read.
    """
    own_folder(state, create=True)
    with _keep_choice(state, read_key(state), OWN_STORE), suppress(FileNotFoundError):
        os.unlink(os.path.join(state, ELSEWHERE))


def leave_own(state: str) -> None:
    """Have the database of a state folder know that it misses what is recorded from now on, in a shared store.

    Raises:
        StoreError: It cannot be opened or trusted.
    """
    found = SqliteStore.open_existing(state)
    if found is None:
        return
    try:
        with found.transaction() as tx:
            restoring.miss(tx, found.clock(), _LEFT)
    finally:
        found.close()


@contextmanager
def _keep_choice(state: str, key: bytes, seal: str) -> Iterator[None]:
    """Keep outside of a state folder which store it uses: until this is over both, for hooks go on meanwhile."""
    outside, before = OutsideHead(state, key), OWN_STORE
    with suppress(StoreError):
        before = read_where(os.path.join(state, ELSEWHERE)).seal
    outside.put_stores({*(outside.stores() or {before}), seal})
    yield
    outside.put_stores({seal})


@contextmanager
def open_shared_store(state: str, url: str, name: str, busy_seconds: float = 10.0) -> Iterator[PostgresStore]:
    """The shared store at an address, as the gate of a state folder, open as long as this lasts.

    Raises:
        StoreError: It is no address, or the folder cannot be trusted.
    """
    found = open_at(state, url, name, busy_seconds=busy_seconds)
    try:
        yield found
    finally:
        found.close()


def migrate_shared(state: str, url: str, *, gate_roles: Sequence[str], reader_roles: Sequence[str]) -> Migrated:
    """Make the tables of the shared store at an address, or make them newer. New ones get this machine's fleet key.

    Raises:
        StoreError: As for :func:`lockgate.store.postgres.migrations.migrate`, or the folder cannot be trusted.
    """
    own_folder(state, create=True)
    key = fleet_key_of(read_key(state))
    return migrations.migrate(url, fleet_key=key, gate_roles=gate_roles, reader_roles=reader_roles)


def bind_gate(url: str, gate: str, role: str) -> str:
    """Give a gate to a role of the shared store at an address, and return the gate's id.

    Args:
        url: The address of the database, for its owner.
        gate: The gate's id, the beginning of it, or its name.
        role: The role that alone records for the gate from now on, with its members.

    Raises:
        StoreError: There is no such gate or role, or more than one gate is meant, or the address is not the owner's.
    """
    return migrations.bind(url, gate, role)


def demand_own(state: str) -> None:
    """Make sure that a state folder has a database of its own.

    Raises:
        StoreError: It names a shared store.
    """
    if os.path.lexists(os.path.join(state, ELSEWHERE)):
        raise StoreError("this gate uses a shared store: its owner restores that one, with PostgreSQL's own tools")


def restore(state: str, path: str, record: Callable[[Transaction, float, str], None]) -> tuple[str, int]:
    """As :func:`lockgate.store.sqlite.restoring.restore`, for a gate that uses no shared store."""
    demand_own(state)
    return restoring.restore(state, path, record)


def migrate_own(state: str) -> tuple[str, int, int] | None:
    """Make the tables of a state folder's own database newer, however large it is.

    Returns:
        The database, and the versions of its tables before and now; ``None`` where nothing is recorded yet.

    Raises:
        StoreError: It cannot be opened or trusted.
    """
    path = os.path.join(state, DATABASE)
    if not os.path.lexists(path):
        return None
    before = look(path).schema
    SqliteStore.open_file(path, state, lambda *what: create.migrate(*what, large=True)).close()
    return path, before, VERSION


def copy_store(state: str, url: str, name: str, *, back: bool) -> tuple[CopyResult, AuditHead]:
    """Copy everything that a gate keeps from its own database to a shared store.

    Args:
        state: The state folder.
        url: The address of the shared store.
        name: What people call this gate there; empty for user and host.
        back: Whether it is copied from there instead.

    Returns:
        What was copied, and the head of the audit that both have now.

    Raises:
        AuditError: What one of the stores has recorded does not hold; nothing was changed.
        StoreError: A store cannot be used; nothing was changed.
    """
    with ExitStack() as stack:
        shared = stack.enter_context(open_shared_store(state, url, name, _COPY_SECONDS))
        opened = SqliteStore.open_to_fill if back else SqliteStore.open
        own = opened(state, busy_seconds=_COPY_SECONDS)
        stack.callback(own.close)
        # Both are transactions that write, so that neither store changes meanwhile.
        local, there = SqliteEnd(stack.enter_context(own.transaction())), stack.enter_context(shared.transaction())
        return _copy(own, shared, local, PostgresEnd(there), back=back)


def _copy(
    own: SqliteStore, shared: PostgresStore, local: SqliteEnd, there: PostgresEnd, *, back: bool
) -> tuple[CopyResult, AuditHead]:
    source, target = (there, local) if back else (local, there)
    _refuse_broken(verify_store(source.tx, own.key), "that is copied")
    if source.tx.label_contradictions():
        # The other store has no seals, so that a label would be lost.
        raise AuditError("labels were changed by something else: run `lockgate audit accept` first")
    done = copy(source, target, same_addresses=own.fleet_key == shared.fleet_key)
    _refuse_broken(verify_store(target.tx, own.key), "that is copied to")
    return done, target.tx.audit_head()


def _refuse_broken(chain: Verification, which: str) -> None:
    if chain.problem:
        raise AuditError(f"the audit chain of the store {which} does not hold: {visible(chain.problem, 300)}")


def verify_gates(store: Store, state: str) -> tuple[list[tuple[GateRow, Verification]], Anchored]:
    """Whether the chains of all gates of a store hold, and are those that were anchored.

    Args:
        store: The store.
        state: The state folder, where this machine has noted the last anchor.

    Raises:
        StoreError: The store cannot be read.
    """
    with store.reading() as tx:
        gates = [(row, verify_chain(tx, row, store.key)) for row in tx.gates()]
        return gates, verify_anchors(tx, read_noted(os.path.join(state, NOTES)))
