"""A message that takes a label away counts once, whoever puts it again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from containers.boxes import Box, Host, until
from lockgate.clients.wire.messages import ContainerRequest, HostReply, read_reply, write_request
from lockgate.clients.wire.request_ids import new_id, time_of
from lockgate.core import events
from lockgate.core.errors import RemoteError
from lockgate.core.events import Context, Event, ToolFinished, ToolRequested
from lockgate.core.model import Subject, ToolCall
from lockgate.service.containers.groups import ContainerGroup
from lockgate.service.containers.replays import WINDOW, Replays

CONTEXT = Context("claude-code", Subject("s"), "/project", "/project")
NO_ID = ToolCall("Bash", {"command": "curl https://example.com/"}, "/project")
EMPTY = ToolFinished(CONTEXT, NO_ID, None)
WITH_ID = ToolFinished(CONTEXT, NO_ID._replace(call_id="c1"), None)


def request(event: Event = EMPTY, name: str = "") -> ContainerRequest:
    return ContainerRequest(name or new_id(), event, 1.0)


def at(seconds: float) -> str:
    """An id that says that it was made then."""
    return f"{int(seconds * 1000):012x}" + new_id()[12:]


def test_an_id_tells_when_it_was_made_and_no_two_are_alike() -> None:
    before = time.time()
    names = [new_id() for _ in range(1000)]
    assert len(set(names)) == 1000
    assert all(before - 0.001 <= time_of(name) <= time.time() for name in names)


@pytest.mark.parametrize(
    "event",
    [
        EMPTY,
        events.ToolFailed(CONTEXT, NO_ID, ""),
        events.ToolRefused(CONTEXT, NO_ID, ""),
        events.AgentStarted(CONTEXT),
        events.AgentStopped(CONTEXT),
    ],
    ids=lambda event: type(event).__name__,
)
def test_it_counts_once(event: Event) -> None:
    replays = Replays()
    one = request(event)
    replays.use("web", one)
    replays.use("web", request(event))
    replays.use("other", one)
    with pytest.raises(RemoteError, match="used already"):
        replays.use("web", one)


@pytest.mark.parametrize("event", [WITH_ID, ToolRequested(CONTEXT, NO_ID), events.SessionStarted(CONTEXT, "startup")])
def test_what_changes_nothing_the_second_time_needs_no_clock(event: Event) -> None:
    replays = Replays()
    for _ in range(2):
        replays.use("web", request(event, "a" * 32))


@pytest.mark.parametrize(
    "name",
    [at(1e9), "z" * 32, "f" * 32, at(time.time() + 100 * WINDOW)],
    ids=["long ago", "no time", "the last time", "to come"],
)
def test_an_id_of_another_time_is_refused(name: str) -> None:
    with pytest.raises(RemoteError, match="clock"):
        Replays().use("web", request(name=name))


def test_what_another_host_may_have_seen_is_refused() -> None:
    name = at(time.time() - 5)
    with pytest.raises(RemoteError, match="started"):
        Replays().use("web", request(name=name))


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lockgate.service.containers.replays._MOST", 10)
    now = time.time()
    replays = Replays(lambda: now)
    for number in range(10):
        replays.use("web", request(name=at(now + number)))
    with pytest.raises(RemoteError, match="slow down"):
        replays.use("web", request(name=at(now)))
    now += WINDOW + 5
    replays.use("web", request(name=at(now)))


def ask(group: ContainerGroup, asked: ContainerRequest) -> HostReply:
    message = write_request(group.secret, asked)
    answer = Path(group.responses) / f"{asked.id}.json"
    answer.unlink(missing_ok=True)
    draft = Path(group.requests) / f".{asked.id}"
    draft.write_bytes(message)
    os.rename(draft, Path(group.requests) / f"{asked.id}.json")
    until(answer.exists)
    return read_reply(group.secret, message, asked.id, answer.read_bytes())


def test_an_empty_result_put_again_does_not_take_a_label_away(host: Host, box: Callable[..., Box]) -> None:
    group = box().group
    host.start()
    assert not ask(group, request(events.SessionStarted(CONTEXT, "startup"))).failed
    empty = request()
    for asked in (request(ToolRequested(CONTEXT, NO_ID)), empty, request(ToolRequested(CONTEXT, NO_ID))):
        assert not ask(group, asked).failed
    assert "used already" in ask(group, empty).failed
    other = ToolCall("Bash", {"command": "git push"}, "/project", "push")
    ask(group, request(ToolRequested(CONTEXT, other)))
    decided = [row for row in host.audit() if row["event"] == "decision" and row["call"] == "push"]
    assert decided[0]["labels"] == ["untrusted"]
