"""Measures a resident gate: its start, its decisions a second, its memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

from lockgate.cli.bench.run import gates, stories
from lockgate.cli.bench.run.costs import Spread
from lockgate.cli.bench.run.load import Load, LoadResult
from lockgate.cli.bench.run.stories import BenchRequest, Client
from lockgate.core.errors import LockgateError
from lockgate.system.folders import Folders

SESSIONS = 50
"""Agents that ask at the same time."""
_MOST = 5000
"""More questions a second than any gate will answer: so many are ready before the time runs."""
_STARTS = 5


class ResidentTimes(NamedTuple):
    """The measured times."""

    start_ms: Spread
    """From the start of its process to its first decision."""
    seen: LoadResult
    status: dict[str, Any]
    """What the gate says of itself after the load."""
    processor_ms: float
    """What a decision took of a processor, the gate's whole process counted."""


def measure(where: Folders, seconds: float, progress: Callable[[int], None]) -> ResidentTimes:
    """Start gates, and put the last one under load.

    Args:
        where: A prepared installation, which is thrown away.
        seconds: How long the load lasts.
        progress: Told of each step.

    Raises:
        LockgateError: A gate does not come up, or says something wrong.
    """
    starts = []
    for number in range(_STARTS):
        starts.append(_start(where, number))
        progress(1)
    with gates.run_gate(where) as gate:
        sources = [ready(gate.client, f"s{lane:03d}", int(_MOST * seconds / SESSIONS)) for lane in range(SESSIONS)]
        before = gate.processor_seconds()
        seen = Load([gate.path]).run_closed(sources, time.perf_counter() + seconds)
        spent = gate.processor_seconds() - before
        progress(1)
        status = gate.status()
    if seen.wrong:
        raise LockgateError(f"the gate gave {len(seen.wrong)} wrong answers: {seen.wrong[0][:200]}")
    return ResidentTimes(Spread.of(starts), seen, status, spent / max(seen.answered, 1) * 1000)


def ready(client: Client, lane: str, most: int) -> list[BenchRequest]:
    """Questions of one agent after another, made before they are asked."""
    found: list[BenchRequest] = []
    for number in count():
        found += stories.session(client, f"{lane}n{number:06d}")
        if len(found) >= most:
            return found
    raise AssertionError("unreachable")


def _start(where: Folders, number: int) -> float:
    """Milliseconds from the start of a gate to its first decision."""
    question = next(iter(stories.session(gates.client_of(where), f"start{number}", stories.STORY[2:3])))
    began = time.perf_counter()
    gate = gates.launch_gate(where)
    try:
        while time.perf_counter() - began < gates.PATIENCE:
            if os.path.exists(gate.path):
                try:
                    gates.ask(gate.path, question.data, gates.PATIENCE)
                except ConnectionError:
                    pass
                else:
                    return (time.perf_counter() - began) * 1000
            time.sleep(0.001)
        raise LockgateError("the gate does not come up")
    finally:
        gate.stop()
