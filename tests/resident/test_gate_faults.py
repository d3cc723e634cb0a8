"""What is said on the socket by others than hooks, and by hooks that are slow, gone or too many."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.payloads import tool
from lockgate.clients.wire import resident as wire
from lockgate.clients.wire.resident_files import SOCKET, run_folder
from lockgate.core.errors import BadInputError
from support.stress import examples

from .machine import Machine, heard_by

pytestmark = pytest.mark.sampled

PUSH = tool("PreToolUse", tool_input={"command": "git push https://git.example.com/x.git"})
READ = tool("PostToolUse", "WebFetch", {"url": "https://example.org/"}, tool_response={"result": "text", "code": 200})
AFTER = "the gate still answers"


def answers(machine: Machine) -> bool:
    """Whether it does. What has waited for long on a busy machine is declined, so not always the first."""
    return any(machine.said(machine.request(PUSH))[:1] == b"A" for _ in range(5))


# ---------------------------------------------------------------- what is no request
@given(data=st.binary(max_size=200))
def test_bytes_are_a_request_or_refused(data: bytes) -> None:
    header = data[: wire.HEADER]
    try:
        head, payload = wire.sizes(header)
    except BadInputError:
        return
    assert head <= wire.MAX_HEAD
    assert payload <= wire.MAX_PAYLOAD


@given(head=st.binary(max_size=200), payload=st.binary(max_size=20))
def test_a_head_is_read_or_refused(head: bytes, payload: bytes) -> None:
    try:
        found = wire.request(head, payload)
    except BadInputError:
        return
    assert found.payload == payload
    assert all("\0" not in word for word in found.arguments)


_WORD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@given(
    arguments=st.lists(_WORD, max_size=6),
    environ=st.dictionaries(_WORD.filter(lambda name: "=" not in name), _WORD, max_size=6),
    payload=st.binary(max_size=50),
)
def test_what_is_written_is_read(arguments: list[str], environ: dict[str, str], payload: bytes) -> None:
    asked = wire.HookRequest(7, tuple(arguments), environ, payload)
    spelt = wire.encode_request(asked)
    head, size = wire.sizes(spelt[: wire.HEADER])
    found = wire.request(spelt[wire.HEADER :][:head], spelt[wire.HEADER + head :])
    assert found._replace(mark=0) == asked
    assert size == len(payload)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.one_of(st.binary(max_size=64), st.binary(max_size=64).map(lambda tail: wire.HELLO + tail)))
def test_garbage_on_the_socket_gets_no_answer(served: Machine, data: bytes) -> None:
    with served.connected() as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        assert heard_by(connection) in (b"", wire.NOT_HERE)


def _sized(head: int, payload: int) -> bytes:
    return wire.HELLO + head.to_bytes(4, "big") + payload.to_bytes(4, "big")


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", id="another protocol"),
        pytest.param(b"LOCKGATE4\n" + bytes(8), id="another version"),
        pytest.param(_sized(wire.MAX_HEAD + 1, 0), id="a head that is too large"),
        pytest.param(_sized(10, wire.MAX_PAYLOAD + 1), id="a payload that is too large"),
        pytest.param(_sized(0xFFFFFFFF, 0xFFFFFFFF), id="as large as can be said"),
        pytest.param(_sized(0, 0), id="no head"),
        pytest.param(_sized(4, 0) + b"1\x001\0", id="fewer arguments than it says"),
        pytest.param(_sized(4, 0) + b"1\x00-\0", id="no number of arguments"),
        pytest.param(_sized(3, 0) + b"1\x000", id="a head without its end"),
        pytest.param(_sized(4, 0) + b"1\x000\0" + b"more", id="more than it says"),
        pytest.param(_sized(12, 0) + b"1\x001\0@nothing", id="a word of control that there is none of"),
    ],
)
def test_what_is_no_request_is_declined(served: Machine, sent: bytes) -> None:
    sent = sent if b"@nothing" not in sent else _sized(13, 0) + b"1\x001\0@nothing\0"
    assert served.said(sent) == wire.NOT_HERE
    assert answers(served), AFTER


def test_of_another_folder(served: Machine, tmp_path: Path) -> None:
    """A hook of another state folder, or of another configuration, does not belong here."""
    for name in ("--state", "--config", "--home"):
        words = served.words()
        words[words.index(name) + 1] = str(tmp_path)
        asked = wire.HookRequest(os.getpid(), tuple(words), {}, json.dumps(PUSH).encode())
        assert served.said(wire.encode_request(asked)) == wire.NOT_HERE


# ---------------------------------------------------------------- slow, gone, many
def test_half_a_request_is_given_up(served: Machine) -> None:
    whole = served.request(PUSH)
    for end in (1, len(wire.HELLO), wire.HEADER, len(whole) - 1):
        with served.connected() as connection:
            connection.sendall(whole[:end])
    with served.connected(10) as connection:
        connection.sendall(whole[:-1])
        assert heard_by(connection) == b"", "it is closed after a while"
    assert answers(served), AFTER
    assert served.facts["connections"] == 1


def test_a_byte_at_a_time(served: Machine) -> None:
    """Slow hooks are heard out, and nobody waits for them."""
    whole = served.request(PUSH)
    with served.connected() as connection:
        for index in range(40):
            connection.sendall(whole[index : index + 1])
            assert answers(served), AFTER
        connection.sendall(whole[40:])
        assert heard_by(connection)[:1] == b"A"


def test_another_process_that_holds_the_store_for_long(served: Machine) -> None:
    before = served.facts["pid"]
    with served.store() as store, store.transaction():
        told = served.said(served.request(PUSH))
    assert told[:1] == b"A"
    assert b'"deny"' in told
    assert b"another process holds the state" in told
    assert answers(served), AFTER
    assert (served.facts["pid"], served.facts["failed"]) == (before, 0)


def test_one_that_never_reads(served: Machine) -> None:
    """Its answer is larger than what a socket holds; it is dropped, and holds nobody up."""
    text = "x" * 900_000
    event = {**READ, "tool_response": {"result": f"{text} AKIAZ7PQ3VKX5MWD2RTB", "code": 200}}
    assert len(served.said(served.request(event))) > 900_000
    with ExitStack() as stack:
        for _ in range(3):
            connection = stack.enter_context(served.connected())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(served.request(event))
        assert answers(served), AFTER
        served.until(lambda: served.facts["connections"] == 1, "them to be dropped")


@pytest.mark.parametrize("size", [wire.MAX_PAYLOAD - 2_000, wire.MAX_PAYLOAD + 1, 34_000_000])
def test_a_large_payload_holds_nobody_up(served: Machine, size: int) -> None:
    """What would take the gate long, the hook decides by itself; with the same answer."""
    event = {**READ, "tool_response": {"result": "x" * size, "code": 200}}
    told = served.hook(event)
    assert told == served.hook(event, LOCKGATE_RESIDENT="off")
    assert ("larger than 32 MB" in told.stderr) == (size > 32 * 1024 * 1024)
    assert served.facts["answered"] == (size < wire.MAX_PAYLOAD)
    assert answers(served), AFTER


@pytest.mark.parametrize("files", [256, 2_000])
def test_more_connections_than_it_takes(machine: Machine, files: int) -> None:
    """Whoever connects and says nothing keeps nobody out for long; hooks decide by themselves meanwhile."""
    served = machine
    served.start(files=files)
    path = os.path.join(run_folder(served.state), SOCKET)
    held = []
    try:
        for _ in range(1_100):
            one = socket.socket(socket.AF_UNIX)
            one.connect(path)
            held.append(one)
        told = served.hook(PUSH)
        assert (told.code, told.stderr) == (0, "")
        (pid,) = served.gates()
        assert len(os.listdir(f"/proc/{pid}/fd")) <= files - 100, "files are left for its own work"
        before = _switches(pid)
        time.sleep(1)
        assert _switches(pid) - before < 50, "it does not spin"
    finally:
        for one in held:
            one.close()
    served.until(lambda: answers(served), AFTER)


def _switches(pid: int) -> int:
    """How often a process was given a processor."""
    status = Path(f"/proc/{pid}/status").read_text()
    return sum(int(count) for count in re.findall(r"ctxt_switches:\s*(\d+)", status))


@pytest.mark.slow
def test_memory_is_bounded(served: Machine) -> None:
    def some(number: int) -> None:
        for index in range(number):
            event = {**PUSH, "tool_use_id": f"toolu_{index}", "session_id": f"session-{index % 50}"}
            assert served.said(served.request(event))[:1] == b"A"

    some(300)
    before = served.facts["memory_mb"]
    some(700)
    assert served.facts["memory_mb"] - before < 8
