"""A state that was put back from a copy does not make a session clean."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.world import World
from lockgate.core.model import Label, Subject, Taint, Verdict
from lockgate.gate.contradictions import accept_contradictions, contradictions
from lockgate.gate.host.host_view import own_paths
from lockgate.gate.session.sessions import put_back_note, touch_session
from lockgate.store.audit.chain import verify_store
from lockgate.store.chain_links import checkpoint
from lockgate.store.files import DATABASE, KEY, PUT_BACK
from lockgate.store.opening import open_existing, open_store
from lockgate.store.protocol import Transaction
from lockgate.store.rows import ApprovalRow, SessionRow
from lockgate.store.sqlite import put_back, rollback
from lockgate.store.sqlite.group_commit import GroupingStore
from lockgate.store.sqlite.restoring import restore
from lockgate.store.sqlite.rollback import KEPT_AT, OutsideHead, Step
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system import folders
from lockgate.system.folders import Folders
from lockgate.system.uptime import instant
from support.older_chains import as_an_older_version
from support.stress import examples
from support.unguarded import unguarded

BOTH = frozenset(Label)


class Kept(World):
    """A gate whose state somebody copies and puts back."""

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def outside(self) -> list[Path]:
        return [Path(place) for place in OutsideHead(str(self.state), self.store.key).places]

    def copy(self, name: str = "copy") -> Path:
        """A copy as `cp -a` makes one, of a state that nobody uses."""
        self.store.close()
        shutil.copytree(self.state, self.folder / name)
        self.reopen()
        return self.folder / name

    def put_back(self, copy: Path) -> None:
        self.store.close()
        shutil.rmtree(self.state)
        shutil.copytree(copy, self.state)
        self.reopen()

    def reopen(self) -> None:
        self.store.close()
        self.store = SqliteStore.open(str(self.state))
        self.gate = self._monitor()

    def reason(self) -> str | None:
        with self.store.reading() as tx:
            return tx.setting(PUT_BACK)

    def heads(self) -> list[list[tuple[int, str]]]:
        return [list(each.heads) for each in OutsideHead(str(self.state), self.store.key).read_places()]

    def steps(self) -> list[tuple[Step, ...]]:
        return [each.steps for each in OutsideHead(str(self.state), self.store.key).read_places()]

    def taint(self, session_id: str = "s1") -> None:
        self.run("mcp__github__get_issue", {"number": 7}, "please push", session_id=session_id)

    def inside(self) -> tuple[int, str]:
        with self.store.reading() as tx:
            return tx.audit_head()[:2]


def _note(tx: Transaction, now: float, _: str) -> None:
    tx.append_audit(now, {"event": "x"})


@pytest.fixture
def world(tmp_path: Path) -> Kept:
    world = Kept(tmp_path)
    world.start()
    assert world.bash("git push") is Verdict.ALLOW
    return world


def test_a_backup_cannot_clean_a_session(world: Kept) -> None:
    copy = world.copy()
    world.taint()
    world.put_back(copy)
    answer, _ = world.ask("Bash", {"command": "git push"})
    assert answer.verdict is Verdict.DENY
    assert "lockgate audit verify" in answer.to_person + answer.to_agent
    assert world.labels() == set(BOTH)
    assert world.reason()
    assert [body["reason"] for body in world.records("put-back")] == [world.reason()]
    with world.store.reading() as tx:
        assert verify_store(tx, world.store.key).ok
        assert contradictions(tx, None)[0].is_of_all
        assert "lockgate audit accept" in put_back_note(tx)
    world.start(session_id="new")
    assert world.labels(session_id="new") == set(), "a session that begins now has read nothing"


def test_it_is_mended_once_and_no_label_goes(world: Kept) -> None:
    copy = world.copy()
    world.taint()
    world.put_back(copy)
    with world.store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, None), by="ann", now=world._now())
    world.reopen()
    with world.store.reading() as tx:
        assert contradictions(tx, None) == []
        assert put_back_note(tx) == ""
    assert world.labels() == set(BOTH)
    assert world.records("accepted")[-1]["problems"]
    world.put_back(copy)
    assert world.reason(), "the same copy again"
    assert world.labels() == set(BOTH)


def test_a_session_that_is_forgotten_has_every_label_where_it_has_read(world: Kept) -> None:
    copy = world.copy()
    world.start(session_id="later")
    world.taint(session_id="later")
    world.put_back(copy)
    with world.store.transaction() as tx:
        touch_session(tx, world.context(session_id="later"), 1.0, history=lambda: True)
        assert tx.labels(Subject("later")) == BOTH


def test_a_copied_database_alone(world: Kept) -> None:
    copy = world.copy()
    world.taint()
    world.store.close()
    for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"):
        (world.state / name).unlink(missing_ok=True)
        if (copy / name).exists():
            shutil.copy(copy / name, world.state / name)
    world.reopen()
    assert world.labels() == set(BOTH)


def test_a_database_that_is_gone(world: Kept) -> None:
    world.taint()
    world.store.close()
    for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"):
        (world.state / name).unlink(missing_ok=True)
    world.reopen()
    assert world.reason()


def test_an_outside_head_that_is_set_back_without_the_key(world: Kept) -> None:
    copy = world.copy()
    world.taint()
    for place in world.outside:
        text = place.read_text().split("\n")
        place.write_text("\n".join((text[0], f"0 {'0' * 64}", *text[2:])))
    assert world.heads() == [], "no hash holds"
    world.put_back(copy)
    assert world.labels() == set(BOTH)


def test_an_outside_head_that_is_deleted(world: Kept) -> None:
    copy = world.copy()
    world.taint()
    for place in world.outside:
        place.unlink()
    world.put_back(copy)
    assert world.labels() == set(BOTH)
    assert "gone" in (world.reason() or "")


def test_one_place_is_enough(world: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = world.folder / "runtime"
    (runtime / str(os.geteuid())).mkdir(parents=True)
    monkeypatch.setattr(folders, "RUNTIME", str(runtime))
    monkeypatch.setattr(rollback, "TEMPORARY", ("/nowhere/",))
    beside, there = world.outside
    copy = world.copy()
    world.taint()
    assert there.stat().st_mode & 0o777 == 0o600
    assert beside.stat().st_mode & 0o777 == 0o600
    assert beside.parent.stat().st_mode & 0o777 == 0o700
    beside.unlink()
    world.put_back(copy)
    assert world.labels() == set(BOTH)


def test_a_runtime_folder_that_is_empty_after_a_start_is_no_harm(world: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = world.folder / "runtime"
    (runtime / str(os.geteuid())).mkdir(parents=True)
    monkeypatch.setattr(folders, "RUNTIME", str(runtime))
    monkeypatch.setattr(rollback, "TEMPORARY", ("/nowhere/",))
    world.reopen()
    world.taint()
    assert len(world.heads()) == 2
    shutil.rmtree(runtime / str(os.geteuid()) / "lockgate")
    world.reopen()
    assert world.reason() is None


def yes(world: Kept) -> ApprovalRow:
    with world.store.reading() as tx:
        row = tx.approval("yes")
    assert row is not None
    return row


def use_up(world: Kept) -> None:
    used = yes(world)._replace(state="used")
    with world.store.transaction() as tx:
        tx.put_approval(used)
        tx.append_audit(2.0, {"event": "answered"})


def test_a_yes_that_was_used_cannot_be_put_back(world: Kept) -> None:
    world.taint()
    with world.store.transaction() as tx:
        tx.put_approval(ApprovalRow("yes", "s1", "", "claude-code", "c", "d", "b", state="approved"))
    copy = world.copy()
    use_up(world)
    world.put_back(copy)
    assert yes(world).state == "expired"


@pytest.mark.parametrize("forged", ["", "x" * 64])
def test_a_forged_checkpoint_hides_nothing(world: Kept, forged: str) -> None:
    copy = world.copy()
    world.taint()
    seq = world.inside()[0]
    with sqlite3.connect(copy / DATABASE) as database:
        cut = checkpoint(b"k" * 32, seq + 5, "0" * 64, seq + 5, 1.0)
        with unguarded(database):
            database.execute("INSERT INTO audit_checkpoint VALUES (1, ?, ?, ?, ?, ?)", (*cut[:4], forged or cut.seal))
    database.close()
    world.put_back(copy)
    assert world.labels() == set(BOTH)


def test_a_file_put_back_beneath_a_store_that_is_open(world: Kept) -> None:
    copy = world.copy()
    world.taint(session_id="other")
    with sqlite3.connect(world.state / DATABASE) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    reopened = SqliteStore.open(str(world.state))
    world.store.close()
    with open(world.state / DATABASE, "r+b") as file:
        file.write((copy / DATABASE).read_bytes())
    reopened.close()
    world.reopen()
    assert world.labels() == set(BOTH)


@pytest.mark.parametrize("kind", [SqliteStore, GroupingStore])
def test_rows_put_back_while_a_process_waits_for_the_lock(world: Kept, kind: type[SqliteStore]) -> None:
    """It has compared the state when it opened the store, and decides on what is there once it has the lock."""
    copy = world.copy()
    world.taint()
    with sqlite3.connect(world.state / DATABASE) as there:
        calls = there.execute("SELECT * FROM calls").fetchall()
    there.close()
    waiting = kind.open(str(world.state))
    with sqlite3.connect(world.state / DATABASE, isolation_level=None) as writer:
        writer.execute("ATTACH ? AS copy", (str(copy / DATABASE),))
        writer.execute("BEGIN IMMEDIATE")
        with unguarded(writer):
            for (table,) in writer.execute("SELECT name FROM copy.sqlite_master WHERE type = 'table'").fetchall():
                writer.execute(f"DELETE FROM main.{table}")
                writer.execute(f"INSERT INTO main.{table} SELECT * FROM copy.{table}")
            writer.executemany(f"INSERT OR REPLACE INTO calls VALUES ({', '.join('?' * len(calls[0]))})", calls)
        writer.execute("COMMIT")
    writer.close()
    with waiting.transaction() as tx:
        assert tx.labels(Subject("s1")) == BOTH
    waiting.close()
    assert world.reason()


# ---------------------------------------------------------------- a copy in another folder
def give_runtime(world: Kept, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the user a runtime folder."""
    runtime = world.folder / "runtime"
    (runtime / str(os.geteuid())).mkdir(parents=True)
    monkeypatch.setattr(folders, "RUNTIME", str(runtime))
    monkeypatch.setattr(rollback, "TEMPORARY", ("/nowhere/",))
    return runtime


