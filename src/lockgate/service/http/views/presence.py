"""Whether a session that nobody has ended still runs: a client that is killed says nothing of its end."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lockgate.store.protocol import Transaction
from lockgate.store.rows import SessionRow
from lockgate.system import caller

_RECENT = 60.0
"""Seconds after a sign of life within which nothing else is asked."""
_LONG = 86400.0
"""Seconds without a sign after which a session is silent, whatever its process does."""


def silent(tx: Transaction, rows: Sequence[SessionRow], now: float) -> frozenset[str]:
    """The sessions that have not ended and give no sign: their client's process is gone, or they were silent for long.

    Args:
        tx: A look at the store.
        rows: The sessions in question.
        now: Seconds since the epoch.
    """
    # A store that other machines use says of no process on which of them it is.
    local = all(gate.own for gate in tx.gates())
    return frozenset(row.session for row in rows if not row.ended_at and _is_silent(row, now, local=local))


def _is_silent(row: SessionRow, now: float, *, local: bool) -> bool:
    quiet = now - row.seen_at
    return quiet > _LONG or (quiet > _RECENT and local and is_gone(row.process))


def is_gone(process: str) -> bool:
    """Whether a process has ended for certain.

    Args:
        process: ``pid:start-time``, the start in clock ticks since boot, as the gate notes it; it may be empty where
            the system tells none.
    """
    pid, _, started = process.partition(":")
    if not pid.isascii() or not pid.isdigit() or not 0 < int(pid) < 2**31:
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it is another user's
    found = caller.process(int(pid))
    return bool(started) and found is not None and found.started != started
