"""Kills, crowds and full disks, with real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from contract import SESSION

from lockgate.core.errors import StoreError
from lockgate.core.model import Label, Subject, TaintState
from lockgate.store.audit.chain import verify
from lockgate.store.sqlite.store import SqliteStore
from support.stress import times

HERE = Path(__file__).parent
WRITERS, WRITES = 16, times(16)
KILLS = times(60)


def _python(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(HERE / script), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _chain(store: SqliteStore) -> tuple[bool, int, str]:
    with store.reading() as tx:
        return verify(tx.audit(), tx.audit_head(), store.key)[:3]


@pytest.mark.stress
def test_kills_lose_nothing_that_was_answered(tmp_path: Path) -> None:
    """Every kill is checked by the script itself, which forks the writers: starting Python so often is slow."""
    nursery = _python("kill_writers.py", str(tmp_path), str(KILLS))
    out, err = nursery.communicate(timeout=120)
    assert (nursery.returncode, err) == (0, "")
    told = dict(line.split("=") for line in out.split())
    assert told["kills"] == str(KILLS)
    # The moments must have hit what they are meant to hit: before, during and after the first transactions.
    assert int(told["before_any_answer"]) > 0
    assert int(told["answered"]) > KILLS / 2  # a busy machine lets fewer come so far


@pytest.mark.stress
def test_16_processes_on_one_session_lose_no_label_and_no_record(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    crowd = [_python("write_calls.py", str(folder), str(number), str(WRITES)) for number in range(WRITERS)]
    for process in crowd:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in crowd:  # all at once, on a folder that is not there yet
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in crowd:
        assert process.communicate(timeout=120) == ("done\n", "")
    store = SqliteStore.open(str(folder))
    assert _chain(store) == (True, WRITERS * WRITES, "")
    with store.reading() as tx:
        taints = [(name, taint) for name in ("", "a1", "a2", "a3") for taint in tx.taints(Subject("s", name))]
        assert {taint.state for _, taint in taints} == {TaintState.CONFIRMED}
        own = {(name, taint.call_id) for name, taint in taints if not taint.origin}
        assert own == {
            (f"a{writer % 4}" if writer % 4 else "", f"{writer}-{number}")
            for writer in range(WRITERS)
            for number in range(WRITES)
        }
        assert {row.state for row in tx.calls("s")} == {"finished"}
        assert tx.labels(Subject("s")) == {Label.UNTRUSTED}
        assert tx.label_contradictions() == []
    store.close()


def test_a_full_database_is_an_error_and_keeps_what_was_there(tmp_path: Path) -> None:
    store = SqliteStore.open(str(tmp_path / "state"))
    with store.transaction() as tx:
        tx.append_audit(1.0, {"event": "kept"})
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreError, match="free some space"), store.transaction() as tx:
        tx.append_audit(2.0, {"event": "x" * 100_000})
    assert _chain(store) == (True, 1, "")
    with store.transaction() as tx:
        tx.append_audit(3.0, {"event": "small"})
    assert _chain(store) == (True, 2, "")
    store.close()


FULL_DISK = """
import resource, sys
from lockgate.core.errors import StoreError
from lockgate.store.sqlite.store import SqliteStore
store = SqliteStore.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
written = 0
try:
    while written < 10_000:
        with store.transaction() as tx:
            tx.append_audit(1.0, {"event": "x" * 1000})
        written += 1
except StoreError as error:
    print(written, error)
"""


def test_a_disk_that_takes_no_more_is_an_error_and_keeps_what_was_there(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(folder)], capture_output=True, text=True, timeout=60, check=True
    )
    written, _, message = done.stdout.partition(" ")
    assert "free space" in message
    store = SqliteStore.open(str(folder))
    assert _chain(store) == (True, int(written), "")
    assert int(written) > 10
    store.close()


NEVER_CLOSES = """
import os, sys
from lockgate.store.sqlite.store import SqliteStore
for _ in range(60):
    pid = os.fork()
    if pid == 0:
        store = SqliteStore.open(sys.argv[1])
        with store.transaction() as tx:
            tx.append_audit(1.0, {"event": "x" * 100_000})
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
"""


def test_the_log_stays_short_when_no_process_ever_closes_it(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    subprocess.run([sys.executable, "-c", NEVER_CLOSES, str(folder)], timeout=60, check=True)
    assert (folder / "lockgate.db-wal").stat().st_size < 3_000_000
    store = SqliteStore.open(str(folder))
    assert _chain(store) == (True, 60, "")
    store.close()


READ_ONLY = """
import os, sys
from lockgate.core.errors import StoreError
import fcntl, lockgate.store.probe  # nobody else may be allowed to read this checkout, or the interpreter
from lockgate.store.sqlite.store import SqliteStore
folder = sys.argv[1]
if os.geteuid() == 0:  # nothing is read-only to root
    for name in ["", *os.listdir(folder)]:
        os.chown(os.path.join(folder, name), 65534, 65534)
    os.chdir(folder)
    os.setuid(65534)
    folder = "."
os.chmod(folder, 0o500)
os.chmod(os.path.join(folder, "lockgate.db"), 0o400)
try:
    store = SqliteStore.open(folder)
    with store.transaction() as tx:
        tx.append_audit(1.0, {})
except StoreError as error:
    print(error)
"""


def test_a_read_only_folder_is_an_error_that_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    store = SqliteStore.open(str(folder))
    with store.transaction() as tx:
        tx.put_session(SESSION)
    store.close()
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, str(folder)], capture_output=True, text=True, timeout=60, check=True
    )
    os.chmod(folder, 0o700)
    assert done.stdout.startswith(
        "nothing can be written in . (Permission denied): give yourself the right to write there"
    )


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot"):
        SqliteStore.open(str(tmp_path / "file" / "state"))
