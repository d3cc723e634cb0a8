"""What a person takes back does not come back with a copy of the state from before."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from lockgate.cli.main import cli
from lockgate.configuration import pause
from lockgate.gate.approvals.answering import answer, take_back
from lockgate.gate.monitor import deployments
from lockgate.service.http.auth import tokens
from lockgate.store.files import PUT_BACK
from lockgate.store.rows import ApprovalRow, SessionRow
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.uptime import instant
from support.commands import invoked

pytestmark = pytest.mark.usefixtures("home")


class Act(NamedTuple):
    """Something that a person takes back."""

    gives: Callable[[Path], object]
    """Makes what is taken back, in a state folder."""
    takes: Callable[[Path], object]


def _store(state: Path, act: Callable[[SqliteStore], object]) -> object:
    store = SqliteStore.open(str(state))
    try:
        return act(store)
    finally:
        store.close()


def _remember(store: SqliteStore) -> None:
    with store.transaction() as tx:
        deployments.remember(tx, [["a" * 32, "`.env` reaches `fly`"]], 1.0)


def _pause(state: Path) -> None:
    def begin(store: SqliteStore) -> None:
        with store.transaction() as tx:
            pause.begin(tx, str(state), instant(), 600.0)

    _store(state, begin)


def _refuse(store: SqliteStore) -> None:
    with store.transaction() as tx:
        tx.put_session(SessionRow("s1"))
        tx.put_approval(ApprovalRow("no", "s1", "", "claude-code", "c", "d", "b", state="pending", expires_at=2e12))
    answer(store, "", "no", approve=False, by="ann")


def _trust(_: Path) -> None:
    Path("lockgate.yaml").write_text("table: {egress: allow}\n")
    invoked("trust", "--yes")


def _pin(*names: str) -> Callable[[Path], None]:
    def pin(_: Path) -> None:
        lines = [invoked("policy", "keygen", f"{name}.pem", "--no-passphrase").stdout.strip() for name in names]
        invoked("policy", "pin", *lines, "--fleet", "acme", "--yes")

    return pin


def _unpin(state: Path) -> None:
    found = json.loads(invoked("policy", "status", "--json", code=1).stdout)
    invoked("policy", "unpin", found["keys"][0]["id"])


def _run(*words: str) -> Callable[[Path], object]:
    return lambda _: invoked(*words)


TAKEN_BACK = {
    "untrust": Act(_trust, _run("untrust")),
    "policy unpin": Act(_pin("a", "b"), _unpin),
    "policy unpin --all": Act(_pin("a"), _run("policy", "unpin", "--all")),
    "approvals forget": Act(lambda state: _store(state, _remember), _run("approvals", "forget", "a" * 32)),
    "approvals retract": Act(
        lambda state: _store(state, _refuse),
        lambda state: _store(state, lambda store: take_back(store, "no", by="ann")),
    ),
    "dashboard tokens remove": Act(
        lambda state: _store(state, lambda store: tokens.add(store, "mine", "approve")),
        _run("dashboard", "tokens", "remove", "mine"),
    ),
    "serve groups remove": Act(
        _run("serve", "groups", "add", "web", "--ipc", "ipc"), _run("serve", "groups", "remove", "web")
    ),
    "serve groups rotate": Act(
        _run("serve", "groups", "add", "web", "--ipc", "ipc"), _run("serve", "groups", "rotate", "web")
    ),
    "canary revoke": Act(_run("canary", "new", "--name", "trap"), _run("canary", "revoke", "trap")),
    "resume": Act(_pause, _run("resume")),
}
NO_TRUST = {
    "approvals deployments": "a list",
    "approvals remember": "gives trust",
    "audit archive": "records, whose removal the chain itself tells",
    "audit prune": "records, whose removal the chain itself tells",
    "policy pin": "gives trust",
    "service uninstall": "a file of the system's service",
    "store copy": "everything, and the head with it",
    "store mend": "triggers that nobody trusts",
    "store restore": "puts the head of the copy there",
    "store use": "the store itself",
    "uninstall": "a client's settings",
}
"""Commands whose help speaks of taking, and that take no trust back: what they take."""


@pytest.mark.parametrize("name", TAKEN_BACK)
def test_what_was_taken_back_does_not_come_back(home: Path, name: str) -> None:
    state, copy = home / ".local" / "state" / "lockgate", home / "copy"
    _store(state, lambda _: None)
    TAKEN_BACK[name].gives(state)
    shutil.copytree(state, copy)
    TAKEN_BACK[name].takes(state)
    shutil.rmtree(state)
    shutil.copytree(copy, state)
    assert "older" in str(_store(state, _reason))


def _reason(store: SqliteStore) -> str | None:
    with store.reading() as tx:
        return tx.setting(PUT_BACK)


def _commands(command: click.Command, *names: str) -> Iterator[tuple[str, str]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), name)
            assert found is not None
            yield from _commands(found, *names, name)
    else:
        yield " ".join(names), command.short_help or command.get_short_help_str(200)


def test_each_command_that_takes_something_back_is_in_the_table() -> None:
    takes = re.compile(r"\b(take|remove|revoke|forget|again|back|longer|another key|end a pause)\b", re.IGNORECASE)
    found = {name for name, says in _commands(cli) if takes.search(says)}
    known = {name.partition(" --")[0] for name in TAKEN_BACK}
    assert found - known == set(NO_TRUST)
    assert known <= {name for name, _ in _commands(cli)}


RECORDS = {"record_act", "append_audit", "accept_contradictions", "decide", "cut", "tell"}
UNRECORDED = {
    ("cli/pause.py", "pause_command"): "recorded where the file is written",
    ("cli/pause.py", "resume"): "recorded where the file is removed",
    ("cli/store/__init__.py", "_try"): "a look whether it can be written",
}


def test_no_command_changes_the_state_without_a_record() -> None:
    """A record of a person's act is kept outside of the state at once. Who writes none could be undone by a copy."""
    package = Path(__file__).parents[2] / "src" / "lockgate"
    found = set()
    for path in [*(package / "cli").rglob("*.py"), *(package / "service" / "http").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                named = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
                named |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
                if "transaction" in named and not named & RECORDS:
                    found.add((path.relative_to(package).as_posix(), node.name))
    assert found == set(UNRECORDED)
