"""``lockgate canary`` on a real store."""

from __future__ import annotations

import base64
import json
import re
from functools import partial
from pathlib import Path

import hyperscan
import pytest

from lockgate.configuration.known_secrets.canaries import entries_of, settings
from lockgate.patterns.engine.known_index import Index, build
from lockgate.patterns.known_values.values import KnownKind
from lockgate.store.sqlite.store import SqliteStore
from support.commands import invoked


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder, not there yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / ".local" / "state" / "lockgate"


run = partial(invoked, "canary")


def index(state: Path) -> Index:
    store = SqliteStore.open(str(state))
    with store.reading() as tx:
        entries = entries_of(settings(tx))
    key = store.key
    store.close()
    return Index(build(entries, key, hyperscan), key, hyperscan)


@pytest.mark.parametrize("shape", ["aws", "github", "env", "url", "text"])
def test_a_new_canary_is_printed_and_found(state: Path, shape: str) -> None:
    result = run("new", "--name", "trap", "--as", shape)
    assert "canary trap" in result.stderr
    hits = index(state).scan(base64.b64encode(b"see " + result.stdout.encode()))
    assert {(hit.name, hit.kind) for hit in hits} == {("trap", KnownKind.CANARY)}


def test_both_parts_of_a_key_are_looked_for(state: Path) -> None:
    text = run("new", "--as", "aws").stdout
    for line in text.splitlines():
        assert index(state).scan(line.rpartition(" ")[2].encode())


def test_it_is_not_kept_in_clear(state: Path) -> None:
    value = run("new").stdout.strip()
    run("list")
    forms = [value, value[::-1], value.encode().hex(), base64.b64encode(value.encode()).decode()]
    for path in state.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        assert not any(form[:12].encode() in data for form in forms)


def test_list() -> None:
    assert "no canaries" in run("list").stderr
    run("new", "--as", "aws")
    value = run("new", "--as", "aws").stdout
    run("new", "--name", "my-trap")
    shown = run("list").stdout
    assert re.findall(r"^(\S+) +(\S+) +made 0 s ago$", shown, re.M) == [
        ("aws-1", "aws"),
        ("aws-2", "aws"),
        ("my-trap", "text"),
    ]
    assert value.split()[-1] not in shown


def test_json(state: Path) -> None:
    assert json.loads(run("list", "--json").stdout) == []
    made = json.loads(run("new", "--json", "--name", "x").stdout)
    assert index(state).scan(made.pop("text").encode())
    assert made == {"name": "x", "shape": "text", "made_at": made["made_at"]}
    assert json.loads(run("list", "--json").stdout) == [made]
    assert json.loads(run("revoke", "x", "--json").stdout) == {"name": "x", "revoked": True}
    assert json.loads(run("list", "--json").stdout) == []


def test_revoke(state: Path) -> None:
    run("revoke", "trap", code=1)
    assert not state.exists()
    text = run("new", "--name", "trap").stdout
    assert "not looked for" in run("revoke", "trap").stdout
    assert index(state).scan(text.encode()) == []
    assert "no canary" in run("revoke", "trap", code=1).stderr


def test_names() -> None:
    run("new", "--name", "trap")
    assert "already" in run("new", "--name", "trap", code=1).stderr
    for name in ("Trap", "a b", "-a", "a" * 41, "a\n"):
        run("new", f"--name={name}", code=2)
    run("new", "--as", "nothing", code=2)


def test_what_was_done_is_recorded_without_the_value(state: Path) -> None:
    value = run("new", "--name", "trap").stdout.strip()
    run("revoke", "trap")
    store = SqliteStore.open(str(state))
    with store.reading() as tx:
        bodies = [row.body for row in tx.audit()]
    store.close()
    assert [json.loads(body)["event"] for body in bodies] == ["canary", "canary_revoked"]
    assert not any(value[:8] in body for body in bodies)


@pytest.mark.parametrize("arguments", [["new"], ["list"], ["revoke", "trap"]])
def test_an_agent_may_not(monkeypatch: pytest.MonkeyPatch, state: Path, arguments: list[str]) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "only a person" in run(*arguments, code=1).stderr
    assert not state.exists()
