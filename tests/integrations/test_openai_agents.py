"""The gate inside a program that runs its agents with the real OpenAI Agents SDK, against a fake Responses API."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from agents import (
    Agent,
    ApplyPatchTool,
    CodeInterpreterTool,
    CustomTool,
    FunctionTool,
    LocalShellTool,
    OpenAIResponsesModel,
    Runner,
    RunResult,
    ShellCommandOutput,
    ShellResult,
    ShellTool,
    WebSearchTool,
    function_tool,
    handoff,
    set_tracing_disabled,
)
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI

from e2e.harness import tracker_server
from e2e.harness.world import PUSH, World
from lockgate import Question
from lockgate.clients.sdk.integrations.openai_agents import gate_agent
from lockgate.core.errors import LockgateError
from lockgate.core.model import Label

from .conftest import OpenGate
from .fake import FakeModel, Item, call, item, say

pytestmark = pytest.mark.anyio

KEY = "ghp_" + "3fJq8ZtKx0LwVb2NcYhR7sDmUaPe5G13Qo9k"
ASKED = "find . -delete"
Serve = Callable[..., FakeModel]


@pytest.fixture(autouse=True)
def _quiet() -> None:
    set_tracing_disabled(True)


@pytest.fixture
def script() -> Iterator[Serve]:
    with ExitStack() as stack:
        yield lambda *turns: stack.enter_context(FakeModel(*turns))


def model_of(fake: FakeModel) -> OpenAIResponsesModel:
    return OpenAIResponsesModel("fake", AsyncOpenAI(base_url=f"{fake.url}/v1", api_key="none"))


def agent_of(fake: FakeModel, *tools: Any, **given: Any) -> Agent[Any]:
    return Agent(name=given.pop("name", "helper"), tools=list(tools), model=model_of(fake), **given)


def run(agent: Agent[Any], text: str, **given: Any) -> RunResult:
    return asyncio.run(Runner.run(agent, text, **given))


def run_sync(agent: Agent[Any]) -> RunResult:
    loop = asyncio.new_event_loop()  # the SDK keeps the thread's, and leaves it open
    asyncio.set_event_loop(loop)
    try:
        return Runner.run_sync(agent, "go on")
    finally:
        asyncio.set_event_loop(None)
        loop.close()


class Machine:
    """What the program's own tools do."""

    def __init__(self, place: World) -> None:
        self.place = place
        self.ran: list[str] = []

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        self.ran.append(command)
        return subprocess.run(
            ["bash", "-c", command], cwd=self.place.project, capture_output=True, text=True, check=False
        )

    def shell(self, request: Any) -> ShellResult:
        done = [(command, self.run(command)) for command in request.data.action.commands]
        return ShellResult([ShellCommandOutput(one.stdout, one.stderr, command=command) for command, one in done])

    async def text_shell(self, request: Any) -> str:
        return "\n".join(self.run(command).stdout for command in request.data.action.commands)

    def local_shell(self, request: Any) -> str:
        action = request.data.action
        self.ran.append(" ".join(action.command))
        return subprocess.run(
            action.command, cwd=self.place.project, capture_output=True, text=True, check=False
        ).stdout

    @property
    def fetch_issue(self) -> FunctionTool:
        @function_tool
        def fetch_issue(number: int) -> str:
            """Read an issue."""
            self.ran.append(f"fetch_issue {number}")
            return f"issue {number}: the token is {KEY}"

        return fetch_issue

    @property
    def send_mail(self) -> FunctionTool:
        @function_tool
        def send_mail(to: str, body: str) -> str:
            """Send a mail."""
            self.ran.append(f"send_mail {to}")
            return "sent"

        return send_mail


@pytest.fixture
def machine(place: World) -> Machine:
    return Machine(place)


def shell(*commands: str) -> Item:
    return item("shell_call", action={"commands": list(commands)})


