from __future__ import annotations

import json
from typing import Any

import pytest

from adapters.payloads import SESSION, WHOLE, payload, shell_result, tool
from lockgate.clients.claude.events import ADAPTER, CLIENT, EVENTS
from lockgate.clients.common.hook_command import HookLaunch
from lockgate.core.errors import BadInputError
from lockgate.core.events import (
    AgentStarted,
    AgentStopped,
    CallsAnswered,
    ConfigChanged,
    InstructionsLoaded,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolRefused,
    ToolRequested,
)
from lockgate.core.model import Subject
from lockgate.system.folders import Folders

KINDS = {
    "PreToolUse": ToolRequested,
    "PostToolUse": ToolFinished,
    "PostToolUseFailure": ToolFailed,
    "PermissionDenied": ToolRefused,
    "PostToolBatch": CallsAnswered,
    "Stop": CallsAnswered,
    "UserPromptSubmit": PromptSubmitted,
    "SessionStart": SessionStarted,
    "SessionEnd": SessionEnded,
    "SubagentStart": AgentStarted,
    "SubagentStop": AgentStopped,
    "ConfigChange": ConfigChanged,
    "InstructionsLoaded": InstructionsLoaded,
}


@pytest.mark.parametrize("event", EVENTS)
def test_every_registered_event_is_understood(event: str) -> None:
    decoded = ADAPTER.decode(WHOLE[event], {})
    assert type(decoded) is KINDS[event]
    assert decoded.context.client == CLIENT
    assert decoded.context.subject.session == SESSION
    assert decoded.context.cwd == "/w/app"


@pytest.mark.parametrize("event", ["Notification", "PreCompact", "PermissionRequest"])
def test_an_event_that_needs_nothing_is_none(event: str) -> None:
    assert ADAPTER.decode(payload(event), {}) is None


def test_a_call() -> None:
    event = ADAPTER.decode(tool("PreToolUse", "mcp__demo__send", {"to": "a"}, mcp_server={"name": "demo"}), {})
    assert isinstance(event, ToolRequested)
    assert event.call == ("mcp__demo__send", {"to": "a"}, "/w/app", "toolu_01")
    assert event.context.mode == "bypassPermissions"


def test_a_call_without_an_id() -> None:
    event = ADAPTER.decode(tool("PreToolUse", tool_use_id=...), {})
    assert isinstance(event, ToolRequested)
    assert event.call.call_id == ""


def test_a_sub_agent_is_its_own_subject() -> None:
    event = ADAPTER.decode(tool("PreToolUse", agent_id="a1", agent_type="lockgate:delegate"), {})
    assert event is not None
    assert event.context.subject == Subject(SESSION, "a1")
    assert event.context.agent_type == "lockgate:delegate"


def test_the_main_thread_of_a_custom_agent_is_the_main_agent() -> None:
    event = ADAPTER.decode(tool("PreToolUse", agent_type="reviewer"), {})
    assert event is not None
    assert event.context.subject == Subject(SESSION)
    assert event.context.agent_type == "reviewer"


@pytest.mark.parametrize(
    ("environ", "workspace"),
    [({}, "/w/app"), ({"CLAUDE_PROJECT_DIR": "/w"}, "/w"), ({"CLAUDE_PROJECT_DIR": ""}, "/w/app")],
)
def test_the_workspace(environ: dict[str, str], workspace: str) -> None:
    event = ADAPTER.decode(tool("PreToolUse"), environ)
    assert event is not None
    assert event.context.workspace == workspace


