"""What ``lockgate gate status`` says to a person. That it is true is tested with real gates in ``tests/resident``."""

from __future__ import annotations

import time

import click
import pytest

from lockgate import __version__
from lockgate.cli.gate import _lines
from lockgate.clients.wire.resident_control import ResidentState
from lockgate.core.version import PACKAGE_FOLDER

FACTS = {
    "pid": 7, "version": __version__, "program": PACKAGE_FOLDER,
    "started_at": 0.0, "idle_seconds": 3.0, "answered": 5, "declined": 1,
    "failed": 0, "p50_ms": None, "p99_ms": None, "connections": 1, "waiting_for_others": 0, "memory_mb": 31.0,
}  # fmt: skip


def said(found: ResidentState) -> str:
    return click.unstyle("\n".join(_lines(found)))


@pytest.mark.parametrize(
    ("count", "words"), [(0, "now          0 connections,"), (1, "now          1 connection,"), (2, "2 connections,")]
)
def test_connections_are_counted(count: int, words: str) -> None:
    text = said(ResidentState(True, "", {**FACTS, "started_at": time.time() - 3 * 86400 - 60, "connections": count}))
    assert words in text
    assert "started      3 d ago" in text


def test_where_none_runs_nothing_is_promised_that_a_pause_would_belie() -> None:
    """After one has ended, or could not come up, hooks start no other for ten seconds."""
    text = said(ResidentState(runs=False))
    assert "hooks decide by themselves, and one of the next starts it" in text
    assert "up to ten seconds" in text
