"""How much of a thing a test does: enough in a run of the whole suite, and more with ``make stress``."""

from __future__ import annotations

import os

_FACTOR = int(os.environ.get("STRESS", "1"))


def times(usual: int) -> int:
    """So many rounds, processes or examples; with ``STRESS=4`` in the environment four times as many."""
    return usual * _FACTOR
