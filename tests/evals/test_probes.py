"""No program runs outside of the sandbox with an option or a variable that no table lists."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "evals/shell"))

import probes


def test_every_program_is_contained_with_what_nobody_lists():
    count, allowed = probes.allowed(probes.VALUES[:1])
    assert count > 10_000
    assert allowed == []
