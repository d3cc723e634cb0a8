"""Compiled tables: what is stale is said and written, and what no table makes any more goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockgate.system.documents.compile_tables import compile_tables


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "fresh.yaml": "fresh", "fresh.json": "fresh", "old.yaml": "old", "old.json": "older", "new.yaml": "new",
        "orphan.json": "of nobody", "schema.json": "{}", "old.schema.json": "{}",
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    return tmp_path


def test_what_is_stale_is_named_and_stays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_tables(folder, Path.read_text, ["--check"]) == 1
    assert [line.split()[0] for line in capsys.readouterr().err.splitlines()] == ["new.json", "old.json", "orphan.json"]
    assert (folder / "old.json").read_text() == "older"


def test_what_is_stale_is_made_anew_and_is_fresh_then(folder: Path) -> None:
    assert compile_tables(folder, Path.read_text, []) == 0
    assert compile_tables(folder, Path.read_text, ["--check"]) == 0
    assert sorted(file.name for file in folder.glob("*.json")) == [
        "fresh.json", "new.json", "old.json", "old.schema.json", "schema.json"
    ]  # fmt: skip
