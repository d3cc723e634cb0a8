"""An answer counts where it proves the key of the installation, for this request; both clients."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lockgate.clients.wire.resident import proof_begun, prove
from native.conftest import SANITIZED, made
from native.fake_gate import KEY, FakeGate, Proving, Request, answer, give_key, proof, read_request, replying, wait
from native.running import command, options, run

NATIVE = Path(__file__).resolve().parents[2] / "native"
ALLOW = answer(0, b"allowed")


# ---------------------------------------------------------------- the hash
@pytest.fixture(scope="module")
def hashing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that prints the hash of its input, with sanitizers."""
    parts = ("proof.c", str(NATIVE.parent / "tests" / "native" / "hash_bytes.c"))
    return made(tmp_path_factory.mktemp("native") / "hash", parts, (*SANITIZED, f"-I{NATIVE}"))


def _hashed(program: Path, size: int, key: bytes, person: bytes, data: bytes) -> str:
    words = [str(program), str(size), key.hex(), person.hex()]
    done = subprocess.run(words, input=data, capture_output=True, check=True, timeout=60)
    return done.stdout.decode()


ABC = (
    "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
    "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"
)
"""RFC 7693, appendix A."""
KEYED = (
    "10ebb67700b1868efb4417987acf4690ae9d972fb7a590c2f02871799aaa4786"
    "b5e996e8f0f4eb981fc214b005f42d2ff4233499391653df7aefcbc13fc51568"
)
"""The first of the keyed vectors of BLAKE2's authors: nothing, under the key 00 01 .. 3f."""


def test_published_vectors(hashing: Path) -> None:
    assert _hashed(hashing, 64, b"", b"", b"abc") == ABC
    assert _hashed(hashing, 64, bytes(range(64)), b"", b"") == KEYED


@pytest.mark.parametrize("size", [0, 1, 96, 97, 127, 128, 129, 255, 256, 257, 100_000])
def test_it_is_the_hash_of_the_interpreter(hashing: Path, size: int) -> None:
    data, key, person = os.urandom(size), os.urandom(32), os.urandom(16)
    expected = hashlib.blake2b(data, key=key, person=person, digest_size=32).hexdigest()
    assert _hashed(hashing, 32, key, person, data) == expected


def test_the_gate_makes_the_proof_that_the_tests_make() -> None:
    assert prove(proof_begun(KEY, b"asked"), ALLOW) == ALLOW + proof(b"asked", ALLOW)


# ---------------------------------------------------------------- answers
def _replayed(request: Request) -> bytes:
    """What the gate has said to the same words and payload, asked before: all but the nonce is equal."""
    head = request.spelt.index(b"\0")
    earlier = request.spelt[: head - 32] + b"0" * 32 + request.spelt[head:]
    return ALLOW + proof(earlier, ALLOW)


def _of_another(request: Request) -> bytes:
    """What the gate says to another request with the same nonce."""
    other = request.spelt.replace(b"Stop", b"Post")
    assert other != request.spelt
    return ALLOW + proof(other, ALLOW)


FORGED: dict[str, Callable[[Request], bytes]] = {
    "no proof": lambda _: ALLOW,
    "a proof of zeros": lambda _: ALLOW + bytes(32),
    "a proof with another key": lambda request: ALLOW + proof(request.spelt, ALLOW, b"x" * 32),
    "a proof of another answer": lambda request: ALLOW + proof(request.spelt, answer(2)),
    "a replayed answer": _replayed,
    "an answer to another request": _of_another,
    "a wait without a proof": lambda request: wait(3_000_000) + bytes(32) + Proving(request)(ALLOW),
    "an answer behind the proof of a wait": lambda request: Proving(request)(wait(10)) + ALLOW + bytes(32),
}
NO_ANSWER: dict[str, Callable[[Request], bytes]] = {
    "half a proof": lambda request: Proving(request)(ALLOW)[:-16],
    "a byte too many": lambda request: Proving(request)(ALLOW) + b"x",
}


