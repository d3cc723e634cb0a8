"""How much of a thing a test does: enough in a run of the whole suite, and more with ``make stress``."""

from __future__ import annotations

import os

_USUAL = 100
"""The number of examples in the whole suite."""

_FACTOR = int(os.environ.get("STRESS", "1"))


def times(usual: int) -> int:
    """So many rounds, processes or examples; with ``STRESS=4`` in the environment four times as many."""
    return usual * _FACTOR


def examples(number: int) -> int:
    """How many random examples a test takes that needs another number than most: a quarter of it in the quick tests."""
    from hypothesis import settings  # not by processes that a test starts

    return max(1, number * settings.default.max_examples // _USUAL)
