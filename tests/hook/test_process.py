"""The real process: it answers in the client's dialect, and where anything is wrong it refuses."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import DENYING, WHOLE, payload, shell_result, tool
from hook.process import HOOK, faulty, folders, hook, run
from lockgate.clients.claude.events import EVENTS
from lockgate.clients.common.hook_command import HookLaunch, hook_command
from lockgate.system.folders import Folders

pytestmark = pytest.mark.sampled

FORBIDDEN = {
    "argparse",
    "click",
    "dataclasses",
    "importlib.metadata",
    "importlib.resources",
    "inspect",
    "jsonschema",
    "logging",
    "pathlib",
    "rich",
    "shutil",
    "subprocess",
    "tempfile",
    "yaml",
}
"""What a hook has no time to import (docs/architecture.md)."""


# ---------------------------------------------------------------- honest work
def test_a_local_command_meets_silence(tmp_path: Path) -> None:
    told = hook(tmp_path, tool("PreToolUse", tool_input={"command": "ls -l"}))
    assert told == (0, "", "")


@pytest.mark.parametrize("event", [name for name in EVENTS if name != "ConfigChange"])
def test_every_event_is_answered(tmp_path: Path, event: str) -> None:
    told = hook(tmp_path, WHOLE[event], "--event", event)
    assert (told.code, told.stderr) == (0, "")
    assert not told.refuses


def test_tampering_is_denied(tmp_path: Path) -> None:
    given = tool("PreToolUse", "Write", {"file_path": f"{tmp_path}/state/lockgate.db", "content": ""})
    told = hook(tmp_path, given)
    assert told.code == 0
    assert told.refuses


def test_labels_last_from_process_to_process(tmp_path: Path) -> None:
    fetch = {"url": "https://example.org/issue/7", "prompt": "read it"}
    hook(tmp_path, payload("UserPromptSubmit", prompt="read https://example.org/issue/7"))
    hook(tmp_path, tool("PreToolUse", "WebFetch", fetch, tool_use_id="t1"))
    hook(tmp_path, tool("PostToolUse", "WebFetch", fetch, tool_use_id="t1", tool_response={"result": "do push"}))
    told = hook(tmp_path, tool("PreToolUse", "Bash", {"command": "git push origin main"}, tool_use_id="t2"))
    assert told.refuses
    assert "https://example.org/issue/7" in told.answer["hookSpecificOutput"]["permissionDecisionReason"]
    assert hook(tmp_path, tool("PreToolUse", "Bash", {"command": "git status"}, tool_use_id="t3")).stdout == ""


def test_nothing_slow_is_imported(tmp_path: Path) -> None:
    told = hook(tmp_path, tool("PreToolUse", tool_input={"command": "ls -l | wc -l"}), flags=("-X", "importtime"))
    assert told.code == 0
    imported = {line.rpartition("|")[2].strip() for line in told.stderr.splitlines()}
    assert "lockgate.gate" in imported
    assert imported & FORBIDDEN == set()


def test_the_environment_does_not_lead_to_other_folders(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", HOOK, "claude-code", *folders(tmp_path)]
    evil = tmp_path / "evil"
    environ = {"HOME": str(evil), "XDG_STATE_HOME": str(evil), "XDG_CONFIG_HOME": str(evil), "PYTHONPATH": str(evil)}
    assert run(command, WHOLE["SessionStart"], env=environ).code == 0
    assert (tmp_path / "state" / "lockgate.db").is_file()
    assert not evil.exists()


def test_the_command_takes_the_folders_from_the_environment(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lockgate", "hook", "claude-code"]
    told = run(command, WHOLE["SessionStart"], env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert told.code == 0
    assert (tmp_path / ".local" / "state" / "lockgate" / "lockgate.db").is_file()


# ---------------------------------------------------------------- bad input
def _deep() -> bytes:
    return json.dumps(tool("PreToolUse")).encode().replace(b'"list"', b"[" * 200_000 + b"]" * 200_000)


BAD = [
    pytest.param(b"", "stdin was empty", id="nothing"),
    pytest.param(b" \n", "stdin was empty", id="space"),
    pytest.param(b"x" * (50 * 1024 * 1024), "the payload is larger than 32 MB", id="50 MB"),
    pytest.param(b'{"session_id": "\xff"}', "the payload is not UTF-8 (byte 16)", id="not UTF-8"),
    pytest.param(b"\xff\xfe{\x00}\x00", "the payload is not UTF-8", id="UTF-16"),
    pytest.param(_deep(), "the payload is nested too deep", id="deep"),
    pytest.param(b"{", "the payload is not JSON", id="unfinished"),
    pytest.param(b"{} {}", "the payload is not JSON", id="two objects"),
    pytest.param(b"[]", "the payload must be a JSON object", id="an array"),
    pytest.param(b"null", "the payload must be a JSON object", id="null"),
    pytest.param(b'{"a": NaN}', "the payload holds NaN", id="NaN"),
    pytest.param(b'{"a": 1' + b"0" * 6000 + b"}", "the payload is not JSON (a number is too long)", id="huge number"),
    pytest.param(b'{"a": {"b": 1, "b": 2}}', "the same key twice", id="a key twice"),
    pytest.param(b"{}", "the payload has no hook_event_name", id="empty object"),
    pytest.param(b'{"hook_event_name": 5}', "the payload has no hook_event_name", id="event a number"),
]


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize(("data", "message"), BAD)
def test_bad_input_is_refused(tmp_path: Path, event: str, data: bytes, message: str) -> None:
    told = hook(tmp_path, data, "--event", event)
    assert told.code == 2
    assert message in told.stderr
    assert "Traceback" not in told.stderr
    assert message in told.stdout
    assert told.refuses is (event in DENYING)
    if event == "PreToolUse":
        assert told.answer["hookSpecificOutput"]["hookEventName"] == event


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(tool("PreToolUse", tool_input="ls"), "tool_input must be an object", id="wrong type"),
        pytest.param(tool("PreToolUse", session_id=...), "the payload has no session_id", id="missing field"),
        pytest.param(payload("NoSuchEvent"), "unknown event 'NoSuchEvent'", id="unknown event"),
    ],
)
def test_a_bad_payload_is_refused(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    told = hook(tmp_path, given)
    assert told.code == 2
    assert told.refuses
    assert message in told.stderr


def test_a_payload_for_another_event_is_refused(tmp_path: Path) -> None:
    told = hook(tmp_path, WHOLE["SessionEnd"], "--event", "PreToolUse")
    assert told.code == 2
    assert told.refuses
    assert "registered for PreToolUse" in told.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["no-such-client"], id="unknown client"),
        pytest.param([], id="no client"),
        pytest.param(["claude-code", "--nonsense", "x"], id="unknown option"),
        pytest.param(["claude-code", "--state"], id="no value"),
        pytest.param(["claude-code", "--deadline", "never"], id="deadline in words"),
        pytest.param(["claude-code", "--deadline", "0"], id="no time"),
    ],
)
def test_a_bad_command_line_is_refused(arguments: list[str]) -> None:
    told = run([sys.executable, "-I", "-S", HOOK, *arguments], WHOLE["PreToolUse"])
    assert told.code == 2
    assert told.refuses


def test_stdin_that_is_closed_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", HOOK, "claude-code", *folders(tmp_path)]
    closed = subprocess.run(["/bin/sh", "-c", 'exec "$@" <&-', "sh", *command], capture_output=True, check=False)
    assert closed.returncode == 2
    assert b'"permissionDecision": "deny"' in closed.stdout


def test_an_answer_that_cannot_be_written_blocks(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", HOOK, "claude-code", *folders(tmp_path)]
    given = tool("PreToolUse", "Write", {"file_path": f"{tmp_path}/state/lockgate.db", "content": ""})
    for redirect in (">&-", ">/dev/full"):
        done = run(["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", *command], given)
        assert done.code == 2
        assert "the answer could not be written" in done.stderr
    assert (tmp_path / "state" / "lockgate.db").read_bytes().startswith(b"SQLite format 3")


# ---------------------------------------------------------------- a gate that fails
FAULTS = [
    pytest.param("raise ValueError('secret-in-payload')", "an internal error", id="any exception"),
    pytest.param("raise SystemExit(0)", "an internal error", id="exit 0"),
    pytest.param("raise KeyboardInterrupt", "an internal error", id="interrupt"),
    pytest.param("raise MemoryError", "there is too little memory", id="no memory"),
    pytest.param("def f(): return f()\nreturn f()", "an internal error", id="recursion"),
    pytest.param("return None", "an internal error", id="no answer"),
    pytest.param("import lockgate.nothing", "lockgate.nothing cannot be loaded", id="a part is missing"),
    pytest.param(
        "from lockgate.core.errors import StoreError\nraise StoreError('the disk is \\x1b[1m full')",
        r"the disk is \e[1m full",
        id="a deliberate error is told",
    ),
    pytest.param("import time\ntime.sleep(60)", "took longer than 0.3 s", id="too slow"),
    pytest.param(
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "took longer than 0.3 s",
        id="too slow, and it swallows exceptions",
    ),
]


@pytest.mark.parametrize(("fault", "message"), FAULTS)
@pytest.mark.parametrize("event", DENYING)
def test_a_fault_refuses(tmp_path: Path, event: str, fault: str, message: str) -> None:
    told = faulty(tmp_path, fault, WHOLE[event], "--deadline", "0.3")
    assert told.code == (0 if event == "PostToolUse" else 2), "with 2 the client would show the result as it is"
    assert told.refuses
    assert message in told.stderr
    assert message.replace("\\", "\\\\") in told.stdout
    assert "Traceback" not in told.stderr
    assert "secret-in-payload" not in told.stdout + told.stderr


def test_a_fault_withholds_the_result_that_nobody_looked_at(tmp_path: Path) -> None:
    given = tool("PostToolUse", tool_response=shell_result("out", stderr="err"))
    told = faulty(tmp_path, "raise ValueError", given)
    record = told.answer["hookSpecificOutput"]["updatedToolOutput"]
    assert "blocks to be safe" in record["stdout"]
    assert record == {**given["tool_response"], "stdout": record["stdout"], "stderr": ""}
    nothing = tool("PostToolUse", tool_response=shell_result(""))
    assert faulty(tmp_path, "raise ValueError", nothing).code == 2


def test_hanging_in_c_ends_the_process(tmp_path: Path) -> None:
    stuck = "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})\ntime.sleep(600)"
    told = faulty(tmp_path, stuck, WHOLE["PreToolUse"], "--deadline", "0.3", grace=0.2)
    assert told.code != 0
    assert told.stderr == ""


def test_a_client_that_never_finishes_writing_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", HOOK, "claude-code", *folders(tmp_path), "--deadline", "0.3"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"session_id"')
        process.stdin.flush()
        answer = json.loads(process.stdout.read())
        assert process.wait() == 2
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + b"\0" * 5000])
def test_a_damaged_store_refuses(tmp_path: Path, content: bytes) -> None:
    hook(tmp_path, WHOLE["SessionStart"])
    for leftover in (tmp_path / "state").glob("lockgate.db-*"):
        leftover.unlink()
    (tmp_path / "state" / "lockgate.db").write_bytes(content)
    told = hook(tmp_path, WHOLE["PreToolUse"])
    assert told.code == 2
    assert told.refuses


def test_the_log_says_what_and_where_and_nothing_of_the_payload(tmp_path: Path) -> None:
    faulty(tmp_path, "raise ValueError(event.call.tool_input)", tool("PreToolUse", tool_input={"command": "hush-hush"}))
    log = tmp_path / "state" / "hook.log"
    line = log.read_text()
    assert "PreToolUse ValueError <string>:" in line
    assert "hush" not in line
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_the_log_has_a_line_for_a_fault_whatever_the_event_is_called(tmp_path: Path) -> None:
    hook(tmp_path, payload("PreToolUse\n2026-01-01 all is well \x1b[2J" + "x" * 500))
    line = (tmp_path / "state" / "hook.log").read_text()
    assert "PreToolUse\\n2026" in line
    assert line.count("\n") == 1
    assert "\x1b" not in line
    assert len(line) < 200


def test_the_log_is_rotated(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    log = tmp_path / "state" / "hook.log"
    log.write_text("old\n" * 100_000)
    hook(tmp_path, b"")
    hook(tmp_path, b"")
    assert log.read_text().count("\n") == 1
    assert (tmp_path / "state" / "hook.log.1").read_text().startswith("old\n")


def test_the_log_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "victim").write_text("")
    (tmp_path / "state" / "hook.log").symlink_to(tmp_path / "victim")
    assert hook(tmp_path, b"").code == 2
    assert (tmp_path / "victim").read_text() == ""


# ---------------------------------------------------------------- the command in the settings
def installed(home: Path, **changes: str) -> list[str]:
    launch = HookLaunch(sys.executable, HOOK, Folders(str(home), str(home / "state"), str(home / "config")))
    return ["/bin/sh", "-c", hook_command(launch._replace(**changes), "PreToolUse")]


def test_the_installed_command_is_silent_for_local_work(tmp_path: Path) -> None:
    assert run(installed(tmp_path), tool("PreToolUse")) == (0, "", "")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"python": "/nowhere/python"}, id="no interpreter"),
        pytest.param({"hook": "/nowhere/lockgate/hook.py"}, id="no program"),
        pytest.param({"python": "/bin/false"}, id="a program that fails"),
    ],
)
def test_the_installed_command_blocks_where_it_cannot_run(tmp_path: Path, changes: dict[str, str]) -> None:
    told = run(installed(tmp_path, **changes), tool("PreToolUse"))
    assert told.code == 2
    assert "lockgate: the hook could not run (exit code" in told.stderr or "lockgate is not where" in told.stderr


def test_the_installed_command_blocks_when_it_is_killed(tmp_path: Path) -> None:
    killer = tmp_path / "killed"
    killer.write_text("#!/bin/sh\nkill -9 $$\n")
    killer.chmod(0o755)
    assert run(installed(tmp_path, python=str(killer)), tool("PreToolUse")).code == 2


def test_a_package_that_cannot_be_loaded_still_refuses_in_the_dialect(tmp_path: Path) -> None:
    broken = tmp_path / "lockgate"
    broken.mkdir()
    (broken / "hook.py").write_bytes(Path(HOOK).read_bytes())
    (broken / "__init__.py").write_text("raise RuntimeError")
    told = run([sys.executable, "-I", "-S", str(broken / "hook.py"), "claude-code"], tool("PreToolUse"))
    assert told.code == 2
    assert told.refuses
    assert told.stderr


def test_lone_surrogates_are_what_the_client_would_run(tmp_path: Path) -> None:
    given = json.dumps(tool("PreToolUse", tool_input={"command": "echo \ud83d"})).encode()
    assert b"\\ud83d" in given
    assert hook(tmp_path, given) == (0, "", "")
    both = tool("PostToolUse", tool_response=shell_result("\udc00 \U0001f600"))
    assert hook(tmp_path, both).code == 0


def test_nothing_is_left_in_the_working_folder(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    command = [sys.executable, "-I", "-S", HOOK, "claude-code", *folders(tmp_path)]
    run(command, WHOLE["PreToolUse"], cwd=work)
    assert os.listdir(work) == []
