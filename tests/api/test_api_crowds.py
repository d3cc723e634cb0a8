"""Many threads and tasks at once, what fails inside the gate, and calls that run contained."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lockgate.gate import Parts
from lockgate.gate.host.assembly import open_parts

from .conftest import Open

pytestmark = pytest.mark.anyio

WEB = {"url": "https://news.example.com/", "prompt": "what is new"}
PUSH = {"command": "git push"}


def test_threads_at_once(opened: Open) -> None:
    gates = [opened(), opened()]

    def work(number: int) -> tuple[str, str]:
        session = gates[number % 2].session(f"s{number}")
        before = session.check_sync("Bash", PUSH).verdict
        session.finished_sync("Bash", PUSH, "")
        for _ in range(3):
            if number % 4 < 2:
                session.finished_sync("WebFetch", WEB, "a page")
            session.check_sync("Bash", {"command": "ls"})
        return before, session.check_sync("Bash", PUSH).verdict

    with ThreadPoolExecutor(20) as pool:
        for number, (before, after) in enumerate(pool.map(work, range(40))):
            assert (before, after) == ("allow", "deny" if number % 4 < 2 else "allow")


async def test_tasks_at_once(opened: Open) -> None:
    gate = opened()

    async def work(number: int) -> tuple[str, str]:
        session = gate.session(f"s{number}")
        before = await session.check("Bash", PUSH)
        await session.finished("Bash", PUSH, "")
        if number % 2:
            await session.finished("WebFetch", WEB, "a page")
        return before.verdict, (await session.check("Bash", PUSH)).verdict

    found = await asyncio.gather(*map(work, range(200)))
    assert found == [("allow", "deny" if number % 2 else "allow") for number in range(200)]


async def test_tasks_that_are_cancelled_leave_the_others_alone(opened: Open) -> None:
    gate = opened()
    tasks = [asyncio.create_task(gate.session(f"s{number}").check("Bash", PUSH)) for number in range(40)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(not isinstance(one, BaseException) and one.allowed for one in found[1::2])
    assert all(isinstance(one, asyncio.CancelledError) for one in found[::2])


# ---------------------------------------------------------------- what fails inside
def _breaks(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("a word that nobody must see")


@pytest.mark.parametrize("part", ["configure", "host_view", "clock"])
async def test_an_error_inside_denies_and_withholds(
    opened: Open, part: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any, **options: Any) -> Parts:
        return open_parts(*given, **options)._replace(**{part: _breaks})

    monkeypatch.setattr("lockgate.clients.sdk.gate.open_parts", broken)
    session = opened().session()
    decision = await session.check("Bash", {"command": "ls"})
    result = await session.finished("Bash", {"command": "ls"}, {"stdout": "text", "code": 0})
    assert (decision.verdict, decision.allowed) == ("deny", False)
    assert "internal error (ZeroDivisionError)" in decision.reason
    assert session.check_sync("Bash", {"command": "ls"}).verdict == "deny"
    assert not (await session.before_tool_use("Bash", {"command": "ls"})).allowed
    assert result.changed
    assert result.output["code"] == 0
    assert "withholds" in result.output["stdout"]
    assert "nobody must see" not in decision.reason + str(result)
    assert "ZeroDivisionError" in caplog.text


async def test_an_input_that_cannot_be_read_denies(opened: Open) -> None:
    session = opened().session()
    for given in (None, "text", 7, ["a"]):
        decision = await session.check("Bash", given)  # type: ignore[arg-type]
        assert decision.verdict == "deny"
        assert "a mapping" in decision.reason
    assert not session.check_sync("Bash", None).allowed  # type: ignore[arg-type]


# ---------------------------------------------------------------- containment
async def test_a_contained_call_runs_as_it_was_rewritten(opened: Open, folder: Path) -> None:
    session = opened().session()
    await session.finished("WebFetch", WEB, "a page")
    (folder / "work" / "run.sh").write_text(
        "echo made >made.txt\necho left >../left.txt\ncat /proc/net/dev | grep -c eth\n"
    )
    given = {"command": "bash run.sh", "timeout": 7}
    decision = await session.check("Bash", given, call_id="1")
    assert (decision.verdict, decision.tier, decision.allowed) == ("contain", "containment", True)
    assert decision.tool_input["timeout"] == 7
    assert decision.tool_input["command"] != given["command"]
    done = await asyncio.to_thread(_run, decision.tool_input, folder / "work")
    assert (folder / "work" / "made.txt").read_text() == "made\n"
    assert not (folder / "left.txt").exists()
    assert "0\n" in done.stdout
    result = await session.finished("Bash", decision.tool_input, done.stdout, call_id="1")
    assert result.output == done.stdout


async def test_a_hook_that_cannot_rewrite_runs_nothing_contained(opened: Open) -> None:
    session = opened().session()
    await session.finished("WebFetch", WEB, "a page")
    assert (await session.check("Bash", {"command": "bash run.sh"})).verdict == "contain"
    hook = await session.before_tool_use("Bash", {"command": "bash run.sh"})
    assert (hook.allowed, hook.decision) == (False, "deny")


def _run(tool_input: Mapping[str, Any], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", tool_input["command"]], cwd=cwd, capture_output=True, text=True, timeout=60)


async def test_what_is_decided_is_what_was_given(opened: Open) -> None:
    given: dict[str, Any] = {"command": "ls", "more": ["a"]}
    decision = await opened().session().check("Bash", given)
    given["more"].append("b")
    assert decision.tool_input == {"command": "ls", "more": ["a"]}


FORK = """
import os, sys
from lockgate import Gate
with Gate.open(ephemeral=True, workspace=sys.argv[1], ask="deny") as gate:
    session = gate.session()
    assert session.check_sync("Bash", {"command": "ls"}).allowed
    child = os.fork()
    if not child:
        decision = session.check_sync("Bash", {"command": "ls"})
        gate.close()
        os._exit(0 if decision.verdict == "deny" and "another process" in decision.reason else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert os.path.exists(gate._remove)
    assert session.check_sync("Bash", {"command": "ls"}).allowed
"""


def test_a_process_that_was_forked_is_denied_and_does_not_hang(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FORK, folder], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
