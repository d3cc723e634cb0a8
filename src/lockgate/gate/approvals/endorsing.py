"""Records a person's endorsement of one result in the store and the audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockgate.core.errors import EndorsementError
from lockgate.core.events import Context
from lockgate.core.model import Label, Subject
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.approvals import fetches
from lockgate.gate.approvals.answering import sign_record
from lockgate.gate.approvals.proof import parse_body
from lockgate.gate.session import endorsements, packages
from lockgate.gate.session.calls import list_decisions
from lockgate.store import chain_links
from lockgate.store.audit.chain import verify_store
from lockgate.store.audit.record import event_record
from lockgate.store.rows import AuditHead, AuditQuery

if TYPE_CHECKING:
    from typing import Any

    from lockgate.gate.approvals.signatures import Signer
    from lockgate.gate.session.endorsements import UntrustedResult
    from lockgate.gate.session.packages import InstalledPackages
    from lockgate.store.protocol import Store, Transaction

_BROKEN = "the audit does not hold, so it does not tell what else the session has read: lockgate audit verify"
_MOVED = "the audit does not tell that this call has brought all of that: lockgate audit verify"


class _Recorded(Record):
    """What the audit tells of a result that is to be endorsed."""

    head: AuditHead
    """The end of the chain, up to which it was read."""
    decisions: Sequence[Mapping[str, Any]]
    """Of the result's session."""
    digest: str
    """SHA-256 of the call, hexadecimal, as it was kept then."""
    sources: int
    """From how many sources the call could bring what is untrusted."""


def endorse(
    store: Store, shown: UntrustedResult, *, by: str, client: str = "cli", signer: Signer | None = None
) -> frozenset[Label]:
    """Take the label ``untrusted`` of one result from whoever has read it, and record that.

    Args:
        store: The store.
        shown: The result as the person was shown it.
        by: Who says so, as ``ann (terminal)``.
        client: Through which program of ours, as the audit names it: ``cli`` or ``dashboard``.
        signer: The approver who signs it, where the configuration names any.

    Returns:
        The labels that its subject has left.

    Raises:
        EndorsementError: It cannot be endorsed (any more).
        StoreError: The store cannot be written.
    """
    by = signer.by if signer is not None else by
    recorded = _read_records(store, shown)
    with store.transaction() as tx:
        now = store.clock()
        decisions = [*recorded.decisions, *_read_since(tx, shown.subject.session, recorded.head)]
        is_as_recorded = _is_as_recorded(tx, shown, recorded)
        left = endorsements.endorse(tx, shown, by=by, now=now, decisions=decisions)
        if not is_as_recorded:
            raise EndorsementError(_MOVED)
        fetches.end(tx, shown.subject.session)
        facts = {
            "call": shown.call_id,
            "tool": shown.tool,
            "result": shown.id,
            "text": shown.said["digest"],
            "sources": list(shown.sources),
            "by": by,
            "left": sorted(left),
        }
        body = event_record(Context(client, shown.subject), "endorse", facts)
        tx.append_audit(now, {**body, **sign_record(signer, "endorse", body, now)})
    return left


def endorse_file(store: Store, path: str, text: str, *, by: str, signer: Signer | None = None) -> None:
    """Take the label from a file into which an agent wrote what it had read of strangers, and record that.

    Args:
        store: The store.
        path: The file, absolute.
        text: SHA-256 of what the person was shown of it, hexadecimal.
        by: Who says so, as ``ann (terminal)``.
        signer: The approver who signs it, where the configuration names any.

    Raises:
        EndorsementError: It has no label (any more).
        StoreError: The store cannot be written.
    """
    from lockgate.gate.monitor import file_labels

    by = signer.by if signer is not None else by
    with store.transaction() as tx:
        now = store.clock()
        file = next((file for file in file_labels.list_labelled(tx) if file.path == path), None)
        if file is None:
            raise EndorsementError("this file has no label any more")
        file_labels.forget(tx, path)
        facts = {"path": path, "text": text, "source": file.source, "by": by}
        body = event_record(Context("cli", Subject(file.session)), "endorse-file", facts)
        tx.append_audit(now, {**body, **sign_record(signer, "endorse", body, now)})


