"""Where no gate answers, the Python hook decides: with the same words, the same input, and no second question."""

from __future__ import annotations

import contextlib
import hashlib
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from native.fake_gate import (
    Conversation,
    FakeGate,
    Proving,
    answer,
    give_key,
    listening_at,
    read_request,
    replying,
    wait,
)
from native.running import Done, command, options, run

PAYLOAD = b'{"hook_event_name": "Stop"}'


def asked(state: Path) -> list[str]:
    """The words of a hook whose gate was asked."""
    client, *rest = options(state)
    return [client, "--asked", "MS", *rest]


def missed(state: Path) -> list[str]:
    """The words of a hook whose gate was not there, or has ended."""
    client, *rest = options(state)
    return [client, "--missed", "MS", *rest]


def check(done: Done, arguments: list[str], payload: bytes = PAYLOAD) -> None:
    report = done.report
    assert done.arguments == arguments
    assert (report["size"], report["digest"]) == (len(payload), hashlib.sha256(payload).hexdigest())
    assert (report["isolated"], report["error"]) == (True, "")
    assert report["interpreter"] == sys.executable


# ---------------------------------------------------------------- gates that do not answer
def _hang_up(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_RDWR)


def _hang_up_in_the_middle(connection: socket.socket) -> None:
    connection.recv(5)


def _say_no_unread(connection: socket.socket) -> None:
    connection.sendall(b"N")


SAYS: dict[str, Conversation] = {
    "hangs-up": _hang_up,
    "hangs-up-in-the-middle": _hang_up_in_the_middle,
    "says-no": replying(b"N"),
    "says-no-before-it-has-read": _say_no_unread,
    "says-nothing": replying(),
    "waits-and-is-gone": replying(wait(5000)),
    "waits-and-says-no": replying(wait(5000), b"N"),
    "waits-for-weeks": replying(wait(0xFFFFFFFF)),
    "half-a-wait": replying(b"W\0\0"),
    "half-an-answer": replying(answer(0, b"out", b"err")[:-1]),
    "half-a-header": replying(b"A\0\0\0"),
    "more-than-an-answer": replying(answer(0, b"out") + b"x"),
    "an-answer-too-long": replying(b"A\0" + b"\xff" * 8),
    "an-answer-that-never-comes": replying(b"A\0\x0f\0\0\0\0\0\0\0" + b"x" * 100),
    "another-protocol": replying(b"HTTP/1.1 200 OK\r\n\r\n"),
    "zeros": replying(bytes(1000)),
}


ENDS = {"hangs-up", "hangs-up-in-the-middle", "waits-and-is-gone", "says-nothing", "half-a-wait", "half-an-answer"}
ENDS |= {"half-a-header", "an-answer-that-never-comes", "waits-for-weeks"}
"""Those after which the gate is gone: another one may be asked."""


def check_of(done: Done, state: Path, says: str) -> None:
    """Whether it looks for a gate again where this one has ended; one that ends unread may seem to have."""
    is_gone = done.report["arguments"][1] == "--missed"
    if says != "says-no-before-it-has-read":
        assert is_gone == (says in ENDS)
    check(done, missed(state) if is_gone else asked(state))


@pytest.mark.parametrize("says", SAYS)
def test_a_gate_that_does_not_answer(client: Path, tmp_path: Path, says: str) -> None:
    with FakeGate(tmp_path, SAYS[says]):
        done = run(command(client, *options(tmp_path)), PAYLOAD)
    check_of(done, tmp_path, says)


@pytest.mark.parametrize("says", SAYS)
def test_nothing_of_it_is_a_fault_of_memory(sanitized: Path, tmp_path: Path, says: str) -> None:
    with FakeGate(tmp_path, SAYS[says]):
        done = run(command(sanitized, *options(tmp_path)), PAYLOAD, {"ASAN_OPTIONS": "detect_leaks=0"})
    check_of(done, tmp_path, says)


def falling_silent(said: bytes) -> Conversation:
    """A gate that says something, and then no more for as long as somebody listens."""

    def converse(connection: socket.socket) -> None:
        proving = Proving(read_request(connection))
        connection.sendall(proving(said) + proving.rest())
        connection.recv(1)

    return converse


@pytest.mark.parametrize(
    ("said", "least"),
    [(b"", 1000), (wait(2700), 3700), (b"A", 3000)],
    ids=["at-once", "after-a-wait", "in-an-answer"],
)
def test_a_gate_that_falls_silent(client: Path, tmp_path: Path, said: bytes, least: int) -> None:
    """The time that went by is told: the agent client waits for so much less."""
    with FakeGate(tmp_path, falling_silent(said)):
        done = run(command(client, *options(tmp_path)), PAYLOAD)
    check(done, asked(tmp_path))
    assert done.spent >= least


def test_a_gate_that_does_not_read(client: Path, tmp_path: Path) -> None:
    payload = b"x" * 5_000_000
    with FakeGate(tmp_path, lambda _: threading.Event().wait(1.5) and None):
        check(run(command(client, *options(tmp_path)), payload), asked(tmp_path), payload)


