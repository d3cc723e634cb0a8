"""Server-sent events: their framing, and who hears what over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.gate.approvals import wakeups
from lockgate.gate.approvals.answering import answer
from lockgate.gate.approvals.waiting import WATCHERS
from lockgate.service.http import event_stream as events
from lockgate.service.http.auth.sessions import ApiCaller
from lockgate.service.http.auth.tokens import add, remove
from lockgate.service.http.event_stream import (
    MOST_LISTENERS,
    MOST_PROGRAMS,
    _StreamListener,
    encode_event,
    frame,
    kind_of,
)
from lockgate.store.rows import AuditRow
from support.api_server import Machine, Server


def parsed(stream: str) -> list[dict[str, str]]:
    """The events of a stream, by the rules of the HTML standard (9.2.6), written here a second time."""
    events: list[dict[str, str]] = []
    fields: dict[str, str] = {}
    for line in stream.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if not line:
            if fields:
                events.append(fields)
            fields = {}
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data" and "data" in fields:
            fields["data"] += "\n" + value
        elif name:
            fields[name] = value
    return events


@given(st.sampled_from(["decision", "approval", "session"]), st.text(), st.none() | st.integers(0, 2**62))
def test_an_event_is_one_event_whatever_it_says(event: str, data: str, name: int | None) -> None:
    sent = frame(event, data, name).decode("utf-8", "surrogatepass")
    expected = {"event": event, "data": data.replace("\r\n", "\n").replace("\r", "\n")}
    if name is not None:
        expected["id"] = str(name)
    assert parsed(sent) == [expected]
    assert sent.endswith("\n\n")


@given(st.dictionaries(st.sampled_from(["event", "session", "approval"]), st.text() | st.integers() | st.none()))
def test_a_record_is_one_event_whatever_it_says(body: dict[str, Any]) -> None:
    (event,) = parsed(encode_event(AuditRow(7, 1.0, json.dumps(body), "", "")).decode())
    assert event["id"] == "7"
    assert json.loads(event["data"])["seq"] == 7


@pytest.mark.parametrize(
    ("event", "kind"),
    [("decision", "decision"), ("outcome", "decision"), ("asked", "approval"), ("deny", "approval"), ("x", "session")],
)
def test_events_are_of_three_kinds(event: str, kind: str) -> None:
    assert kind_of(event) == kind


class Listener:
    """Reads a stream in a thread, as a page does."""

    def __init__(self, response: httpx.Response) -> None:
        self.text = ""
        self.ended = threading.Event()
        self._response = response
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        self.wait(lambda: "retry:" in self.text)

    def _read(self) -> None:
        try:
            for text in self._response.iter_text():
                self.text += text
        except httpx.HTTPError:
            pass
        self.ended.set()

    def hang_up(self) -> None:
        """End the connection: to close it would not wake the thread that reads from it."""
        with suppress(OSError):
            self._response.extensions["network_stream"].get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self._thread.join(10)

    @property
    def events(self) -> list[dict[str, str]]:
        return [event for event in parsed(self.text) if "event" in event]

    def wait(self, condition: Any, what: str = "") -> None:
        deadline = time.monotonic() + 20
        while not condition():
            assert time.monotonic() < deadline, f"{what}: {self.text[-500:]}"
            time.sleep(0.01)

    def wait_for(self, number: int) -> list[dict[str, str]]:
        self.wait(lambda: len(self.events) >= number, f"{number} events")
        return self.events


@contextmanager
def listening(client: httpx.Client, last: int | None = None) -> Iterator[Listener]:
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    with client.stream("GET", "events", headers=headers) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert response.headers["cache-control"] == "no-store"
        listener = Listener(response)
        try:
            yield listener
        finally:
            listener.hang_up()


def test_what_happens_is_heard_in_order(machine: Machine, server: Server) -> None:
    with listening(server.person()) as listener:
        seqs = [machine.decided(), machine.recorded({"event": "asked", "session": "s1", "approval": "a"})]
        seqs.append(machine.recorded({"event": "session", "session": "s\u202e"}))
        events = listener.wait_for(3)
    assert [int(event["id"]) for event in events] == seqs
    assert [event["event"] for event in events] == ["decision", "approval", "session"]
    assert json.loads(events[1]["data"])["approval"] == "a"
    assert json.loads(events[2]["data"])["session"] == "s\\u{202e}"


def test_who_comes_back_hears_what_was_missed(machine: Machine, server: Server) -> None:
    first = machine.decided()
    missed = [machine.decided() for _ in range(3)]
    with listening(server.person(), first) as listener:
        now = machine.decided()
        events = listener.wait_for(4)
    assert [int(event["id"]) for event in events] == [*missed, now]


@pytest.mark.parametrize("behind", [pytest.param(10_000, id="far-ahead"), pytest.param(-600, id="far-behind")])
def test_who_has_missed_too_much_is_told_to_read_anew(machine: Machine, server: Server, behind: int) -> None:
    with machine.store.transaction() as tx:
        while tx.audit_head().seq < 700:
            tx.append_audit(time.time(), {"event": "decision"})
        head = tx.audit_head().seq
    with listening(server.person(), max(head + behind, 0)) as listener:
        events = listener.wait_for(1)
    assert (events[0]["event"], int(events[0]["id"])) == ("reset", head)


def test_as_long_as_somebody_who_can_answer_listens_agents_wait(machine: Machine, server: Server) -> None:
    nobody_waits(machine)
    reader = server.program(add(machine.store, "watches", "read"))
    with listening(reader):
        assert not wakeups.is_waited_for(machine.state, WATCHERS), "one that only reads answers nobody"
        with listening(server.person()):
            assert wakeups.is_waited_for(machine.state, WATCHERS)
    nobody_waits(machine)


def nobody_waits(machine: Machine) -> None:
    deadline = time.monotonic() + 10
    while wakeups.is_waited_for(machine.state, WATCHERS):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_answer_elsewhere_is_heard(machine: Machine, server: Server) -> None:
    approval = machine.asked()
    with listening(server.person()) as listener:
        answer(machine.store, machine.state, approval, approve=False, by="ann (terminal)")
        (event,) = listener.wait_for(1)
    assert event["event"] == "approval"
    assert json.loads(event["data"])["approval"] == approval


def test_who_logs_out_hears_no_more(machine: Machine, server: Server) -> None:
    person = server.person()
    with listening(person) as listener:
        machine.decided()
        listener.wait_for(1)
        assert person.post("logout").status_code == 204
        machine.decided()
        assert listener.ended.wait(20)
        assert len(listener.events) == 1


def test_there_is_room_for_so_many(machine: Machine, server: Server) -> None:
    person = server.person(limits=httpx.Limits(max_connections=MOST_LISTENERS + 2))
    streams = [person.send(person.build_request("GET", "events"), stream=True) for _ in range(MOST_LISTENERS)]
    assert {stream.status_code for stream in streams} == {200}
    deadline = time.monotonic() + 20
    while (refused := person.get("events")).status_code != 429:
        assert time.monotonic() < deadline
    assert (refused.json()["code"], refused.headers["retry-after"]) == ("listeners", "5")
    for stream in streams:
        stream.close()
    with listening_again(person) as listener:
        machine.decided()
        listener.wait_for(1)


def test_programs_leave_room_for_a_person(machine: Machine, server: Server) -> None:
    token = add(machine.store, f"greedy {time.monotonic_ns()}", "approve")
    limits = httpx.Limits(max_connections=MOST_LISTENERS)
    program = server.client({"Authorization": f"Bearer {token}"}, limits=limits)
    streams = []
    deadline = time.monotonic() + 20
    while len(streams) < MOST_PROGRAMS:  # those of the test before may not be gone yet
        assert time.monotonic() < deadline
        stream = program.send(program.build_request("GET", "events"), stream=True)
        if stream.status_code == 200:
            streams.append(stream)
    assert program.get("events").json()["code"] == "listeners"
    with listening(server.person()) as listener:
        machine.decided()
        listener.wait_for(1)
    for stream in streams:
        stream.close()


@contextmanager
def listening_again(person: httpx.Client) -> Iterator[Listener]:
    """Listen once there is room: that somebody has gone is noticed a moment later."""
    deadline = time.monotonic() + 20
    while True:
        with person.stream("GET", "events") as response:
            if response.status_code == 200:
                listener = Listener(response)
                try:
                    yield listener
                finally:
                    listener.hang_up()
                return
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_who_falls_behind_is_let_go() -> None:
    listener = _StreamListener(ApiCaller("x", False, frozenset()))
    for _ in range(listener.queue.maxsize):
        listener.put(b"x")
    assert not listener.behind
    listener.put(b"x")
    assert listener.behind


@contextmanager
def slow_reader(port: int, head: str) -> Iterator[None]:
    """Somebody who asks, and then reads no more."""
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        slow.settimeout(20)
        slow.connect(("127.0.0.1", port))
        slow.sendall(head.encode())
        assert b"200 OK" in slow.recv(200)
        yield


def test_who_does_not_read_is_dropped_and_holds_nobody_up(machine: Machine, server: Server) -> None:
    token = add(machine.store, "slow", "read")
    head = f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {token}\r\n\r\n"
    person = server.person()
    with slow_reader(server.port, head), listening(person) as listener:
        for _ in range(6):
            with machine.store.transaction() as tx:
                last = max(
                    tx.append_audit(time.time(), {"event": "decision", "session": "x" * 10_000}).seq for _ in range(50)
                )
            listener.wait(lambda last=last: any(event.get("id") == str(last) for event in listener.events), str(last))
        assert person.get("me").status_code == 200
    remove(machine.store, "slow")


def test_with_a_state_that_is_moved_aside_listening_goes_on(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with machine.serve() as server, listening(server.person()) as listener:
        machine.decided()
        listener.wait_for(1)
        machine.store.close()
        os.rename(machine.state, f"{machine.state}.old")
        other = Machine(tmp_path / "other")
        os.rename(other.state, machine.state)
        other.store.close()
        assert listener.wait_for(2)[1]["event"] == "reset"
        again = type(machine.store).open(machine.state)
        with again.transaction() as tx:
            tx.append_audit(time.time(), {"event": "decision"})
        again.close()
        assert listener.wait_for(3)[2]["event"] == "decision"


def test_ctrl_c_ends_it_also_while_somebody_listens(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with machine.serve() as server:
        with listening(server.person()) as listener:
            server.process.send_signal(signal.SIGINT)
            assert listener.ended.wait(20)
        assert server.process.wait(20) == 0
    assert not [line for line in server.logged if "error" in line.lower()]
    machine.store.close()


@pytest.mark.parametrize("last", ["-1", "x", "1e9", "9" * 40, "1, 2"])
def test_a_last_event_is_a_number(server: Server, last: str) -> None:
    answer = server.person().get("events", headers={"Last-Event-ID": last})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


class _NoStore:
    """A desk whose state is not there; one look at it fails as nobody expects."""

    def __init__(self) -> None:
        self.at_end: list[Any] = []
        self.looks = 0
        self.fails_at = 0

    @contextmanager
    def look(self) -> Iterator[None]:
        self.looks += 1
        if self.looks == self.fails_at:
            raise ZeroDivisionError
        yield None


def test_who_joins_later_is_told_although_the_look_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def two() -> None:
        desk = _NoStore()
        feed = events.Feed(desk)  # type: ignore[arg-type]
        caller = ApiCaller("a", False, frozenset())
        async with feed.join(caller, None):
            desk.fails_at = desk.looks + 1
            feed._changed.set()
            task = feed._task
            assert task is not None
            await asyncio.wait([task], timeout=30)
            assert task.done(), "the control: it has failed"
            async with feed.join(caller, None):
                assert feed._task is not None
                assert not feed._task.done()

    monkeypatch.setattr(events, "ApproverPresence", lambda *_: SimpleNamespace(set_wanted=lambda *, wanted: None))
    asyncio.run(two())
