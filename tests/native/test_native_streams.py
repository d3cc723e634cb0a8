"""Streams that are closed, slow, long or broken, and an interpreter that is not there."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from native.fake_gate import FakeGate, answer, replying
from native.running import LOCALLY, Done, command, options, run

MEGABYTE = 1 << 20


# ---------------------------------------------------------------- what is handed on
@pytest.mark.parametrize("size", [0, 1, 4096, 65535, 65536, 65537, 300_000, 32 * MEGABYTE])
def test_the_python_hook_gets_the_whole_payload(client: Path, tmp_path: Path, size: int) -> None:
    payload = os.urandom(4096) * (size // 4096 + 1)
    with FakeGate(tmp_path, replying(b"N")):
        report = run(command(client, *options(tmp_path)), payload[:size]).report
    assert (report["size"], report["digest"]) == (size, hashlib.sha256(payload[:size]).hexdigest())


def test_too_much_is_seen_to_be_too_much(client: Path, tmp_path: Path) -> None:
    """The Python hook counts, and refuses."""
    with FakeGate(tmp_path, replying(answer(0))):
        report = run(command(client, *options(tmp_path)), bytes(40 * MEGABYTE)).report
    assert report["size"] > 32 * MEGABYTE


def test_an_input_without_end_is_cut_off_when_time_is_up(client: Path, tmp_path: Path) -> None:
    end, other = os.pipe()
    with FakeGate(tmp_path, replying(answer(0))), os.fdopen(other, "wb") as writer, os.fdopen(end, "rb") as stdin:
        writer.write(b"{")
        writer.flush()
        words = command(client, *options(tmp_path))
        done = subprocess.run(words, stdin=stdin, capture_output=True, timeout=30, check=False, env={})
    told = Done(done.returncode, done.stdout, b"")
    assert told.report["size"] == 1
    assert told.spent >= 3000


def test_an_input_that_cannot_be_read_is_handed_on(client: Path, tmp_path: Path) -> None:
    unreadable = os.open(os.devnull, os.O_WRONLY)
    with FakeGate(tmp_path, replying(answer(0))):
        words = command(client, *options(tmp_path))
        done = subprocess.run(words, stdin=unreadable, capture_output=True, timeout=30, check=False, env={})
    os.close(unreadable)
    assert Done(done.returncode, done.stdout, b"").report["error"] == "OSError"


def test_the_process_stays_the_one_that_was_started(client: Path, tmp_path: Path) -> None:
    """A client may end it by its id, and the gate looks at its parents."""
    with FakeGate(tmp_path, replying(b"N")):
        process = subprocess.Popen(
            command(client, *options(tmp_path)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}
        )
        stdout, _ = process.communicate(bytes(MEGABYTE), 20)
    report = json.loads(stdout)
    assert (report["process"], report["parent"]) == (process.pid, os.getpid())
    assert report["descriptors"] == [0, 1, 2], "no socket and no pipe is left open"


def test_what_feeds_the_python_hook_holds_no_stream_open(client: Path, tmp_path: Path) -> None:
    """Whoever reads the answer waits for the end of the stream; a script that reads nothing must not hold it up."""
    script = tmp_path / "hook.py"
    script.write_text("import os\nos.write(1, b'done')\nos._exit(0)\n")
    with FakeGate(tmp_path, replying(b"N")):
        done = run(command(client, *options(tmp_path), script=script), bytes(MEGABYTE))
    assert (done.code, done.stdout) == (0, b"done")


# ---------------------------------------------------------------- closed streams
def _closing(*streams: int) -> Callable[[], None]:
    def close() -> None:
        for stream in streams:
            os.close(stream)

    return close


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)], ids=str)
def test_a_closed_stream_is_no_other_file(client: Path, tmp_path: Path, closed: tuple[int, ...]) -> None:
    """Its number goes to no socket: nothing is written to the gate or read from it that is not the protocol's."""
    heard: list[object] = []
    with FakeGate(tmp_path, heard.append):
        done = run(command(client, *options(tmp_path)), b"{}", preexec_fn=_closing(*closed))
    assert heard == []
    if 1 in closed:
        assert done.code == 2
    else:
        assert done.report["descriptors"] == [0, 1, 2]
        assert done.report["size"] == (0 if 0 in closed else 2)


def test_without_dev_null_too_it_refuses(client: Path, tmp_path: Path) -> None:
    import resource

    def close() -> None:
        os.close(0)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))

    assert run(command(client, *options(tmp_path)), b"{}", preexec_fn=close).code == 2


# ---------------------------------------------------------------- the last resort
def _refuses(done: Done) -> bool:
    said = json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"]
    return (done.code, said) == (2, "deny") and done.stderr.startswith(b"Lockgate blocks to be safe: ")


@pytest.mark.parametrize("python", ["/nowhere/python", "python3", "", "/", "/etc/hostname"])
@pytest.mark.parametrize("gate", [True, False], ids=["asked", "none"])
def test_it_refuses_where_the_interpreter_cannot_be_started(
    client: Path, tmp_path: Path, python: str, gate: bool
) -> None:
    words = command(client, *options(tmp_path), python=python)
    with FakeGate(tmp_path if gate else tmp_path / "other", replying(b"N")):
        assert _refuses(run(words))


def test_a_script_that_is_gone_does_not_pass(client: Path, tmp_path: Path) -> None:
    done = run(command(client, *options(tmp_path), script=tmp_path / "gone.py"))
    assert done.code == 2
    assert b"gone.py" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["claude-code"],
        ["--python", "/bin/true"],
        ["--python", "/bin/true", "--script", "/x"],
        ["--script", "/x", "--python", "/bin/true", "claude-code"],
        ["claude-code", "--python", "/bin/true", "--script", "/x"],
        ["--about", "claude-code"],
    ],
    ids=" ".join,
)
def test_it_refuses_a_command_line_that_nobody_writes(client: Path, words: list[str]) -> None:
    assert _refuses(run([str(client), *words]))


@pytest.mark.parametrize("signalled", [signal.SIGTERM, signal.SIGALRM, signal.SIGSEGV])
def test_ended_from_outside_it_does_not_pass(client: Path, tmp_path: Path, signalled: signal.Signals) -> None:
    with FakeGate(tmp_path, replying(answer(0))) as gate:
        with subprocess.Popen(command(client, *options(tmp_path)), stdin=subprocess.PIPE, env={}) as process:
            while not gate.connections:
                time.sleep(0.005)
            process.send_signal(signalled)
        # Its own deadline is a signal too, and leaves word of the refusal.
        assert process.returncode == (2 if signalled == signal.SIGALRM else -signalled)
    left = [file.read_text() for file in tmp_path.glob("refusals/*")]
    because = {"by": "native client", "because": "its deadline had passed"}
    assert [json.loads(text) for text in left] == ([because] if signalled == signal.SIGALRM else [])


def test_the_shell_around_it_blocks_where_it_is_gone(tmp_path: Path) -> None:
    from lockgate.clients.common.hook_command import HookLaunch, hook_command
    from lockgate.system.folders import Folders

    launch = HookLaunch("/py", "/lockgate/hook.py", Folders("/h", str(tmp_path), "/c"), native=str(tmp_path / "gone"))
    done = run(["/bin/sh", "-c", hook_command(launch, "PreToolUse")])
    assert done.code == 2
    assert b"take its hooks out of the settings of claude-code" in done.stderr


def test_the_answer_of_the_python_hook_is_the_answer(client: Path, tmp_path: Path) -> None:
    assert run(command(client, *options(tmp_path))).code == LOCALLY