def looked_at(state: Path, session: str = "s1") -> tuple[frozenset[Label], str]:
    """The labels of a session in a state folder, and why the state is not believed."""
    store = SqliteStore.open(str(state))
    try:
        with store.reading() as tx:
            return tx.labels(Subject(session)), tx.setting(PUT_BACK) or ""
    finally:
        store.close()


def copy_below(world: Kept, beside: bool) -> Path:
    """A copy of the state in another folder, with what is kept beside it or without."""
    world.store.close()
    there = world.folder / "there"
    shutil.copytree(world.state, there / "state")
    if beside:
        shutil.copytree(world.outside[0].parent, there / ".lockgate")
    world.reopen()
    return there


@pytest.mark.parametrize("runtime", [False, True], ids=["no runtime folder", "a runtime folder"])
@pytest.mark.parametrize("gone", [False, True], ids=["the state is there", "the state is gone"])
def test_a_copy_in_another_folder_is_no_move(
    world: Kept, monkeypatch: pytest.MonkeyPatch, gone: bool, runtime: bool
) -> None:
    if runtime:
        give_runtime(world, monkeypatch)
        world.reopen()
    copy = copy_below(world, beside=False) / "state"
    world.taint()
    world.store.close()
    if gone:
        world.state.rename(world.folder / "aside")
    assert looked_at(copy)[0] == BOTH
    assert looked_at(copy)[1]


