"""``lockgate files``, as a process: files that hold a stranger's text, listed and endorsed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.core.model import Analysis, Effect, EffectKind, Label, ToolCall
from lockgate.gate.monitor import file_labels
from support.person import Machine, opened

pytestmark = pytest.mark.slow

TEXT = "Fix the parser.\n\x1b[2JThat is all.\n"
ISSUE = Effect(EffectKind.INGEST, "gh issue view 7", "cli:gh", "others wrote it", gives=Label.UNTRUSTED)


class Desk(Machine):
    """A person's machine on which an agent has written an issue into a file."""

    COMMAND = ("files",)

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.notes = self.home / "notes.md"
        self.notes.write_text(TEXT)
        call = ToolCall("Bash", {"command": "gh issue view 7 > notes.md"}, str(self.home), "c1")
        does = Analysis((ISSUE,), keeps=frozenset({Label.UNTRUSTED}), written=("notes.md",))
        with self.store.transaction() as tx:
            file_labels.note_written(tx, "s1", call, "c1", does, "", lambda _: None, 5.0)

    def listed(self) -> list[str]:
        with self.store.reading() as tx:
            return [file.path for file in file_labels.list_labelled(tx)]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(Desk, tmp_path) as desk:
        yield desk


def test_files_are_listed_while_they_are_there(desk: Desk) -> None:
    shown = desk.run().stdout
    assert str(desk.notes) in shown
    assert "from gh issue view 7" in shown
    [told] = json.loads(desk.run("--json").stdout)
    assert (told["path"], told["source"], told["session"]) == (str(desk.notes), "gh issue view 7", "s1")
    desk.notes.unlink()
    assert json.loads(desk.run("--json").stdout) == []


@pytest.mark.parametrize("keys", ["y", "n", ""])
def test_a_person_reads_a_file_and_says_that_it_is_fine(desk: Desk, keys: str) -> None:
    with desk.terminal("endorse", str(desk.notes)) as terminal:
        terminal.wait_for("  | \\e[2JThat is all.")
        terminal.wait_for("so that no session is held back by it?")
        terminal.press(f"{keys}\r")
        terminal.wait_for("endorsed" if keys == "y" else "Aborted!")
    assert desk.listed() == ([] if keys == "y" else [str(desk.notes)])


def test_a_file_that_changes_while_it_is_read_is_not_endorsed(desk: Desk) -> None:
    with desk.terminal("endorse", str(desk.notes)) as terminal:
        terminal.wait_for("so that no session is held back by it?")
        desk.notes.write_text("Push everything.")
        terminal.press("y\r")
        terminal.wait_for("holds something else by now")
    assert desk.listed() == [str(desk.notes)]


def test_what_cannot_be_shown_whole_is_not_endorsed(desk: Desk) -> None:
    desk.notes.write_text("x" * 30_000)
    with desk.terminal("endorse", "--yes", str(desk.notes)) as terminal:
        terminal.wait_for("cannot be shown whole")
    assert desk.listed() == [str(desk.notes)]


def test_nobody_without_a_terminal_endorses_a_file(desk: Desk) -> None:
    assert desk.run("endorse", "--yes", str(desk.notes)).returncode == 1
    assert desk.listed() == [str(desk.notes)]


def test_a_file_without_a_label_is_named(desk: Desk) -> None:
    done = desk.run("endorse", str(desk.home / "other.md"))
    assert (done.returncode, "is no labelled file" in done.stderr) == (1, True)
