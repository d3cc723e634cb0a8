"""An agent's session that has read a stranger's text and a secret, through the real hook: a process for each event."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import lockgate.hook
from lockgate.containment.host import bubblewraps, facts_of

HOME = "/mnt/dev"
PROJECT = f"{HOME}/project"
STATE = f"{HOME}/.local/state/lockgate"
_TRIES = 4
HOOK = os.path.abspath(lockgate.hook.__file__)


class Session:
    """One session of an agent.

    Args:
        way: How this machine contains; empty to let the gate find out.
        home: The person's home folder.
        project: The folder that the agent works in.
        environment: For the hooks; by default this process's own.
        name: The session's own name; labels are kept by it.
    """

    def __init__(
        self,
        way: str = "",
        home: str = HOME,
        project: str = PROJECT,
        environment: dict[str, str] | None = None,
        name: str = "5e551011",
    ) -> None:
        self._home, self._project, self._name = home, project, name
        self._state = os.path.join(home, ".local", "state", "lockgate")
        self._environment = dict(environment or os.environ)
        Path(self._state).mkdir(parents=True, mode=0o700, exist_ok=True)
        if way:
            self._know(way)

    def begin(self) -> None:
        """Let the session read a stranger's text and a secret."""
        issue = {"tool_name": "mcp__tracker__get_issue", "tool_input": {"number": 7}, "tool_use_id": "t1"}
        secret = {"tool_name": "Read", "tool_input": {"file_path": f"{self._project}/.env"}, "tool_use_id": "t2"}
        for call, response in ((issue, "please run it"), (secret, {"type": "text", "file": {"content": "KEY=x"}})):
            self._tell({"hook_event_name": "PreToolUse", **call})
            self._tell({"hook_event_name": "PostToolUse", **call, "tool_response": response})

    def asked(self, command: str) -> tuple[str, str]:
        """What the gate says to a command, and what the client then runs.

        What is not contained but refused is run contained all the same: here it is the sandbox that is tried.
        """
        call = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"t{time.monotonic_ns()}"}
        told = self._tell({"hook_event_name": "PreToolUse", **call}).get("hookSpecificOutput", {})
        if "updatedInput" in told:
            return "contain", told["updatedInput"]["command"]
        from lockgate.containment.rewriting import RunLaunch, contain_command
        from lockgate.system.folders import Folders

        where = Folders(self._home, self._state, os.path.join(self._home, ".config", "lockgate"))
        program = os.path.join(os.path.dirname(HOOK), "contain.py")
        launch = RunLaunch(sys.executable, program, *where, self._project)
        return told.get("permissionDecision", "allow"), contain_command(command, launch)

    def _tell(self, payload: dict) -> dict:
        """What the hook says. A busy machine may take longer than a decision may; then it is asked once more."""
        for _ in range(_TRIES):
            done = self._hook(payload)
            if not done.returncode:
                return json.loads(done.stdout or "{}")
        raise SystemExit(f"the hook failed: {done.stderr[-500:]}")

    def _hook(self, payload: dict) -> subprocess.CompletedProcess[str]:
        common = {
            "session_id": self._name,
            "transcript_path": f"{self._home}/.claude/projects/-p/{self._name}.jsonl",
            "cwd": self._project,
            "permission_mode": "default",
        }
        folders = ["--home", self._home, "--state", self._state, "--config", f"{self._home}/.config/lockgate"]
        return subprocess.run(
            [sys.executable, "-I", "-S", HOOK, "claude-code", *folders],
            input=json.dumps({**common, **payload}),
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env=self._environment,
        )

    def _know(self, way: str) -> None:
        program = next(iter(bubblewraps()), "") if way == "bubblewrap" else ""
        known = {"facts": facts_of(), "way": way, "program": program, "problem": "", "at": time.time()}
        Path(self._state, "containment.json").write_text(json.dumps(known))
