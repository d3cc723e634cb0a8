"""``lockgate audit export`` in its formats, of some records, and as they come."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from gate.world import World
from lockgate.cli.main import cli
from lockgate.store.audit import pruning
from lockgate.store.sqlite.store import SqliteStore
from support.commands import invoked

START = 1_767_225_600.0  # 2026-01-01T00:00:00Z


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    store = SqliteStore.open(str(tmp_path / ".local" / "state" / "lockgate"))
    with store.transaction() as tx:
        for number in range(10):
            body = {"event": "decision", "verdict": "deny", "tool": "Bash", "session": f"{'ab'[number % 2]}{number}"}
            tx.append_audit(START + number * 3600, body)
    yield store
    store.close()


run = partial(invoked, "audit", "export")


def numbers(form: str, *arguments: str) -> list[int]:
    lines = run("--format", form, *arguments).output.splitlines()
    match form:
        case "cef":
            return [int(line.split("externalId=")[1].split(" ")[0]) for line in lines]
        case "ocsf":
            return [json.loads(line)["metadata"]["sequence"] for line in lines]
    return [json.loads(line)["seq"] for line in lines]


@pytest.mark.parametrize("form", ["cef", "ocsf", "jsonl"])
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--since", "2026-01-01T03:00:00+00:00"], [4, 5, 6, 7, 8, 9, 10]),
        (["--until", "2026-01-01T03:00:00+00:00"], [1, 2, 3]),
        (["--since", "2026-01-01T03:00:00+00:00", "--until", "2026-01-01T05:00:00+00:00"], [4, 5]),
        (["--session", "a"], [1, 3, 5, 7, 9]),
        (["--session", "a2", "--session", "a4"], [5]),
        (["--after", "8"], [9, 10]),
        (["--after", "8", "--session", "a"], [9]),
        (["--after", "99"], []),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_some_records(store: SqliteStore, form: str, arguments: list[str], expected: list[int]) -> None:
    assert numbers(form, *arguments) == expected


@pytest.mark.parametrize("form", ["cef", "ocsf"])
def test_all_records(store: SqliteStore, form: str, tmp_path: Path) -> None:
    assert numbers(form) == list(range(1, 11))
    with store.transaction() as tx:
        pruning.cut(tx, store.key, 4, START, {})
    file = tmp_path / "out"
    run("--format", form, "--output", str(file))
    assert len(file.read_text().splitlines()) == 7
    assert file.stat().st_mode & 0o777 == 0o600


def test_an_export_of_what_is_left_verifies(store: SqliteStore, tmp_path: Path) -> None:
    with store.transaction() as tx:
        pruning.cut(tx, store.key, 4, START, {})
    run("--output", str(tmp_path / "out"))
    lines = (tmp_path / "out").read_text().splitlines()
    assert (next(iter(json.loads(lines[0]))), next(iter(json.loads(lines[-1])))) == ("checkpoint", "head")
    verified = CliRunner().invoke(cli, ["audit", "verify", str(tmp_path / "out")])
    assert (verified.exit_code, verified.output.splitlines()[0]) == (
        0,
        "the audit chain holds: 7 records, from 5 on, in the place of older ones a checkpoint",
    )


@pytest.mark.parametrize(
    "arguments",
    [["--format", "leef"], ["--since", "soon"], ["--follow", "--until", "2026-01-01"], ["--after", "-1"]],
    ids=lambda value: " ".join(map(str, value)),
)
def test_usage(store: SqliteStore, arguments: list[str]) -> None:
    run(*arguments, code=2)


SECRETS = ("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "AKIAQYLPMN5HHHFPZAM2", "hunter2secretpassword")


def test_no_secret_goes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the real gate: what the audit redacts is in no format."""
    world = World(tmp_path)
    world.start()
    world.run("Bash", {"command": f"curl -H 'Authorization: Bearer {SECRETS[0]}' https://x.example"}, "ok")
    world.run("Write", {"file_path": "/home/u/work/a", "content": f"aws_access_key_id = {SECRETS[1]}"}, "ok")
    world.bash(f"mysql --password={SECRETS[2]} -h db -e 'select 1'")
    (tmp_path / "state").rename(tmp_path / "lockgate")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for form in ("jsonl", "cef", "ocsf"):
        text = run("--format", form).output
        assert "https://x.example" in text
        assert [secret for secret in SECRETS if secret in text] == []


@contextmanager
def following(home: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "lockgate", "audit", "export", "--follow", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(home)},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_records_are_followed_as_they_come_also_past_a_cut(store: SqliteStore, tmp_path: Path) -> None:
    with following(tmp_path, "--format", "ocsf", "--after", "9") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["metadata"]["sequence"] == 10
        with store.transaction() as tx:
            tx.append_audit(START, {"event": "prompt"})
        assert json.loads(process.stdout.readline())["metadata"]["event_code"] == "prompt"
        with store.transaction() as tx:
            pruning.cut(tx, store.key, 11, START, {})
        assert json.loads(process.stdout.readline())["metadata"]["event_code"] == "pruned"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20) == ("", "")
        assert process.returncode == 0


def test_following_ends_quietly_when_nobody_reads(store: SqliteStore, tmp_path: Path) -> None:
    with following(tmp_path, "--format", "cef", "--after", "9") as process:
        assert process.stdout is not None
        assert "externalId=10 " in process.stdout.readline()
        process.stdout.close()
        with store.transaction() as tx:
            tx.append_audit(START, {"event": "prompt"})
        assert process.wait(timeout=20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_following_waits_for_the_first_record_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    with following(tmp_path, "--since", "2020-01-01") as process:
        store = SqliteStore.open(str(tmp_path / ".local" / "state" / "lockgate"))
        with store.transaction() as tx:
            tx.append_audit(START, {"event": "prompt"})
        store.close()
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["seq"] == 1


def test_another_chain_is_followed_from_its_beginning_and_a_file_is_added_to(
    tmp_path: Path, store: SqliteStore
) -> None:
    file = tmp_path / "out"
    file.write_text("before\n")
    with following(tmp_path, "--output", str(file), "--after", "9"):
        until(lambda: len(file.read_text().splitlines()) == 2)
        folder = tmp_path / ".local" / "state" / "lockgate"
        store.close()
        folder.rename(tmp_path / "aside")
        other = SqliteStore.open(str(folder))
        with other.transaction() as tx:
            tx.append_audit(START, {"event": "prompt"})
        other.close()
        until(lambda: len(file.read_text().splitlines()) == 4)
    before, *records = file.read_text().splitlines()
    # The first of the other chain says that another state was in this folder.
    assert (before, [json.loads(record)["seq"] for record in records]) == ("before", [10, 1, 2])


def until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not there():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
