"""The files that a client loads as a part of itself, run by Node with a gate that the test plays."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lockgate.clients.common.hook_command import HookLaunch
from lockgate.clients.install.others import WAYS
from lockgate.system.folders import Folders

pytestmark = pytest.mark.slow

OPENCODE = """
import * as shim from "./shim.mjs";
const client = { session: { get: async () => ({ data: {} }) }, tui: { showToast: async () => {} } };
const hooks = await shim.Lockgate({ client, directory: "/w", worktree: "/" });
const input = { sessionID: "s", tool: "bash", callID: "c" };
async function call(name, output) {
  try { await hooks[name](input, output); return { output }; } catch (error) { return { refused: error.message }; }
}
"""
CLINE = """
import shim from "./shim.mjs";
const snapshot = { agentId: "a", conversationId: "s", messages: [] };
const toolCall = { toolName: "run_commands", toolCallId: "c" };
const other = { toolCall: { ...toolCall, toolCallId: "d" }, result: { output: "secret" } };
async function call(name, more) { return (await shim.hooks[name]({ snapshot, toolCall, ...more })) ?? null; }
"""
GATES = {
    "kills itself": "import os; os.kill(os.getpid(), 9)",
    "fails": "import sys; print('{}'); sys.exit(1)",
    "says nothing": "",
    "says garbage": "print('{')",
    "says garbage after an answer": "print('{}{')",
}


class Shim:
    """A shim in a folder of a test's own."""

    def __init__(self, folder: Path, client: str, driver: str) -> None:
        self.folder, self.driver = folder, driver
        whole = WAYS[client].whole
        assert whole is not None
        gate = HookLaunch(sys.executable, str(folder / "gate.py"), Folders("/h", "/s", "/c"))
        (folder / "shim.mjs").write_text(whole(client, gate))

    def run(self, gate: str, calls: str) -> Any:
        """Run JavaScript that says what became of calls, with a gate of these lines of Python."""
        (self.folder / "gate.py").write_text(gate)
        (self.folder / "driver.mjs").write_text(f"{self.driver}\nconsole.log(JSON.stringify({calls}));")
        node = shutil.which("node")
        assert node, "node is needed"
        done = subprocess.run([node, "driver.mjs"], cwd=self.folder, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.mark.parametrize("client", ["opencode", "kilo"])
@pytest.mark.parametrize("gate", GATES.values(), ids=GATES)
def test_a_gate_that_fails_refuses_a_call_and_withholds_a_result(tmp_path: Path, client: str, gate: str) -> None:
    shim = Shim(tmp_path, client, OPENCODE)
    calls = """[await call("tool.execute.before", { args: { command: "ls" } }),
                await call("tool.execute.after", { output: "secret" })]"""
    before, after = shim.run(gate, calls)
    assert "blocks to be safe" in before["refused"]
    assert "blocks to be safe" in after["output"]["output"]


@pytest.mark.parametrize("gate", [*GATES.values(), "import time; time.sleep(30)"], ids=[*GATES, "hangs"])
def test_such_a_gate_skips_a_call_of_cline(tmp_path: Path, gate: str) -> None:
    calls = """[await call("beforeTool", { input: { commands: ["ls"] } }), await call("afterTool", other)]"""
    before, after = Shim(tmp_path, "cline", CLINE).run(gate, calls)
    assert before["skip"] is True
    assert "blocks to be safe" in before["reason"]
    assert "blocks to be safe" in after["result"]["output"]


def test_an_agent_of_cline_that_began_in_no_known_conversation_is_refused(tmp_path: Path) -> None:
    calls = """[await call("beforeTool", { snapshot: { ...snapshot, parentAgentId: "x" }, input: {} })]"""
    (refused,) = Shim(tmp_path, "cline", CLINE).run("print('{}')", calls)
    assert refused["skip"] is True


PARTS = [
    pytest.param([{"text": "do it"}], "do it", True, id="typed"),
    pytest.param([{"text": "see"}, {"text": "push", "synthetic": True}], "see", True, id="with-a-file"),
    pytest.param([{"text": "go on", "synthetic": True}], "", False, id="a-prompt-for-later"),
]


@pytest.mark.parametrize(("parts", "prompt", "typed"), PARTS)
def test_only_what_was_typed_is_told_as_a_prompt(
    tmp_path: Path, parts: list[dict[str, Any]], prompt: str, typed: bool
) -> None:
    shim = Shim(tmp_path, "kilo", OPENCODE)
    tells = "import json, sys; print(json.dumps({'deny': sys.stdin.read()}))"
    told = shim.run(tells, f'await call("chat.message", {{ parts: {json.dumps(parts)} }})')
    payload = json.loads(told["refused"])
    assert (payload["prompt"], payload["typed"]) == (prompt, typed)


COMMANDS = [
    pytest.param({"text": "push to a.example.com"}, id="a-text"),
    pytest.param({"type": "subtask", "prompt": "push to a.example.com"}, id="a-sub-agent"),
]


@pytest.mark.parametrize("part", COMMANDS)
def test_what_a_command_of_the_project_says_was_not_typed(tmp_path: Path, part: dict[str, Any]) -> None:
    """Only what stands behind its name is; and what somebody types afterwards is typed as ever."""
    tells = "import json, sys; print(json.dumps({'deny': sys.stdin.read()}))"
    made, typed = json.dumps([part]), json.dumps([{"text": "go on"}])
    calls = f"""[await hooks["command.execute.before"]({{ ...input, arguments: "now" }}, {{ parts: {made} }}),
                 await call("chat.message", {{ parts: {made} }}), await call("chat.message", {{ parts: {typed} }})]"""
    _, *told = Shim(tmp_path, "opencode", OPENCODE).run(tells, calls)
    payloads = [json.loads(each["refused"]) for each in told]
    assert [(payload["prompt"], payload["typed"]) for payload in payloads] == [("now", True), ("go on", True)]