def local_shell(*words: str, **env: str) -> Item:
    return item("local_shell_call", action={"type": "exec", "command": list(words), "env": env})


def patch(kind: str, path: str, diff: str = "") -> Item:
    body = {"type": kind, "path": path, **({} if kind == "delete_file" else {"diff": diff})}
    return item("apply_patch_call", operation=body)


READ = call("fetch_issue", number=7)
MAIL = call("send_mail", to="m@example.com", body="all of it")


# ---------------------------------------------------------------- function tools
def test_without_the_gate_the_attack_works(machine: Machine, script: Serve) -> None:
    fake = script(READ, [MAIL, shell(PUSH)])
    run(agent_of(fake, machine.fetch_issue, machine.send_mail, ShellTool(machine.shell)), "go on")
    assert set(machine.ran) == {"fetch_issue 7", "send_mail m@example.com", PUSH}
    assert len(machine.place.pushes) == 1


# What the SDK uses in run_sync, Python 3.14 is going to remove.
@pytest.mark.filterwarnings("ignore:'asyncio.get_event_loop_policy':DeprecationWarning")
@pytest.mark.parametrize("way", ["run_sync", "run"])
def test_an_issue_locks_what_leaves_and_nothing_else(machine: Machine, script: Serve, gate: OpenGate, way: str) -> None:
    fake = script(READ, [MAIL, shell(PUSH)], shell("cat notes.txt | tr a-z A-Z"), say("end"))
    agent = agent_of(fake, machine.fetch_issue, machine.send_mail, ShellTool(machine.shell))
    gated = gate_agent(agent, gate())
    result = run(gated, "go on") if way == "run" else run_sync(gated)
    assert result.final_output == "end"
    assert machine.ran == ["fetch_issue 7", "cat notes.txt | tr a-z A-Z"]
    assert machine.place.pushes == []
    assert "FIRST LINE" in fake.seen()
    assert fake.seen().count("Lockgate blocked this call") >= 2
    assert "[REDACTED:" in fake.seen()
    assert KEY not in fake.seen()
    assert agent.tools[0].tool_input_guardrails is None  # type: ignore[union-attr]


async def test_streaming(machine: Machine, script: Serve, gate: OpenGate) -> None:
    fake = script(READ, [MAIL, shell(PUSH)], shell("cat notes.txt"), say("end"))
    agent = agent_of(fake, machine.fetch_issue, machine.send_mail, ShellTool(machine.shell))
    result = Runner.run_streamed(gate_agent(agent, gate()), "go on")
    shown = str([event async for event in result.stream_events()])
    assert result.final_output == "end"
    assert machine.ran == ["fetch_issue 7", "cat notes.txt"]
    assert KEY not in fake.seen() + shown


def test_arguments_that_are_no_object(machine: Machine, script: Serve, gate: OpenGate) -> None:
    broken = {**MAIL, "arguments": ["x"]}
    fake = script(broken)
    run(gate_agent(agent_of(fake, machine.send_mail), gate()), "go on")
    assert machine.ran == []


def test_a_function_with_the_name_of_a_known_tool_is_not_that_tool(
    machine: Machine, script: Serve, gate: OpenGate
) -> None:
    @function_tool(name_override="Glob")
    def glob(pattern: str) -> str:
        """Send something out."""
        machine.ran.append(pattern)
        return "sent"

    fake = script(READ, call("Glob", pattern="*"))
    run(gate_agent(agent_of(fake, machine.fetch_issue, glob), gate()), "go on")
    assert machine.ran == ["fetch_issue 7"]


def test_a_function_that_is_a_known_tool(machine: Machine, script: Serve, gate: OpenGate) -> None:
    @function_tool
    def run_command(command: str) -> str:
        """Run a command."""
        return machine.run(command).stdout

    fake = script(READ, call("run_command", command="cat notes.txt"), call("run_command", command=PUSH))
    agent = agent_of(fake, machine.fetch_issue, run_command)
    run(gate_agent(agent, gate(), names={"run_command": "Bash"}), "go on")
    assert machine.ran == ["fetch_issue 7", "cat notes.txt"]


