"""``lockgate audit accept``, as a process: with a person at a terminal, and without one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.store.audit.chain import verify_store
from support.person import Machine, opened

PROMPT = "Have you looked at this, and shall it be mended?"
PROBLEM = "question k2v7m9qxwp: it is approved, and the audit has no such answer"


class Forged(Machine):
    """A person's machine on which somebody has written an answer into the database."""

    COMMAND = ("audit",)

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        row = ", ".join(["'k2v7m9qxwp'", *["''"] * 6, "'{}'", "'approved'", "1", "2", "1", "'ann'", "''", "''"])
        with sqlite3.connect(Path(self.state) / "lockgate.db") as database:
            database.execute(f"INSERT INTO approvals VALUES (1, {row})")

    def answer(self) -> str:
        with self.store.reading() as tx:
            row = tx.approval("k2v7m9qxwp")
        assert row is not None
        return row.state


@pytest.fixture
def forged(tmp_path: Path) -> Iterator[Forged]:
    with opened(Forged, tmp_path) as forged:
        yield forged


@pytest.mark.parametrize(("keys", "state"), [("y", "expired"), ("n", "approved"), ("", "approved")])
def test_a_person_looks_and_says_so(forged: Forged, keys: str, state: str) -> None:
    with forged.terminal("accept") as terminal:
        terminal.wait_for(PROBLEM)
        terminal.wait_for(PROMPT)
        terminal.press(f"{keys}\r")
        terminal.wait_for("mended, and recorded: 1" if keys == "y" else "Aborted!")
    assert forged.answer() == state
    assert forged.run("verify").returncode == (0 if keys == "y" else 1)
    with forged.store.reading() as tx:
        assert verify_store(tx, forged.store.key).ok


@pytest.mark.parametrize("environment", [{}, {"CLAUDECODE": "1"}])
def test_nobody_else_can(forged: Forged, environment: dict[str, str]) -> None:
    done = forged.run("accept", "--yes", **environment)
    assert done.returncode == 1
    assert "mended" not in done.stdout
    assert forged.answer() == "approved"


def test_where_nothing_is_wrong_it_says_so_again(forged: Forged) -> None:
    with forged.terminal("accept", "--yes") as terminal:
        terminal.wait_for("mended, and recorded: 1")
    with forged.terminal("accept") as terminal:
        terminal.wait_for("nothing is to be mended")
