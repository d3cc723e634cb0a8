"""Machines that lack something: what is said names the cause, where it is first met and where it is looked for."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adapters.payloads import tool
from hook.process import faulty
from lockgate.cli.doctor import own
from lockgate.cli.main import cli
from lockgate.core.errors import StoreError
from lockgate.store.files import VERSION
from lockgate.store.probe import problem_of
from lockgate.store.sqlite import checkpoint
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.error_log import describe
from resident.machine import Machine
from support import steady
from support.builds import Build
from support.gates import end_gates
from support.prepared import give_state

CALL = tool("PreToolUse", "Bash", {"command": "ls"})


# ---------------------------------------------------------------- memory and libraries
@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("raise MemoryError", "there is too little memory: raise the limit"),
        ("raise OSError(12, 'Cannot allocate memory')", "there is too little memory: raise the limit"),
        ("import no_such_library", "the library no_such_library cannot be loaded: install Lockgate again"),
        ("raise ZeroDivisionError", "an internal error; run: lockgate doctor"),
    ],
)
def test_a_hook_names_what_it_lacks(tmp_path: Path, fault: str, says: str) -> None:
    told = faulty(tmp_path, fault, CALL)
    assert told.code == 2
    assert says in told.stderr


def test_what_an_import_says_is_shown_safely() -> None:
    assert "\x1b" not in describe(ImportError("bad \x1b[31m"))


def test_doctor_names_a_library_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    import lockgate.system.libraries as libraries

    assert own._libraries().state == "ok"
    load = libraries.library

    def library(name: str) -> Any:
        if name == "hyperscan":
            raise ImportError("libhs.so.5: cannot open shared object file")
        return load(name)

    monkeypatch.setattr(libraries, "library", library)
    found = own._libraries()
    assert (found.state, "hyperscan (libhs.so.5" in found.says) == ("fail", True)


def test_doctor_names_a_limit_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(own.check_memory("/none")) == []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100_000_000, 100_000_000))
    (found,) = own.check_memory("/none")
    assert (found.state, found.says.startswith("processes may have 100 MB")) == ("fail", True)


@pytest.mark.parametrize(
    ("groups", "file", "limit", "says"),
    [
        ("0::/a/b\n", "a/memory.max", "64000000\n", "all processes here may use 64 MB together"),
        ("0::/a/b\n", "memory.max", "64000000\n", "all processes here may use 64 MB together"),
        ("4:memory:/a\n", "memory/a/memory.limit_in_bytes", "64000000\n", "may use 64 MB together"),
        ("0::/a/b\n", "a/memory.max", "640000000\n", ""),
        ("0::/a/b\n", "a/b/memory.max", "max\n", ""),
        ("0::/\n", "memory.stat", "1\n", ""),
        ("nonsense", "memory.max", "1\n", ""),
    ],
)
def test_doctor_names_the_memory_of_a_container(tmp_path: Path, groups: str, file: str, limit: str, says: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(limit)
    (tmp_path / "groups").write_text(groups)
    found = [check.says for check in own.check_memory(str(tmp_path / "groups"), str(tmp_path))]
    assert [says in each for each in found] == ([True] if says else [])


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [40, 60, 90, 120, 140])
@pytest.mark.parametrize("words", [["doctor"], ["doctor", "--json"], ["explain", "ls"], ["status"]], ids=" ".join)
def test_a_command_with_little_memory_ends_with_a_sentence(home: Path, words: list[str], megabytes: int) -> None:
    """Whatever fails first: the interpreter, a process that it starts, or a file that it reads."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": steady.path()}
    give_state(home / ".local" / "state" / "lockgate")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 1_000_000,) * 2)

    command = [sys.executable, "-m", "lockgate", *words]
    told = subprocess.run(command, env=environ, cwd=home, capture_output=True, text=True, check=False, preexec_fn=limit)
    assert "Traceback" not in told.stderr + told.stdout, told
    if words[0] == "doctor":
        assert told.returncode == 1
        assert "memory" in told.stderr + told.stdout
        assert words == ["doctor"] or not told.stdout or json.loads(told.stdout)["ok"] is False


