"""The audit of what happens to a fleet's policy on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockgate.configuration.bundles.update import News
from lockgate.core.events import Context
from lockgate.core.model import Subject
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.audit.record import happened

if TYPE_CHECKING:
    from lockgate.store.protocol import Store


def audit_writer(store: Store, by: str) -> Callable[[Sequence[News]], None]:
    """A function that appends what has happened to the audit, and raises ``StoreError`` where that cannot be.

    Args:
        store: Keeps the audit.
        by: Who does it: ``gate``, or ``cli`` for a person.
    """

    def tell(news: Sequence[News]) -> None:
        if not news:
            return
        with store.transaction() as tx:
            for each in news:
                tx.append_audit(store.clock(), happened(Context(by, Subject("")), each.event, each.facts))

    return tell