@pytest.mark.parametrize(
    ("fields", "human"),
    [
        pytest.param({"prompt": "do it"}, True, id="source not given"),
        pytest.param({"prompt": "do it", "source": "user"}, True, id="typed"),
        pytest.param({"prompt": "do it", "source": "sdk"}, True, id="claude -p"),
        pytest.param({"prompt": "do it", "source": None}, True, id="source null"),
        pytest.param({"prompt": "go on", "source": "system"}, False, id="machine"),
        pytest.param({"prompt": "go on", "source": "loop_wakeup"}, False, id="loop"),
        pytest.param({"prompt": "go on", "source": "schedule_wakeup"}, False, id="cron"),
        pytest.param({"prompt": "go on", "source": "something_new"}, False, id="unknown source"),
        pytest.param({"prompt": "<task-notification>\n<task-id>a</task-id><result>x</result>"}, False, id="task"),
        pytest.param({"prompt": "\n <task-notification>x"}, False, id="task after space"),
        pytest.param({"prompt": "queued\n<task-notification>x", "source": "user"}, False, id="task behind text"),
        pytest.param({"prompt": '<cross-session-message from="x">push</cross-session-message>'}, False, id="peer"),
        pytest.param({"prompt": '<channel source="chat">push</channel>'}, False, id="channel"),
        pytest.param({"prompt": ""}, True, id="empty"),
    ],
)
def test_who_wrote_a_prompt(fields: dict[str, Any], human: bool) -> None:
    event = ADAPTER.decode(payload("UserPromptSubmit", **fields), {})
    assert isinstance(event, PromptSubmitted)
    assert event.human is human
    assert event.prompt == fields["prompt"]


@pytest.mark.parametrize(
    ("fields", "outside"),
    [
        pytest.param({"prompt": "do it"}, False, id="typed"),
        pytest.param({"prompt": "<task-notification>x"}, False, id="task of this session"),
        pytest.param({"prompt": '<agent-message from="a">x'}, False, id="agent of this session"),
        pytest.param({"prompt": '<channel source="chat">push</channel>'}, True, id="channel"),
        pytest.param({"prompt": 'queued\n<cross-session-message from="x">push'}, True, id="another session"),
        pytest.param({"prompt": '<teammate-message teammate_id="x">push'}, True, id="teammate"),
        pytest.param({"prompt": "<mcp-resource-update server='x'>push"}, True, id="server that pushes"),
        pytest.param({"prompt": "ann wrote: push", "source": "poll_event"}, True, id="watched pull request"),
    ],
)
def test_whether_a_prompt_comes_from_outside(fields: dict[str, Any], outside: bool) -> None:
    event = ADAPTER.decode(payload("UserPromptSubmit", **fields), {})
    assert isinstance(event, PromptSubmitted)
    assert event.outside is outside
    assert not (event.human and outside)


@pytest.mark.parametrize(
    ("name", "response", "text", "agent", "background"),
    [
        pytest.param("Bash", shell_result("out", "err"), "out\nerr", "", False, id="shell"),
        pytest.param("Bash", {**shell_result(), "backgroundTaskId": "b1"}, "", "", True, id="shell in background"),
        pytest.param("mcp__d__get", [{"type": "text", "text": "ISSUE 7"}], "ISSUE 7", "", False, id="mcp"),
        pytest.param(
            "Agent",
            {"status": "completed", "prompt": "p", "agentId": "a9", "content": [{"type": "text", "text": "rep"}]},
            "rep",
            "a9",
            False,
            id="agent",
        ),
        pytest.param(
            "Agent",
            {"isAsync": True, "status": "async_launched", "agentId": "a9", "prompt": "p", "outputFile": "/t/a9.output"},
            "async_launched\na9\np\n/t/a9.output",
            "a9",
            True,
            id="agent in background",
        ),
    ],
)
def test_a_result(name: str, response: Any, text: str, agent: str, background: bool) -> None:
    event = ADAPTER.decode(tool("PostToolUse", name, {}, tool_response=response), {})
    assert isinstance(event, ToolFinished)
    assert event.result == response
    assert (event.text, event.agent, event.background) == (text, agent, background)


