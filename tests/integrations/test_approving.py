"""A program waits for a person: one at another terminal can answer, and what the program itself has started cannot."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from e2e.harness.terminal import Terminal
from e2e.harness.world import World
from lockgate.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from lockgate import Gate

with Gate.open(ask="wait") as gate:
    decision = gate.session("s").check_sync("Bash", {"command": "find . -delete"})
print(decision.verdict, decision.tier)
"""
AGENT = """
import asyncio, contextlib, os, pty, sys
from lockgate import Gate

async def main():
    async with Gate.open(ask="wait", config={"approvals": {"expire_seconds": 10}}) as gate:
        check = asyncio.create_task(gate.session("s").check("Bash", {"command": "find . -delete"}))
        while True:
            rows = await asyncio.to_thread(lambda: gate.driver.submit(pending).result())
            if rows:
                break
            await asyncio.sleep(0.05)
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(sys.executable, [sys.executable, "-m", "lockgate", "approve", rows[0].approval, "--yes"])
        said = b""
        with contextlib.suppress(OSError):  # how Linux tells the end
            while part := await asyncio.to_thread(os.read, terminal, 4096):
                said += part
        print(said.decode())
        os.waitpid(pid, 0)
        print((await check).verdict)

def pending(parts):
    with parts.store.reading() as tx:
        return tx.approvals(state="pending")

asyncio.run(main())
"""


def _waiting(place: World) -> str:
    """The id of the question that is open."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        store = SqliteStore.open(str(place.home / ".local" / "state" / "lockgate"))
        with store.reading() as tx:
            rows = tx.approvals(state="pending")
        store.close()
        if rows:
            return rows[0].approval
        time.sleep(0.1)
    raise AssertionError("nothing was asked")


def test_a_person_at_another_terminal_answers(place: World) -> None:
    argv = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(argv, cwd=place.project, env=place.environment, stdout=subprocess.PIPE, text=True) as program:
        approval = _waiting(place)
        approve = [sys.executable, "-m", "lockgate", "approve", approval, "--yes"]
        with Terminal(approve, place.environment, place.home) as terminal:
            terminal.wait_for("approved, once")
        assert program.communicate(timeout=30)[0].split() == ["allow", "person"]


def test_what_the_program_has_started_is_no_person(place: World) -> None:
    argv = [sys.executable, "-W", "ignore", "-c", AGENT]
    done = subprocess.run(argv, cwd=place.project, env=place.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "only a person may approve" in done.stdout
    assert done.stdout.split()[-1] == "deny"