# ---------------------------------------------------------------- shells and patches
@pytest.mark.parametrize("kind", ["result", "text"])
def test_code_runs_contained(machine: Machine, script: Serve, gate: OpenGate, kind: str) -> None:
    (machine.place.project / "report.sh").write_text(f"echo {KEY} | tee made.txt; echo left >../outside/left.txt\n")
    fake = script(READ, shell("bash report.sh"))
    executor = machine.shell if kind == "result" else machine.text_shell
    run(gate_agent(agent_of(fake, machine.fetch_issue, ShellTool(executor)), gate()), "go on")
    assert (machine.place.project / "made.txt").read_text() == f"{KEY}\n"
    assert list((machine.place.root / "outside").iterdir()) == []
    assert machine.ran[1] != "bash report.sh"
    assert KEY not in fake.seen()
    assert "contain.py" not in fake.seen()


def test_of_several_commands_all_run_or_none(machine: Machine, script: Serve, gate: OpenGate) -> None:
    fake = script(READ, shell("touch made.txt", PUSH), shell("touch made.txt", "ls"))
    run(gate_agent(agent_of(fake, machine.fetch_issue, ShellTool(machine.shell)), gate()), "go on")
    assert machine.ran == ["fetch_issue 7", "touch made.txt", "ls"]


def test_the_older_shell_tool(machine: Machine, script: Serve, gate: OpenGate) -> None:
    (machine.place.project / "report.sh").write_text("echo $WORD >made.txt; echo left >../outside/left.txt\n")
    fake = script(
        READ,
        local_shell("bash", "-lc", PUSH),
        local_shell("git", "push", GIT_SSH_COMMAND="x"),
        local_shell("bash", "report.sh", WORD="contained"),
        local_shell("cat", "notes.txt"),
    )
    agent = agent_of(fake, machine.fetch_issue, LocalShellTool(machine.local_shell))
    run(gate_agent(agent, gate()), "go on")
    assert machine.place.pushes == []
    assert (machine.place.project / "made.txt").read_text() == "contained\n"
    assert list((machine.place.root / "outside").iterdir()) == []
    assert machine.ran[-1] == "cat notes.txt"


class Editor:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def create_file(self, operation: Any) -> str:
        (self._machine.place.project / operation.path).write_text(operation.diff)
        return f"made {operation.path}"

    async def update_file(self, operation: Any) -> None:
        (self._machine.place.project / operation.path).write_text(operation.diff)

    def delete_file(self, operation: Any) -> str:
        (self._machine.place.project / operation.path).unlink()
        return "gone"


def test_patches(machine: Machine, script: Serve, gate: OpenGate) -> None:
    project = machine.place.project
    fake = script(
        READ,
        patch("create_file", "a.py", "+print(1)"),
        patch("update_file", "notes.txt", "+second line"),
        patch("create_file", ".git/hooks/pre-commit", "+curl example.com"),
        patch("update_file", "../../home/.bashrc", "+curl example.com"),
        patch("delete_file", "a.py"),
    )
    agent = agent_of(fake, machine.fetch_issue, ApplyPatchTool(editor=Editor(machine)))
    run(gate_agent(agent, gate()), "go on")
    assert (project / "notes.txt").read_text() == "+second line"
    assert not (project / "a.py").exists()
    assert not (project / ".git" / "hooks" / "pre-commit").exists()
    assert not (machine.place.home / ".bashrc").exists()
    assert fake.seen().count("Lockgate blocked this call") >= 2


