"""Who is connected to a gate: nobody holds a place who takes too long to ask, or to hear an answer."""

from __future__ import annotations

import os
import selectors
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from lockgate.clients.wire import resident as wire
from lockgate.service.resident.connection import Connection
from lockgate.service.resident.listener import Listener
from lockgate.service.resident.metrics import Measures
from lockgate.system.peer_credentials import Peer


@pytest.fixture
def hooks() -> Iterator[Listener]:
    found = Listener(socket.socket(socket.AF_UNIX), Measures(), bytes(32))
    yield found
    found.end()


@pytest.fixture
def connection(hooks: Listener) -> Iterator[Connection]:
    """One that is let in."""
    ours, theirs = socket.socketpair()
    made = Connection(ours, Peer(os.geteuid(), 1), bytes(32))
    hooks._open.add(made)
    yield made
    theirs.close()


def work(ended: list[str]) -> Any:
    return SimpleNamespace(end=lambda: ended.append("ended"))


def test_who_says_nothing_is_let_go(hooks: Listener, connection: Connection) -> None:
    hooks.drop_late(connection.until - 1)
    assert len(hooks) == 1
    hooks.drop_late(connection.until + 1)
    assert len(hooks) == 0
    assert connection.closed


def test_who_waits_for_a_decision_is_kept(hooks: Listener, connection: Connection) -> None:
    connection.work = work([])
    hooks.drop_late(connection.until + 1)
    assert len(hooks) == 1


def test_who_does_not_listen_is_let_go_with_what_was_begun_for_them(hooks: Listener, connection: Connection) -> None:
    ended: list[str] = []
    connection.work = work(ended)
    hooks.send(connection, b"x" * 10_000_000, last=False)
    hooks.decline(connection)
    hooks.drop_late(connection.until - 1)
    assert (len(hooks), ended) == (1, [])
    hooks.drop_late(connection.until + 1)
    assert (len(hooks), ended) == (0, ["ended"])


def test_nothing_is_said_behind_an_answer_that_is_still_on_its_way(hooks: Listener) -> None:
    ours, theirs = socket.socketpair()
    answer = wire.answer("x" * 1_000_000, "", 0)
    with theirs:
        theirs.settimeout(10)
        connection = Connection(ours, Peer(os.geteuid(), 1), bytes(32))
        connection.complete_at = 1.0  # it has asked
        hooks._open.add(connection)
        hooks.send(connection, answer, last=True)
        assert not connection.closed, "the hook has not taken it yet"
        hooks.send(connection, wire.wait(3.0), last=False)  # of a thread that was asking when time was up
        hooks.decline(connection)
        heard = b""
        while not connection.closed:
            heard += theirs.recv(1 << 20)
            hooks.poll(0.0)
        assert heard + b"".join(iter(lambda: theirs.recv(1 << 20), b"")) == answer


def test_what_other_threads_tell_is_done_by_the_loop(hooks: Listener) -> None:
    done: list[str] = []
    hooks.begin()
    hooks.wakeup.call_in_loop(lambda: done.append("a"))
    hooks.wakeup.call_in_loop(lambda: done.append("b"))
    assert done == []
    hooks.poll(10.0)
    assert done == ["a", "b"]


def test_a_request_waits_for_its_turn(hooks: Listener) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(wire.encode_request(wire.HookRequest(1, ("claude-code",), {}, b"{}")))
        other = Connection(ours, Peer(os.geteuid(), 1), bytes(32))
        hooks._open.add(other)
        hooks._listen(other, selectors.EVENT_READ)
        hooks.poll(10.0)
        assert [(who, asked.payload) for who, asked in hooks.ready] == [(other, b"{}")]
        assert len(hooks) == 1
