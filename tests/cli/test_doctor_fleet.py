"""What the doctor says of a fleet's policy."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bundles.fleets import DAY, Machine, packed
from lockgate.cli.doctor.optional import fleet


def said(machine: Machine) -> list[tuple[str, str]]:
    return [(status, detail) for status, detail, _ in fleet(str(machine.state))]


def test_nothing_is_said_where_there_is_no_fleet(tmp_path: Path) -> None:
    assert list(fleet(str(tmp_path))) == []


def test_each_state_has_its_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path)
    assert [status for status, _ in said(machine)] == ["fail"]
    machine.put(packed(1, expires=time.time() + DAY))
    machine.look()
    assert said(machine) == [("ok", "acme/1 is in force and binds, by keys that this user has pinned")]
    machine.put(packed(2, "eve"))
    [(status, detail)] = said(machine)
    assert (status, "no pinned key" in detail) == ("warn", True)
    monkeypatch.setattr("lockgate.cli.doctor.optional.is_installed", lambda _: False)
    assert ".[fleet]" in said(machine)[0][1]
