"""The audit's head in the system's keyring: a real Secret Service, and a program in the place of macOS's."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jeepney
import pytest
from jeepney.io.blocking import DBusConnection, open_dbus_connection
from test_head_anchors import Anchored, make

from lockgate.core.errors import AuditError
from lockgate.core.model import Label
from lockgate.store.audit import keyring_anchor
from lockgate.store.audit.keyring_anchor import KeyringAnchor
from lockgate.store.files import PUT_BACK
from lockgate.store.sqlite import head_anchors
from lockgate.store.sqlite.head_anchors import HeadAnchors
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system import folders
from support.secret_service import Desktop, desktop

BOTH = set(Label)
NAMED = {"anchors": [{"kind": "keyring"}]}


class Desk(Anchored):
    """A gate on a desktop, whose configuration names no place unless a test says so."""

    audit: dict[str, Any] | None = None

    def head_anchors(self, **changes: Any) -> HeadAnchors:
        return HeadAnchors(self.state, str(self.folder / "home"), {**(self.audit or {}), **changes})


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desktop]:
    """A desktop on which no keyring runs."""
    monkeypatch.setattr(folders, "RUNTIME", str(tmp_path / "run"))
    with desktop(tmp_path / "run") as made:
        yield made


@pytest.fixture
def keyring(empty: Desktop) -> Desktop:
    empty.begin_keyring()
    return empty


@pytest.fixture
def world(tmp_path: Path) -> Desk:
    return make(tmp_path / "a", Desk)


def test_all_files_of_this_machine_are_put_back_and_not_the_keyring(world: Desk, keyring: Desktop) -> None:
    assert world.head_anchors().compare() == []
    assert world.head_anchors().list_reached() == [f"keyring {world.state}"]
    world.copy()
    world.taint()
    assert world.head_anchors().compare() == []
    world.put_back()
    assert world.labels() == set(), "all files agree"
    assert world.head_anchors().compare() == []
    assert "keyring" in world.reason()
    assert world.labels() == BOTH
    assert world.head_anchors().compare() == []
    assert len(world.records("put-back")) == 1, "told once"


def test_a_head_that_lags_raises_no_alarm(world: Desk, keyring: Desktop) -> None:
    world.head_anchors().compare()
    world.taint()
    before = world.labels()
    assert world.head_anchors().compare() == []
    assert not world.reason()
    assert world.labels() == before


def test_one_item_is_kept_and_no_secret(world: Desk, keyring: Desktop) -> None:
    for _ in range(3):
        world.taint()
        world.head_anchors().compare()
    told = keyring.run("secret-tool", "search", "--all", "application", "lockgate-audit")
    assert told.count("label = ") == 1
    assert "secret = \n" in told


def test_nothing_is_written_where_nothing_has_changed(world: Desk, keyring: Desktop) -> None:
    world.head_anchors().compare()
    status = Path(world.state) / "anchors" / "status.json"
    before = status.stat().st_ino, status.stat().st_mtime_ns
    assert world.head_anchors().compare() == []
    assert (status.stat().st_ino, status.stat().st_mtime_ns) == before


def test_an_item_that_somebody_rewinds_is_told_and_written_anew(world: Desk, keyring: Desktop) -> None:
    world.head_anchors().compare()
    place = KeyringAnchor(os.path.realpath(world.state), world.state, "")
    first = place.read(world.store.gate[:32])
    assert first is not None
    world.taint()
    world.head_anchors().compare()
    place.write(world.store.gate[:32], first)
    (problem,) = world.head_anchors().compare()
    assert "put it back" in problem.says
    assert not world.reason(), "who rewinds it wins nothing"
    assert place.read(world.store.gate[:32]) != first


def test_a_copy_of_the_folder_elsewhere_has_an_item_of_its_own(world: Desk, keyring: Desktop) -> None:
    world.head_anchors().compare()
    world.store.close()
    other = world.folder / "copied"
    shutil.copytree(world.state, other)
    world.reopen()
    world.taint()
    world.head_anchors().compare()
    assert HeadAnchors(str(other), "", None).compare() == []
    assert world.head_anchors().compare() == []
    assert not world.reason()


@pytest.mark.parametrize("act", ["copied", "moved"])
def test_a_state_in_another_folder_lacks_no_head_of_the_one_before(
    world: Desk, keyring: Desktop, tmp_path: Path, act: str
) -> None:
    """Who copies the state together with the file beside it contradicts the keyring's item of the other folder."""
    world.head_anchors().compare()
    there = tmp_path / "there"
    if act == "copied":
        world.store.close()
        shutil.copytree(world.folder, there)
        world.reopen()
        world.taint()
        world.head_anchors().compare()
        world.store.close()
        world.folder.rename(tmp_path / "aside")
        shutil.rmtree(tmp_path / "run" / str(os.geteuid()) / "lockgate", ignore_errors=True)
    else:
        world.store.close()
        world.folder.rename(there)
    state = str(there / "state")
    assert HeadAnchors(state, "", None).compare() == []
    store = SqliteStore.open(state)
    with store.reading() as tx:
        assert ("keyring" in (tx.setting(PUT_BACK) or "")) is (act == "copied")
    store.close()


