"""A copy of the database before it is changed by an upgrade, and the way back to it."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from adapters.payloads import tool
from hook.process import HOOK, Told, run
from lockgate.cli.main import cli
from lockgate.core.errors import StoreError
from lockgate.core.model import Label, Subject
from lockgate.store.audit.chain import verify_store
from lockgate.store.files import VERSION
from lockgate.store.rows import AgentRow, SessionRow
from lockgate.store.sqlite import copies as copying
from lockgate.store.sqlite import create as making
from lockgate.store.sqlite import restoring
from lockgate.store.sqlite import store as our_sqlite
from lockgate.store.sqlite.copies import copies, way_back
from lockgate.store.sqlite.restoring import restore
from lockgate.store.sqlite.schema import MIGRATIONS
from lockgate.store.sqlite.store import SqliteStore
from support.builds import Build
from support.prepared import give_state

NEWER = (*MIGRATIONS, ("CREATE TABLE later (x)",))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home, with a state in which a session has run."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("XDG_STATE_HOME", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"):
        monkeypatch.delenv(variable, raising=False)
    give_state(_state(tmp_path))
    store = SqliteStore.open(str(_state(tmp_path)))
    with store.transaction() as tx:
        tx.put_session(SessionRow("s1", "claude-code", "/w", "/w", started_at=1.0, seen_at=1.0))
        tx.put_agent(AgentRow("s1", "a1"))
        tx.append_audit(1.0, {"event": "test"})
    store.close()
    return tmp_path


def _state(home: Path) -> Path:
    return home / ".local" / "state" / "lockgate"


def _newer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "MIGRATIONS", NEWER)
    for module in (making, our_sqlite, copying):
        monkeypatch.setattr(module, "VERSION", len(NEWER))
    monkeypatch.setattr(our_sqlite, "_THIS", (len(NEWER),))


def _schema(path: Path) -> int:
    return copying.look(str(path)).schema


@pytest.fixture(autouse=True)
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person sits at the terminal in which the commands are typed, unless an agent's shell says otherwise."""
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())


def _lockgate(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, list(words))
    assert result.exit_code == code, (result.output, result.exception)
    return result


def test_what_sqlite_says_of_a_draft_is_told_as_an_error_of_the_state(home: Path) -> None:
    draft, database = _state(home) / "lockgate.db.restoring", _state(home) / "lockgate.db"
    draft.write_bytes(b"x" * 4096)
    before = database.read_bytes()
    with pytest.raises(StoreError, match="cannot be replaced"):
        restoring._put(str(draft), str(database), f"{database}.1")
    assert database.read_bytes() == before


