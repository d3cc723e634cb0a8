"""Finds the ancestors of this process, and whether an agent's client is among them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from lockgate.system import caller

_DEPTH = 64
AGENTS = frozenset(
    {
        "aider",
        "amp",
        "claude",
        "claude-code",
        "cline",
        "codex",
        "continue",
        "copilot",
        "copilot-cli",
        "crush",
        "cursor-agent",
        "droid",
        "gemini",
        "gemini-cli",
        "goose",
        "kilo",
        "kimi",
        "kimi-code",
        "opencode",
        "openhands",
        "pi",
        "pi-coding-agent",
        "qwen",
        "qwen-code",
    }
)
"""Names of clients: of the program, or of a folder of the script that an interpreter runs."""
_INTERPRETERS = ("node", "bun", "deno", "python", "ruby")


class AncestorProcess(NamedTuple):
    """One running process."""

    pid: int
    parent: int
    started: str
    """When it began, as the system counts; empty where it does not tell."""
    words: tuple[str, ...]
    """Its command line."""

    @property
    def identity(self) -> str:
        """What tells it from every other process, as ``pid:start-time``."""
        return f"{self.pid}:{self.started}"


Look = Callable[[int], AncestorProcess | None]


def agent_above(known: Collection[str] = (), look: Look | None = None) -> str:
    """Name the nearest process above this one that is an agent's client; empty where there is none.

    Args:
        known: Identities of processes that are known to be clients, from the gate's own records.
        look: Tells about a process.
    """
    for process in _ancestors(look or look_up):
        if process.identity in known or is_client(process.words):
            name = os.path.basename(process.words[0]) if process.words else "unknown"
            return f"{name}, process {process.pid}"
    return ""


def variables_above(names: Collection[str]) -> dict[str, str]:
    """Variables of the nearest process above this one that was started with all of them; nothing where none was.

    Args:
        names: The names of the variables.
    """
    everywhere = (caller.environ_of(process.pid, names) for process in _ancestors(look_up))
    return next((found for found in everywhere if found.keys() == set(names)), {})


def is_client(words: tuple[str, ...]) -> bool:
    """Whether a command line is one of an agent's client: the program itself, or a script of it."""
    if not words:
        return False
    program = os.path.basename(words[0]).lstrip("-")
    if program in AGENTS:
        return True
    if not program.startswith(_INTERPRETERS):
        return False
    script = next((word for word in words[1:] if not word.startswith("-")), "")
    return not AGENTS.isdisjoint(os.path.splitext(part)[0] for part in script.split("/")[-4:])


def _ancestors(look: Look) -> Iterator[AncestorProcess]:
    pid = os.getppid()
    for _ in range(_DEPTH):
        process = look(pid) if pid > 0 else None
        if process is None:
            return
        yield process
        pid = process.parent


def look_up(pid: int) -> AncestorProcess | None:
    """What the system tells about a process; ``None`` where there is none, or nothing is told."""
    if os.path.isdir("/proc/self"):
        return _read_from_proc(pid)
    return _read_from_ps(pid)


def _read_from_proc(pid: int) -> AncestorProcess | None:
    found, words = caller.process(pid), caller.words(pid)
    return AncestorProcess(pid, found.parent, found.started, tuple(words)) if found is not None and words else None


def _read_from_ps(pid: int) -> AncestorProcess | None:
    # The fields and their order are POSIX; no start time is, so none is asked for. Without -ww, lines of macOS end at
    # the width of the terminal, and in front of a client's name may stand a long path.
    done = subprocess.run(  # noqa: S603 - no part of it is anybody's text
        ["/bin/ps", "-ww", "-o", "ppid=,args=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    parent, _, line = done.stdout.strip().partition(" ")
    return AncestorProcess(pid, int(parent), "", tuple(line.split())) if parent.isdigit() else None
