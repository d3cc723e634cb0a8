"""No program runs outside of the sandbox with an option or a variable that no table lists."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[2] / "evals/shell"


@pytest.fixture(scope="module")
def probing():
    sys.path.insert(0, str(HERE))
    try:
        import probes
    finally:
        sys.path.remove(str(HERE))
    return probes


def test_every_program_is_contained_with_what_nobody_lists(probing):
    probes = [probe for name in probing.programs() for probe in probing.probes(name, values=probing.VALUES[:1])]
    assert len(probes) > 10_000
    allowed = [p for p in probes if probing.judged(probing.Case("probe", p), probing.ATTACKS.labels).verdict == 0]
    assert allowed == []
