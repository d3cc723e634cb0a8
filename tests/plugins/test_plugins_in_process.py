"""Plugins and rules in a program that uses the gate in-process, from an event loop and from threads."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lockgate.clients.sdk import Gate

POLICY = """
import asyncio

async def before_tool_use(tool_name, tool_input, context):
    await asyncio.sleep(0)
    if "stop" in tool_input.get("command", ""):
        return {"decision": "deny", "reason": f"{context.client} in {context.session} was told to"}

def after_tool_use(tool_output):
    return {"allowed": "unfit" not in tool_output, "reason": "unfit"}
"""


@pytest.fixture
def policy(tmp_path: Path) -> str:
    path = tmp_path / "policy.py"
    path.write_text(POLICY)
    path.chmod(0o600)
    return str(path)


def test_calls_and_results_are_asked_about(policy: str, tmp_path: Path) -> None:
    async def main() -> None:
        config = {"plugins": [policy], "git": {"force_push": "deny"}}
        async with Gate.open(workspace=tmp_path, ephemeral=True, config=config, client="shop") as gate:
            session = gate.session("s7")
            assert (await session.check("Bash", {"command": "ls"})).allowed
            denied = await session.check("Bash", {"command": "echo stop"})
            assert (denied.verdict, denied.tier) == ("deny", "rules")
            assert "shop in s7 was told to" in denied.reason
            assert (await session.check("Bash", {"command": "git push -f"})).tier == "rules"
            assert (await session.finished("Bash", {"command": "ls"}, "fine")).output == "fine"
            result = await session.finished("Bash", {"command": "ls"}, "this is unfit")
            assert "this is" not in str(result.output)
            assert "unfit [plugin:policy@" in str(result.output)

    asyncio.run(main())


def test_a_plugin_that_hangs_keeps_neither_the_loop_nor_other_calls(tmp_path: Path) -> None:
    async def main() -> None:
        slow = tmp_path / "slow.py"
        slow.write_text(
            "import time\ndef before_tool_use(tool_input):\n    time.sleep(60 * (tool_input['command'] == 'slow'))\n"
        )
        slow.chmod(0o600)
        async with Gate.open(workspace=tmp_path, ephemeral=True, config={"plugins": [str(slow)]}) as gate:
            session = gate.session()
            hanging = asyncio.create_task(session.check("Bash", {"command": "slow"}))
            await asyncio.sleep(0)
            others = await asyncio.gather(*(session.check("Bash", {"command": "ls"}) for _ in range(10)))
            assert all(decision.allowed for decision in others)
            assert "it took longer than 1 s" in (await hanging).reason

    asyncio.run(main())


def test_many_threads_share_one_plugin(policy: str, tmp_path: Path) -> None:
    with Gate.open(workspace=tmp_path, ephemeral=True, config={"plugins": [policy]}) as gate:
        session = gate.session()

        def check(number: int) -> bool:
            command = f"echo {'stop' if number % 2 else 'go'} {number}"
            return session.check_sync("Bash", {"command": command}).allowed

        with ThreadPoolExecutor(16) as pool:
            assert list(pool.map(check, range(60))) == [number % 2 == 0 for number in range(60)]


def test_a_relative_path_needs_a_file_that_it_is_relative_to(tmp_path: Path) -> None:
    with Gate.open(workspace=tmp_path, ephemeral=True, config={"plugins": ["./policy.py"]}) as gate:
        decision = gate.session().check_sync("Bash", {"command": "ls"})
        assert "its path is relative" in decision.reason