def test_a_gate_tells_at_its_start_and_at_its_end(world: Desk, keyring: Desktop) -> None:
    world.head_anchors().start_comparisons()()
    world.copy()
    world.taint()
    world.head_anchors().start_comparisons()()
    world.put_back()
    world.head_anchors().start_comparisons()()
    assert world.reason()


def test_a_locked_keyring_is_left_alone_and_told_to_who_asks(world: Desk, keyring: Desktop) -> None:
    other = make(world.folder / "other", Desk)
    world.head_anchors().compare()
    keyring.run("secret-tool", "lock")
    (problem,) = world.head_anchors().compare()
    assert "the keyring is locked" in problem.says
    assert world.head_anchors().problems(time.time() + 2 * head_anchors.SILENT) == [], "nobody can do much about it"
    assert other.head_anchors().compare() == [], "it was never kept there"
    assert "the keyring is locked" in _problem(world), "it is still"


def _problem(world: Desk) -> str:
    with pytest.raises(AuditError) as found:
        KeyringAnchor("", world.state, "").read("x")
    return str(found.value)


def test_a_keyring_that_does_not_run_is_not_started(world: Desk, empty: Desktop) -> None:
    assert world.head_anchors().compare() == []
    assert _problem(world) == "no keyring runs"
    assert not empty.has_keyring()


def test_a_keyring_that_does_not_answer_is_not_waited_for(
    world: Desk, empty: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring_anchor, "SECONDS", 0.2)
    with open_dbus_connection(f"unix:path={empty.bus}") as silent:
        _own(silent, "org.freedesktop.secrets")
        assert world.head_anchors().compare() == []
        assert _problem(world) == "no keyring answers (TimeoutError)"


def _own(connection: DBusConnection, name: str) -> None:
    connection.send_and_get_reply(jeepney.message_bus.RequestName(name))


def test_a_place_that_was_named_is_told_where_it_cannot_be_reached(world: Desk, empty: Desktop) -> None:
    world.audit = NAMED
    (problem,) = world.head_anchors().compare()
    assert "no keyring runs" in problem.says
    assert world.head_anchors().problems(time.time()) == [problem]


def test_a_person_can_say_no(world: Desk, keyring: Desktop) -> None:
    world.audit = {"keyring": False}
    assert world.head_anchors().compare() == []
    assert world.head_anchors().list_reached() == []
    assert KeyringAnchor(os.path.realpath(world.state), world.state, "").read(world.store.gate[:32]) is None


def test_no_variable_leads_to_another_bus(
    world: Desk, empty: Desktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with desktop(tmp_path / "other") as other:
        other.begin_keyring()
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={other.bus}")
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(other.bus.parent))
        assert _problem(world) == "no keyring runs"


SECURITY = """#!/bin/sh
# Takes a head, and tells of it as macOS's program does. A keychain that does not open says 51.
command="$1"; shift
[ ! -e {folder}/locked ] || exit 51
while [ $# -gt 0 ]; do
  case "$1" in
    -s) service="$2"; shift ;;
    -a) account="$2"; shift ;;
    -j) comment="$2"; shift ;;
    -l|-w) shift ;;
    -U) ;;
    *) exit 2 ;;
  esac
  shift
done
item="{folder}/$service.$account"
case "$command" in
  add-generic-password) printf '%s' "$comment" > "$item" ;;
  find-generic-password)
    [ -e "$item" ] || exit 44
    printf 'keychain: "/Users/ann/Library/Keychains/login.keychain-db"\\nversion: 512\\nclass: "genp"\\nattributes:\\n'
    printf '    0x00000007 <blob>="Lockgate"\\n    "acct"<blob>="%s"\\n' "$account"
    printf '    "icmt"<blob>="%s"\\n    "svce"<blob>="%s"\\n' "$(cat "$item")" "$service" ;;
  *) exit 2 ;;
esac
"""


@pytest.fixture
def keychain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that stands for macOS's ``security``, which was not run."""
    program = tmp_path / "keychain" / "security"
    program.parent.mkdir()
    program.write_text(SECURITY.format(folder=program.parent))
    program.chmod(0o700)
    monkeypatch.setattr(keyring_anchor, "_SECURITY", str(program))
    for module in (keyring_anchor, head_anchors):
        monkeypatch.setattr(module, "sys", SimpleNamespace(platform="darwin"))
    return program.parent


def test_a_keychain_keeps_the_head_where_it_is_named(world: Desk, keychain: Path) -> None:
    assert world.head_anchors().compare() == []
    assert [file.name for file in keychain.iterdir()] == ["security"], "macOS may ask a person: it has to be named"
    world.audit = NAMED
    assert world.head_anchors().compare() == []
    world.copy()
    world.taint()
    assert world.head_anchors().compare() == []
    world.put_back()
    assert world.head_anchors().compare() == []
    assert "keyring" in world.reason()
    (keychain / "locked").touch()
    (problem,) = world.head_anchors().compare()
    assert "the keychain cannot be asked (exit status 51)" in problem.says
