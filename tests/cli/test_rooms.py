"""``lockgate rooms``, as processes: a real hook has a command run contained, and the room that this makes is listed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import tool
from containment.machine import Machine
from hook.process import HOOK, run
from lockgate.containment import rooms
from support import forked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="rooms are for Linux")
SERVE = "./serve.sh 8021 >/dev/null 2>&1 &"


class Session(Machine):
    """A machine with a session that has read a stranger's text."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, "namespaces", native=True)
        self.environment["HOME"] = str(self.home)
        self.file("serve.sh", "#!/bin/sh\nexec python3 -m http.server $1\n").chmod(0o755)
        self.calls = 0

    def hook(self, event: str, *named: Any, **more: Any) -> dict[str, Any]:
        folders = ["--home", str(self.home), "--state", str(self.state), "--config", str(self.config)]
        payload = tool(event, *named, cwd=str(self.project), session_id="s1", **more)
        said = run([sys.executable, "-I", "-S", HOOK, "claude-code", *folders], payload).stdout
        found: dict[str, Any] = json.loads(said or "{}")
        return found

    def call(self, command: str) -> str:
        """Run a command as a client does: as the hook answers that it is run."""
        self.calls += 1
        named = ("Bash", {"command": command})
        answer = self.hook("PreToolUse", *named, tool_use_id=f"c{self.calls}")
        text = answer["hookSpecificOutput"]["updatedInput"]["command"]
        assert "--room=" in text
        done = self.outside(text)
        self.hook(
            "PostToolUse",
            "Bash",
            {"command": text},
            tool_use_id=f"c{self.calls}",
            tool_response={"stdout": done.stdout},
        )
        return done.stdout

    def lockgate(self, *words: str) -> subprocess.CompletedProcess[str]:
        return forked.run_text(words, cwd=self.project, env=self.environment)

    def rooms(self) -> list[dict[str, Any]]:
        done = self.lockgate("rooms", "--json")
        assert done.returncode == 0, done
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path)
    try:
        session.begin()
        issue = ("mcp__tracker__get_issue", {"number": 7})
        session.hook("SessionStart", source="startup")
        session.hook("PreToolUse", *issue, tool_use_id="t1")
        session.hook("PostToolUse", *issue, tool_use_id="t1", tool_response="push it")
        yield session
    finally:
        rooms.end(str(session.state), [each.name for each in rooms.find_standing(str(session.state))])
        session.end()


def test_a_room_is_told_and_ended(session: Session) -> None:
    assert session.rooms() == []
    assert "no contained command runs" in session.lockgate("rooms").stdout
    session.call(SERVE)
    (found,) = session.rooms()
    assert (found["session"], found["labels"], found["left"], found["running"]) == ("s1", ["untrusted"], 1, 0)
    assert "session s1, untrusted: 0 running, 1 have left processes" in session.lockgate("rooms").stdout
    assert session.lockgate("rooms", "end", "zz").returncode == 1
    assert session.lockgate("rooms", "end", found["room"][:12]).stdout == "ended: 1\n"
    assert session.rooms() == []


def test_a_server_is_there_for_the_next_call_and_ends_with_the_session(session: Session) -> None:
    session.call(SERVE)
    text = "for i in $(seq 100); do python3 ask.py && exit; sleep 0.05; done"
    session.file("ask.py", "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8021/').status)\n")
    assert session.call(text) == "200\n"
    assert "serve.sh" in session.call("curl -s http://localhost:8021/"), "what asks it runs beside it"
    assert session.hook("PreToolUse", "Bash", {"command": "curl -s localhost:8022"}, tool_use_id="n") == {}
    session.hook("SessionEnd", reason="logout")
    deadline = time.monotonic() + 10
    while session.rooms():
        assert time.monotonic() < deadline, "it goes on"
        time.sleep(0.05)


def test_a_persons_browser_reaches_a_server(session: Session) -> None:
    nothing = session.lockgate("rooms", "forward", "8021")
    assert (nothing.returncode, nothing.stderr) == (
        1,
        "Error: nothing listens at port 8021 in a room (see: lockgate rooms)\n",
    )
    session.call(SERVE)
    (room,) = (each["room"] for each in session.rooms())
    deadline = time.monotonic() + 10
    while 8021 not in rooms.ports(str(session.state), [room]):
        assert time.monotonic() < deadline, "it never listens"
        time.sleep(0.05)
    words = [sys.executable, "-u", "-m", "lockgate", "rooms", "forward", "8021", "--to", "0", "--room", room[:12]]
    environment = {**os.environ, **session.environment}
    with subprocess.Popen(words, env=environment, cwd=session.project, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[0]
        with urllib.request.urlopen(f"{address}serve.sh", timeout=10) as page:
            assert b"http.server" in page.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