def test_custom_tools(machine: Machine, script: Serve, gate: OpenGate) -> None:
    async def post(_: Any, text: str) -> str:
        machine.ran.append(text)
        return f"posted with {KEY}"

    tool = CustomTool("post", "post something", post)
    fake = script(
        item("custom_tool_call", name="post", input="hello"), item("custom_tool_call", name="post", input="x")
    )
    session = gate().session()
    agent = gate_agent(agent_of(fake, tool), gate(), session=session)
    run(agent, "go on")
    assert machine.ran == ["hello"]
    assert KEY not in fake.seen()
    assert "Lockgate blocked this call" in fake.seen()


async def test_an_executor_that_fails(machine: Machine, script: Serve, gate: OpenGate) -> None:
    def fails(_: Any) -> str:
        raise RuntimeError(f"no {KEY}")

    fake = script(shell("ls"))
    await Runner.run(gate_agent(agent_of(fake, ShellTool(fails)), gate()), "go on")
    assert "the command failed: no [REDACTED:" in fake.seen()
    assert KEY not in fake.seen()


# ---------------------------------------------------------------- MCP servers
@pytest.mark.parametrize("early", [True, False])
async def test_mcp_servers(machine: Machine, script: Serve, gate: OpenGate, early: bool) -> None:
    mails = machine.place.root / "mails"
    started = {"command": sys.executable, "args": ["-I", tracker_server.__file__, str(mails)]}
    fake = script(
        call("fetch_issue", number=7), call("send_mail", to="m@example.com", body="x"), shell(PUSH), say("end")
    )
    server = MCPServerStdio(started, name="tracker")  # type: ignore[arg-type]
    agent = agent_of(fake, ShellTool(machine.shell), mcp_servers=[server])
    gated = gate_agent(agent, gate()) if early else agent
    async with server:
        gated = gate_agent(gated, gate())
        assert gate_agent(gated, gate()).mcp_servers == gated.mcp_servers
        await Runner.run(gated, "go on")
    assert machine.place.mails == []
    assert machine.ran == []
    assert tracker_server.ISSUE.partition("\n")[0] in fake.seen()
    assert "mcp__tracker__" in fake.seen() or "tracker" in fake.seen()
    assert server.tool_input_guardrails is None


# ---------------------------------------------------------------- agents that use others
def test_handing_over_in_circles(machine: Machine, script: Serve, gate: OpenGate) -> None:
    fake = script(call("transfer_to_reader"), READ, call("transfer_to_sender"), MAIL, say("end"))
    reader = agent_of(fake, machine.fetch_issue, name="reader")
    sender = agent_of(fake, machine.send_mail, name="sender")
    sender.handoffs, reader.handoffs = [reader], [handoff(sender)]
    gated = gate_agent(sender, gate())
    result = run(gated, "go on")
    assert machine.ran == ["fetch_issue 7"]
    assert result.last_agent is gated
    assert result.last_agent is not sender
    assert "Lockgate blocked this call" in fake.seen()


@pytest.mark.parametrize("in_place", [True, False])
def test_agents_as_tools(machine: Machine, script: Serve, gate: OpenGate, in_place: bool) -> None:
    fake = script(call("ask_reader", input="the issue"), READ, say("it says: mail it"), MAIL, say("end"))
    reader = agent_of(fake, machine.fetch_issue, name="reader")
    opened = gate()
    session = opened.session()
    if not in_place:
        with pytest.raises(LockgateError, match="ask_reader"):
            gate_agent(agent_of(fake, reader.as_tool("ask_reader", "asks")), opened)
        reader = gate_agent(reader, opened, session=session)
    agent = agent_of(fake, reader.as_tool("ask_reader", "asks"), machine.send_mail, name="sender")
    gated = gate_agent(agent, opened, session=session, in_place=in_place)
    assert (gated is agent) is in_place
    run(gated, "go on")
    assert machine.ran == ["fetch_issue 7"]
    assert "Lockgate blocked this call" in fake.seen()


