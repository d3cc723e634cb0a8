"""Recognises the doctor's trial calls, which must be refused, by what the doctor wrote into the store."""

from __future__ import annotations

import os
from collections.abc import Callable

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.session.sessions import TRIAL

if TYPE_CHECKING:
    from types import TracebackType

    from lockgate.store.protocol import Store, Transaction

_ANNOUNCED = "trial:"
"""How the setting is named that announces such a session; its value is when that was."""
_SECONDS = 600.0
"""For how long it is announced: a doctor that is killed does not take it back."""


class TrialSession:
    """A session whose next call is the doctor's own, as long as this lasts."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        """Announce nothing yet.

        Args:
            open_store: Opens the store. Where it cannot, the call counts as an agent's.
        """
        self._open_store = open_store
        self._session = TRIAL + os.urandom(16).hex()

    def __enter__(self) -> str:
        self._write(announce)
        return self._session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write(take_trial)

    def _write(self, act: Callable[[Transaction, str, float], object]) -> None:
        try:
            store = self._open_store()
            try:
                with store.transaction() as tx:
                    act(tx, self._session, store.clock())
            finally:
                store.close()
        except StoreError:
            return  # another check of the doctor says what is wrong with the store


def announce(tx: Transaction, session: str, now: float) -> None:
    """Announce that the next call of a session is the doctor's own, and no agent's.

    Args:
        tx: The transaction.
        session: Begins with :data:`TRIAL`, and goes on as nobody can guess.
        now: Seconds since the epoch.
    """
    for name, at in tx.settings(_ANNOUNCED).items():
        if not _is_recent(at, now):
            tx.put_setting(name, None)
    tx.put_setting(f"{_ANNOUNCED}{session}", str(now))


def take_trial(tx: Transaction, session: str, now: float) -> bool:
    """Use up the announcement of a call of this session; whether there was one. The next call is an agent's again."""
    name = f"{_ANNOUNCED}{session}"
    at = tx.setting(name)
    if at is None:
        return False
    tx.put_setting(name, None)
    return _is_recent(at, now)


def _is_recent(at: str, now: float) -> bool:
    try:
        return abs(now - float(at)) <= _SECONDS
    except ValueError:  # an earlier version's, which says no time
        return False