def test_a_folder_above_that_takes_the_place_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place in the runtime folder has the name of the folder above, so it seems to have nothing of this one."""
    above = tmp_path / "above"
    above.mkdir()
    world = Kept(above)
    give_runtime(world, monkeypatch)
    (above / "runtime").rename(tmp_path / "runtime")
    monkeypatch.setattr(folders, "RUNTIME", str(tmp_path / "runtime"))
    world.reopen()
    world.start()
    world.store.close()
    shutil.copytree(above, tmp_path / "older", symlinks=True)
    world.reopen()
    world.taint()
    world.store.close()
    above.rename(tmp_path / "newer")
    (tmp_path / "older").rename(above)
    assert looked_at(above / "state") == (BOTH, put_back._OLDER)
    above.rename(tmp_path / "older")
    (tmp_path / "newer").rename(above)
    assert looked_at(above / "state") == ({Label.UNTRUSTED}, "")


@pytest.mark.parametrize("beside", [False, True], ids=["the state", "what is kept beside it, too"])
def test_a_link_that_leads_to_a_copy_is_no_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: bool) -> None:
    above = tmp_path / "above"
    above.mkdir()
    world = Kept(above)
    give_runtime(world, monkeypatch)
    runtime = tmp_path / "runtime"
    (above / "runtime").rename(runtime)
    monkeypatch.setattr(folders, "RUNTIME", str(runtime))
    world.reopen()
    world.start()
    there = copy_below(world, beside)
    there.rename(tmp_path / "there")
    world.taint()
    world.store.close()
    above.rename(tmp_path / "aside")
    above.symlink_to(tmp_path / "there")
    assert looked_at(world.state)[0] == BOTH
    assert "older" in looked_at(world.state)[1]


def test_a_copy_of_what_is_still_there_is_told_and_mended_once(world: Kept) -> None:
    there = copy_below(world, beside=True) / "state"
    assert looked_at(there) == (BOTH, "the state is a copy of one that is still there")
    assert looked_at(world.state)[1] == "", "the one that is there goes on"
    store = SqliteStore.open(str(there))
    with store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, None), by="ann", now=2e6)
    store.close()
    assert looked_at(there) == (BOTH, "")


def test_a_copy_from_before_a_move_that_is_put_elsewhere(world: Kept) -> None:
    copy = world.copy()
    world.store.close()
    (world.folder / "srv").mkdir()
    shutil.move(world.state, world.folder / "srv" / "state")
    assert looked_at(world.folder / "srv" / "state")[1] == ""
    (world.folder / "third").mkdir()
    copy.rename(world.folder / "third" / "state")
    assert looked_at(world.folder / "third" / "state")[0] == BOTH
    assert not list((world.folder / ".lockgate").iterdir()), "what was kept of the old folder has come along"


# ---------------------------------------------------------------- nothing is kept any more
def spoil(state: Path, *statements: str) -> None:
    with sqlite3.connect(state / DATABASE) as database:
        for statement in statements:
            database.execute(statement)
    database.close()


def empty(world: Kept) -> None:
    for place in world.outside:
        place.unlink()
        Path(f"{place}.next").unlink(missing_ok=True)


ROWS = ("sessions", "agents", "calls", "briefs", "addresses", "settings", "taints", "approvals")
OLDER = [*(f"ALTER TABLE {table} DROP COLUMN seal" for table in ROWS), "PRAGMA user_version = 7"]
DELETE = f"DELETE FROM settings WHERE name = '{rollback.KEPT_AT}'"


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param([], id="the places emptied"),
        pytest.param([DELETE], id="and the row deleted"),
        pytest.param([DELETE, f"INSERT INTO settings VALUES ('{rollback.KEPT_AT}', '', '')"], id="and one forged"),
        pytest.param(
            ["UPDATE settings SET value = replace(value, '\"lasts\":true', '\"lasts\":false')"], id="and changed"
        ),
        pytest.param([DELETE, *OLDER], id="and the database called an older one"),
    ],
)
def test_a_chain_without_a_head_that_is_kept_is_not_believed(world: Kept, statements: list[str]) -> None:
    copy = world.copy()
    world.taint()
    empty(world)
    spoil(copy, *statements)
    world.put_back(copy)
    assert world.labels() == set(BOTH)
    assert world.reason() == "what is kept of the state elsewhere is gone"
    with world.store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, None), by="ann", now=world._now())
    world.reopen()
    assert world.reason() is None, "it is told once"


def test_a_database_of_a_version_that_kept_no_head_is_no_alarm(world: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    world.taint()
    world.store.close()
    as_an_older_version(world.state)
    spoil(world.state, *OLDER)
    world.reopen()
    assert world.reason() is None
    assert len(world.heads()) == 1
    empty(world)
    world.reopen()
    assert world.reason(), "from now on it has one"


# ---------------------------------------------------------------- what is no forgery
def test_the_head_is_kept_where_labels_change_and_not_for_each_call(world: Kept) -> None:
    world.taint()
    kept = world.heads()
    assert kept == [[world.inside()]]
    world.run("Bash", {"command": "ls"}, "a")
    world.run("mcp__tracker__get_issue", {"number": 9}, "more of the same")
    assert world.inside()[0] > kept[0][0][0]
    assert world.heads() == kept
    assert world.reason() is None


def test_a_state_that_is_moved_is_recorded_and_no_alarm(world: Kept) -> None:
    world.taint()
    world.store.close()
    elsewhere = world.folder / "srv"
    elsewhere.mkdir()
    shutil.move(world.state, elsewhere / "state")
    store = open_existing(str(elsewhere / "state"))
    assert store is not None
    with store.reading() as tx:
        assert tx.setting(PUT_BACK) is None
        assert tx.labels(Subject("s1")) == {Label.UNTRUSTED}
        assert '"event":"put-back"' in tx.audit()[-1].body
    store.close()
    open_store(str(elsewhere / "state")).close()


def test_a_home_folder_that_is_renamed_is_no_alarm_and_keeps_its_head(world: Kept, tmp_path: Path) -> None:
    copy = world.copy()
    world.taint()
    world.store.close()
    after = tmp_path.with_name(f"{tmp_path.name}-renamed")
    tmp_path.rename(after)
    store = SqliteStore.open(str(after / "state"))
    with store.reading() as tx:
        assert tx.setting(PUT_BACK) is None
        assert tx.labels(Subject("s1")) == {Label.UNTRUSTED}
    store.close()
    shutil.rmtree(after / "state")
    shutil.copytree(after / copy.name, after / "state")
    store = SqliteStore.open(str(after / "state"))
    with store.reading() as tx:
        assert tx.setting(PUT_BACK), "what was kept has come along"
    store.close()
    after.rename(tmp_path)


def test_a_volume_that_outlasts_its_container_is_no_alarm(world: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    world.taint()
    for place in world.outside:
        place.unlink()
    monkeypatch.setattr(put_back, "_lasts", lambda _: False)
    world.reopen()
    assert world.reason() is None
    assert world.labels() == {"untrusted"}
    assert len(world.heads()) == 1, "it is kept again"


@pytest.mark.parametrize("act", ["move", "move back", "rename the folder above", "carry the folder above along"])
@pytest.mark.parametrize("runtime", [False, True], ids=["no runtime folder", "a runtime folder"])
def test_a_move_is_no_alarm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str, runtime: bool) -> None:
    (tmp_path / "above").mkdir()
    world = Kept(tmp_path / "above")
    if runtime:
        give_runtime(world, monkeypatch)
        (world.folder / "runtime").rename(tmp_path / "runtime")
        monkeypatch.setattr(folders, "RUNTIME", str(tmp_path / "runtime"))
        world.reopen()
    world.start()
    world.taint()
    world.bash("ls")
    world.store.close()
    (tmp_path / "srv").mkdir()
    state = tmp_path / "srv" / "state"
    if act.startswith("move"):
        shutil.move(world.state, state)
    elif act.startswith("rename"):
        (tmp_path / "srv").rmdir()
        world.folder.rename(tmp_path / "srv")
    else:
        for name in ("state", ".lockgate"):
            shutil.copytree(world.folder / name, tmp_path / "srv" / name)
        shutil.rmtree(world.folder)
    assert looked_at(state) == (frozenset({Label.UNTRUSTED}), "")
    if act == "move back":
        shutil.move(state, world.state)
        assert looked_at(world.state) == (frozenset({Label.UNTRUSTED}), "")


def mounts_of(table: Path, folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process's list of mounts say of a folder's what it is; nothing where no kind is given."""
    handle = os.open(folder, os.O_RDONLY)
    number = re.findall(r"mnt_id:\s*(\d+)", Path(f"/proc/self/fdinfo/{handle}").read_text())[0]
    os.close(handle)
    table.write_text(f"{number} 35 0:77 / {folder} rw - {kind} x rw\n" if kind else "")
    monkeypatch.setattr(put_back, "_MOUNTS", str(table))