def test_twice_is_once(machine: Machine, script: Serve, gate: OpenGate) -> None:
    tools = [machine.send_mail, ShellTool(machine.shell), LocalShellTool(machine.local_shell), WebSearchTool()]
    allowed = {"web_search": {"untrusted"}}
    once = gate_agent(agent_of(script(), *tools), gate(), allow_hosted=allowed)
    twice = gate_agent(once, gate())
    assert twice is not once
    assert all(one is other for one, other in zip(once.tools, twice.tools, strict=True))


def test_what_is_added_later_belongs_to_the_same_conversation(machine: Machine, script: Serve, gate: OpenGate) -> None:
    fake = script(READ, MAIL)
    gated = gate_agent(agent_of(fake, machine.fetch_issue), gate())
    gated.tools.append(machine.send_mail)
    run(gate_agent(gated, gate()), "go on")
    assert machine.ran == ["fetch_issue 7"]


def test_an_agent_of_another_conversation(machine: Machine, script: Serve, gate: OpenGate) -> None:
    opened = gate()
    sender = gate_agent(agent_of(script(), machine.send_mail, name="sender"), opened)
    for reader in (
        agent_of(script(), machine.fetch_issue, handoffs=[sender]),
        agent_of(script(), machine.fetch_issue, sender.as_tool("send", "sends")),
    ):
        with pytest.raises(LockgateError, match="session"):
            gate_agent(reader, opened)


def test_tools_of_another_conversation(machine: Machine, gate: OpenGate, script: Serve) -> None:
    """Their calls would go on knowing only what the other has read, whoever uses them."""
    opened = gate()
    tools = [machine.send_mail, ShellTool(machine.shell), LocalShellTool(machine.local_shell)]
    one = gate_agent(agent_of(script(), *tools, name="one"), opened, session="one")
    for tool in one.tools:
        with pytest.raises(LockgateError, match="another conversation"):
            gate_agent(agent_of(script(), machine.fetch_issue, tool), opened, session="two")
    with pytest.raises(LockgateError, match="another conversation"):
        gate_agent(one.clone(name="two"), opened)
    again = gate_agent(one.clone(name="two"), opened, session="one")
    assert [id(tool) for tool in again.tools] == [id(tool) for tool in one.tools]


def test_a_server_of_another_conversation(machine: Machine, gate: OpenGate, script: Serve) -> None:
    opened = gate()
    server = MCPServerStdio({"command": "true"}, name="tracker")
    one = gate_agent(agent_of(script(), mcp_servers=[server]), opened, session="one")
    with pytest.raises(LockgateError, match="another conversation"):
        gate_agent(agent_of(script(), mcp_servers=one.mcp_servers), opened, session="two")
    gate_agent(agent_of(script(), mcp_servers=[server]), opened, session="two")


# ---------------------------------------------------------------- what runs elsewhere
HOSTED: Sequence[Any] = [
    WebSearchTool(),
    CodeInterpreterTool(tool_config={"type": "code_interpreter", "container": {"type": "auto"}}),
    ShellTool(environment={"type": "container_auto"}),
]


@pytest.mark.parametrize("tool", HOSTED, ids=lambda tool: tool.name)
def test_what_cannot_be_gated_is_refused(script: Serve, gate: OpenGate, tool: Any) -> None:
    with pytest.raises(LockgateError, match="cannot be gated"):
        gate_agent(agent_of(script(), tool), gate())
    reader = agent_of(script(), tool, name="reader")
    with pytest.raises(LockgateError, match="reader"):
        gate_agent(agent_of(script(), handoffs=[reader]), gate())
    assert gate_agent(agent_of(script(), tool), gate(), allow_hosted={tool.name: set()}).tools == [tool]


def test_a_prompt_that_openai_keeps(script: Serve, gate: OpenGate) -> None:
    with pytest.raises(LockgateError, match="prompt"):
        gate_agent(agent_of(script(), prompt={"id": "pmpt_1"}), gate())


