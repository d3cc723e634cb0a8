"""Refusals of a gate that stand in no record, and those of hooks: recorded once the store has been written again."""

from __future__ import annotations

from lockgate.core.errors import LockgateError
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.error_log import note, place_of

if TYPE_CHECKING:
    from lockgate.service.resident.request import Work
    from lockgate.store.protocol import Store


class Refusals:
    """The refusals that wait in a state folder."""

    def __init__(self, state: str, store: Store) -> None:
        """Of this state folder, to be recorded in its store."""
        self._state = state
        self._store = store
        self.has_written = False
        """Whether something was decided, and so recorded, since they were looked for."""

    def keep(self, work: Work, because: str) -> None:
        """Keep one of this gate."""
        from lockgate.store.audit.refusals import Refusal

        asked, refusal = work.asked, Refusal(self._state, "gate")
        refusal.about(asked.options.client, asked.name or "", asked.payload)
        refusal.keep(because)
        self.has_written = False

    def record(self) -> None:
        """Record what hooks and this gate have kept, where the store has been written since."""
        if not self.has_written:
            return
        self.has_written = False
        from lockgate.store.audit.refusals import sweep

        try:
            sweep(self._state, self._store)
        except LockgateError as error:
            note(self._state, "refusals", type(error).__name__, place_of(error))
