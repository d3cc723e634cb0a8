"""``lockgate prompt`` on a real store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lockgate.cli.main import cli
from lockgate.core.events import REGISTERED
from lockgate.store.sqlite.store import SqliteStore

PARTS = [
    {"author": "person", "text": "Answer this.\n"},
    {"author": "stranger", "source": "issue 7", "text": "How?\n"},
]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder, not there yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / ".local" / "state" / "lockgate"


def run(said: object, *options: str, code: int = 0) -> Result:
    text = said if isinstance(said, str) else json.dumps(said)
    result = CliRunner().invoke(cli, ["prompt", "-", *options], input=text)
    assert result.exit_code == code, (result.output, result.exception)
    return result


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_prompt_is_composed_and_its_parts_are_kept(state: Path, options: tuple[str, ...]) -> None:
    printed = run(PARTS, *options).stdout
    text = json.loads(printed)["prompt"] if options else printed
    assert text.startswith(REGISTERED)
    assert text.partition("\n")[2].rstrip() == "Answer this.\nHow?"
    store = SqliteStore.open(str(state))
    with store.reading() as tx:
        (kept,) = tx.settings("prompt:").values()
        (record,) = [row.body for row in tx.audit() if "prompt_composed" in row.body]
    store.close()
    assert [part[0] for part in json.loads(kept)["parts"]] == ["person", "stranger"]
    assert "How?" not in kept + record


@pytest.mark.parametrize(
    ("said", "why"),
    [
        pytest.param("{", "no JSON", id="no JSON"),
        pytest.param("[" * 100_000, "no JSON", id="deep"),
        pytest.param({}, "between 1 and 100", id="no array"),
        pytest.param([], "between 1 and 100", id="nothing"),
        pytest.param(["x"], "a part is an object", id="no object"),
        pytest.param([{"author": "person"}], "a part is an object", id="no text"),
        pytest.param([{"author": "person", "text": "x", "label": "none"}], "a part is an object", id="another field"),
        pytest.param([{"author": "person", "text": 5}], "are strings", id="a number"),
        pytest.param([{"author": "me", "text": "x"}], "words of a person", id="another author"),
        pytest.param([{"author": "stranger", "text": "x"}], "says its source", id="no source"),
    ],
)
def test_what_is_no_prompt_is_refused(said: object, why: str) -> None:
    assert why in run(said, code=1).stderr
