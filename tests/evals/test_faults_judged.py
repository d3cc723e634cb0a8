"""What ``evals/faults`` calls wrong: a gate that answers less strictly than it must would be seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockgate.cli.bench.run.stories import ASKED, DENIED, HELD, SILENT
from support.loading import module_at

# By its path: the folder's other modules have names that others have too.
book = module_at(Path(__file__).resolve().parents[2] / "evals/faults/book.py", "evals_faults_book")
Book, judged = book.Book, book.judged


def decision(word: str) -> bytes:
    return json.dumps({"hookSpecificOutput": {"permissionDecision": word}}).encode()


CONTAINED = json.dumps({"hookSpecificOutput": {"updatedInput": {}}}).encode()
WITHHELD = json.dumps({"hookSpecificOutput": {"updatedToolOutput": ""}}).encode()


@pytest.mark.parametrize(
    ("code", "stdout", "wanted", "expected"),
    [
        pytest.param(0, b"", SILENT, "right", id="silent"),
        pytest.param(0, decision("deny"), DENIED, "right", id="denied"),
        pytest.param(0, CONTAINED, HELD, "right", id="contained"),
        pytest.param(2, b"", SILENT, "refused", id="could not decide"),
        pytest.param(0, decision("deny"), SILENT, "refused", id="denied without need"),
        pytest.param(0, decision("ask"), SILENT, "refused", id="asked without need"),
        pytest.param(0, WITHHELD, SILENT, "refused", id="an output withheld"),
        pytest.param(0, decision("deny"), frozenset({"ask"}), "refused", id="denied instead of asked"),
        pytest.param(0, decision("deny"), ASKED, "right", id="denied where nobody sits in front"),
        pytest.param(0, b"", DENIED, "wrong", id="silent instead of denied"),
        pytest.param(0, decision("ask"), DENIED, "wrong", id="asked instead of denied"),
        pytest.param(0, CONTAINED, ASKED, "wrong", id="contained instead of asked"),
        pytest.param(0, decision("allow"), SILENT, "wrong", id="the client's own question taken away"),
        pytest.param(0, decision("allow"), DENIED, "wrong", id="allowed instead of denied"),
        pytest.param(1, b"", DENIED, "wrong", id="a code that clients take for go on"),
        pytest.param(-1, b"", DENIED, "wrong", id="no end"),
        pytest.param(0, b"{", DENIED, "wrong", id="half an answer"),
        pytest.param(0, b"[]", DENIED, "wrong", id="no answer"),
    ],
)
def test_an_answer_is_held_against_what_it_must_be(
    code: int, stdout: bytes, wanted: frozenset[str], expected: str
) -> None:
    assert judged(code, stdout, wanted) == expected


def test_nothing_that_is_wrong_is_fine() -> None:
    for spoil in (
        lambda line: line.wrong.append("x"),
        lambda line: line.lost.add("s"),
        lambda line: line.unrecorded.add("c"),
        lambda line: line.chains.append(False),
        lambda line: line.chains.clear(),
    ):
        line = Book().turn("fault")
        line.chains.append(True)
        assert line.fine
        spoil(line)
        assert not line.fine