@pytest.mark.parametrize(("kind", "is_a_users"), [("ext4", False), ("fuse.bindfs", True), ("", True)])
def test_a_mount_that_a_user_can_make_is_no_volume(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, is_a_users: bool
) -> None:
    assert not put_back._is_of_a_user(str(tmp_path))
    mounts_of(tmp_path / "mountinfo", tmp_path, kind, monkeypatch)
    assert put_back._is_of_a_user(str(tmp_path)) is is_a_users


def test_what_only_another_namespace_has_lasts(world: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder above that belongs to somebody else says nothing where the user has mounted it there."""
    outside = OutsideHead(str(world.state), world.store.key)
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert not put_back._lasts(outside)
    mounts_of(world.folder / "mountinfo", world.state, "", monkeypatch)
    assert put_back._lasts(outside)


def test_a_copy_that_looks_like_a_volume_in_another_folder_is_not_believed(
    world: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = world.copy()
    world.taint()
    world.store.close()
    (world.folder / "there").mkdir()
    copy.rename(world.folder / "there" / "state")
    shutil.rmtree(world.state)
    shutil.rmtree(world.outside[0].parent)
    monkeypatch.setattr(put_back, "_lasts", lambda _: False)
    assert looked_at(world.folder / "there" / "state")[0] == BOTH


def test_an_agent_may_not_touch_what_is_kept(tmp_path: Path) -> None:
    where = Folders(str(tmp_path), str(tmp_path / ".local/state/lockgate"), str(tmp_path / ".config/lockgate"))
    own = own_paths(where)
    for folder in folders.outside_folders(where.state):
        assert folder in own


# ---------------------------------------------------------------- another installation in the same folder
def _begin_anew(world: Kept) -> None:
    """Have another installation in the place of this one, which lies aside."""
    world.store.close()
    world.state.rename(world.folder / "aside")
    world.reopen()


def _come_back(world: Kept) -> None:
    world.store.close()
    shutil.rmtree(world.state)
    (world.folder / "aside").rename(world.state)
    world.reopen()


def _accept(world: Kept) -> None:
    with world.store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, None), by="ann", now=2e6)


def _keep_as_before(world: Kept) -> None:
    """Have the state know no more of others than a build that did not ask."""
    with world.store.transaction() as tx:
        note = json.loads(tx.setting(KEPT_AT) or "")
        del note["others"]
        tx.put_setting(KEPT_AT, json.dumps(note))


def _forget_the_note(world: Kept) -> None:
    with unguarded(world.store._connection) as connection:
        connection.execute("DELETE FROM settings WHERE name = ?", (KEPT_AT,))


def _write(name: str) -> Callable[[Kept], object]:
    return lambda world: world.outside[0].with_name(name).write_bytes(b"x")


REPLACED = {
    "it is told in the new one": ((_begin_anew,), True),
    "a person has looked": ((_begin_anew, _accept, Kept.reopen), False),
    "the old one comes back": ((_begin_anew, _come_back), True),
    "the old one comes back, and a person has looked": ((_begin_anew, _come_back, _accept, Kept.reopen), False),
    "the old one comes back for the second time": (
        (_begin_anew, _come_back, _accept, _begin_anew, _accept, _come_back),
        True,
    ),
    "the old one has no note of its own": ((_begin_anew, _forget_the_note, _come_back), True),
    "the note is taken away": ((_write(f"state-{'a' * 16}"), _forget_the_note, Kept.reopen), True),
    "an older build has not asked": ((_write(f"state-{'a' * 16}"), _keep_as_before, Kept.reopen), False),
    "an older build has not asked, and another comes then": (
        (_keep_as_before, Kept.reopen, _begin_anew, _come_back),
        True,
    ),
    "the state of another name": ((_write(f"other-{'a' * 16}"), Kept.reopen), False),
    "a longer name": ((_write(f"state-2-{'a' * 16}"), Kept.reopen), False),
}


@pytest.mark.parametrize("name", REPLACED)
def test_another_installation_in_this_folder_is_told(world: Kept, name: str) -> None:
    acts, is_told = REPLACED[name]
    for act in acts:
        act(world)
    assert ("another state was in this folder" in (world.reason() or "")) is is_told


def test_after_another_installation_each_session_has_every_label(world: Kept) -> None:
    _begin_anew(world)
    assert world.bash("git push", session_id="s1") is Verdict.DENY, "its beginning was not seen here"
    world.start(session_id="new")
    assert world.bash("git push", session_id="new") is Verdict.ALLOW
    _come_back(world)
    assert world.labels() == set(BOTH)
    assert world.bash("git push") is Verdict.DENY


def test_a_told_restore_labels_and_is_no_alarm(world: Kept) -> None:
    copy = world.copy()
    world.taint()
    world.store.close()
    labelled = restore(str(world.state), str(copy / DATABASE), _note)
    assert labelled[1] == 1
    world.reopen()
    assert world.reason() is None
    assert world.labels() == set(BOTH)
    world.start(session_id="after")
    world.taint(session_id="after")
    world.reopen()
    assert world.reason() is None


def test_a_disk_that_is_full_stops_nobody_and_is_told(world: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = world.heads()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(rollback, "replace", full)
        world.taint()
        assert world.labels() == {"untrusted"}
    assert "No space left" in (world.state / "hook.log").read_text()
    assert world.heads() == kept, "it lags"
    world.reopen()
    assert world.reason() is None


def test_what_is_kept_is_written_in_place(world: Kept) -> None:
    """A file system takes far longer to put another file there, and each label waits for it."""
    world.taint()
    files = [file for place in world.outside for file in (place, Path(f"{place}.next"))]
    before = [file.stat().st_ino for file in files]
    world.start(session_id="next")
    world.taint(session_id="next")
    assert world.heads() == [[world.inside()]]
    assert [file.stat().st_ino for file in files] == before


def test_what_the_build_before_has_kept_is_read_and_what_this_one_keeps_is_read_by_it(world: Kept) -> None:
    """That one puts a new file there, as long as its content, and takes off the ends of lines."""
    world.taint()
    for place in world.outside:
        for file in (place, Path(f"{place}.next")):
            text = file.read_text().rstrip("\n")
            assert text.count("\n") == 1
            file.write_text(f"{text}\n")
    world.reopen()
    assert world.reason() is None
    world.start(session_id="next")
    world.taint(session_id="next")
    assert world.heads() == [[world.inside()]]


def test_a_file_with_two_names_is_not_written_over(world: Kept) -> None:
    world.taint()
    (place,) = world.outside
    other = world.folder / "other"
    os.link(place, other)
    before = other.read_bytes()
    world.start(session_id="next")
    world.taint(session_id="next")
    assert other.read_bytes() == before
    assert world.heads() == [[world.inside()]]


@pytest.mark.parametrize("content", [b"x", b"\xff\xfe", b"\0" * 4096])
def test_steps_that_cannot_be_read_are_believed_to_be_all(world: Kept, content: bytes) -> None:
    world.taint()
    for place in world.outside:
        Path(f"{place}.next").write_bytes(content)
    world.reopen()
    assert world.reason()
    assert world.labels() == set(BOTH)
    with world.store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, None), by="ann", now=world._now())
    world.reopen()
    assert world.reason() is None, "it is told once"


def test_gains_that_are_too_long_to_be_kept_are_all_believed(world: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = world.copy()
    with monkeypatch.context() as patch:
        patch.setattr(OutsideHead, "advance", lambda *_: True)
        for number in range(6):
            with world.store.transaction() as tx:
                for each in range(90):
                    subject = Subject(f"{number}-{each}-{'x' * 200}")
                    tx.add_taints(subject, [Taint(Label.UNTRUSTED, "a page", "", "", 1.0)])
                tx.append_audit(1.0, {"event": "x"})
    world.put_back(copy)
    assert world.reason()
    assert world.labels() == set(BOTH)


def test_a_place_that_cannot_be_made_is_no_alarm(tmp_path: Path) -> None:
    (tmp_path / ".lockgate").write_text("in the way")
    for _ in range(2):
        store = SqliteStore.open(str(tmp_path / "state"))
        with store.reading() as tx:
            assert tx.setting(PUT_BACK) is None
        store.close()


KILLED = """
import os, signal, sys
from lockgate.core.model import Label, Subject, Taint
from lockgate.store.rows import SessionRow
from lockgate.store.sqlite.rollback import OutsideHead
from lockgate.store.sqlite.store import SqliteStore
store = SqliteStore.open(sys.argv[1])
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "kill":
    OutsideHead.advance = die
if sys.argv[2] == "kill before":
    tell = OutsideHead.announce
    OutsideHead.announce = lambda *given: (tell(*given), die())
for number in range(int(sys.argv[3])):
    name = f"s{os.getpid()}-{number}"
    with store.transaction() as tx:
        tx.put_session(SessionRow(name))
        tx.add_taints(Subject(name), [Taint(Label.UNTRUSTED, "a page", "", "", 1.0)])
        tx.append_audit(1.0, {"event": "test"})
"""


def _process(state: Path, how: str, times: int = 1) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", KILLED, str(state), how, str(times)])


def test_a_kill_between_the_two_writes_is_no_forgery(world: Kept) -> None:
    world.taint()
    kept = world.heads()
    assert _process(world.state, "kill").wait(60) == -signal.SIGKILL
    assert world.heads() == kept
    world.reopen()
    assert world.reason() is None
    assert world.inside() > kept[0][0], "it was committed"
    world.start(session_id="next")
    world.taint(session_id="next")
    assert world.heads() == [[world.inside()]], "the next one brings it up"


def test_a_kill_before_the_commit_loses_no_label_and_is_no_alarm(world: Kept) -> None:
    others = world.labels()
    child = _process(world.state, "kill before")
    assert child.wait(60) == -signal.SIGKILL
    name = f"s{child.pid}-0"
    assert world.labels(session_id=name) == set()
    world.reopen()
    assert world.reason() is None
    assert world.labels(session_id=name) == {"untrusted"}
    assert [body["reason"] for body in world.records("put-back")] == [put_back._KILLED]
    assert world.labels() == others, "and nobody else gets one"
    before = world.inside()
    world.reopen()
    assert world.inside() == before, "it is done once"
    world.start(session_id=name)
    assert world.labels(session_id=name) == {"untrusted"}


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_kill_at_the_right_moment_hides_no_label(world: Kept, rounds: int) -> None:
    """Who can kill hooks leaves a head that lags, and puts back a state that it still fits."""
    names = []
    copy = world.copy()
    for _ in range(rounds):
        child = _process(world.state, "kill")
        assert child.wait(60) == -signal.SIGKILL
        names.append(f"s{child.pid}-0")
    world.put_back(copy)
    assert [world.labels(session_id=name) for name in names] == [{"untrusted"}] * rounds
    assert bool(world.reason()) is (rounds > 1), "a later process keeps the head of the one before it"


def test_a_yes_that_was_used_is_not_put_back_by_a_kill_either(world: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    with world.store.transaction() as tx:
        tx.put_approval(ApprovalRow("yes", "s1", "", "claude-code", "c", "d", "b", state="approved"))
        tx.append_audit(1.0, {"event": "x"})
    copy = world.copy()
    with monkeypatch.context() as patch:
        patch.setattr(OutsideHead, "advance", lambda *_: True)
        use_up(world)
    world.put_back(copy)
    assert yes(world).state == "expired"


def test_commits_that_a_power_failure_took_are_no_alarm(world: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    world.taint("a")
    others = world.labels()
    copy = world.copy()  # what was on the disk
    world.taint("b")
    world.taint("c")
    monkeypatch.setattr(put_back, "instant", lambda: instant()._replace(boot="the next start"))
    world.put_back(copy)
    assert world.reason() is None
    assert [world.labels(session_id=name) for name in ("s1", "a", "b", "c")] == [others, *[{"untrusted"}] * 3]


def test_a_start_of_the_machine_makes_no_older_state_fit(world: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = world.copy()
    for number in range(10):
        world.taint(f"n{number}")
    monkeypatch.setattr(put_back, "instant", lambda: instant()._replace(boot="the next start"))
    world.put_back(copy)
    assert world.reason()
    assert world.labels() == set(BOTH)


def test_very_many_gains_at_once_are_all_believed(world: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = world.copy()
    with monkeypatch.context() as patch:
        patch.setattr(OutsideHead, "advance", lambda *_: True)
        with world.store.transaction() as tx:
            for number in range(150):
                tx.add_taints(Subject(f"many{number}"), [Taint(Label.UNTRUSTED, "a page", "", "", 1.0)])
            tx.append_audit(1.0, {"event": "x"})
    world.put_back(copy)
    assert world.reason()
    assert world.labels() == set(BOTH)


def test_two_gates_on_one_folder_find_what_was_put_back_beneath_them(world: Kept) -> None:
    world.store.close()
    copy = world.copy()
    first, second = (GroupingStore.open(str(world.state)) for _ in range(2))
    for number, store in enumerate((first, second)):
        with store.transaction() as tx:
            tx.put_session(SessionRow(f"g{number}"))
            tx.add_taints(Subject(f"g{number}"), [Taint(Label.UNTRUSTED, "a page", "", "", 1.0)])
            tx.append_audit(1.0, {"event": "x"})
    # In place, through SQLite, as its own backup tools do it: both gates go on with the older content.
    with sqlite3.connect(copy / DATABASE) as older, sqlite3.connect(world.state / DATABASE) as there:
        older.backup(there)
    older.close()
    there.close()
    for store in (first, second):
        with store.transaction() as tx:
            assert tx.labels(Subject("s1")) == BOTH
            assert tx.setting(PUT_BACK)
        store.close()


def test_retention_removes_what_the_head_names_and_is_no_alarm(world: Kept) -> None:
    world.taint()
    for number in range(5):
        world.run("Bash", {"command": "ls"}, f"{number}")
    with world.store.transaction() as tx:
        last = tx.audit()[-2]
        tx.cut_audit(checkpoint(world.store.key, last.seq, last.digest, last.seq, 3e6), {"event": "x"})
    world.reopen()
    assert world.reason() is None


def test_a_head_that_lags_far_is_brought_up(world: Kept) -> None:
    world.taint()
    before = world.heads()
    with world.store.transaction() as tx:
        for _ in range(200):
            tx.append_audit(1.0, {"event": "x"})
    assert world.heads() == before
    world.reopen()
    assert world.heads() == [[world.inside()]]


def test_many_processes_at_once_agree(tmp_path: Path) -> None:
    state = tmp_path / "state"
    crowd = [_process(state, "live", 15) for _ in range(4)] + [_process(state, "kill") for _ in range(3)]
    codes = [each.wait(120) for each in crowd]
    assert codes == [0] * 4 + [-signal.SIGKILL] * 3
    store = SqliteStore.open(str(state))
    with store.reading() as tx:
        assert tx.setting(PUT_BACK) is None
        assert len(tx.sessions()) == 63
        assert OutsideHead(str(state), store.key).read_places()[0].heads[0][0] <= tx.audit_head().seq
    store.close()


OVERWRITING = """
import os, sys
from lockgate.system.files import replace
texts = [letter * 4096 for letter in (b"a", b"b")]
os.write(1, b"x")
while True:
    for text in texts:
        replace(sys.argv[1], text, draft="/nowhere", in_place=True)
"""


def test_who_is_killed_while_it_writes_leaves_a_whole_page(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"a" * 4096)
    file.chmod(0o600)
    found = set()
    for number in range(12):
        child = subprocess.Popen([sys.executable, "-c", OVERWRITING, str(file)], stdout=subprocess.PIPE)
        assert child.stdout
        assert child.stdout.read(1) == b"x"
        time.sleep(number * 0.0013)
        child.kill()
        child.wait(60)
        child.stdout.close()
        found.add(file.read_bytes())
    assert found <= {b"a" * 4096, b"b" * 4096}


ACTS = ("session", "read", "secret", "call", "reopen", "killed", "restore", "accept", "two", "endorse")


@settings(max_examples=examples(30), deadline=None)
@given(acts=st.lists(st.sampled_from(ACTS), max_size=12))
def test_an_honest_life_raises_no_alarm(tmp_path_factory: pytest.TempPathFactory, acts: list[str]) -> None:
    world = Kept(tmp_path_factory.mktemp("life"))
    world.start()
    for number, act in enumerate(acts):
        before = world.labels()
        if act == "session":
            world.start(session_id=f"n{number}")
        elif act == "read":
            world.taint()
        elif act == "secret":
            world.run("Read", {"file_path": "/home/u/.ssh/id_rsa"}, "key")
        elif act == "call":
            world.bash("git push")
        elif act == "reopen":
            world.reopen()
        elif act == "killed":
            kept = OutsideHead.advance
            try:
                OutsideHead.advance = lambda *_, **__: True  # type: ignore[method-assign]
                world.taint(session_id=f"k{number}")
            finally:
                OutsideHead.advance = kept  # type: ignore[method-assign]
            world.reopen()
        elif act == "restore":
            copy = world.copy(f"copy{number}")
            world.taint()
            world.store.close()
            replaced, _ = restore(str(world.state), str(copy / DATABASE), _note)
            Path(replaced).unlink()  # the next one may come within the second that names it
            world.reopen()
        elif act == "accept":
            with world.store.transaction() as tx:
                accept_contradictions(tx, contradictions(tx, None), by="ann", now=world._now())
        else:
            other = SqliteStore.open(str(world.state))
            with other.transaction() as tx:
                tx.append_audit(1.0, {"event": "test"})
            other.close()
        assert world.labels() >= before
        assert world.reason() is None
    world.store.close()


def test_the_key_is_no_part_of_what_is_kept(world: Kept) -> None:
    world.taint()
    key = (world.state / KEY).read_bytes()
    for place in world.outside:
        assert key not in place.read_bytes()
        assert key.hex().encode() not in place.read_bytes()


# ---------------------------------------------------------------- something else in the place of what is kept
def _a_link(place: Path, old: Path) -> None:
    place.symlink_to(old)


def _a_hard_link(place: Path, old: Path) -> None:
    os.link(old, place)


def _a_folder(place: Path, _: Path) -> None:
    place.mkdir()


def _a_pipe(place: Path, _: Path) -> None:
    os.mkfifo(place)


@pytest.mark.parametrize("put", [_a_link, _a_folder, _a_pipe])
def test_what_is_no_file_of_its_own_is_no_head(world: Kept, put: Callable[[Path, Path], None]) -> None:
    copy = world.copy()
    (place,) = world.outside
    old = world.folder / "old"
    shutil.copy(place, old)
    world.taint()
    place.unlink()
    Path(f"{place}.next").unlink()
    put(place, old)
    world.put_back(copy)
    assert world.labels() == set(BOTH)
    assert "gone" in (world.reason() or "")
    if put is _a_link:
        kept = old.read_bytes()
        world.taint(session_id="later")
        assert old.read_bytes() == kept, "nothing is written through a link"


def test_two_states_with_one_runtime_folder_are_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user can have two installations, and an old copy of the one contradicts it and not the other."""
    worlds = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        if name == "one":
            SqliteStore.open(str(tmp_path / name / "state")).close()  # with a key of its own
        worlds.append(Kept(tmp_path / name))
    give_runtime(worlds[0], monkeypatch)
    for world in worlds:
        world.reopen()
        world.start()
    copies = [world.copy() for world in worlds]
    for world in worlds:
        world.taint()
    assert not set(worlds[0].outside) & set(worlds[1].outside)
    for place in worlds[0].outside:
        assert place.exists()
    worlds[0].outside[0].unlink()
    worlds[0].put_back(copies[0])
    assert worlds[0].reason(), "the runtime folder has it"
    worlds[1].reopen()
    assert worlds[1].reason() is None


def test_a_clock_that_is_set_back_revives_nothing(world: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = world.copy()
    world.taint()
    monkeypatch.setattr(time, "time", lambda: 1.0)
    world.put_back(copy)
    assert world.labels() == set(BOTH)
    assert world.reason()
    world.start(session_id="new")
    assert world.labels(session_id="new") == set()