def packages_to_endorse(store: Store) -> list[InstalledPackages]:
    """The packages that untrusted sessions have installed on this machine, and that nobody has endorsed."""
    with store.reading() as tx:
        return packages.list_standing(tx)


def endorse_packages(
    store: Store, shown: InstalledPackages, *, by: str, client: str = "cli", signer: Signer | None = None
) -> None:
    """Let packages that an untrusted session has installed be the project's again, and record that.

    Args:
        store: The store.
        shown: What the person was shown.
        by: Who says so, as ``ann (terminal)``.
        client: Through which program of ours, as the audit names it.
        signer: The approver who signs it, where the configuration names any.

    Raises:
        EndorsementError: Something was installed there since.
        StoreError: The store cannot be written.
    """
    by = signer.by if signer is not None else by
    with store.transaction() as tx:
        now = store.clock()
        if not packages.end(tx, shown):
            raise EndorsementError("something else is installed there by now: look at that first")
        body = event_record(Context(client, Subject("")), packages.ENDED, {**packages.describe(shown), "by": by})
        tx.append_audit(now, {**body, **sign_record(signer, packages.ENDED, body, now)})


def _read_records(store: Store, shown: UntrustedResult) -> _Recorded:
    """Read all that an endorsement rests on, in a look of its own: that takes long, and nobody else may wait for it.

    Raises:
        EndorsementError: The chain does not hold.
    """
    with store.reading() as tx:
        verified = verify_store(tx, store.key)
        if not verified.ok or not verified.head.seq:
            raise EndorsementError(_BROKEN)
        row = tx.call(shown.subject.session, shown.call_id)
        digest = row.digest if row is not None else ""
        decisions = list_decisions(tx, shown.subject.session)
        return _Recorded(verified.head, decisions, digest, _most_sources(tx, shown, digest))


def _read_since(tx: Transaction, session: str, head: AuditHead) -> list[Mapping[str, Any]]:
    """What was decided in a session since the chain was read, which is unchanged up to its end of then.

    Raises:
        EndorsementError: The chain does not go on from there.
    """
    links = chain_links.read_to_head(tx, head.seq)
    if links is None or links[0].digest != head.digest:
        raise EndorsementError(_BROKEN)
    bodies = [parse_body(link.body) for link in links[1:]]
    return [body for body in bodies if (body.get("event"), body.get("session")) == ("decision", session)]


def _is_as_recorded(tx: Transaction, shown: UntrustedResult, recorded: _Recorded) -> bool:
    """Whether no more labels name the call than it could give, as the audit tells of it.

    A row of the state can be moved from another call to this one. The record of what was decided cannot.
    """
    row = tx.call(shown.subject.session, shown.call_id)
    mine = (Label.UNTRUSTED, shown.call_id, "")
    named = [taint for taint in tx.taints(shown.subject) if (taint.label, taint.call_id, taint.origin) == mine]
    return row is not None and row.digest == recorded.digest and len(named) <= recorded.sources


def _most_sources(tx: Transaction, shown: UntrustedResult, digest: str) -> int:
    """From how many sources a call could bring what is untrusted, as one of the gates has recorded it."""
    query = AuditQuery(event="decision", session=shown.subject.session, text=digest)
    for gate in tx.gates():
        for record in tx.find_audit(query, gate=gate.gate):
            body = parse_body(record.body)
            told = (body.get("digest"), body.get("agent"))
            if told == (digest, shown.subject.agent) and body.get("call") in (shown.call_id, ""):
                effects = body.get("effects") or ()
                given = {each.get("what") for each in effects if each.get("gives") == Label.UNTRUSTED.value}
                return len(given) + int(body.get("effects_omitted") or 0)
    return 0