def test_a_gate_that_is_stopped(client: Path, tmp_path: Path) -> None:
    """The system accepts connections for it, and takes what is sent."""
    (tmp_path / "run").mkdir()
    give_key(tmp_path)
    with contextlib.closing(listening_at(tmp_path / "run" / "gate.sock")):
        check(run(command(client, *options(tmp_path)), PAYLOAD), asked(tmp_path))


def test_a_gate_with_too_many_at_its_door(client: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    give_key(tmp_path)
    with contextlib.ExitStack() as stack:
        door = stack.enter_context(contextlib.closing(listening_at(tmp_path / "run" / "gate.sock")))
        door.listen(0)
        for _ in range(3):
            waiting = stack.enter_context(contextlib.closing(socket.socket(socket.AF_UNIX)))
            waiting.setblocking(False)
            waiting.connect_ex(str(tmp_path / "run" / "gate.sock"))
        check(run(command(client, *options(tmp_path)), PAYLOAD), missed(tmp_path))


def test_a_gate_of_another_user_hears_nothing(foreign: Path, tmp_path: Path) -> None:
    heard: list[bytes] = []

    def converse(connection: socket.socket) -> None:
        heard.append(connection.recv(1000))

    with FakeGate(tmp_path, converse):
        check(run(command(foreign, *options(tmp_path)), PAYLOAD), missed(tmp_path))
    assert heard == [b""]


# ---------------------------------------------------------------- no gate
def _no_folder(state: Path) -> None:
    pass


def _no_socket(state: Path) -> None:
    (state / "run").mkdir(parents=True)


def _a_file(state: Path) -> None:
    _no_socket(state)
    (state / "run" / "gate.sock").write_text("")


def _a_socket_nobody_listens_at(state: Path) -> None:
    _no_socket(state)
    listening_at(state / "run" / "gate.sock").close()


def _a_loop(state: Path) -> None:
    _no_socket(state)
    (state / "run" / "gate.sock").symlink_to("gate.sock")


@pytest.mark.parametrize("name", ["state", "s" * 150], ids=["short", "long"])
@pytest.mark.parametrize(
    "prepare",
    [_no_folder, _no_socket, _a_file, _a_socket_nobody_listens_at, _a_loop],
    ids=lambda function: function.__name__.strip("_").replace("_", "-"),
)
def test_where_there_is_no_gate(client: Path, tmp_path: Path, prepare: Callable[[Path], None], name: str) -> None:
    state = tmp_path / name
    prepare(state)
    done = run(command(client, *options(state)), PAYLOAD, cwd=tmp_path)
    check(done, missed(state))
    assert done.report["folder"] == str(tmp_path)


# ---------------------------------------------------------------- gates that are not asked
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["claude-code"], id="no options"),
        pytest.param(["--home", "--state", "STATE"], id="no client"),
        pytest.param(["claude-code", "--state", "relative"], id="a relative folder"),
        pytest.param(["claude-code", "--state"], id="no value"),
        pytest.param(["claude-code", "--event", "--state", "STATE"], id="a value that looks like the option"),
        pytest.param(["claude-code", "STATE", "--state", "STATE"], id="a word that is no option"),
        pytest.param(["claude-code", "--state", "STATE", "--remote", "unix:/x"], id="a gate elsewhere"),
        pytest.param(["claude-code", "--remote=unix:/x", "--state=STATE"], id="a gate elsewhere, with equals"),
        pytest.param(["claude-code", "--state", "STATE", "odd"], id="a word too many"),
    ],
)
def test_words_with_which_none_is_asked(client: Path, tmp_path: Path, words: list[str]) -> None:
    given = [word.replace("STATE", str(tmp_path)) for word in words]
    with FakeGate(tmp_path, replying(answer(0, b"asked"))) as gate:
        check(run(command(client, *given), PAYLOAD), given)
    assert gate.connections == 0


@pytest.mark.parametrize(
    "words", [["--state=STATE"], ["--event", "Stop", "--state", "STATE"], ["--state", "/x", "--state=STATE"]]
)
def test_words_with_which_one_is_asked(client: Path, tmp_path: Path, words: list[str]) -> None:
    given = [word.replace("STATE", str(tmp_path)) for word in words]
    with FakeGate(tmp_path, replying(answer(0, b"asked"))):
        assert run(command(client, "claude-code", *given)).stdout == b"asked"


@pytest.mark.parametrize(("value", "is_asked"), [("off", False), ("on", True), ("", True), ("off ", True)])
def test_a_variable_switches_the_question_off(client: Path, tmp_path: Path, value: str, is_asked: bool) -> None:
    with FakeGate(tmp_path, replying(b"N")) as gate:
        done = run(command(client, *options(tmp_path)), PAYLOAD, {"LOCKGATE_RESIDENT": value})
    check(done, asked(tmp_path) if is_asked else options(tmp_path))
    assert gate.connections == int(is_asked)
    assert done.report["resident"] == value
