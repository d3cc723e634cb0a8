"""What a gate says to the launcher, cut short and changed at random, with sanitizers: understood, or no answer."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from lockgate.clients.wire.resident import answer_in_bytes
from lockgate.containment.host_facts import Host
from lockgate.containment.linux.native_launcher import encode_filters, encode_plan, encode_walk
from lockgate.containment.plan import READ_ONLY, WRITABLE, Mount, Plan
from lockgate.resources.host_view import HostView
from lockgate.resources.protected_paths import PathGuard
from native.conftest import SANITIZED, compiling, made
from native.fake_gate import give_key, proof
from native.running import LOCALLY, STAND_IN
from support.answering import answering

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the launcher is for Linux")
ROUNDS = int(os.environ.get("NATIVE_LAUNCHES", "150"))


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The launcher, which ends where it reads or writes what is not its own, or does what C does not define."""
    return made(tmp_path_factory.mktemp("native") / "lockgate-contain", compiling.LAUNCHER_PARTS, SANITIZED)


def _gate(state: Path, answers: dict[bytes, bytes]) -> AbstractContextManager[None]:
    """A gate that gives one answer to each question."""
    give_key(state)

    def said(asked: bytes) -> bytes:
        frame = next(said for question, said in answers.items() if question in asked)
        return frame + proof(asked, frame)

    return answering(state / "run" / "gate.sock", said)


def _changed(said: bytes, chance: random.Random) -> bytes:
    """Cut short, with words or numbers changed; never with words of which a sandbox could be made."""
    words = said.split(b"\0")
    how = chance.randrange(4)
    if how == 0:
        return said[: chance.randrange(len(said))]
    at = chance.randrange(len(words))
    if how == 1:
        del words[at]
    elif how == 2:
        words.insert(at, chance.choice([b"", b"0", b"1", b"-1", b"99999999999999999999", b"\xff" * 300, b"/" * 5000]))
    else:
        numbers = [index for index, word in enumerate(words) if word.isdigit()]
        words[chance.choice(numbers)] = chance.choice([b"", b"0", b"7", b"18446744073709551615", b"1e3", b"65536"])
    return b"\0".join(words)


def test_what_is_not_understood_is_no_answer(launcher: Path, tmp_path: Path) -> None:
    project = tmp_path / "home" / "project"
    (project / ".github" / "workflows").mkdir(parents=True)
    guard = PathGuard(HostView(home=str(project.parent), workspace=str(project)))
    walk = encode_walk([str(project)], str(project.parent), guard, encode_filters(guard))
    # A way that cannot be built: where a changed plan is understood all the same, nothing is run.
    mounts = (Mount(READ_ONLY, "/", "/nowhere"), Mount(WRITABLE, str(project), str(project)))
    plan, calls = encode_plan(
        Plan(mounts, str(project), {"A": "b"}, ("/nowhere/true",)), Host("bubblewrap", "/bin/false"), stays=True
    )
    words = [launcher, "--python", sys.executable, "--script", STAND_IN, f"--state={tmp_path}", "--shell", "true"]
    chance = random.Random(7)
    for number in range(ROUNDS):
        first = _changed(walk, chance) if number % 2 else walk
        second = _changed(plan, chance) if number % 3 else plan
        third = calls[: chance.randrange(len(calls))] if number % 5 == 0 else calls
        answers = {b"@contain-walk": answer_in_bytes(first, b""), b"@contain-plan": answer_in_bytes(second, third)}
        with _gate(tmp_path, answers):
            done = subprocess.run(
                words, cwd=project, env={"WORD": "x"}, capture_output=True, stdin=subprocess.DEVNULL, timeout=60
            )
        assert done.returncode == LOCALLY, (number, first, second, done)
        assert b"Sanitizer" not in done.stderr, done.stderr
        assert b"runtime error" not in done.stderr, done.stderr