def _saying(said: Callable[[Request], bytes]) -> Callable[[socket.socket], None]:
    def converse(connection: socket.socket) -> None:
        connection.sendall(said(read_request(connection)))

    return converse


@pytest.mark.parametrize("forged", FORGED)
def test_what_is_forged_is_not_followed_and_told(client: Path, tmp_path: Path, forged: str) -> None:
    with FakeGate(tmp_path, _saying(FORGED[forged])):
        done = run(command(client, *options(tmp_path)))
    name, *rest = options(tmp_path)
    assert done.arguments == [name, "--asked", "MS", "--forged", "yes", *rest]


@pytest.mark.parametrize("said", NO_ANSWER)
def test_what_is_cut_or_too_long_is_no_answer(client: Path, tmp_path: Path, said: str) -> None:
    with FakeGate(tmp_path, _saying(NO_ANSWER[said])):
        assert "--forged" not in run(command(client, *options(tmp_path))).arguments


def _missing(state: Path) -> None:
    (state / "key").unlink()


def _for_others(state: Path) -> None:
    (state / "key").chmod(0o640)


def _short(state: Path) -> None:
    give_key(state, KEY[:-1])


def _long(state: Path) -> None:
    give_key(state, KEY + b"k")


def _linked(state: Path) -> None:
    (state / "key").rename(state / "other")
    (state / "key").symlink_to("other")


def _pipe(state: Path) -> None:
    (state / "key").unlink()
    os.mkfifo(state / "key", 0o600)


KEYS = [_missing, _for_others, _short, _long, _linked, _pipe]


@pytest.mark.parametrize("spoil", KEYS, ids=lambda function: function.__name__.strip("_").replace("_", "-"))
def test_without_the_key_no_gate_is_believed(client: Path, tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    with FakeGate(tmp_path, replying(ALLOW)):
        spoil(tmp_path)
        done = run(command(client, *options(tmp_path)))
    name, *rest = options(tmp_path)
    assert done.arguments == [name, "--asked", "MS", *rest]


# ---------------------------------------------------------------- the Python client
ASKS = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from lockgate.clients.hook import ask_resident
try:
    ask_resident._ask(sys.argv[1:], sys.argv[5])
except Exception as error:
    print("itself", type(error).__name__, ask_resident._FORGED[0])
else:
    print("itself", None, ask_resident._FORGED[0])
"""
SOURCE = str(Path(__file__).resolve().parents[2] / "src")


def _asked_in_python(state: Path, payload: bytes = b"{}") -> bytes:
    words = [sys.executable, "-I", "-S", "-c", ASKS, SOURCE, *options(state)]
    return run(words, payload).stdout.strip()


def test_the_python_client_follows_what_is_proved(tmp_path: Path) -> None:
    with FakeGate(tmp_path, replying(wait(1000), ALLOW)):
        assert _asked_in_python(tmp_path) == b"allowed"


@pytest.mark.parametrize("forged", FORGED)
def test_the_python_client_does_not_follow_what_is_forged(tmp_path: Path, forged: str) -> None:
    with FakeGate(tmp_path, _saying(FORGED[forged])):
        assert _asked_in_python(tmp_path) == b"itself PermissionError True"


@pytest.mark.parametrize("said", NO_ANSWER)
def test_the_python_client_takes_no_answer_that_is_cut_or_too_long(tmp_path: Path, said: str) -> None:
    with FakeGate(tmp_path, _saying(NO_ANSWER[said])):
        assert _asked_in_python(tmp_path).endswith(b"False")


@pytest.mark.parametrize("spoil", KEYS, ids=lambda function: function.__name__.strip("_").replace("_", "-"))
def test_the_python_client_believes_none_without_the_key(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    with FakeGate(tmp_path, replying(ALLOW)):
        spoil(tmp_path)
        assert _asked_in_python(tmp_path).endswith(b"False")