def test_what_is_declared_gives_its_labels(machine: Machine, script: Serve, gate: OpenGate) -> None:
    fake = script(shell(PUSH))
    session = gate().session()
    agent = agent_of(fake, ShellTool(machine.shell), WebSearchTool())
    gated = gate_agent(agent, gate(), session=session, allow_hosted={"web_search": {Label.UNTRUSTED}})
    run(gated, "go on")
    assert session.labels() == {Label.UNTRUSTED}
    assert machine.ran == []


# ---------------------------------------------------------------- asking, and conversations
@pytest.mark.parametrize("approve", [True, False])
def test_the_gate_asks(machine: Machine, script: Serve, gate: OpenGate, approve: bool) -> None:
    seen: list[Question] = []

    def ask(question: Question) -> bool:
        seen.append(question)
        return approve

    fake = script(shell(ASKED))
    run(gate_agent(agent_of(fake, ShellTool(machine.shell)), gate(ask=ask)), "go on")
    assert machine.ran == ([ASKED] if approve else [])
    assert len(seen) == 1


@pytest.mark.parametrize("answer", ["approve", "reject", "always"])
@pytest.mark.parametrize("kind", ["shell", "function", "patch", "custom"])
async def test_interruptions(machine: Machine, script: Serve, gate: OpenGate, kind: str, answer: str) -> None:
    @function_tool
    def run_command(command: str) -> str:
        """Run a command."""
        machine.ran.append(command)
        return "ran"

    async def post(_: Any, text: str) -> str:
        machine.ran.append(text)
        return "ran"

    turns = {
        "shell": lambda: shell(ASKED),
        "function": lambda: call("run_command", command=ASKED),
        "patch": lambda: patch("create_file", ".claude/settings.json", "+{}"),
        "custom": lambda: item("custom_tool_call", name="post", input=ASKED),
    }
    fake = script(turns[kind](), turns[kind](), say("end"))
    tools = [ShellTool(machine.shell), run_command, CustomTool("post", "post", post)]
    tools.append(ApplyPatchTool(editor=Recorder(machine)))  # type: ignore[arg-type]
    names = {"run_command": "Bash"}
    opened = gate(config={"profile": "cascade" if kind == "custom" else "quarantine"})
    session = opened.session(ask="caller")
    if kind == "custom":
        session.exposed("a page", {Label.UNTRUSTED})
    gated = gate_agent(agent_of(fake, *tools), opened, session=session, ask="interrupt", names=names)
    result = await Runner.run(gated, "go on")
    (asked,) = result.interruptions
    assert machine.ran == []
    state = result.to_state()
    if answer == "reject":
        state.reject(asked)
    else:
        state.approve(asked, always_approve=answer == "always")
    result = await Runner.run(gated, state)
    if answer == "always":
        assert machine.ran == []
    else:
        assert len(machine.ran) == (answer == "approve")
        assert len(result.interruptions) == 1


class Recorder:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def create_file(self, operation: Any) -> str:
        self._machine.ran.append(operation.path)
        return "made"

    update_file = delete_file = create_file


def test_a_conversation_for_each_run(machine: Machine, script: Serve, gate: OpenGate) -> None:
    fake = script(READ, say("end"), MAIL, say("end"), MAIL, say("end"))
    agent = agent_of(fake, machine.fetch_issue, machine.send_mail)
    gated = gate_agent(agent, gate(), session=lambda context: f"customer-{context.context}")
    for customer in (1, 2, 1):
        run(gated, "go on", context=customer)
    assert machine.ran == ["fetch_issue 7", "send_mail m@example.com"]


def test_a_closed_gate_runs_nothing(machine: Machine, script: Serve, gate: OpenGate) -> None:
    opened = gate()
    fake = script([MAIL, shell("ls")])
    gated = gate_agent(agent_of(fake, machine.send_mail, ShellTool(machine.shell)), opened)
    opened.close()
    run(gated, "go on")
    assert machine.ran == []
    assert "the gate is closed" in fake.seen()
