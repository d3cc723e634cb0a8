"""The run around ``sandbox-exec``, and that a machine is believed only what it proves: with programs in its place."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from containment.machine import Machine
from lockgate.containment import probe
from lockgate.containment.macos.probe import try_profile

# ---------------------------------------------------------------- the probe
PROGRAMS = {
    "one that holds nothing": 'shift 2; exec "$@"',
    "one that runs nothing": "exit 65",
    "one that says nothing": "exit 0",
    "one that lies": "echo '{}'",
    "one that says something else": "echo '[1]'",
    "one that hangs": "exec sleep 60",
    "one that only keeps the network away": 'shift 2; exec bwrap --dev-bind / / --unshare-net -- "$@"',
}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return tmp_path / "sandbox-exec"


def _write(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_does_not_hold_is_not_used(program: Path, name: str) -> None:
    _write(program, PROGRAMS[name])
    assert try_profile(str(program))


def test_without_the_program_there_is_no_way(program: Path) -> None:
    assert "there is no" in try_profile(str(program))


def test_a_mac_without_a_sandbox_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    found = probe.probe(())
    assert not found.way
    assert "/usr/bin/sandbox-exec" in found.problem


# ---------------------------------------------------------------- the run
@pytest.fixture
def mac(tmp_path: Path) -> Machine:
    """A machine whose ``sandbox-exec`` holds nothing: the run around it is looked at."""
    program = tmp_path / "sandbox-exec"
    _write(program, 'test "$1" = -p || exit 64; shift 2; exec "$@"')
    found = Machine(tmp_path / "mac", "")
    found.know("sandbox-exec", str(program))
    return found


def test_output_status_and_folder(mac: Machine) -> None:
    mac.file("sub/x")
    done = mac.run("echo said; echo told >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "said\n", "told\n")
    assert mac.run("kill -9 $$").returncode == 137
    assert mac.run("cd sub", options=("--folder-to=1",)).stdout == str(mac.project / "sub")
    assert mac.run("echo $TMPDIR").stdout.strip().startswith(str(mac.state / "contained"))
    assert mac.run("yes | head -1; cat", input="in").stdout == "y\nin"


def test_what_it_leaves_is_ended_and_taken_out_of_force(mac: Machine) -> None:
    script = "while sleep 0.1; do date > alive; done"
    lives = f"({script}) >/dev/null 2>&1 & setsid sh -c '{script}' >/dev/null 2>&1 &"
    done = mac.run(f"{lives} mkdir .vscode; while ! test -s alive; do sleep 0.05; done; sleep 2")
    assert done.returncode == 0
    assert not (mac.project / ".vscode").exists()
    (mac.project / "alive").unlink(missing_ok=True)
    time.sleep(0.5)
    assert not (mac.project / "alive").exists()


def test_a_client_that_ends_it(mac: Machine) -> None:
    argv = mac.argv("while sleep 0.1; do date > alive; done")
    running = subprocess.Popen(argv, cwd=mac.project, env=mac.environment, start_new_session=True)
    while not (mac.project / "alive").exists():
        time.sleep(0.05)
    running.kill()
    running.wait(10)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        (mac.project / "alive").unlink(missing_ok=True)
        time.sleep(0.4)
        if not (mac.project / "alive").exists():
            return
    raise AssertionError("it lives on")


def test_without_its_program_nothing_is_run(mac: Machine, tmp_path: Path) -> None:
    os.unlink(tmp_path / "sandbox-exec")
    assert mac.run("touch made").returncode == 125
    assert not (mac.project / "made").exists()
    assert not (mac.state / "containment.json").exists(), "it is tried anew"
