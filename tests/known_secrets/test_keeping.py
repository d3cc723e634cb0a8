"""The file of the index: made anew when something changed, never in clear, never damaged in silence."""

from __future__ import annotations

import base64
import os
import random
import signal
import stat
import string
import subprocess
import sys
from multiprocessing.pool import ThreadPool
from pathlib import Path

import hyperscan
import pytest

from lockgate.configuration.known_secrets import canaries
from lockgate.configuration.known_secrets import index_file as keeping
from lockgate.configuration.known_secrets.canaries import StoredCanary, keep, read_canaries, settings
from lockgate.configuration.known_secrets.collect import SearchScope
from lockgate.configuration.known_secrets.index_file import LOOK_AGAIN, REMEMBERED, OpenedIndex, open_index
from lockgate.core.errors import StoreError
from lockgate.patterns.engine.known_index import MOST_ENTRIES, Index
from lockgate.patterns.known_values.values import DamagedIndex, KnownKind, Marker, Named
from lockgate.store.sqlite.store import SqliteStore

SALT = bytes(range(32))
A, B = "tR7kQp09" + "vLxZ0aBwq7Wn2kZp40aVdLm8", "q7Wn2kZp" + "40aVdLm8tR7kQp09vLxZ0aBw"


class Machine:
    """A home, a workspace, a state folder and a clock."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "work"
        self.work.mkdir()
        (root / "home").mkdir()
        self.state = root / "state"
        self.environ: dict[str, str] = {}
        self.time = 1_000_000.0
        self.canaries: dict[str, str] = {}
        self.before: OpenedIndex | None = None

    def open(self) -> OpenedIndex:
        """What is known now: the same for a process that has the index open as for one that has just begun."""
        known = self._open(self.before)
        self.before = self._open(None)
        assert self.before.known.stamp == known.known.stamp
        assert self.before.known.entries() == known.known.entries()
        return known

    def _open(self, before: OpenedIndex | None) -> OpenedIndex:
        where = SearchScope(str(self.root / "home"), str(self.work), self.environ)
        return open_index(where, str(self.state), SALT, hyperscan, lambda: self.time, self.canaries, before)

    def found(self, text: str) -> list[str]:
        return sorted({hit.name for hit in self.open().known.scan(text.encode()) if hit.form != "part"})

    @property
    def files(self) -> list[Path]:
        return sorted((self.state / "known").iterdir())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    (made.work / ".env").write_text(f"A_SECRET={A}\n")
    return made


def test_it_finds_what_there_is(machine: Machine) -> None:
    assert machine.found(f"x{A}y") == [".env: A_SECRET"]
    assert machine.found(B) == []


def test_a_second_look_makes_nothing_anew(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.open()
    monkeypatch.setattr(keeping, "build", None)
    machine.time += 2 * LOOK_AGAIN
    machine.environ = {"PWD": "/elsewhere/" + B, "TERM": "xterm"}
    assert machine.found(A) == [".env: A_SECRET"]


def change_file(machine: Machine) -> None:
    (machine.work / ".env").write_text(f"A_SECRET={A}\nB_SECRET={B}\n")


def same_size_and_time(machine: Machine) -> None:
    before = (machine.work / ".env").stat()
    (machine.work / ".env").write_text(f"A_SECRET={B}\n")
    os.utime(machine.work / ".env", ns=(before.st_atime_ns, before.st_mtime_ns))


def new_file(machine: Machine) -> None:
    (machine.work / ".env.local").write_text(f"B_SECRET={B}\n")


def file_in_home(machine: Machine) -> None:
    (machine.root / "home" / ".vault-token").write_text(B)


def variable(machine: Machine) -> None:
    machine.environ["B_SECRET"] = B


def file_below(machine: Machine) -> None:
    (machine.work / "a").mkdir()
    (machine.work / "a" / ".env").write_text(f"B_SECRET={B}\n")
    machine.time += LOOK_AGAIN + 1


CHANGES = [change_file, same_size_and_time, new_file, file_in_home, variable, file_below]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(machine: Machine, change: object) -> None:
    assert machine.found(B) == []
    change(machine)  # type: ignore[operator]
    assert len(machine.found(B)) == 1
    assert len(machine.found(A)) == 1


def test_a_value_that_is_gone_is_remembered_for_a_week(machine: Machine) -> None:
    machine.open()
    (machine.work / ".env").unlink()
    assert machine.found(A) == [".env: A_SECRET"]
    machine.time += REMEMBERED - 1
    (machine.work / ".env").write_text("A=1\n")
    assert machine.found(A) == [".env: A_SECRET"]
    machine.time += 2
    (machine.work / ".env").write_text("A=22\n")
    assert machine.found(A) == []


def test_a_value_that_came_back_is_forgotten_no_sooner(machine: Machine) -> None:
    for content in (f"A_SECRET={A}", "", f"A_SECRET={A} # back"):
        (machine.work / ".env").write_text(content)
        machine.open()
    assert [entry.since for entry in machine.open().known.entries()] == [0.0]


def test_what_is_known_is_not_crowded_out(machine: Machine) -> None:
    machine.open()
    source = random.Random(1)
    (machine.work / ".env").unlink()
    for number in range(6):
        lines = (f"K{count}_SECRET={''.join(source.choices(string.ascii_letters, k=16))}" for count in range(200))
        (machine.work / f".env.{number}").write_text("\n".join(lines))
    opened = machine.open()
    assert len(opened.known) == MOST_ENTRIES
    assert [f"only {MOST_ENTRIES} of" in note for note in opened.notes] == [True]
    assert [hit.name for hit in opened.known.scan(A.encode())] == [".env: A_SECRET"]


def test_workspaces_have_indexes_of_their_own(machine: Machine) -> None:
    machine.open()
    first = machine.work
    machine.work = machine.root / "other"
    machine.work.mkdir()
    assert machine.found(A) == []
    machine.work = first
    assert machine.found(A) == [".env: A_SECRET"]
    assert len(machine.files) == 2


# ---------------------------------------------------------------- the file


def test_nothing_is_kept_in_clear(machine: Machine) -> None:
    machine.environ = {"B_SECRET": B}
    machine.found(A)
    forms = [form for value in (A.encode(), B.encode()) for form in (value, value[::-1], value.hex().encode())]
    forms += [base64.b64encode(b"x" * shift + value.encode())[4:-4] for value in (A, B) for shift in range(3)]
    for path in machine.files:
        data = path.read_bytes()
        assert not any(form[at : at + 8] in data for form in forms for at in range(len(form) - 7))


def test_nobody_else_may_read_it(machine: Machine) -> None:
    old = os.umask(0)
    try:
        machine.open()
    finally:
        os.umask(old)
    assert [stat.S_IMODE(path.stat().st_mode) for path in machine.files] == [0o600]
    assert stat.S_IMODE((machine.state / "known").stat().st_mode) == 0o700


DAMAGES = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "one bit": lambda data: data[:300] + bytes((data[300] ^ 1,)) + data[301:],
    "other bytes": lambda data: b"nonsense" * 100,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_made_anew_and_that_is_said(machine: Machine, damage: str) -> None:
    machine.open()
    (path,) = machine.files
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    opened = machine.open()
    assert ["damaged" in note for note in opened.notes] == [True]
    assert opened.known.scan(A.encode())
    assert machine.open().notes == ()


def test_an_index_for_another_processor_is_refused(machine: Machine) -> None:
    machine.open()
    (path,) = machine.files

    class Other:
        """Hyperscan on another machine: refuses the database that this one made."""

        HS_MODE_BLOCK = hyperscan.HS_MODE_BLOCK
        error = hyperscan.error

        @staticmethod
        def loadb(data: bytes, mode: int) -> None:
            raise hyperscan.DatabasePlatformError

    with pytest.raises(DamagedIndex, match="another processor"):
        Index(path.read_bytes(), SALT, Other)


def test_a_link_in_its_place_is_not_followed(machine: Machine) -> None:
    machine.open()
    (path,) = machine.files
    target = machine.root / "target"
    path.replace(target)
    path.symlink_to(target)
    assert len(machine.open().notes) == 1
    assert not path.is_symlink()


def test_where_it_cannot_be_written_values_are_found_all_the_same(machine: Machine) -> None:
    machine.open()
    (path,) = machine.files
    path.unlink()
    path.mkdir()
    (path / "x").touch()
    opened = machine.open()
    assert opened.known.scan(A.encode())
    assert any("cannot be written" in note for note in opened.notes)


def test_a_state_folder_of_anybody_is_refused(machine: Machine) -> None:
    machine.state.mkdir()
    machine.state.chmod(0o777)
    with pytest.raises(StoreError, match="others can write"):
        machine.open()


def test_drafts_and_old_indexes_are_removed(machine: Machine) -> None:
    machine.open()
    folder = machine.state / "known"
    for number in range(60):
        (folder / f"{number}.index").touch()
        os.utime(folder / f"{number}.index", (number, number))
    (folder / "x.index.1.ab.draft").touch()
    os.utime(folder / "x.index.1.ab.draft", (5, 5))
    change_file(machine)
    machine.open()
    assert len(machine.files) == 50
    assert not [path for path in machine.files if path.suffix == ".draft"]
    assert machine.found(A) == [".env: A_SECRET"]


def test_two_writers(machine: Machine) -> None:
    def use(number: int) -> int:
        return len(machine.open().known.scan(A.encode() + B.encode() * (number % 2)))

    with ThreadPool(4) as pool:
        for number in range(5):
            (machine.work / ".env").write_text(f"A_SECRET={A}\nN={number}\n")
            assert pool.map(use, [0] * 8) == [1] * 8
    assert machine.open().notes == ()
    assert [path.suffix for path in machine.files] == [".index"]


_WRITER = """
import sys, hyperscan
from lockgate.configuration.known_secrets.collect import SearchScope
from lockgate.configuration.known_secrets.index_file import open_index
home, work, state = sys.argv[1:]
print("ready", flush=True)
for number in range(100000):
    where = SearchScope(home, work, {"N_SECRET": f"q7Wn2kZp40aVdLm8{number:06}"})
    assert open_index(where, state, bytes(range(32)), hyperscan, lambda: 1e6).notes == ()
