"""Crowds of gates on one database, and a database that is killed, stopped, restarted or read-only under them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from contract import APPROVAL, SESSION

from lockgate.core.errors import StoreError
from lockgate.core.model import Label, Subject, Taint, TaintState
from lockgate.gate.approvals import questions as approvals
from lockgate.gate.approvals.proof import as_asked
from lockgate.store.audit.chain import verify
from lockgate.store.opening import open_store
from lockgate.store.postgres.store import PostgresStore
from support.postgres import Server, running, use

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
WRITERS, WRITES = 6, 15
ANSWERS = 40


def _python(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(HERE / script), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _go(crowd: list[subprocess.Popen[str]]) -> list[str]:
    """Start all at the same moment; what each says."""
    for process in crowd:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in crowd:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=120) for process in crowd]
    assert [error for _, error in said] == [""] * len(crowd)
    return [out for out, _ in said]


def _opened(state: Path, busy_seconds: float = 10.0) -> PostgresStore:
    store = open_store(str(state), busy_seconds=busy_seconds)
    assert isinstance(store, PostgresStore)
    return store


@pytest.fixture
def gates(tmp_path: Path, postgres_url: str) -> list[Path]:
    """The state folders of two gates that share a store, each of which is a host of its own."""
    return [use(tmp_path / name, postgres_url, name) for name in ("north", "south")]


@pytest.fixture
def harmed() -> Iterator[Server]:
    """A server for one test alone, which may do with it what it likes."""
    with running() as server:
        yield server


@pytest.mark.stress
def test_two_gates_on_one_session_lose_no_label_and_no_record(gates: list[Path]) -> None:
    said = _go([_python("write_calls.py", gates[writer % 2], writer, WRITES) for writer in range(WRITERS)])
    assert said == ["done\n"] * WRITERS
    for gate in gates:
        store = _opened(gate)
        with store.reading() as tx:
            assert verify(tx.audit(), tx.audit_head(), store.key)[:3] == (True, WRITERS // 2 * WRITES, "")
            taints = [(name, taint) for name in ("", "a1", "a2", "a3") for taint in tx.taints(Subject("s", name))]
            assert {taint.state for _, taint in taints} == {TaintState.CONFIRMED}
            assert {(name, taint.call_id) for name, taint in taints if not taint.origin} == {
                (f"a{writer % 4}" if writer % 4 else "", f"{writer}-{number}")
                for writer in range(WRITERS)
                for number in range(WRITES)
            }
            assert {row.state for row in tx.calls("s")} == {"finished"}
            assert [row.seq for row in tx.gates()] == [WRITERS // 2 * WRITES] * 2
        store.close()


@pytest.mark.stress
def test_no_answer_is_used_by_two_gates(gates: list[Path]) -> None:
    store = _opened(gates[0])
    names = [f"k{number}" for number in range(ANSWERS)]
    with store.transaction() as tx:
        for name in names:
            tx.put_approval(as_asked(tx, APPROVAL._replace(approval=name, expires_at=store.clock() + 600)))
            approvals.decide(tx, name, approve=True, by="ann", reason="", now=store.clock())
    said = _go([_python("use_approvals.py", gates[number % 2], *names) for number in range(4)])
    used = [name for out in said for name in out.split()]
    assert sorted(used) == sorted(names)
    with store.reading() as tx:
        assert {row.state for row in tx.approvals()} == {"used"}
    store.close()


@pytest.mark.stress
def test_a_database_that_is_killed_again_and_again_loses_nothing_that_was_answered(
    harmed: Server, tmp_path: Path
) -> None:
    url = harmed.url(harmed.store_database())
    gates = [use(tmp_path / name, url) for name in ("north", "south")]
    writers = [_python("commit_under_faults.py", gates[number % 2], f"w{number}", 5) for number in range(4)]
    try:
        for how in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
            time.sleep(0.9)
            harmed.stop(how)
            harmed.start()
        said = [process.communicate(timeout=60) for process in writers]
    finally:
        for process in writers:
            if process.poll() is None:
                process.kill()
                process.wait()
    assert [error for _, error in said] == [""] * 4
    lines = [line for out, _ in said for line in out.splitlines()]
    answered = {line for line in lines if not line.startswith("!")}
    assert len(answered) > 100
    recorded: set[str] = set()
    for gate in gates:
        store = _opened(gate)
        with store.reading() as tx:
            rows = tx.audit()
            assert verify(rows, tx.audit_head(), store.key)[:3] == (True, len(rows), "")
            recorded |= {row.body.split('"call":"', 1)[1].split('"', 1)[0] for row in rows}
            labelled = {taint.call_id for taint in tx.taints(Subject("s"))}
            row = tx.session("s")
        store.close()
    assert recorded >= answered, "what was answered is there"
    assert labelled == recorded, "a label and its record are there together or not at all"
    assert row is not None
    assert row.seen_at == len(recorded), "no update was lost"


def _label(store: PostgresStore, call: str = "c") -> None:
    with store.transaction() as tx:
        tx.put_session(SESSION._replace(session="s"))
        tx.add_taints(Subject("s"), [Taint(Label.UNTRUSTED, "x", "Bash", call, 1.0)])


def _calls(store: PostgresStore) -> set[str]:
    with store.reading() as tx:
        return {taint.call_id for taint in tx.taints(Subject("s"))}


def test_connections_that_were_lost_between_two_steps_are_replaced(postgres_server: Server, gates: list[Path]) -> None:
    store = _opened(gates[0])
    _label(store, "before")
    postgres_server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        f" AND pid <> pg_backend_pid() AND datname = '{_database(store)}'"
    )
    _label(store, "after")
    assert _calls(store) == {"before", "after"}
    store.close()


def _database(store: PostgresStore) -> str:
    return store._open_pool().address["dbname"]


@pytest.mark.parametrize("last", [True, False], ids=["at the commit", "before a question"])
def test_a_connection_that_is_lost_within_a_step_ends_it_as_a_refusal(
    postgres_server: Server, gates: list[Path], last: bool
) -> None:
    store = _opened(gates[0])
    with pytest.raises(StoreError, match="cannot be used"), store.transaction() as tx:
        tx.put_session(SESSION._replace(session="s"))
        tx.session("s")
        pid = tx._connection.info.backend_pid
        postgres_server.execute(f"SELECT pg_terminate_backend({pid}, 5000)")
        if not last:
            tx.labels(Subject("s"))
    with store.reading() as tx:
        assert tx.session("s") is None
    _label(store)
    assert _calls(store) == {"c"}
    store.close()


def test_a_session_that_another_gate_holds_is_waited_for_and_no_longer_than_said(gates: list[Path]) -> None:
    holder, waiter = _opened(gates[0]), _opened(gates[1], busy_seconds=0.3)
    with holder.transaction() as tx:
        tx.session("s")
        with pytest.raises(StoreError, match="too long"), waiter.transaction() as other:
            other.put_session(SESSION._replace(session="s"))
        with waiter.transaction() as other:  # another session is nobody's business
            other.put_session(SESSION)
    _label(waiter)
    assert _calls(holder) == {"c"}
    holder.close()
    waiter.close()


def test_what_a_step_reads_is_what_the_one_before_it_left(gates: list[Path]) -> None:
    """Ten threads of two gates count up the same row: none overwrites what another has written."""
    failed: list[BaseException] = []

    def count(gate: Path) -> None:
        try:
            store = _opened(gate)
            for _ in range(10):
                with store.transaction() as tx:
                    row = tx.session("s") or SESSION._replace(session="s", seen_at=0.0)
                    tx.put_session(row._replace(seen_at=row.seen_at + 1))
            store.close()
        except Exception as error:  # noqa: BLE001 - told by the assertion below
            failed.append(error)

    threads = [threading.Thread(target=count, args=(gates[number % 2],)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    store = _opened(gates[0])
    with store.reading() as tx:
        row = tx.session("s")
        assert row is not None
        assert row.seen_at == 100
    store.close()


def test_two_gates_that_wait_for_each_other_end_as_a_refusal_of_one(gates: list[Path]) -> None:
    first, second = _opened(gates[0]), _opened(gates[1])
    met = threading.Barrier(2)
    refused: list[str] = []

    def step(store: PostgresStore, mine: str, other: str) -> None:
        try:
            with store.transaction() as tx:
                tx.put_session(SESSION._replace(session=mine))
                tx.session(mine)
                met.wait(20)
                tx.put_session(SESSION._replace(session=other, cwd=mine))
        except StoreError as error:
            refused.append(str(error))

    thread = threading.Thread(target=step, args=(second, "b", "a"))
    thread.start()
    step(first, "a", "b")
    thread.join(60)
    assert len(refused) == 1
    assert "wait for each other" in refused[0]
    with first.reading() as tx:
        assert len({row.cwd for row in tx.sessions()}) == 2, "the other one was kept whole"
    first.close()
    second.close()


def test_a_failed_statement_that_a_program_overlooks_is_no_success(gates: list[Path]) -> None:
    store = _opened(gates[0])
    with pytest.raises(StoreError), store.transaction() as tx:
        tx.put_session(SESSION)
        with suppress(Exception):
            tx._count("UPDATE lockgate.audit SET body = ''", ())
            tx._count("NONSENSE", ())
    with store.reading() as tx:
        assert tx.session("s1") is None
    store.close()


def test_a_read_only_database_is_a_refusal_and_then_forgotten(postgres_server: Server, gates: list[Path]) -> None:
    store = _opened(gates[0], busy_seconds=1.0)
    _label(store, "before")
    name = _database(store)
    store.close()
    postgres_server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    store = _opened(gates[0], busy_seconds=1.0)
    with pytest.raises(StoreError, match=r"cannot be reached.*read-only"):
        _label(store, "meanwhile")
    postgres_server.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    _label(store, "after")
    assert _calls(store) == {"before", "after"}
    store.close()


def test_a_database_that_stands_still_is_a_refusal_in_time(harmed: Server, tmp_path: Path) -> None:
    store = _opened(use(tmp_path / "state", harmed.url(harmed.store_database())), busy_seconds=0.5)
    _label(store, "before")
    harmed.signal(signal.SIGSTOP)
    try:
        with pytest.raises(StoreError):
            _label(store, "meanwhile")
        with pytest.raises(StoreError):
            _label(store, "meanwhile")
    finally:
        harmed.signal(signal.SIGCONT)
    store.close()
    store = _opened(tmp_path / "state")
    _label(store, "after")
    assert _calls(store) == {"before", "after"}
    store.close()


def test_a_server_that_starts_is_waited_for(harmed: Server, tmp_path: Path) -> None:
    store = _opened(use(tmp_path / "state", harmed.url(harmed.store_database())), busy_seconds=30)
    _label(store, "before")
    harmed.stop()
    starter = threading.Timer(0.5, harmed.start)
    starter.start()
    _label(store, "after")
    starter.join()
    assert _calls(store) == {"before", "after"}
    store.close()


def test_a_standby_takes_over_with_all_that_was_answered(harmed: Server, tmp_path: Path) -> None:
    name = harmed.store_database()
    with running(harmed) as standby:
        harmed.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        harmed.execute("SELECT pg_reload_conf()")
        url = f"postgresql://postgres@/{name}?host={harmed.folder},{standby.folder}"
        store = _opened(use(tmp_path / "state", url), busy_seconds=20)
        for number in range(20):
            with store.transaction() as tx:
                tx.add_taints(Subject("s"), [Taint(Label.UNTRUSTED, "x", "Bash", f"c{number}", 1.0)])
                tx.append_audit(store.clock(), {"event": "test"})
        alone = _opened(use(tmp_path / "alone", standby.url(name)), busy_seconds=0.5)
        with pytest.raises(StoreError, match="cannot be reached"):
            _label(alone)  # it takes no changes as long as it is a standby
        alone.close()
        harmed.stop(signal.SIGKILL)
        standby.execute("SELECT pg_promote()")
        _label(store, "after")
        assert _calls(store) == {*(f"c{number}" for number in range(20)), "after"}
        with store.reading() as tx:
            assert verify(tx.audit(), tx.audit_head(), store.key)[:3] == (True, 20, "")
        store.close()


def test_a_process_that_was_forked_has_connections_of_its_own(gates: list[Path]) -> None:
    store = _opened(gates[0])
    _label(store, "parent")
    pid = os.fork()
    if pid == 0:
        code = 1
        with suppress(BaseException):
            _label(_opened(gates[0]), "child")
            code = 0
        os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    _label(store, "parent again")
    assert _calls(store) == {"parent", "child", "parent again"}
    store.close()