def test_doctor_says_each_thing_as_soon_as_it_knows_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that uses too much is ended without a word."""
    import lockgate.cli.doctor as doctor

    def ended(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(doctor, "own_checks", ended)
    done = CliRunner().invoke(cli, ["doctor"])
    assert (done.exit_code, "settings: " in done.output) == (1, True)
    assert "fail  memory: what follows was not looked at\n      -> there is too little memory" in done.output


# ---------------------------------------------------------------- file systems
@pytest.mark.parametrize(
    ("lock", "error"),
    [
        ("lockf", OSError(errno.ENOLCK, "No locks available")),
        ("flock", OSError(errno.EOPNOTSUPP, "Operation not supported")),
        ("lockf", BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")),
    ],
)
def test_a_file_system_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock: str, error: OSError
) -> None:
    """What SQLite says of it is that somebody else has the database, and that for ever."""
    store = SqliteStore.open(str(tmp_path / "state"), busy_seconds=0.1)
    other = sqlite3.connect(tmp_path / "state" / "lockgate.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="another process holds the state"), store.transaction():
        pytest.fail("it began")

    def fails(*_: Any) -> None:
        raise error

    monkeypatch.setattr(fcntl, lock, fails)
    says = r"has no locks \(.*: set XDG_STATE_HOME to a folder on a disk"
    with pytest.raises(StoreError, match=says), store.transaction():
        pytest.fail("it began")
    (found,) = own.file_system(str(tmp_path / "state"))
    assert (found.state, "has no locks" in found.says) == ("fail", True)
    other.close()
    store.close()


def test_one_that_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert problem_of(str(tmp_path)) == ""
    assert list(own.file_system(str(tmp_path))) == []
    assert list(tmp_path.iterdir()) == []

    def fails(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", fails)
    assert "has no links" in problem_of(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_has_grown_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "state"
    store = SqliteStore.open(str(state))
    store._connection.execute("PRAGMA wal_autocheckpoint = 0")
    for name, value in (("_LOOK", 0.02), ("_LONG", 200_000), ("_TOO_LONG", 500_000)):
        monkeypatch.setattr(checkpoint, name, value)
    for number in range(4):
        with store.transaction() as tx:
            tx.put_setting(f"n{number}", "x" * 300_000)
    log = state / "lockgate.db-wal"
    assert log.stat().st_size > 1_000_000
    stop = threading.Event()
    thread = threading.Thread(target=checkpoint.checkpoint_log, args=(str(state), stop))
    thread.start()
    until = time.monotonic() + 20
    while log.stat().st_size and time.monotonic() < until:
        time.sleep(0.02)
    stop.set()
    thread.join()
    assert log.stat().st_size == 0
    with store.reading() as tx:
        assert len(tx.setting("n3") or "") == 300_000
    store.close()


# ---------------------------------------------------------------- a gate that fails
def test_a_gate_that_fails_three_times_leaves_the_calls_to_the_hooks(tmp_path: Path) -> None:
    """It may be the only process that lacks something; those that decide by themselves do not."""
    machine, build = Machine(tmp_path / "machine"), Build(tmp_path / "one", "one")
    decider = build.package / "service" / "resident" / "decider.py"
    text = decider.read_text()
    assert text.count("        assert event is not None\n") == 1
    decider.write_text(text.replace("        assert event is not None\n", "        raise MemoryError\n"))
    try:
        gate = machine.start(program=build.gate)
        words = machine.words()

        def ask() -> Any:
            from hook.process import run

            start = [sys.executable, "-I", "-S", build.hook, *words, "--deadline", "20"]
            return run(start, CALL, env=machine.environment, cwd=machine.project)

        for _ in range(2):
            told = ask()
            assert told.code == 2
            assert "there is too little memory" in told.stdout
        assert ask() == (0, "", "")
        assert gate.wait(30) == 75
    finally:
        machine.end()


# ---------------------------------------------------------------- the end of an installation
def test_an_installation_ends_with_a_call_that_must_be_refused(home: Path) -> None:
    done = CliRunner().invoke(cli, ["install", "claude-code"])
    assert (done.exit_code, "Sessions that start from now on are guarded" in done.output) == (0, True), done.output
    store = SqliteStore.open(str(home / ".local" / "state" / "lockgate"))
    with store.reading() as tx:
        verdicts = [json.loads(row.body).get("verdict") for row in tx.audit()]
    store.close()
    assert verdicts == ["deny"]
    assert end_gates(home) is None


def test_one_where_the_state_has_no_locks_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", fails)
    done = CliRunner().invoke(cli, ["install", "claude-code"])
    assert done.exit_code == 1, done.output
    assert "has no locks" in done.output
    assert "set XDG_STATE_HOME to a folder on a disk" in done.output
    assert end_gates(home) is None


def test_one_where_a_newer_build_changed_the_tables_says_so(home: Path) -> None:
    state = home / ".local" / "state" / "lockgate"
    SqliteStore.open(str(state)).close()
    database = sqlite3.connect(state / "lockgate.db")
    database.execute(f"PRAGMA user_version = {VERSION + 1}")
    database.close()
    newer = f"was written by a newer Lockgate (schema {VERSION + 1})"
    installed = CliRunner().invoke(cli, ["install", "claude-code"])
    assert (installed.exit_code, newer in installed.output) == (1, True), installed.output
    checks = json.loads(CliRunner().invoke(cli, ["doctor", "--json"]).output)["checks"]
    assert any(check["state"] == "fail" and newer in check["says"] for check in checks), checks
    assert end_gates(home) is None


def _switch_off(home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')


def _spoil(home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.local.json").write_text("{")


@pytest.mark.parametrize(
    ("breaks", "says"),
    [
        (_switch_off, "disableAllHooks is set in"),
        (_spoil, "cannot be read"),
    ],
)
def test_one_that_guards_nothing_is_no_success(home: Path, breaks: Any, says: str) -> None:
    breaks(home)
    done = CliRunner().invoke(cli, ["install", "claude-code"])
    assert done.exit_code == 1
    assert says in done.output
    assert "sessions would not be guarded" in done.output
    assert "are guarded. Check it" not in done.output


def test_a_hook_that_lets_the_call_through_is_no_success(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lockgate.cli.doctor import clients

    monkeypatch.setattr(clients, "_is_denied", lambda _: False)
    done = CliRunner().invoke(cli, ["install", "claude-code"])
    assert done.exit_code == 1
    assert "the hook let a call through that it must refuse" in done.output
