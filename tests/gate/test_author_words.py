"""The words around people's lines: the examples of the table, and what a stranger could make of its words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lockgate.gate.authors import build, words
from lockgate.gate.authors.words import find_foreign, normal

TABLE = Path(build.__file__).with_name("words.yaml")
ROWS: list[dict[str, Any]] = build.load(TABLE)
KNOWN = normal("It was green.")


def is_known(line: str) -> bool:
    return line == KNOWN


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_the_examples_of_the_table(row: dict[str, Any]) -> None:
    assert [text for text in row["stands"] if find_foreign(text, is_known)] == []
    assert [text for text in row["labels"] if not find_foreign(text, is_known)] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_the_examples_need_the_row(row: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its words no example of a row stands: so each says what the row is for."""
    mine = set(row["words"].split())
    others = {kind: known - mine if kind == row["kind"] else known for kind, known in words._words().items()}
    monkeypatch.setattr(words, "_words", lambda: others)
    assert [text for text in row["stands"] if not find_foreign(text, is_known)] == []


def test_no_word_stands_in_two_rows_of_a_kind() -> None:
    found = [(row["kind"], word) for row in ROWS for word in row["words"].split()]
    assert len(found) == len(set(found))


def test_the_compiled_table_is_the_one_that_people_read() -> None:
    assert json.loads(build.compile_table(TABLE)) == json.loads(TABLE.with_suffix(".json").read_text())
