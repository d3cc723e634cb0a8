"""The whole client with sanitizers: random requests get through, and random replies end as the protocol says."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockgate.system.code_identity import code_of
from native.fake_gate import FakeGate, Proving, Request, answer, read_request
from native.running import STAND_IN, Done, command, run
from native.test_native_replies import expected, replies

RUNS = int(os.environ.get("NATIVE_RUNS", "150"))
SEED = os.environ.get("NATIVE_SEED", "replies")
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=0"}
LOCALLY = Done(1, b"", b"")
"""What ``/bin/false`` says in the interpreter's place."""

_text = st.binary(max_size=40).map(lambda data: os.fsdecode(data.replace(b"\0", b"")))
_names = st.text("ABC_abc09é", min_size=1, max_size=8).map(lambda name: f"V{name}")


def _ending(reply: bytes) -> Done:
    last = expected(reply, proof=0).rpartition(", ")[2].split()
    if last[0] != "answer":
        return LOCALLY
    code, out, err = map(int, last[1:])
    texts = reply[len(reply) - out - err :]
    return Done(code, texts[:out], texts[out:])


def test_random_replies(sanitized: Path, tmp_path: Path) -> None:
    said: Iterator[bytes] = replies(RUNS, SEED, proof=0)
    saying: list[bytes] = []

    def converse(connection: socket.socket) -> None:
        proving = Proving(read_request(connection))
        connection.sendall(proving(saying[-1]) + proving.rest())

    words = command(sanitized, "claude-code", "--state", tmp_path, python="/bin/false")
    with FakeGate(tmp_path, converse):
        for reply in said:
            saying.append(reply)
            assert run(words, env=SANITIZERS) == _ending(reply), reply


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    options=st.lists(_text, max_size=6),
    environ=st.dictionaries(_names, _text, max_size=6),
    payload=st.binary(max_size=3000),
)
def test_random_requests(
    sanitized: Path, tmp_path: Path, options: list[str], environ: dict[str, str], payload: bytes
) -> None:
    words = ["claude-code", *(word for value in options for word in ("--event", value)), "--state", str(tmp_path)]
    asked: list[Request] = []

    def converse(connection: socket.socket) -> None:
        request = read_request(connection)
        asked.append(request._replace(spelt=b""))
        connection.sendall(Proving(request)(answer(0, struct.pack(">I", len(request.payload)))))

    environ = {**environ, **SANITIZERS}
    with FakeGate(tmp_path, converse):
        done = run(command(sanitized, *words), payload, environ)
    assert done == (0, struct.pack(">I", len(payload)), b"")
    assert asked == [Request(os.getpid(), words, environ, payload, code_of(os.fspath(STAND_IN)))]
