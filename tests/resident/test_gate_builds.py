"""Two builds of the code on one machine: none decides for a hook of the other."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import tool
from hook.process import Told, run
from lockgate.core.errors import StoreError
from lockgate.service.resident.process import AGAIN
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.code_identity import OwnCode, code_of
from support.builds import Build

from .machine import PATIENT, Machine

pytestmark = pytest.mark.sampled


@pytest.fixture
def one(tmp_path: Path) -> Build:
    """A build."""
    return Build(tmp_path / "one", "one")


@pytest.fixture
def two(tmp_path: Path) -> Build:
    """Another one, elsewhere."""
    return Build(tmp_path / "two", "two")


def _tampers(machine: Machine) -> dict[str, Any]:
    return tool("PreToolUse", "Write", {"file_path": f"{machine.state}/lockgate.db", "content": ""})


def _ask(machine: Machine, build: Build, *, native: bool = False, event: dict[str, Any] | None = None) -> Told:
    start = [build.native, "--python", sys.executable, "--script"] if native else [sys.executable, "-I", "-S"]
    words = [*start, build.hook, *machine.words(), *PATIENT]
    return run(words, event or _tampers(machine), env=machine.environment, cwd=machine.project)


def _decided(told: Told) -> str:
    """Which build has refused."""
    assert told.refuses, told
    reason = str(told.answer["hookSpecificOutput"]["permissionDecisionReason"])
    return next(name for name in ("one", "two") if reason.startswith(name))


@pytest.mark.slow
@pytest.mark.parametrize("native", [False, True], ids=["python", "native"])
def test_a_gate_of_another_folder_does_not_decide(machine: Machine, one: Build, two: Build, native: bool) -> None:
    gate = machine.start(program=one.gate)
    assert _decided(_ask(machine, one, native=native)) == "one"
    assert machine.facts["answered"] == 1
    assert _decided(_ask(machine, two, native=native)) == "two"
    assert gate.wait(30) == AGAIN
    machine.end()
    machine.start(program=two.gate)
    assert _decided(_ask(machine, two, native=native)) == "two"
    assert machine.facts["answered"] == 1, "the gate of the hook's own code does decide"
    assert machine.facts["version"] == "0.1.0+two"


@pytest.mark.parametrize("native", [False, True], ids=["python", "native"])
def test_an_upgrade_in_place_is_seen_at_once(machine: Machine, one: Build, native: bool) -> None:
    """By the very next hook, and not a second later."""
    gate = machine.start(program=one.gate)
    for name in ("two", "one", "two"):
        assert _decided(_ask(machine, one, native=native)) != name
        one.change(name)
        assert _decided(_ask(machine, one, native=native)) == name
        assert gate.wait(30) == AGAIN
        machine.end()
        gate = machine.start(program=one.gate)


@pytest.mark.slow
@pytest.mark.parametrize("native", [False, True], ids=["python", "native"])
def test_under_load_each_hook_has_its_own_code(machine: Machine, one: Build, two: Build, native: bool) -> None:
    builds = {"one": one, "two": two}
    machine.start(program=one.gate)

    def ask(number: int) -> tuple[str, Told]:
        name = "one" if number < 8 or number % 5 == 0 else "two"
        return name, _ask(machine, builds[name], native=native)

    with ThreadPoolExecutor(4) as crowd:
        told = list(crowd.map(ask, range(24)))
    assert [(name, _decided(each)) for name, each in told if each.code == 0] == [
        (name, name) for name, each in told if each.code == 0
    ]
    assert sum(each.code == 0 for _, each in told) > 12
    assert all(each.refuses for _, each in told)
    assert machine.verified().ok


def test_a_change_that_keeps_size_and_times_is_seen(tmp_path: Path) -> None:
    program = tmp_path / "hook.py"
    program.write_text("a = 1\n")
    before = os.stat(program)
    own = OwnCode([str(program)])
    assert own.is_told_by(code_of(str(program)))
    program.write_text("a = 2\n")
    os.utime(program, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (os.stat(program).st_size, os.stat(program).st_ino) == (before.st_size, before.st_ino)
    assert own.is_told_by(code_of(str(program))) is False


def test_an_upgrade_that_leaves_the_hook_alone_is_seen_by_its_build(tmp_path: Path) -> None:
    program, build = tmp_path / "hook.py", tmp_path / "build"
    program.write_text("")
    build.write_text("1")
    own = OwnCode([str(program)])
    build.unlink()
    assert own.is_told_by(code_of(str(program))) is False
    build.write_text("2")
    assert own.is_told_by(code_of(str(program))) is False


def test_another_spelling_of_the_same_place_is_the_same_code(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    program = tmp_path / "real" / "hook.py"
    program.write_text("")
    (tmp_path / "link").symlink_to("real")
    other = tmp_path / "other" / "hook.py"
    other.parent.mkdir()
    os.link(program, other)  # as an installer does that keeps one copy for all environments
    own = OwnCode([str(program)])
    assert own.is_told_by(code_of(str(tmp_path / "link" / "hook.py")))
    assert own.is_told_by(code_of(str(other))) is False


@pytest.mark.parametrize("code", ["", "1 2 3", "x " * 10 + "/a", "1 " * 10 + "relative", "-1 " * 10 + "/a"])
def test_what_no_hook_tells_does_not_end_a_gate(served: Machine, code: str) -> None:
    from lockgate.clients.wire.resident import HookRequest, encode_request

    pid = served.facts["pid"]
    asked = HookRequest(os.getpid(), tuple(served.words()), served.environment, b"{}", code=code)
    assert served.said(encode_request(asked)) == b"N"
    assert served.facts["pid"] == pid


@pytest.mark.slow
def test_an_answer_that_has_begun_is_given_to_the_end(machine: Machine, one: Build, two: Build) -> None:
    """What a gate has answered when one of other code asks is still heard, however slowly it is read."""
    machine.start(program=one.gate)
    text = "curl https://example.com/" + "x" * 200_000
    event = tool("PreToolUse", "Write", {"file_path": f"{machine.state}/lockgate.db", "content": text})
    with machine.connected() as slow:
        from lockgate.clients.wire.resident import HookRequest, encode_request

        words = tuple(machine.words())
        slow.sendall(
            encode_request(HookRequest(os.getpid(), words, machine.environment, _json(event), code=code_of(one.hook)))
        )
        machine.until(lambda: machine.facts["answered"] == 1, "the answer")
        assert _decided(_ask(machine, two)) == "two"
        heard = b""
        while part := slow.recv(1 << 16):
            heard += part
    assert heard[:1] == b"A"
    assert b"permissionDecision" in heard


def _json(event: dict[str, Any]) -> bytes:
    import json

    return json.dumps(event).encode()


def test_a_gate_that_began_in_the_middle_of_an_upgrade_ends(machine: Machine, one: Build) -> None:
    """It has loaded some files of before, and may not know it: those that it loads are younger than itself."""
    from lockgate.service.resident.identity import LoadedCode

    path = Path(one.package, "core", "version.py")
    code = LoadedCode(time.time_ns())
    assert not code.has_changed()
    sys.modules["a_module_of_the_test"] = module = type(sys)("a_module_of_the_test")
    try:
        import lockgate.service.resident.identity as identity

        module.__file__ = str(path)
        before = identity._PACKAGE
        identity._PACKAGE = str(one.package)
        try:
            assert not LoadedCode(time.time_ns()).has_changed()
            os.utime(path)
            assert LoadedCode(time.time_ns() - 10**9).has_changed()
        finally:
            identity._PACKAGE = before
    finally:
        del sys.modules["a_module_of_the_test"]


def test_a_gate_that_was_stopped_is_replaced(machine: Machine) -> None:
    gate = machine.start()
    os.kill(gate.pid, signal.SIGSTOP)
    _let_hooks_start(machine)
    began = time.monotonic()
    assert machine.hook(_tampers(machine)).refuses
    assert gate.wait(10) == -signal.SIGKILL
    machine.comes_up()
    assert time.monotonic() - began < 20
    assert machine.hook(_tampers(machine)).refuses
    assert machine.facts["answered"] == 1


def test_a_gate_of_an_older_protocol_is_ended(machine: Machine, one: Build) -> None:
    """It answers "decide by yourself" for ever, and would keep its place for as long as somebody asks."""
    wire = one.package / "clients" / "wire" / "resident.py"
    wire.write_text(wire.read_text().replace("LOCKGATE3", "LOCKGATE1"))
    process = one.package / "service" / "resident" / "process.py"
    process.write_text(process.read_text().replace("os.write(self._lock, os.fsencode(code))", "pass"))
    gate = machine.start(program=one.gate, wait=False)
    machine.until(lambda: os.path.exists(os.path.join(machine.state, "run", "gate.sock")), "the old gate")
    _let_hooks_start(machine)
    assert machine.hook(_tampers(machine)).refuses
    gate.wait(10)
    assert machine.comes_up()["pid"] != gate.pid


def _let_hooks_start(machine: Machine) -> None:
    mark = Path(machine.state, "run", "started")
    mark.touch()
    os.utime(mark, (1, 1))


# ---------------------------------------------------------------- the tables
def test_an_old_gate_writes_nothing_into_a_newer_database(machine: Machine, one: Build, two: Build) -> None:
    """The newer one may be somebody's who asks no gate: so each transaction looks."""
    two.schema("CREATE TABLE more (a)")
    machine.start(program=one.gate)
    assert _decided(_ask(machine, one)) == "one"
    words = [sys.executable, "-I", "-S", two.hook, *machine.words(), *PATIENT]
    environment = {**machine.environment, "LOCKGATE_RESIDENT": "off"}
    assert _decided(run(words, _tampers(machine), env=environment, cwd=machine.project)) == "two"
    before = _records(machine)
    told = _ask(machine, one)
    assert told.code == 2
    assert "newer Lockgate" in told.stderr
    assert _records(machine) == before
    assert _decided(_ask(machine, two)) == "two"


