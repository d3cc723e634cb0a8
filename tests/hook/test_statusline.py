"""The status line is short, true, and never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lockgate.statusline
from adapters.payloads import SESSION, WHOLE, payload
from hook.process import Told, hook, run
from lockgate.core.model import Label, Subject, Taint
from lockgate.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.sampled

SCRIPT = os.path.abspath(lockgate.statusline.__file__)
INPUT = {"session_id": SESSION, "cwd": "/w/app", "model": {"id": "m", "display_name": "M"}, "version": "2.1.329"}


def statusline(home: Path, data: object = None) -> Told:
    command = [sys.executable, "-I", "-S", SCRIPT, "--state", str(home / "state")]
    return run(command, INPUT if data is None else data)  # type: ignore[arg-type]


def taint(home: Path, label: Label, source: str) -> None:
    store = SqliteStore.open(str(home / "state"))
    with store.transaction() as tx:
        tx.add_taints(Subject(SESSION), [Taint(label, source, source.partition(":")[0], f"call {source}", 1.0)])
    store.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    assert hook(tmp_path, WHOLE["SessionStart"]).code == 0
    return tmp_path


def test_a_clean_session(home: Path) -> None:
    assert statusline(home) == (0, "lockgate: clean\n", "")


@pytest.mark.parametrize(
    ("sources", "line"),
    [
        pytest.param(
            [(Label.UNTRUSTED, "WebFetch: https://user@example.com/a?b=c")],
            "UNTRUSTED (WebFetch example.com)",
            id="an address is its host",
        ),
        pytest.param([(Label.UNTRUSTED, "Bash: curl x")], "UNTRUSTED (Bash curl x)", id="a command"),
        pytest.param([(Label.SECRET, "Read: /w/app/.env")], "SECRET (Read /w/app/.env)", id="secret"),
        pytest.param(
            [(Label.UNTRUSTED, "mcp__a__b"), (Label.SECRET, "Read: .env"), (Label.UNTRUSTED, "WebFetch: https://x.y/")],
            "UNTRUSTED (mcp__a__b) + SECRET (Read .env)",
            id="both, the first of each",
        ),
        pytest.param(
            [(Label.UNTRUSTED, "Bash: \x1b]0;title\x07\u202e\nlockgate: clean")],
            "UNTRUSTED (Bash \\e]0;title\\x07\\u{202e}\\nlockgate: clean)",
            id="nothing moves the cursor",
        ),
    ],
)
def test_labels(home: Path, sources: list[tuple[Label, str]], line: str) -> None:
    for label, source in sources:
        taint(home, label, source)
    assert statusline(home) == (0, f"lockgate: {line}\n", "")


def test_a_long_source_is_cut(home: Path) -> None:
    taint(home, Label.UNTRUSTED, "Bash: " + "x" * 5000)
    assert len(statusline(home).stdout) < 120


def test_a_session_that_was_never_seen(home: Path) -> None:
    assert statusline(home, {**INPUT, "session_id": "other"}).stdout == "lockgate: not active in this session\n"


def test_a_machine_without_state(tmp_path: Path) -> None:
    assert statusline(tmp_path).stdout == "lockgate: not active in this session\n"
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"\xff", b'{"session_id": 5}', b"{}", b"[" * 100_000, b"x" * 2_000_000]
)
def test_bad_input(home: Path, data: bytes) -> None:
    assert statusline(home, data) == (0, "lockgate: ?\n", "")


def test_damaged_state(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "state" / "lockgate.db").write_bytes(b"no database")
    assert statusline(tmp_path) == (0, "lockgate: ?\n", "")


def test_stdin_that_never_ends(home: Path) -> None:
    command = [sys.executable, "-I", "-S", SCRIPT, "--state", str(home / "state")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b"lockgate: ?\n"
        assert process.wait() == 0


def test_the_command(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "lockgate"]
    run([*command, "hook", "claude-code"], payload("SessionStart", source="startup"), env=environ)
    assert run([*command, "statusline"], INPUT, env=environ).stdout == "lockgate: clean\n"


NOW = time.time()


@pytest.mark.parametrize(
    ("status", "line"),
    [
        pytest.param({"problem": "git: no such repository"}, "ANCHOR PROBLEM (lockgate status) | clean", id="silent"),
        pytest.param(
            {"seq": 5, "at": 1.0, "rewound_at": NOW}, "ANCHOR PROBLEM (lockgate status) | clean", id="rewound"
        ),
        pytest.param({"seq": 5, "at": 1.0, "rewound_at": 0.0}, "clean", id="well"),
        pytest.param({"problem": "git: a push was refused", "at": NOW}, "clean", id="not for long"),
    ],
)
def test_a_place_elsewhere_that_is_behind_or_was_put_back(home: Path, status: dict[str, object], line: str) -> None:
    (home / "state" / "anchors").mkdir()
    (home / "state" / "anchors" / "status.json").write_text(json.dumps({"git file:///x": status}))
    assert statusline(home).stdout == f"lockgate: {line}\n"
