"""Running the native client as a client runs it, with a stand-in for the Python hook."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

STAND_IN = Path(__file__).with_name("stand_in_hook.py")
LOCALLY = 7
"""The exit code of the stand-in."""


class Done(NamedTuple):
    """What became of a run."""

    code: int
    stdout: bytes
    stderr: bytes

    @property
    def report(self) -> dict[str, Any]:
        """What the stand-in tells of its start."""
        assert self.code == LOCALLY, (self.code, self.stdout, self.stderr)
        loaded = json.loads(self.stdout)
        assert isinstance(loaded, dict)
        return loaded

    @property
    def arguments(self) -> list[str]:
        """What the stand-in was given, without the time that had gone by."""
        words: list[str] = self.report["arguments"]
        if words[1:2] in (["--asked"], ["--missed"]):
            assert self.spent >= 0
            words[2] = "MS"
        return words

    @property
    def spent(self) -> int:
        """Milliseconds that had gone by when the stand-in was started, as it is told."""
        return int(self.report["arguments"][2])


def command(client: Path, *words: str | Path, python: str = sys.executable, script: Path = STAND_IN) -> list[str]:
    """The command line that an installer writes."""
    return [str(client), "--python", python, "--script", str(script), *map(str, words)]


def options(state: Path) -> list[str]:
    """The usual options of a hook."""
    return ["claude-code", "--home", "/home/somebody", "--state", str(state), "--config", "/etc/x", "--event", "Stop"]


def run(words: list[str], payload: bytes = b"{}", env: dict[str, str] | None = None, **more: Any) -> Done:
    """Run a command with a payload on its stdin."""
    ended = subprocess.run(
        words, input=payload, capture_output=True, check=False, timeout=60, env=env or {"WORD": "x"}, **more
    )
    return Done(ended.returncode, ended.stdout, ended.stderr)
