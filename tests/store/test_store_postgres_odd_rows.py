"""Rows of a shared store that no gate has written so: whoever has the role of one can keep any time and any id."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result
from contract import APPROVAL, SESSION, TAINT

from lockgate.cli.main import cli
from lockgate.core.model import Subject
from lockgate.store.opening import open_store
from lockgate.store.postgres.store import PostgresStore
from support.postgres import use

ODD_TIMES = ["NaN", "Infinity", "-Infinity", "1e300", "-1e300", "-1"]
ODD_IDS = ["\x1b]0;mine\x07", "a\rb", "x\u202ey", "$(touch${IFS}mine)", "a;b", "a,b", "a\nb", "*"]


@pytest.fixture
def store(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    store = open_store(str(use(tmp_path / "lockgate", postgres_url)), busy_seconds=2)
    assert isinstance(store, PostgresStore)
    with store.transaction() as tx:
        tx.put_session(SESSION)
        tx.add_taints(Subject(SESSION.session), [TAINT])
        open_now = {"state": "pending", "asked_at": store.clock(), "expires_at": store.clock() + 300}
        tx.put_approval(APPROVAL._replace(approval="abcdefghjk", **open_now))
    yield store
    store.close()


def change(url: str, statement: str, value: str) -> None:
    """What somebody writes who needs no gate for that."""
    with psycopg.connect(url) as connection:
        connection.execute(statement, (value,))


def run(*words: str, **environ: str) -> Result:
    return CliRunner().invoke(cli, words, prog_name="lockgate", env=environ)


@pytest.mark.parametrize("at", ODD_TIMES)
def test_a_time_that_is_none_can_be_told(store: PostgresStore, postgres_url: str, at: str) -> None:
    change(postgres_url, "UPDATE lockgate.sessions SET seen_at = %s::float8", at)
    change(postgres_url, "UPDATE lockgate.taints SET at = %s::float8", at)
    change(postgres_url, "UPDATE lockgate.approvals SET expires_at = %s::float8", at)
    with store.transaction() as tx:
        found = tx.session(SESSION.session)
        assert found is not None
        labels = [*tx.taints(Subject(SESSION.session), limit=16), *tx.taints(Subject(SESSION.session))]
        times = [found.seen_at, *(taint.at for taint in labels), *(row.expires_at for row in tx.approvals())]
    assert len(times) == 4
    assert all(0 <= each < 1e12 for each in times)
    for words in (["approvals", "list"], ["approvals", "list", "--json"], ["sessions"], ["sessions", "--json"]):
        result = run(*words)
        assert (result.exit_code, result.exception) == (0, None), words


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("approval", ODD_IDS)
def test_an_id_that_is_none_reaches_neither_terminal_nor_command_line(postgres_url: str, approval: str) -> None:
    change(postgres_url, "UPDATE lockgate.approvals SET approval = %s", approval)
    listed = run("approvals", "list").output
    assert listed.count("\n") == 1
    assert all(letter == "\n" or letter.isprintable() for letter in listed)
    assert [row["approval"] for row in json.loads(run("approvals", "list", "--json").output)] == [approval]
    for shell in ("bash", "zsh", "fish"):
        asked = {"COMP_WORDS": "lockgate approve ", "COMP_CWORD": "" if shell == "fish" else "2"}
        assert run(_LOCKGATE_COMPLETE=f"{shell}_complete", **asked).output.strip() == ""


@pytest.mark.usefixtures("store")
def test_an_id_is_completed() -> None:
    asked = {"_LOCKGATE_COMPLETE": "bash_complete", "COMP_WORDS": "lockgate approve ", "COMP_CWORD": "2"}
    assert run(**asked).output == "plain,abcdefghjk\n"