def test_fork_is_linked_through_the_transcript(tmp_path: Any) -> None:
    transcript = tmp_path / "t.jsonl"
    lines = [
        {"type": "user", "sessionId": SESSION, "message": {"content": '"sessionId": "said-in-text"'}},
        {"type": "assistant", "sessionId": SESSION, "requestSessionId": "parent-1", "message": {"sessionId": "inside"}},
        {"type": "assistant", "sessionId": SESSION, "requestSessionId": "parent-2"},
    ]
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"half": ')
    event = ADAPTER.decode(payload("SessionStart", source="fork", transcript_path=str(transcript)), {})
    assert event == SessionStarted(event.context, "fork", ("parent-1", "parent-2")) if event else False


def test_a_fork_without_its_transcript_yet() -> None:
    event = ADAPTER.decode(payload("SessionStart", source="fork"), {})
    assert isinstance(event, SessionStarted)
    assert event.parents == ()


def test_a_changed_setting_names_the_harm(tmp_path: Any) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"disableAllHooks": true}')
    launch = HookLaunch("/py", "/lockgate/hook.py", Folders("/h", "/s", "/c"), str(file))
    event = ADAPTER.decode(payload("ConfigChange", source="user_settings", file_path=str(file)), {}, launch)
    assert isinstance(event, ConfigChanged)
    assert event.harm == "disableAllHooks switches the gate off"


BAD = [
    pytest.param(tool("PreToolUse", session_id=...), "the payload has no session_id", id="no session"),
    pytest.param(tool("PreToolUse", session_id=7), "session_id must be a string, not a number", id="session a number"),
    pytest.param(tool("PreToolUse", session_id=""), "session_id is empty", id="session empty"),
    pytest.param(
        tool("PreToolUse", session_id="a\x1b[2Jb"), "session_id is not an identifier: 'a\\\\e[2Jb'", id="escape"
    ),
    pytest.param(tool("PreToolUse", session_id="a" * 300), "session_id is not an identifier", id="session long"),
    pytest.param(tool("PreToolUse", cwd=None), "cwd must be a string, not null", id="cwd null"),
    pytest.param(
        tool("PreToolUse", tool_name=["Bash"]), "tool_name must be a string, not an array", id="tool an array"
    ),
    pytest.param(
        tool("PreToolUse", tool_input="ls"), "tool_input must be an object, not a string", id="input a string"
    ),
    pytest.param({**tool("PreToolUse"), "tool_input": None}, "tool_input must be an object, not null", id="input null"),
    pytest.param(tool("PreToolUse", tool_use_id=True), "tool_use_id must be a string, not a boolean", id="call id"),
    pytest.param(tool("PreToolUse", agent_id={}), "agent_id must be a string, not an object", id="agent an object"),
    pytest.param(tool("PostToolUse"), "the payload has no tool_response", id="no result"),
    pytest.param(tool("PostToolUseFailure"), "the payload has no error", id="no error"),
    pytest.param(payload("UserPromptSubmit"), "the payload has no prompt", id="no prompt"),
    pytest.param(payload("UserPromptSubmit", prompt=["x"]), "prompt must be a string, not an array", id="prompt"),
    pytest.param(payload("SessionStart"), "the payload has no source", id="no source"),
    pytest.param(payload("SubagentStart", agent_type="x"), "the payload has no agent_id", id="no agent"),
    pytest.param(payload("SubagentStop", agent_id="", agent_type="x"), "agent_id is empty", id="agent empty"),
    pytest.param(payload("ConfigChange"), "the payload has no source", id="no config source"),
    pytest.param(payload("InstructionsLoaded"), "the payload has no file_path", id="no instructions"),
    pytest.param(payload("PreToolUze"), "unknown event 'PreToolUze'", id="unknown event"),
    pytest.param({"session_id": "s"}, "the payload has no hook_event_name", id="no event"),
    pytest.param([], "the payload must be a JSON object, not an array", id="an array"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_input_is_refused_with_what_is_wrong(given: Any, message: str) -> None:
    with pytest.raises(BadInputError) as caught:
        ADAPTER.decode(given, {})
    assert message in str(caught.value)
