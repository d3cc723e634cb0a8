"""A person's word that one result is fine: written into the store and the audit."""

from __future__ import annotations

from lockgate.core.events import Context
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.approvals import fetches
from lockgate.gate.session import endorsements
from lockgate.store.audit.record import happened

if TYPE_CHECKING:
    from lockgate.core.model import Label
    from lockgate.gate.session.endorsements import Source
    from lockgate.store.protocol import Store


def endorse(store: Store, shown: Source, *, by: str, client: str = "cli") -> frozenset[Label]:
    """Take the label ``untrusted`` of one result from whoever has read it, and record that.

    Args:
        store: The store.
        shown: The result as the person was shown it.
        by: Who says so, as ``ann (terminal)``.
        client: Through which program of ours, as the audit names it: ``cli`` or ``dashboard``.

    Returns:
        The labels that its subject has left.

    Raises:
        EndorsementError: It cannot be endorsed (any more).
        StoreError: The store cannot be written.
    """
    with store.transaction() as tx:
        now = store.clock()
        left = endorsements.endorse(tx, shown, by=by, now=now)
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
        tx.append_audit(now, happened(Context(client, shown.subject), "endorse", facts))
    return left