# ---------------------------------------------------------------- the copy
def test_an_upgrade_of_the_tables_keeps_a_copy(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = _state(home) / f"lockgate.db.{VERSION}"
    SqliteStore.open(str(_state(home))).close()
    assert not copy.exists(), "nothing was changed"
    with monkeypatch.context() as patch:
        _newer(patch)
        store = SqliteStore.open(str(_state(home)))
        with store.reading() as tx:
            assert tx.setting("upgrade:copy") == str(copy)
        store.close()
    assert (_schema(copy), stat.S_IMODE(copy.stat().st_mode)) == (VERSION, 0o600)
    there = sqlite3.connect(copy)
    assert there.execute("SELECT session FROM sessions").fetchall() == [("s1",)]
    there.close()


def test_of_many_who_upgrade_at_once_the_copy_is_of_before(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _newer(monkeypatch)
    problems: list[BaseException] = []

    def open_it() -> None:
        try:
            SqliteStore.open(str(_state(home)), busy_seconds=20).close()
        except BaseException as error:  # noqa: BLE001 - told below
            problems.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert [(copy.path, copy.schema) for copy in copies(str(_state(home)))] == [
        (str(_state(home) / f"lockgate.db.{VERSION}"), VERSION)
    ]
    assert not [name for name in os.listdir(_state(home)) if name.count(".") > 2]


def test_without_room_for_a_copy_nothing_is_changed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        _newer(patch)
        patch.setattr(os, "replace", full)
        with pytest.raises(StoreError, match=r"cannot be copied to .*No space left on device.*: make room"):
            SqliteStore.open(str(_state(home)))
    assert _schema(_state(home) / "lockgate.db") == VERSION
    SqliteStore.open(str(_state(home))).close()
    assert copies(str(_state(home))) == []


def test_what_is_too_large_for_a_hook_is_done_by_a_command(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _newer(monkeypatch)
    monkeypatch.setattr(making, "LARGE", 1000)
    with pytest.raises(StoreError, match=r"run lockgate store migrate$"):
        SqliteStore.open(str(_state(home)))
    monkeypatch.setattr("lockgate.store.administration.VERSION", len(NEWER))
    said = _lockgate("store", "migrate").output
    assert f"the tables are of version {len(NEWER)} now; what was before is in " in said
    SqliteStore.open(str(_state(home))).close()
    assert "already" in _lockgate("store", "migrate").output


# ---------------------------------------------------------------- the way back
def _upgraded(home: Path) -> Path:
    """Upgrade the tables, and label the session after that; the copy of before."""
    with pytest.MonkeyPatch.context() as patch:
        _newer(patch)
        store = SqliteStore.open(str(_state(home)))
        with store.transaction() as tx:
            tx.put_session(SessionRow("s2", started_at=2.0, seen_at=2.0))
        store.close()
    return _state(home) / f"lockgate.db.{VERSION}"


def test_a_downgrade_says_what_to_do_and_that_works(home: Path) -> None:
    copy = _upgraded(home)
    with pytest.raises(StoreError) as refused:
        SqliteStore.open(str(_state(home)))
    words = str(refused.value).rpartition(": ")[2].split()
    assert words == ["lockgate", "store", "restore", str(copy)]
    said = _lockgate(*words[1:]).output
    assert "sessions that have both labels now: 1" in said
    store = SqliteStore.open(str(_state(home)))
    with store.reading() as tx:
        assert [row.session for row in tx.sessions()] == ["s1"]
        for agent in ("", "a1"):
            assert tx.labels(Subject("s1", agent)) == frozenset(Label)
        assert verify_store(tx, store.key).ok
        assert json.loads(tx.audit()[-1].body)["restored"] == str(copy)
    store.close()
    (replaced,) = (each for each in copies(str(_state(home))) if each.path != str(copy))
    assert (replaced.schema, replaced.fits) == (len(NEWER), False)
    assert replaced.path in said
    left = {name for name in os.listdir(_state(home)) if name.startswith("lockgate.db")}
    assert left - {"lockgate.db-wal", "lockgate.db-shm"} == {"lockgate.db", copy.name, Path(replaced.path).name}


def test_what_a_restore_has_replaced_is_no_way_back(home: Path) -> None:
    """It is of the time before the restore, and a person has just taken it away."""
    copy = _upgraded(home)
    database = _state(home) / "lockgate.db"
    displaced = database.with_name("lockgate.db.1900000000")
    displaced.write_bytes(copy.read_bytes())
    os.utime(displaced, (2e9, 2e9))
    assert way_back(str(database)).endswith(f"lockgate store restore {copy}")
    copy.unlink()
    assert "store restore" not in way_back(str(database))


@pytest.mark.parametrize("cut", [True, False], ids=["cut", "garbage"])
def test_a_damaged_database_names_the_copy_and_the_command(home: Path, cut: bool) -> None:
    copy = _upgraded(home)
    database = _state(home) / "lockgate.db"
    if cut:
        os.truncate(database, 5000)
    else:
        database.write_bytes(b"garbage" * 2000)
    with pytest.raises(StoreError, match="is damaged") as refused:
        SqliteStore.open(str(_state(home)))
    command = f"lockgate store restore {copy}"
    assert str(refused.value).endswith(f": {command}")
    _lockgate(*command.split()[1:])
    SqliteStore.open(str(_state(home))).close()


def test_copies_are_listed(home: Path) -> None:
    assert "there are no copies" in _lockgate("store", "restore").output
    copy = _upgraded(home)
    listed = _lockgate("store", "restore").output
    assert f"{copy} (schema {VERSION})" in listed
    assert "to go back to one: lockgate store restore COPY" in listed
    (told,) = json.loads(_lockgate("store", "restore", "--json").output)["copies"]
    assert (told["path"], told["fits"]) == (str(copy), True)


def _restore(home: Path, copy: Path) -> None:
    restore(str(_state(home)), str(copy), lambda tx, now, _: None)


@pytest.mark.parametrize("damage", ["gone", "garbage", "cut"])
def test_a_damaged_database_is_replaced(home: Path, damage: str) -> None:
    copy = _upgraded(home)
    database = _state(home) / "lockgate.db"
    if damage == "gone":
        database.unlink()
    elif damage == "garbage":
        database.write_bytes(b"garbage" * 2000)
    else:
        os.truncate(database, 5000)
    _restore(home, copy)
    store = SqliteStore.open(str(_state(home)))
    with store.reading() as tx:
        assert tx.labels(Subject("s1")) == frozenset(Label)
    store.close()


def test_one_of_another_installation_is_refused(home: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its labels are others, and its audit has another key."""
    other = tmp_path_factory.mktemp("other") / "state"
    store = SqliteStore.open(str(other))
    with store.transaction() as tx:
        tx.append_audit(1.0, {"event": "test"})
    store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    before = (_state(home) / "lockgate.db").read_bytes()
    with pytest.raises(StoreError, match="of another installation"):
        _restore(home, other / "lockgate.db")
    assert (_state(home) / "lockgate.db").read_bytes() == before
    assert copies(str(_state(home))) == []


def test_what_a_killed_upgrade_left_is_replaced(home: Path) -> None:
    copy = _state(home) / "lockgate.db.5"
    for name in ("lockgate.db.5.draft", "lockgate.db.5.draft-journal"):
        (_state(home) / name).write_bytes(b"half of it")
    making.copy_database(str(_state(home) / "lockgate.db"), str(copy))
    assert sorted(path.name for path in _state(home).glob("lockgate.db.*")) == ["lockgate.db.5"]
    assert copying.look(str(copy)).fits
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100])
def test_what_is_no_copy_is_refused(home: Path, content: bytes) -> None:
    file = home / "file"
    file.write_bytes(content)
    with pytest.raises(StoreError, match="no copy that this version can use"):
        _restore(home, file)


def test_where_a_copy_is_missing_those_that_exist_are_named(home: Path) -> None:
    missing = _state(home) / "lockgate.db.4"
    said = _lockgate("store", "restore", str(missing), code=3).output
    assert f"cannot read {missing}: No such file or directory; {_state(home)} has none" in said
    copy = _upgraded(home)
    said = _lockgate("store", "restore", str(missing), code=3).output
    assert f"No such file or directory; this version can use: {copy}\n" in said


def test_while_somebody_works_nothing_is_replaced(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = _upgraded(home)
    _restore(home, copy)
    monkeypatch.setattr(restoring, "_BUSY_SECONDS", 0.2)
    store = SqliteStore.open(str(_state(home)))
    with store.transaction() as tx, pytest.raises(StoreError, match="is in use: end your agents"):
        tx.put_setting("a", "b")
        _restore(home, copy)
    with store.reading() as tx:
        assert tx.setting("a") == "b"
    store.close()


def test_an_agent_may_not_restore(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = _upgraded(home)
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "restored" not in _lockgate("store", "restore", str(copy), code=1).output


@pytest.mark.parametrize(("start", "refuses"), [("", True), ("resume", True), ("startup", False)])
def test_a_hook_of_a_session_that_the_copy_does_not_know(home: Path, start: str, refuses: bool) -> None:
    """Its transcript is gone, too."""
    words = ["claude-code", "--home", str(home), "--state", str(_state(home)), "--config", str(home / "config")]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LOCKGATE_RESIDENT": "off"}
    gone = {"session_id": "s9", "cwd": str(home), "transcript_path": str(home / "gone.jsonl")}

    def ask(event: dict[str, Any]) -> Told:
        return run([sys.executable, "-I", "-S", HOOK, *words], {**event, **gone}, env=environment, cwd=home)

    copy = _state(home) / "lockgate.db.5"
    making.copy_database(str(_state(home) / "lockgate.db"), str(copy))
    _lockgate("store", "restore", str(copy))
    if start:
        assert ask({"hook_event_name": "SessionStart", "source": start}).code == 0
    push = tool("PreToolUse", "Bash", {"command": "git push https://git.example.com/x.git"})
    assert ask(push).refuses is refuses


# ---------------------------------------------------------------- with real builds
def test_a_newer_build_and_back(home: Path, tmp_path: Path) -> None:
    """The person is told of the copy at the start of a session, and by the older build what to do; then it works."""
    old, new = Build(tmp_path / "one", "one"), Build(tmp_path / "two", "two")
    new.schema("CREATE TABLE more (a)")
    words = ["claude-code", "--home", str(home), "--state", str(_state(home)), "--config", str(home / "config")]
    words += ["--deadline", "20"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LOCKGATE_RESIDENT": "off"}

    def ask(build: Build, event: dict[str, Any]) -> Told:
        return run([sys.executable, "-I", "-S", build.hook, *words], event, env=environment, cwd=home)

    start = {
        "session_id": "s3", "hook_event_name": "SessionStart", "source": "startup",
        "cwd": str(home), "transcript_path": "",
    }  # fmt: skip
    copy = _state(home) / f"lockgate.db.{VERSION}"
    assert str(copy) not in ask(old, start).stdout
    back = f"To go back: install the older version, then run: lockgate store restore {copy}"
    assert f"is kept in {copy}. {back}" in ask(new, start).stdout
    assert str(copy) not in ask(new, {**start, "session_id": "s4"}).stdout, "said once"
    refused = ask(old, tool("PreToolUse", "Read", {"file_path": str(home / "a.txt")}))
    assert refused.code == 2
    assert f"lockgate store restore {copy}" in refused.stderr
    _lockgate("store", "restore", str(copy))
    push = tool("PreToolUse", "Bash", {"command": "git push https://git.example.com/x.git"}, session_id="s1")
    assert ask(old, push).refuses, "what the session has read since is not known any more"