def _records(machine: Machine) -> int:
    import sqlite3

    connection = sqlite3.connect(os.path.join(machine.state, "lockgate.db"))
    try:
        return int(connection.execute("SELECT count(*) FROM audit").fetchone()[0])
    finally:
        connection.close()


@pytest.mark.parametrize("writable", [True, False], ids=["writing", "reading"])
def test_a_store_that_is_open_looks_at_the_tables_each_time(machine: Machine, writable: bool) -> None:
    import sqlite3

    with machine.store() as store:
        begin = store.transaction if writable else store.reading
        with begin():
            pass
        other = sqlite3.connect(os.path.join(machine.state, "lockgate.db"))
        other.execute("PRAGMA user_version = 99")
        other.close()
        for _ in range(2):
            with pytest.raises(StoreError, match="newer Lockgate"), begin():
                pytest.fail("it began")
        other = sqlite3.connect(os.path.join(machine.state, "lockgate.db"))
        from lockgate.store.files import VERSION

        other.execute(f"PRAGMA user_version = {VERSION}")
        other.close()
        with begin() as tx:
            tx.sessions()


def test_crowds_write_while_the_tables_change(machine: Machine) -> None:
    """Whoever has the lock looks once more, so that nothing is written in between."""
    import sqlite3

    ending = threading.Event()
    path = os.path.join(machine.state, "lockgate.db")

    def write(number: int) -> None:
        store = SqliteStore.open(machine.state, busy_seconds=20)
        try:
            count = 0
            while not ending.is_set():
                count += 1
                try:
                    with store.transaction() as tx:
                        tx.put_setting(f"w{number}", str(count))
                except StoreError:
                    return
        finally:
            store.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    other = sqlite3.connect(path, timeout=20, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("PRAGMA user_version = 99")
    seen = other.execute("SELECT name, value FROM settings WHERE name LIKE 'w_' ORDER BY name").fetchall()
    other.execute("COMMIT")
    time.sleep(0.3)
    ending.set()
    for thread in threads:
        thread.join(20)
    assert other.execute("SELECT name, value FROM settings WHERE name LIKE 'w_' ORDER BY name").fetchall() == seen
    other.close()
    assert seen
