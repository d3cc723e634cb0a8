"""What a gate remembers from one request to the next: no more than it may, and for no longer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lockgate.errors import BadInputError
from lockgate.folders import Folders
from lockgate.resident import wire
from lockgate.resident.deciding import Decider, NotHere
from lockgate.store.sqlite import SqliteStore


def read(head: bytes) -> wire.Request:
    return wire.request(head, b"")


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_KNOWN", {})


# ---------------------------------------------------------------- environments
def test_an_environment_is_read_once_for_all_events_of_a_client() -> None:
    first = read(b"7\x001\0PreToolUse\0A=1\0B=2\0")
    second = read(b"8\x002\0PostToolUse\0x\0A=1\0B=2\0")
    assert (first.parent, first.arguments) == (7, ("PreToolUse",))
    assert (second.parent, second.arguments) == (8, ("PostToolUse", "x"))
    assert first.environ is second.environ
    assert first.mark == second.mark


def test_another_environment_is_another_one() -> None:
    first, second = read(b"7\x000\0A=1\0"), read(b"7\x000\0A=2\0")
    assert (first.environ["A"], second.environ["A"]) == ("1", "2")
    assert first.mark != second.mark
    assert read(b"7\x000\0").environ == {}
    assert read(b"7\x001\0A=1\0").environ == {}, "an argument is none of the environment"


def test_nobody_changes_an_environment_for_others() -> None:
    with pytest.raises(TypeError):
        read(b"7\x000\0A=1\0").environ["A"] = "2"  # type: ignore[index]


def test_so_many_environments_are_remembered_and_none_that_is_long() -> None:
    for number in range(3 * wire._ENVIRONMENTS):
        assert read(b"7\x000\0A=%d\0" % number).environ == {"A": str(number)}
        assert len(wire._KNOWN) <= wire._ENVIRONMENTS
    count = len(wire._KNOWN)
    assert len(read(b"7\x000\0A=" + b"x" * wire._LONGEST + b"\0").environ["A"]) == wire._LONGEST
    assert len(wire._KNOWN) == count


@pytest.mark.parametrize(
    "head", [b"", b"\0", b"1\0", b"1\x000", b"1\x001\0", b"x\x000\0", b"1\x00-1\0", b"1\x003\0a\0b\0"]
)
def test_a_head_that_is_none(head: bytes) -> None:
    with pytest.raises(BadInputError):
        read(head)


# ---------------------------------------------------------------- the state folder
@pytest.fixture
def decider(tmp_path: Path) -> Decider:
    return Decider(Folders(str(tmp_path / "home"), str(tmp_path / "state"), str(tmp_path / "config")))


def put(decider: Decider) -> None:
    with decider._parts.store.transaction() as tx:
        tx.put_setting("s", "x")


def kept(decider: Decider) -> str | None:
    other = SqliteStore.open(decider._where.state)
    try:
        with other.reading() as tx:
            return tx.setting("s")
    finally:
        other.close()


def test_a_group_is_kept_in_the_store_that_others_see(decider: Decider) -> None:
    decider.begin_group()
    put(decider)
    assert decider.end_group()
    assert kept(decider) == "x"
    decider.close()


def test_a_group_is_not_kept_where_the_store_was_replaced_meanwhile(decider: Decider) -> None:
    decider.begin_group()
    put(decider)
    for name in ("lockgate.db", "lockgate.db-wal", "lockgate.db-shm"):
        os.unlink(os.path.join(decider._where.state, name))
    assert not decider.end_group()
    assert kept(decider) is None
    asked = wire.Request(1, ("claude-code",), {}, b"{}")
    decider.begin_group()
    assert not decider.end_group(), "nor is any other"
    with pytest.raises(NotHere):
        decider.step(decider.begin(asked._replace(arguments=arguments(decider)), 1))
    decider.close()


def arguments(decider: Decider) -> tuple[str, ...]:
    home, state, config = decider._where
    return ("claude-code", "--home", home, "--state", state, "--config", config)
