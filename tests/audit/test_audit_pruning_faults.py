"""Cutting the chain, and being killed, hindered, or not alone while at it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lockgate.core.errors import AuditError, StoreError
from lockgate.store.audit.archives import open_records, write_archive
from lockgate.store.audit.chain import items, verify_parts, verify_store
from lockgate.store.audit.pruning import chain_beginning, cut, make_checkpoint
from lockgate.store.sqlite.store import SqliteStore

SCRIPT = Path(__file__).parent / "prune_and_die.py"
KILLS = 12


def _start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(folder / "state"), str(folder / "archives")],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_killed_at_any_moment_the_chain_holds_and_nothing_is_lost(tmp_path: Path) -> None:
    (tmp_path / "archives").mkdir()
    random.seed(6)
    cuts = 0
    for number in range(KILLS):
        process = _start(tmp_path)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if not number:  # on a machine that is busy with other things none of the others may come so far
            cuts += "cut\n" in iter(process.stdout.readline, "")
        time.sleep(random.random() * 0.08)
        process.send_signal(signal.SIGKILL)
        cuts += process.communicate(timeout=30)[0].count("cut\n")
        store = SqliteStore.open(str(tmp_path / "state"))
        with store.reading() as tx:
            assert verify_store(tx, store.key).ok
        store.close()
    assert cuts > 0
    store = SqliteStore.open(str(tmp_path / "state"))
    with store.reading() as tx:
        # Of two archives that begin alike, the cut of the first was not made: the longer one is what was cut.
        kept: dict[int, tuple[int, Path]] = {}
        for path in (tmp_path / "archives").glob("*.gz"):
            first, last = (int(part) for part in path.name.split("-")[3:5])
            kept[first] = max(kept.get(first, (0, path)), (last, path))
        parts = []
        for first in sorted(kept):
            if first <= tx.audit_checkpoint().seq:
                with open_records(str(kept[first][1])) as part:
                    parts.append(list(part))
        found = verify_parts([*parts, items(tx)], store.key)
        assert (found.ok, found.problem, found.first, found.records) == (True, "", 1, tx.audit_head().seq)
    store.close()


def test_two_that_cut_at_once_do_not_harm_each_other(tmp_path: Path) -> None:
    store = SqliteStore.open(str(tmp_path / "state"))
    with store.transaction() as tx:
        for number in range(6000):
            tx.append_audit(1.0, {"n": number})
    store.close()
    script = (
        "import sys\n"
        "from lockgate.store.audit.pruning import cut\n"
        "from lockgate.store.sqlite.store import SqliteStore\n"
        "store = SqliteStore.open(sys.argv[1], busy_seconds=30)\n"
        "sys.stdin.read()\n"
        "done = 0\n"
        "while True:\n"
        "    with store.transaction() as tx:\n"
        "        gone = cut(tx, store.key, 5500, 2.0, {})\n"
        "    done += gone\n"
        "    if not gone:\n"
        "        break\n"
        "print(done)\n"
    )
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "state")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    assert sum(int(process.communicate("", timeout=60)[0]) for process in crowd) == 5500
    store = SqliteStore.open(str(tmp_path / "state"))
    with store.reading() as tx:
        found = verify_store(tx, store.key)
        assert (found.ok, found.first, tx.audit_head().seq) == (True, 5501, 6003)
    store.close()


def _filled(folder: Path, count: int = 400) -> SqliteStore:
    store = SqliteStore.open(str(folder / "state"))
    with store.transaction() as tx:
        for number in range(count):
            tx.append_audit(1.0, {"n": number, "filler": os.urandom(500).hex()})
    return store


FULL = """
import resource, sys
from lockgate.store.audit.archives import write_archive
from lockgate.store.audit.pruning import chain_beginning, cut, make_checkpoint
from lockgate.core.errors import AuditError, StoreError
from lockgate.store.sqlite.store import SqliteStore
store = SqliteStore.open(sys.argv[1] + "/state")
resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, 70_000))
with store.reading() as tx:
    try:
        write_archive(sys.argv[1] + "/a.gz", chain_beginning(tx, 300), make_checkpoint(tx, store.key, 300, 2.0))
    except AuditError as error:
        print(error)
try:
    with store.transaction() as tx:
        print(cut(tx, store.key, 300, 2.0, {}))
except StoreError as error:
    print(error)
"""


def test_on_a_full_disk_nothing_is_removed_and_nothing_is_left_behind(tmp_path: Path) -> None:
    _filled(tmp_path).close()
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    archive, cutting = done.stdout.splitlines()
    assert "a.gz: File too large" in archive
    assert "free space" in cutting
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lockgate", "state"]
    store = SqliteStore.open(str(tmp_path / "state"))
    with store.reading() as tx:
        assert (verify_store(tx, store.key)[:2], tx.audit_checkpoint().seq) == ((True, 400), 0)
    store.close()


def test_an_archive_never_replaces_a_file_and_is_the_owners_alone(tmp_path: Path) -> None:
    store = _filled(tmp_path, 5)
    path = tmp_path / "a.gz"
    before = os.umask(0)
    try:
        with store.reading() as tx:
            end = make_checkpoint(tx, store.key, 3, 2.0)
            write_archive(str(path), chain_beginning(tx, 3), end)
            with pytest.raises(AuditError, match="is there already"):
                write_archive(str(path), chain_beginning(tx, 3), end)
            (tmp_path / "link").symlink_to(tmp_path / "nowhere")
            with pytest.raises(AuditError, match="is there already"):
                write_archive(str(tmp_path / "link"), chain_beginning(tx, 3), end)
            with pytest.raises(AuditError, match="cannot create"):
                write_archive(str(tmp_path / "none" / "a.gz"), chain_beginning(tx, 3), end)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    store.close()


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda data: data[:-9], id="cut"),
        pytest.param(lambda data: data[:200], id="cut early"),
        pytest.param(lambda data: data[:150] + bytes([data[150] ^ 1]) + data[151:], id="a bit"),
        pytest.param(lambda data: data[:12], id="its beginning"),
        pytest.param(lambda data: b"", id="nothing"),
        pytest.param(lambda data: b"\x1f\x8b", id="two bytes"),
        pytest.param(lambda data: data + b"more", id="something behind it"),
    ],
)
def test_a_damaged_archive_does_not_verify(tmp_path: Path, harm) -> None:
    store = _filled(tmp_path, 5)
    path = tmp_path / "a.gz"
    with store.reading() as tx:
        write_archive(str(path), chain_beginning(tx, 4), make_checkpoint(tx, store.key, 4, 2.0))
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(AuditError), open_records(str(path)) as part:
        assert not verify_parts([part], store.key).ok
        raise AuditError("found")
    store.close()


def test_a_cut_that_fails_leaves_everything(tmp_path: Path) -> None:
    store = _filled(tmp_path, 5)
    store._connection.execute("CREATE TEMP TRIGGER x BEFORE DELETE ON main.audit BEGIN SELECT RAISE(ABORT, 'no'); END")
    with pytest.raises(StoreError), store.transaction() as tx:
        cut(tx, store.key, 3, 2.0, {})
    with store.reading() as tx:
        assert (verify_store(tx, store.key)[:2], tx.audit_checkpoint().seq) == ((True, 5), 0)
    store.close()
