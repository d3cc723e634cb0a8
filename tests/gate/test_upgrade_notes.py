"""What answers differently after an upgrade is said once, to the person."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.world import World
from lockgate.gate.session import upgrade_notes
from lockgate.gate.session.upgrade_notes import SEEN, take_note
from lockgate.store.protocol import Transaction
from lockgate.store.sqlite.store import SqliteStore

NOTES = {"0.1.0": "one", "0.2.0": "two", "0.10.0": "ten"}


def said(tx: Transaction, version: str) -> str:
    return take_note(tx, version=version, notes=NOTES)


def test_a_new_state_has_nothing_to_say(tmp_path: Path) -> None:
    with SqliteStore.open(str(tmp_path)).transaction() as tx:
        assert said(tx, "0.2.0") == ""
        assert tx.setting(SEEN) == "0.2.0"


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param(None, "0.2.0", "", id="never noted before"),
        pytest.param("0.0.9", "0.2.0", "Lockgate 0.2.0: one; two.", id="two versions on"),
        pytest.param("0.1.0", "0.2.0", "Lockgate 0.2.0: two.", id="the next version"),
        pytest.param("0.2.0", "0.10.0", "Lockgate 0.10.0: ten.", id="numbers, not letters"),
        pytest.param("0.1.0", "0.10.0", "Lockgate 0.10.0: two; ten.", id="versions left out"),
        pytest.param("0.2.0", "0.2.1", "", id="a version without a note"),
        pytest.param("0.10.0", "0.2.0", "", id="an older one"),
        pytest.param("0.2.0", "0.2.0", "", id="the same"),
    ],
)
def test_an_upgrade_is_told_once(world: World, before: str | None, now: str, expected: str) -> None:
    world.start()
    with world.store.transaction() as tx:
        tx.put_setting(SEEN, before)
        assert said(tx, now) == expected
        assert said(tx, now) == ""


def test_the_first_session_says_it_and_the_second_does_not(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrade_notes, "_read_shipped", lambda: {"0.1.0": "one"})
    with world.store.transaction() as tx:
        tx.put_setting(SEEN, "0.0.9")
    assert world.start(session_id="later").to_person == "Lockgate 0.1.0: one."
    assert world.start(session_id="last").to_person == ""
