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


@pytest.fixture(autouse=True)
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person sits at the terminal in which the commands are typed, unless an agent's shell says otherwise."""
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())


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


def test_a_number_that_was_changed_is_put_right(state: str) -> None:
    _run(state, "PRAGMA user_version = 5")
    said = _said("store", "mend", code=0).splitlines()
    assert said == ["put right: the number of the version, which was 5", "run: lockgate audit verify"]


def test_an_agent_may_not_mend(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _run(state, "CREATE VIEW helper AS SELECT 1")
    monkeypatch.setenv("CLAUDECODE", "1")
    _said("store", "mend", code=1)
    _said("audit", "verify", code=3)


def test_an_emptied_list_is_summed_up(state: str) -> None:
    _run(state, "DELETE FROM begun WHERE part >= 0 AND part < 250")
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


@pytest.mark.parametrize(
    "words", [("restore", "copy.db"), ("mend",), ("use", "sqlite"), ("use", "postgresql:///x"), ("copy", "sqlite")]
)
def test_nothing_takes_the_place_of_records_without_a_terminal(
    state: str, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """A program of the user can run the command, and nobody sits there."""
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: -1)
    before = Path(state, "lockgate.db").read_bytes()
    assert "in a terminal of their own: this is none" in _said("store", *words, code=1)
    assert Path(state, "lockgate.db").read_bytes() == before
    assert not Path(state, "store.json").exists()


def test_whoever_sets_a_machine_up_needs_no_terminal(
    state: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: -1)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "new"))
    (tmp_path / "new" / "lockgate").mkdir(parents=True, mode=0o700)
    _said("store", "use", "sqlite", code=0)
    SqliteStore.open(str(tmp_path / "new" / "lockgate")).close()
    Path(tmp_path / "new" / "lockgate" / "lockgate.db").unlink()
    _said("store", "use", "sqlite", code=1)
