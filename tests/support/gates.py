"""Resident gates that a test has left running: each is found by its state folder, and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

_PATIENCE = 20.0
_PROGRAMS = ("lockgate/service/resident/process.py", "lockgate/resident/process.py")
"""The gate's, of this build and of older ones."""


def gates_below(folder: str | Path) -> list[int]:
    """The processes of the gates whose state folder is below a folder."""
    return list(programs_below(folder))


def programs_below(folder: str | Path) -> dict[int, str]:
    """The programs that they run, by process."""
    below = os.path.join(folder, "")
    found = [(pid, words) for pid, words in _processes() if _is_gate(words) and _state_of(words).startswith(below)]
    return {pid: next(word for word in words if word.endswith(_PROGRAMS)) for pid, words in found}


def end_gates(folder: str | Path) -> None:
    """End them, and wait until they are gone."""
    until = time.monotonic() + _PATIENCE
    while pids := gates_below(folder):
        assert time.monotonic() < until, f"these do not end: {pids}"
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.01)


def _is_gate(words: list[str]) -> bool:
    return any(word.endswith(_PROGRAMS) for word in words[1:7])


def _state_of(words: list[str]) -> str:
    return words[words.index("--state") + 1] if "--state" in words[:-1] else ""


def _processes() -> list[tuple[int, list[str]]]:
    if not os.path.isdir("/proc/self"):
        listed = subprocess.run(["ps", "-axo", "pid=,command="], capture_output=True, text=True, check=True).stdout
        return [(int(words[0]), words[1:]) for line in listed.splitlines() if (words := line.split())]
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        if command:  # a dead one that nobody has waited for has none
            found.append((int(name), [os.fsdecode(word) for word in command.split(b"\0")]))
    return found