"""


@pytest.mark.stress
def test_a_writer_that_is_killed_leaves_a_whole_file(machine: Machine) -> None:
    machine.open()
    folders = [str(machine.root / "home"), str(machine.work), str(machine.state)]
    for turn in range(6):
        process = subprocess.Popen([sys.executable, "-c", _WRITER, *folders], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05 + 0.03 * turn)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert machine.open().notes == ()
        assert machine.found(A) == [".env: A_SECRET"]


# ---------------------------------------------------------------- canaries


def test_canaries(machine: Machine) -> None:
    value = "Zw3pHs6Y" + "cGd1eJu5Ai9x"
    store = SqliteStore.open(str(machine.root / "store"))
    entry = Marker(SALT).entry(Named("trap", value.encode(), KnownKind.CANARY))
    with store.transaction() as tx:
        keep(tx, StoredCanary("trap", "text", 12.5), entry)
        machine.canaries = settings(tx)
    store.close()
    assert read_canaries(machine.canaries) == [StoredCanary("trap", "text", 12.5)]
    assert [(hit.name, hit.kind) for hit in machine.open().known.scan(value.encode())] == [("trap", KnownKind.CANARY)]
    machine.canaries = {}
    assert machine.found(value) == [], "a canary that was revoked is not remembered"


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"shape": "text", "made": 1, "marks": "eHh4"}'])
def test_a_damaged_canary_is_an_error(text: str) -> None:
    with pytest.raises(StoreError, match="canary trap is damaged"):
        canaries.entries_of({"canary:trap": text})
