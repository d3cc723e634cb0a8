"""What the commands say of a database that somebody has changed, and how a person mends it."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockgate.cli.doctor.optional import approver_keys
from lockgate.cli.main import cli
from lockgate.store.rows import SessionRow
from lockgate.store.sqlite.store import SqliteStore


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDECODE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / ".local" / "state" / "lockgate"
    folder.mkdir(parents=True, mode=0o700)
    with closing(SqliteStore.open(str(folder))) as store, store.transaction() as tx:
        tx.put_session(SessionRow("s1", started_at=1.0, seen_at=1.0))
    return str(folder)


def _run(state: str, script: str) -> None:
    with closing(sqlite3.connect(os.path.join(state, "lockgate.db"), isolation_level=None)) as connection:
        connection.executescript(script)


def _said(*words: str, code: int) -> str:
    result = CliRunner().invoke(cli, list(words))
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


@pytest.mark.parametrize("words", [("audit", "verify"), ("doctor",)], ids=" ".join)
def test_a_trigger_is_named_with_the_command(state: str, words: tuple[str, ...]) -> None:
    _run(state, "CREATE TRIGGER helper AFTER INSERT ON taints BEGIN DELETE FROM taints; END")
    said = _said(*words, code=3 if words[0] == "audit" else 1)
    assert "the trigger 'helper'" in said
    assert "lockgate store mend" in said


def test_the_command_mends_and_records(state: str) -> None:
    _run(state, "CREATE TRIGGER helper AFTER INSERT ON taints BEGIN DELETE FROM taints; END")
    assert _said("store", "mend", code=0).splitlines() == ["removed: trigger helper", "run: lockgate audit verify"]
    with closing(SqliteStore.open(state)) as store, store.reading() as tx:
        assert json.loads(tx.audit()[-1].body)["mended"]["removed"] == ["trigger helper"]
    assert "holds" in _said("audit", "verify", code=0)
    assert _said("store", "mend", code=0) == "nothing to mend\n"


def test_an_agent_may_not_mend(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _run(state, "CREATE VIEW helper AS SELECT 1")
    monkeypatch.setenv("CLAUDECODE", "1")
    _said("store", "mend", code=1)
    _said("audit", "verify", code=3)


def test_an_emptied_list_is_summed_up(state: str) -> None:
    _run(state, "DELETE FROM begun")
    lines = _said("audit", "verify", code=1).splitlines()
    assert len(lines) < 12, lines
    assert "all of them: lockgate audit verify --json" in lines[-1]
    assert len(json.loads(_said("audit", "verify", "--json", code=1))["against"]) > 200


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGKqWn1HhHMdFEvGyIhZk0UaFXFWeFNCVCMOZQlI4yJt"


@pytest.mark.parametrize(
    ("configuration", "says"),
    [
        pytest.param("", "none are configured", id="none"),
        pytest.param(f"approvers: {{keys: [{{name: ann, key: '{KEY}'}}]}}", "one of 1: ann", id="one"),
    ],
)
def test_the_doctor_says_how_many_approvers_there_are(
    state: str, tmp_path: Path, configuration: str, says: str
) -> None:
    config = tmp_path / ".config" / "lockgate"
    config.mkdir(parents=True)
    (config / "lockgate.yaml").write_text(configuration)
    assert says in next(approver_keys(str(tmp_path)))[1]
    line = next(line for line in _said("doctor", code=1).splitlines() if "approvers" in line)
    assert says in line
