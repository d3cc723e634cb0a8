"""Hooks of two hosts that share a store: real processes, a real database, and what they answer when it is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from adapters.payloads import tool
from hook.process import HOOK, folders, hook
from lockgate.configuration.load import load
from lockgate.gate.approvals import wakeups
from lockgate.store.audit.anchors import verify_anchors, verify_chain
from lockgate.store.postgres.store import PostgresStore
from support.postgres import Server
from support.shared_states import opened, share

pytestmark = pytest.mark.slow

LOCAL = tool("PreToolUse", tool_input={"command": "ls -l"})
PUSH = tool("PreToolUse", tool_input={"command": "git push origin main"})
READ = tool("PreToolUse", "WebFetch", {"url": "https://example.com/", "prompt": "read"})
HAS_READ = tool(
    "PostToolUse", "WebFetch", {"url": "https://example.com/", "prompt": "read"}, tool_response={"result": "a page"}
)


class Hosts:
    """Two machines, as far as a hook can tell."""

    def __init__(self, top: Path, url: str) -> None:
        self.url = url
        self.homes = [top / "north", top / "south"]
        for home in self.homes:
            folders(home)
        share([home / "state" for home in self.homes], url)


@pytest.fixture
def hosts(tmp_path: Path, postgres_url: str) -> Hosts:
    return Hosts(tmp_path, postgres_url)


def test_what_was_read_on_one_host_counts_on_the_other(hosts: Hosts) -> None:
    north, south = hosts.homes
    assert not hook(north, LOCAL).refuses
    assert not hook(south, PUSH).refuses
    assert not hook(north, READ).refuses
    assert hook(north, HAS_READ).code == 0
    told = hook(south, PUSH)
    assert told.refuses
    assert "example.com" in told.stdout
    assert not hook(south, LOCAL).refuses
    store = opened(hosts.homes[0] / "state")
    with store.reading() as tx:
        gates = tx.gates()
        assert [gate.name for gate in gates] == ["north", "south"]
        assert all(verify_chain(tx, gate, store.key).ok for gate in gates)
        assert verify_anchors(tx).ok
    store.close()


def test_a_lost_database_is_a_refusal_in_time_and_comes_back(hosts: Hosts, postgres_server: Server) -> None:
    home = hosts.homes[0]
    assert not hook(home, LOCAL).refuses
    name = hosts.url.split("/")[3].split("?")[0]
    postgres_server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    told = hook(home, LOCAL)
    assert told.refuses
    assert "shared store" in told.stdout
    postgres_server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    assert not hook(home, LOCAL).refuses


def test_no_variable_of_a_project_leads_a_hook_elsewhere(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    home = hosts.homes[0]
    for name in ("PGHOST", "PGSERVICE", "PGOPTIONS", "PGSSLMODE", "PGDATABASE"):
        monkeypatch.setenv(name, "nonsense")
    assert not hook(home, LOCAL).refuses


def test_a_hook_that_waits_for_a_person_ends_when_a_newer_build_has_changed_the_tables(hosts: Hosts) -> None:
    """It asked for an hour: what it waits for is in tables that it cannot read any more."""
    home = hosts.homes[0]
    (home / "config").mkdir()
    (home / "config" / "lockgate.yaml").write_text("table: {egress: ask}\napprovals: {headless: wait}\n")
    store = opened(home / "state")
    load(store, home=str(home), config_dir=str(home / "config"), workspace=PUSH["cwd"], state=str(home / "state"))
    command = [sys.executable, "-I", "-S", HOOK, "claude-code", *folders(home)]
    environ = {**os.environ, "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(PUSH).encode())
        process.stdin.close()
        process.stdin = None
        until = time.monotonic() + 40
        while not _waits(store, home):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        with psycopg.connect(hosts.url) as connection:
            connection.execute("UPDATE lockgate.meta SET version = version + 1")
        told, _ = process.communicate(timeout=20)
    store.close()
    assert process.returncode == 2
    assert "made by a newer Lockgate" in told.decode()
    assert "upgrade this one" in told.decode()


def _waits(store: PostgresStore, home: Path) -> bool:
    with store.reading() as tx:
        return any(wakeups.is_waited_for(str(home / "state"), row.approval) for row in tx.approvals())
