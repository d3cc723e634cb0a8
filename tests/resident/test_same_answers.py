"""What the gate answers, and what it remembers, is what a hook by itself would have."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lockgate.clients.adapter import CLIENTS
from support.made_up import without_what_is_made_up

from .machine import PATIENT, Machine
from .stories import STORIES

pytestmark = pytest.mark.sampled

_CHAINED = ("audit", "audit_head", "audit_checkpoint", "begun")
_WRONG = (("--deadline",), ("--no-such-option",))
"""Options of which the hook itself says what is wrong."""
_PASSING = ("at", "ms", "id", "steps", "trace")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """Where one machine stands after the other: a path is part of what is decided on, and of digests."""
    yield tmp_path / "machine"


def _told(root: Path, name: str, *, resident: bool) -> tuple[list[Any], dict[str, Any], int]:
    """What is answered to a story, what the store holds then, and how many of the answers were the gate's."""
    shutil.rmtree(root, ignore_errors=True)
    machine = Machine(root)
    try:
        machine.environment["SHELL"] = "/bin/bash"
        if resident:
            machine.start()
        off = {} if resident else {"LOCKGATE_RESIDENT": "off"}
        told = [
            machine.hook(
                _here(said.event, machine), *PATIENT, *said.options, client=said.client, **off, **dict(said.environ)
            )
            for said in STORIES[name]()
        ]
        answered = machine.facts["answered"] if resident else 0
    finally:
        machine.end()
    assert machine.verified().ok
    return [_plain(each) for each in told], _tables(machine), answered


def _here(event: bytes | dict[str, Any], machine: Machine) -> bytes:
    """The event in the machine's project."""
    return event if isinstance(event, bytes) else json.dumps(event).replace("/w/app", str(machine.project)).encode()


def _plain(value: Any) -> Any:
    """The same for two runs: made-up ids and times are taken out."""
    if isinstance(value, str):
        return without_what_is_made_up(value)
    if isinstance(value, float):
        return "<time>" if value > 1e9 else value
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key not in _PASSING and not key.endswith("_ms")}
    return value


def _rows(database: sqlite3.Connection, table: str) -> list[Any]:
    """The rows without their seals: those are made of times, too, and two runs begin at different ones."""
    found = database.execute(f"SELECT * FROM {table}")
    kept = [at for at, (column, *_) in enumerate(found.description) if column != "seal"]
    return [[_plain(row[at]) for at in kept] for row in found]


def _tables(machine: Machine) -> dict[str, Any]:
    database = sqlite3.connect(Path(machine.state) / "lockgate.db")
    try:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {name: _rows(database, name) for name in names}
    finally:
        database.close()
    for name in _CHAINED:
        found.pop(name, None)
    found.pop("settings", None)
    # Refusals without a decision are recorded later, each by whoever comes next.
    records = [_plain(body) for body in machine.audit() if body["event"] != "undecided"]
    return {**found, "records": records}


@pytest.mark.parametrize("name", STORIES)
def test_the_gate_answers_as_a_hook_by_itself(root: Path, name: str) -> None:
    by_itself, remembered, _ = _told(root, name, resident=False)
    by_gate, remembered_there, answered = _told(root, name, resident=True)
    assert by_gate == by_itself
    assert json.dumps(remembered_there, indent=1) == json.dumps(remembered, indent=1)
    asked = STORIES[name]()
    own = sum(said.client not in CLIENTS or said.options[:1] in _WRONG for said in asked)
    # On a busy machine some hook does not wait for it.
    assert (len(asked) - own) / 2 < answered <= len(asked) - own, "the gate was asked"


@pytest.mark.slow
def test_the_stories_reach_every_verdict(root: Path) -> None:
    """Without the control above could compare nothing but silence."""
    found = {
        record["verdict"]
        for name in list(STORIES)[1:4]
        for record in _told(root, name, resident=False)[1]["records"]
        if "verdict" in record
    }
    assert found == {"allow", "ask", "deny", "contain"}
