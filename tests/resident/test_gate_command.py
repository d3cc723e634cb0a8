"""``lockgate gate``: seen, started and stopped by a person."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockgate import __version__
from lockgate.cli.gate import log_output as gate_logs
from lockgate.cli.gate.log_output import follow_lines, last_lines
from lockgate.cli.main import cli
from lockgate.system.error_log import NAME, note
from support import steady

from .machine import Machine


@pytest.fixture
def person(machine: Machine) -> Machine:
    """The folders are where the environment of a person says they are."""
    for name, folder in (("state", "state"), ("config", "config")):
        (machine.home.parent / "xdg" / name).mkdir(parents=True)
        machine.environment[f"XDG_{name.upper()}_HOME"] = str(machine.home.parent / "xdg" / name)
        wanted = Path(machine.environment[f"XDG_{name.upper()}_HOME"]) / "lockgate"
        (machine.home.parent / folder).rename(wanted)
        machine.where = machine.where._replace(**{name: str(wanted)})
    machine.state = machine.where.state
    machine.environment["PYTHONPATH"] = str(steady.package().parent)
    return machine


def lockgate(machine: Machine, *words: str, code: int = 0, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "lockgate", "gate", *words],
        env={**machine.environment, **environ},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == code, done
    return done.stdout + done.stderr


def test_from_start_to_end(person: Machine) -> None:
    assert "none runs" in lockgate(person, "status", code=1)
    assert "it runs: process" in lockgate(person, "start")
    (first,) = person.gates()
    assert f"it runs already: process {first}" in lockgate(person, "start")
    assert f"process {first}, version {__version__}" in lockgate(person, "status")
    lockgate(person, "restart")
    (second,) = person.gates()
    assert second != first
    assert lockgate(person, "stop") == "it has ended\n"
    assert person.gates() == []
    assert lockgate(person, "stop") == "none was running\n"


SYSTEMCTL = """#!/bin/sh
# As systemd does it: what is active is started anew, by the unit's own command.
echo "$*" >>"$HOME/asked"
unit="$HOME/.config/systemd/user/lockgate-gate.service"
case "$*" in
  *" is-active "*) [ -e "$HOME/active" ] || exit 3 ;;
  *" restart "*) : >"$HOME/active"; eval "$(sed -n s/^ExecStart=//p "$unit") >/dev/null 2>&1 </dev/null &" ;;
