"""Running the hook as a client does: a process of its own, JSON on stdin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import lockgate.hook
from support.prepared import give_state

HOOK = os.path.abspath(lockgate.hook.__file__)
SOURCE = os.path.dirname(os.path.dirname(HOOK))


class Told(NamedTuple):
    """What the process answered."""

    code: int
    stdout: str
    stderr: str

    @property
    def answer(self) -> dict[str, Any]:
        """stdout as one JSON object; empty where it is silent."""
        loaded = json.loads(self.stdout or "{}")
        assert isinstance(loaded, dict)
        return loaded

    @property
    def refuses(self) -> bool:
        """Whether the answer refuses in the client's dialect, or tells where the client cannot refuse."""
        specific = self.answer.get("hookSpecificOutput", {})
        return specific.get("permissionDecision") == "deny" or self.answer.get("decision") == "block"


def folders(home: Path) -> list[str]:
    give_state(home / "state")
    return ["--home", str(home), "--state", str(home / "state"), "--config", str(home / "config")]


def run(command: list[str], data: bytes | dict[str, Any], **options: Any) -> Told:
    given = json.dumps(data).encode() if isinstance(data, dict) else data
    done = subprocess.run(command, input=given, capture_output=True, check=False, timeout=60, **options)
    return Told(done.returncode, done.stdout.decode(), done.stderr.decode())


def hook(home: Path, data: bytes | dict[str, Any], *options: str, flags: tuple[str, ...] = ()) -> Told:
    """Run the hook's own file in an isolated interpreter."""
    return run([sys.executable, *flags, "-I", "-S", HOOK, "claude-code", *folders(home), *options], data)


def faulty(
    home: Path,
    fault: str,
    data: bytes | dict[str, Any],
    *options: str,
    grace: float = 10.0,
    client: str = "claude-code",
) -> Told:
    """Run the hook with a gate whose ``handle`` runs these lines.

    A process that can still refuse has ``grace`` seconds for it: a busy machine must not have it ended before.
    """
    program = f"""
import sys, types
sys.path.append({SOURCE!r})
import lockgate
runtime = types.ModuleType("lockgate.gate.host.assembly")
class Gate:
    def handle(self, event):
{chr(10).join("        " + line for line in fault.splitlines())}
def open_gate(where, limit, parents, history, rule, prolong, *others):
    Gate.limit, Gate.prolong = staticmethod(limit), staticmethod(prolong)
    return Gate()
runtime.open_gate = open_gate
sys.modules["lockgate.gate.host.assembly"] = runtime
from lockgate import hook
from lockgate.clients.hook import deadline
deadline.GRACE = {grace}
hook.main(sys.argv[1:])
"""
    return run([sys.executable, "-I", "-S", "-c", program, client, *folders(home), *options], data)
