"""What the native client asks a gate, and what it does with an answer."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from lockgate.system.code_identity import code_of
from native.fake_gate import FakeGate, Proving, Request, answer, read_request, replying, wait
from native.running import STAND_IN, command, options, run

ALLOW = answer(0)


def test_it_asks_as_the_hook_was_asked(client: Path, tmp_path: Path) -> None:
    asked: list[Request] = []
    environ = {"HOME": "/home/somebody", "EMPTY": "", "ODD": "a=b\n\udcff", "LOCKGATE_RESIDENT": "on"}
    with FakeGate(tmp_path, replying(ALLOW, asked=asked)):
        done = run(command(client, *options(tmp_path)), b'{"a": 1}', environ)
    assert done == (0, b"", b"")
    assert asked == [Request(os.getpid(), options(tmp_path), environ, b'{"a": 1}', code_of(os.fspath(STAND_IN)))]


@pytest.mark.parametrize(
    ("code", "stdout", "stderr"),
    [
        (0, b"", b""),
        (0, b'{"decision": "block"}\n', b""),
        (2, b"", b"blocked\n"),
        (2, b"a\n", b"b\n"),
        (255, b"\x00\xff", b"\x00"),
        (0, b"x" * 3_000_000, b"y" * 1_000_000),
    ],
    ids=["silent", "says", "blocks", "both", "bytes", "long"],
)
def test_it_does_what_the_gate_answers(client: Path, tmp_path: Path, code: int, stdout: bytes, stderr: bytes) -> None:
    with FakeGate(tmp_path, replying(answer(code, stdout, stderr))):
        assert run(command(client, *options(tmp_path))) == (code, stdout, stderr)


def test_an_answer_may_come_byte_by_byte(client: Path, tmp_path: Path) -> None:
    frames = wait(3000), wait(0), answer(2, b"out", b"err")

    def converse(connection: socket.socket) -> None:
        proving = Proving(read_request(connection))
        for byte in b"".join(map(proving, frames)):
            connection.sendall(bytes([byte]))
            time.sleep(0.002)

    with FakeGate(tmp_path, converse):
        assert run(command(client, *options(tmp_path))) == (2, b"out", b"err")


def test_it_waits_as_long_as_it_is_told(client: Path, tmp_path: Path) -> None:
    """Longer than the gate may be silent at first, and than everything may take without being told."""

    def converse(connection: socket.socket) -> None:
        proving = Proving(read_request(connection))
        connection.sendall(proving(wait(2500)))
        time.sleep(1.2)
        connection.sendall(proving(wait(5000)))
        time.sleep(3)
        connection.sendall(proving(answer(0, b"late")))

    with FakeGate(tmp_path, converse):
        assert run(command(client, *options(tmp_path))) == (0, b"late", b"")


def test_a_payload_of_the_greatest_size_gets_through(client: Path, tmp_path: Path) -> None:
    asked: list[Request] = []
    payload = os.urandom(1 << 20) * 32
    with FakeGate(tmp_path, replying(ALLOW, asked=asked)):
        assert run(command(client, *options(tmp_path)), payload).code == 0
    assert asked[0].payload == payload


def test_a_payload_may_come_in_pieces(client: Path, tmp_path: Path) -> None:
    asked: list[Request] = []
    with FakeGate(tmp_path, replying(ALLOW, asked=asked)):
        process = subprocess.Popen(command(client, *options(tmp_path)), stdin=subprocess.PIPE, env={})
        assert process.stdin is not None
        for piece in (b"{", b'"a"', b": 1}"):
            process.stdin.write(piece)
            process.stdin.flush()
            time.sleep(0.02)
        process.stdin.close()
        assert process.wait(20) == 0
    assert asked[0].payload == b'{"a": 1}'


@pytest.mark.parametrize("length", [60, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 200, 3000])
def test_a_path_may_be_of_any_length(client: Path, tmp_path: Path, length: int) -> None:
    """A socket's address holds 104 to 108 bytes; the folder that hook runs in is another, and stays it."""
    state = tmp_path
    while len(str(state)) < length - 201:
        state /= "d" * 200
    state /= "s" * max(length - len(str(state)) - 1, 1)
    with FakeGate(state, replying(answer(0, b"asked"))):
        assert run(command(client, *options(state)), cwd="/") == (0, b"asked", b"")


def test_the_folder_is_the_same_after_a_long_path(client: Path, tmp_path: Path) -> None:
    state = tmp_path / ("s" * 120)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with FakeGate(state, replying(b"N")):
        assert run(command(client, *options(state)), cwd=elsewhere).report["folder"] == str(elsewhere)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_an_answer_that_cannot_be_written_blocks(client: Path, tmp_path: Path, stream: str) -> None:
    end, other = os.pipe()
    os.close(end)
    with FakeGate(tmp_path, replying(answer(0, b"out", b"err"))), os.fdopen(other, "wb") as broken:
        done = subprocess.run(
            command(client, *options(tmp_path)),
            input=b"{}",
            check=False,
            timeout=20,
            env={},
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: broken},
        )
    assert done.returncode == 2


def test_many_at_once_are_each_told_their_own(client: Path, tmp_path: Path) -> None:
    def converse(connection: socket.socket) -> None:
        request = read_request(connection)
        connection.sendall(Proving(request)(answer(0, request.payload)))

    with FakeGate(tmp_path, converse):
        words = command(client, *options(tmp_path))
        processes = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}) for _ in range(40)]
        told = [process.communicate(str(number).encode(), 20)[0] for number, process in enumerate(processes)]
    assert told == [str(number).encode() for number in range(40)]


def test_it_says_what_it_is(client: Path) -> None:
    assert run([str(client), "--about"]) == (0, b"lockgate-hook LOCKGATE3\n", b"")