esac
"""


@pytest.mark.parametrize("platform", ["linux"] if sys.platform == "linux" else [])
def test_a_gate_that_is_a_service_is_started_again_by_its_manager(person: Machine, platform: str) -> None:
    programs = person.home.parent / "bin"
    programs.mkdir()
    (programs / "systemctl").write_text(SYSTEMCTL)
    (programs / "systemctl").chmod(0o755)
    person.environment["PATH"] = f"{programs}:{person.environment.get('PATH', os.defpath)}"
    command = [sys.executable, "-m", "lockgate", "service", "install"]
    subprocess.run(command, env=person.environment, check=True, capture_output=True, timeout=30)
    person.until(lambda: len(person.gates()) == 1, "a gate")
    (first,) = person.gates()
    lockgate(person, "restart")
    (second,) = person.gates()
    assert second != first
    words = Path(f"/proc/{second}/cmdline").read_bytes().split(b"\0")
    assert words[words.index(b"--idle") + 1] == b"0", "a service does not end by itself"
    assert (person.home / "asked").read_text().count(" restart ") == 2
    (person.home / "active").unlink()  # the service was ended by hand
    lockgate(person, "restart")
    assert (person.home / "asked").read_text().count(" restart ") == 2


def test_status_for_a_program(person: Machine) -> None:
    told = json.loads(lockgate(person, "status", "--json", code=1))
    assert told == {
        "runs": False,
        "answers": False,
        "problem": "",
        "state": person.state,
        "switched_off": False,
        "installed_version": __version__,
    }
    person.start()
    person.hook(person.event("UserPromptSubmit", prompt="hello"))
    told = json.loads(lockgate(person, "status", "--json", LOCKGATE_RESIDENT="off"))
    assert told["answers"]
    assert told["switched_off"]
    assert told["version"] == __version__
    assert told["answered"] == 1
    assert told["declined"] == told["failed"] == 0
    assert 0 < told["p50_ms"] <= told["p99_ms"]
    assert 0 < told["memory_mb"] < 200


def test_one_that_hangs_is_told_of_and_ended(person: Machine) -> None:
    gate = person.start()
    os.kill(gate.pid, signal.SIGSTOP)
    assert "it does not answer in time" in lockgate(person, "status", code=4)
    assert lockgate(person, "stop") == "it has ended\n"
    assert gate.wait(10) == -signal.SIGKILL


def test_in_the_foreground_it_takes_the_place_of_another(person: Machine) -> None:
    first = person.start()
    command = [sys.executable, "-m", "lockgate", "gate", "start", "--foreground", "--idle", "0"]
    second = subprocess.Popen(command, env={**person.environment, "SECRET_OF_A_SHELL": "1"})
    try:
        assert first.wait(30) == 0
        person.until(lambda: person.gates() == [second.pid], "the second to run")
        assert person.comes_up()["pid"] == second.pid
        assert b"SECRET_OF_A_SHELL" not in Path(f"/proc/{second.pid}/environ").read_bytes()
    finally:
        second.send_signal(signal.SIGTERM)
        assert second.wait(30) == 0


@pytest.mark.parametrize("words", [["start"], ["start", "--foreground"], ["stop"], ["restart"]])
def test_an_agent_may_not(person: Machine, words: list[str]) -> None:
    assert "only a person may" in lockgate(person, *words, code=1, CLAUDECODE="1")
    assert person.gates() == []


def test_one_that_cannot_come_up(person: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (Path(person.state) / "run").symlink_to(person.home)
    monkeypatch.setattr("lockgate.cli.gate.COMING_UP", 0.1)
    for name, value in person.environment.items():
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(cli, ["gate", "start"])
    assert (done.exit_code, "it does not come up" in done.output) == (1, True)
    person.until(lambda: " gate StoreError files.py:" in lockgate(person, "logs"), "the log to say why")


def test_what_failed_is_shown_without_what_moves_a_cursor(person: Machine) -> None:
    assert lockgate(person, "logs") == "nothing has failed\n"
    for number in range(3):
        note(person.state, f"event{number}", "OSError", "a.py:1")
    with open(os.path.join(person.state, NAME), "ab") as log:
        log.write(b"\x1b[2Jred\xff\n")
    told = lockgate(person, "logs", "-n", "2").splitlines()
    assert told[0].endswith("event2 OSError a.py:1")
    assert told[1] == "\\e[2Jred\ufffd"
    assert len(told) == 2


def test_the_last_lines_reach_into_the_log_before(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.1").write_text("a\nb\n")
    (tmp_path / NAME).write_text("c\n")
    assert last_lines(str(tmp_path), 2) == ["b", "c"]


def test_following_a_log_that_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / NAME
    log.write_text("before\n")
    lines = follow_lines(str(tmp_path))
    with open(log, "a") as file:
        heard: queue.Queue[str] = queue.Queue()
        looked = threading.Event()
        is_at = gate_logs.is_at
        monkeypatch.setattr(gate_logs, "is_at", lambda *given: (looked.set(), is_at(*given))[1])
        listener = threading.Thread(target=lambda: [heard.put(next(lines)) for _ in range(3)], daemon=True)
        listener.start()
        assert looked.wait(20)  # the first look is where the log ends, so there is more only now
        file.write("one\ntw")
        file.flush()
        assert heard.get(timeout=20) == "one"
        file.write("o\n")
    assert heard.get(timeout=20) == "two"
    log.rename(f"{log}.1")
    log.write_text("three\n")
    assert heard.get(timeout=20) == "three"
    listener.join(20)
    lines.close()
