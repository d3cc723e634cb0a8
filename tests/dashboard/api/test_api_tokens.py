"""Tokens of programs: kept as hashes, plain names, and nothing else that opens."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import httpx
import pytest

from lockgate.core.errors import LockgateError
from lockgate.service.http.auth import tokens
from support.api_server import Machine, Server


def content_of(state: Path) -> bytes:
    """All that stands in the files of a state folder.

    Another process reads: closing a database's file lets go of the locks that this one has on it. Whoever closes the
    database last removes its log, perhaps just after it was listed; then what stood there stands in the database.
    """
    for _ in range(100):
        files = sorted(str(path) for path in state.iterdir() if path.is_file())
        done = subprocess.run(["cat", *files], capture_output=True, check=False)
        if done.returncode == 0:
            return done.stdout
    raise AssertionError(done.stderr)


def test_a_token_is_kept_as_its_hash_and_works_until_it_is_removed(machine: Machine, server: Server) -> None:
    made = machine.run("dashboard", "tokens", "add", "monitoring")
    assert made.returncode == 0, made.stderr
    token = made.stdout.strip()
    database = content_of(Path(machine.state))
    assert b"monitoring" in database
    assert token.encode() not in database
    assert token.split("_", 2)[2].encode() not in database
    client = server.program(token)
    assert client.get("me").json()["user"] == "monitoring"
    listed = machine.run("dashboard", "tokens", "list").stdout
    assert "monitoring" in listed
    assert token not in listed
    assert machine.run("dashboard", "tokens", "add", "monitoring").returncode == 1, "taken"
    assert machine.run("dashboard", "tokens", "remove", "monitoring").returncode == 0
    assert client.get("me").status_code == 401
    assert machine.run("dashboard", "tokens", "remove", "monitoring").returncode == 1


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda token: token[:-1] + ("A" if token[-1] != "A" else "B"), id="last-letter"),
        pytest.param(lambda token: token.upper(), id="case"),
        pytest.param(lambda token: token[:-1], id="shorter"),
        pytest.param(lambda token: token + "A", id="longer"),
        pytest.param(lambda token: token.rpartition("_")[0], id="id-alone"),
        pytest.param(lambda token: "lgt_" + "0" * 16 + token[20:], id="other-id"),
        pytest.param(lambda _: "lgt__", id="empty"),
        pytest.param(lambda _: "%", id="pattern"),
    ],
)
def test_what_is_nearly_a_token_is_none(machine: Machine, server: Server, change: object) -> None:
    name = f"nearly {time.monotonic_ns()}"
    token = tokens.add(machine.store, name, "read")
    assert callable(change)
    assert server.program(token).get("me").status_code == 200
    assert server.program(change(token)).get("me").status_code == 401
    tokens.remove(machine.store, name)


@pytest.mark.parametrize("name", ["", " x", "a\nb", "é", "x" * 65, "<b>"])
def test_a_tokens_name_is_a_plain_word(machine: Machine, name: str) -> None:
    with pytest.raises(LockgateError):
        tokens.add(machine.store, name, "read")


@pytest.mark.parametrize(
    "kept", ["", "[]", "{}", '{"name": "x", "scope": "root", "sha256": "", "created_at": 0}', "\x00"]
)
def test_a_damaged_token_opens_nothing(machine: Machine, server: Server, kept: str) -> None:
    token = tokens.add(machine.store, "damaged", "read")
    with machine.store.transaction() as tx:
        tx.put_setting(f"dashboard:token:{token.split('_')[1]}", kept)
    assert server.program(token).get("me").status_code == 401
    with machine.store.transaction() as tx:
        tx.put_setting(f"dashboard:token:{token.split('_')[1]}", None)


def test_the_scheme_of_a_token_is_bearer(machine: Machine, server: Server) -> None:
    token = tokens.add(machine.store, "scheme", "read")
    url = f"{server.url}/api/v1/me"
    for header, status in ((f"bearer {token}", 200), (f"Basic {token}", 401), (token, 401), ("Bearer", 401)):
        assert httpx.get(url, headers={"Authorization": header}).status_code == status
    assert httpx.get(url, params={"token": token}).status_code == 401
