"""The command as a person starts it, in a terminal. Alone here: a process with threads must not become two."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from e2e.harness.terminal import Terminal
from support.api_server import Machine


def test_a_person_at_a_terminal_starts_it_and_enter_makes_another_link(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    environment = {**machine.environment, "TERM": "xterm"}
    argv = [sys.executable, "-m", "lockgate", "dashboard", "--no-open"]
    with Terminal(argv, environment, machine.home) as terminal:
        terminal.wait_for("Enter makes another link")
        terminal.press("\r")
        terminal.wait_until(lambda: terminal.text.count("#login=") == 2, "another link")
        os.kill(terminal._pid, signal.SIGINT)
        terminal.wait_until(
            lambda: os.waitid(os.P_PID, terminal._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None, "its end"
        )
    assert not list(Path(machine.state, "dashboard").glob("open-*"))
    machine.store.close()
