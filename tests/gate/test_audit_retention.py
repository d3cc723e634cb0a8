"""How long the audit is kept, where a trusted layer says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.world import World
from lockgate.store.audit.chain import verify_store

START = 1_000_000.0
DAY = 86400.0


@pytest.mark.parametrize(
    ("said", "where", "kept"),
    [
        pytest.param("audit: {retention_days: 2}\n", "config", 3, id="the user says"),
        pytest.param("audit: {retention_days: 20}\n", "config", 6, id="longer"),
        pytest.param("audit: {}\n", "config", 6, id="no number"),
        pytest.param("retention_days: 1\n", "config", 6, id="sessions are another matter"),
        pytest.param("audit: {retention_days: 2}\n", "project", 6, id="a project cannot"),
    ],
)
def test_old_records_go_when_a_session_begins(tmp_path: Path, said: str, where: str, kept: int) -> None:
    world = World(tmp_path)
    with world.store.transaction() as tx:
        for days in (9, 8, 7, 2, 1):
            tx.append_audit(START - days * DAY, {"event": "prompt"})
    (tmp_path / where / "lockgate.yaml").write_text(said)
    world.start()
    with world.store.reading() as tx:
        records = tx.audit()
        assert verify_store(tx, world.store.key).ok
    told = sum('"event":"pruned"' in row.body for row in records)
    assert (len(records) - told, told) == (kept, int(kept == 3))
