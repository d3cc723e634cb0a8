"""Rewriting the file of a long result: at once, and nothing but such a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lockgate.system.files import rewrite


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "session" / "tool-results"
    made.mkdir(parents=True)
    return made


def test_the_text_is_replaced_and_the_rest_stays(folder: Path) -> None:
    file = folder / "b1.txt"
    file.write_bytes(b"\xff\x00 KEY \xc3\xbc\r\n\xed\xa0\x80")
    rewrite(str(file), [str(folder)], lambda text: text.replace("KEY", "[x]"))
    assert file.read_bytes() == b"\xff\x00 [x] \xc3\xbc\r\n\xed\xa0\x80"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(folder) == ["b1.txt"]


def test_a_file_that_stays_as_it_is_is_not_written(folder: Path) -> None:
    file = folder / "b1.txt"
    file.write_text("nothing")
    before = file.stat()
    rewrite(str(file), [str(folder)], lambda text: text)
    assert file.stat().st_ino == before.st_ino
    assert file.stat().st_mode == before.st_mode


def test_a_folder_above_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "home").symlink_to(tmp_path / "session")
    (folder / "b1.txt").write_text("KEY")
    named = tmp_path / "home" / "tool-results"
    rewrite(str(named / "b1.txt"), [str(named)], str.lower)
    assert (folder / "b1.txt").read_text() == "key"


def test_what_is_no_such_file_is_left_alone(folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("KEY")
    (folder / "link").symlink_to(victim)
    os.mkfifo(folder / "pipe")
    (folder / "deeper").mkdir()
    (folder / "deeper" / "b1.txt").write_text("KEY")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b1.txt").write_text("KEY")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "tool-results").symlink_to(tmp_path / "elsewhere")
    for path in (
        str(victim),
        f"{folder}/link",
        f"{folder}/pipe",
        f"{folder}/missing",
        f"{folder}/deeper",
        f"{folder}/deeper/b1.txt",
        f"{folder}/../../victim",
        f"{folder}/",
        "tool-results/b1.txt",
        "",
    ):
        with pytest.raises(OSError):
            rewrite(path, [str(folder)], str.lower)
    with pytest.raises(OSError):
        rewrite(f"{tmp_path}/other/tool-results/b1.txt", [f"{tmp_path}/other/tool-results"], str.lower)
    with pytest.raises(OSError):
        rewrite(f"{tmp_path}/other/tool-results/b1.txt", [], str.lower)
    assert victim.read_text() == "KEY"
    assert (tmp_path / "elsewhere" / "b1.txt").read_text() == "KEY"


def test_other_names_of_the_file_stay_what_they_are(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("KEY")
    os.link(tmp_path / "other", folder / "b1.txt")
    rewrite(f"{folder}/b1.txt", [str(folder)], str.lower)
    assert (folder / "b1.txt").read_text() == "key"
    assert (tmp_path / "other").read_text() == "KEY"


def test_one_that_cannot_be_written_stays(folder: Path) -> None:
    file = folder / "b1.txt"
    file.write_text("KEY")

    def change(text: str) -> str:
        (folder / f".b1.txt.{os.getpid()}").write_text("in the way")
        return text.lower()

    with pytest.raises(OSError):
        rewrite(str(file), [str(folder)], change)
    assert file.read_text() == "KEY"


def test_a_file_that_is_too_long_is_not_looked_at(folder: Path) -> None:
    file = folder / "b1.txt"
    with open(file, "wb") as opened:
        opened.truncate(33 * 1024 * 1024)
    with pytest.raises(OSError):
        rewrite(str(file), [str(folder)], str.lower)
