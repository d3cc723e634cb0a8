"""Resident gates of two hosts on one database, which is killed under them: what was read on one counts on the other."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters.payloads import tool
from hook.process import Told
from lockgate.core.model import Label, Subject
from lockgate.store.audit.anchors import verify_anchors, verify_chain
from support.alongside import alongside
from support.postgres import Server, running
from support.shared_states import opened, share

from .machine import Machine
from .stories import push_event, read_event

STORIES, AT_ONCE, TRIES, KILLS = 14, 4, 30, 3


@pytest.fixture
def database() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.fixture
def hosts(tmp_path: Path, database: Server) -> Iterator[list[Machine]]:
    machines = [Machine(tmp_path / name) for name in ("north", "south")]
    share([Path(machine.state) for machine in machines], database.url(database.store_database()))
    yield machines
    for machine in machines:
        machine.end()


@pytest.mark.stress
def test_a_database_that_is_killed_under_load(hosts: list[Machine], database: Server) -> None:
    """Each session reads on one host and pushes on the other: whatever read, may not push."""
    for machine in hosts:
        machine.start()

    def kill(over: threading.Event) -> None:
        for _ in range(KILLS):
            if over.wait(0.8):
                return
            database.stop(signal.SIGKILL)
            database.start()

    def story(number: int) -> tuple[Told, Told]:
        one, other = hosts[number % 2], hosts[1 - number % 2]
        for _ in range(TRIES):
            asked = one.hook(read_event("PreToolUse", number))
            if not asked.refuses:
                one.hook(read_event("PostToolUse", number))
                break  # else nothing was read: the agent tries again
        return asked, other.hook(push_event(number))

    with alongside(kill), ThreadPoolExecutor(AT_ONCE) as crowd:
        told = list(crowd.map(story, range(STORIES)))
    read = [number for number, (asked, _) in enumerate(told) if not asked.refuses]
    assert len(read) > STORIES // 4, "the database was there often enough"
    assert [number for number in read if not told[number][1].refuses] == []
    store = opened(Path(hosts[0].state))
    with store.reading() as tx:
        for number in read:
            assert Label.UNTRUSTED in tx.labels(Subject(f"session-{number}"))
        assert all(verify_chain(tx, gate, store.key).ok for gate in tx.gates())
        assert verify_anchors(tx).ok
    store.close()
    for machine in hosts:
        assert not machine.hook(tool("PreToolUse", tool_input={"command": "ls"}, session_id="later")).refuses
