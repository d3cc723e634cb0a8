from __future__ import annotations

import json
from typing import Any

import pytest

from lockgate.clients.claude.answers import encode, encode_failure
from lockgate.clients.claude.events import EVENTS
from lockgate.core.events import Answer
from lockgate.core.model import Verdict


def specific(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def decided(verdict: str, reason: str) -> dict[str, Any]:
    return {"permissionDecision": verdict, "permissionDecisionReason": reason}


@pytest.mark.parametrize("event", EVENTS)
def test_no_objection_is_silence(event: str) -> None:
    assert encode(event, Answer()) == ("", "", 0)


CASES = [
    pytest.param(
        "PreToolUse",
        Answer(Verdict.DENY, to_agent="why", to_person="told"),
        {"systemMessage": "told", **specific("PreToolUse", **decided("deny", "why"))},
        id="deny",
    ),
    pytest.param(
        "PreToolUse",
        Answer(Verdict.DENY, to_person="told"),
        {"systemMessage": "told", **specific("PreToolUse", **decided("deny", "told"))},
        id="deny with a reason for the person only",
    ),
    pytest.param(
        "PreToolUse",
        Answer(Verdict.DENY),
        specific("PreToolUse", **decided("deny", "Lockgate blocked this call")),
        id="deny without a reason",
    ),
    pytest.param(
        "PreToolUse",
        Answer(Verdict.DENY, to_agent="why", new_input={"command": "x"}),
        specific("PreToolUse", **decided("deny", "why")),
        id="deny carries no input",
    ),
    pytest.param(
        "PreToolUse",
        Answer(Verdict.ASK, to_agent="agent", to_person="person"),
        specific("PreToolUse", **decided("ask", "person")),
        id="ask shows the person's text once",
    ),
    pytest.param(
        "PreToolUse",
        Answer(Verdict.ASK, to_agent="agent"),
        specific("PreToolUse", **decided("ask", "agent")),
        id="ask with the agent's text",
    ),
    pytest.param(
        "PreToolUse",
        Answer(Verdict.CONTAIN, to_agent="why", new_input={"command": "box ls"}),
        specific("PreToolUse", updatedInput={"command": "box ls"}),
        id="contain rewrites and decides nothing",
    ),
    pytest.param(
        "PreToolUse",
        Answer(Verdict.ALLOW, new_input={"command": "ls"}),
        specific("PreToolUse", updatedInput={"command": "ls"}),
        id="a rewritten call still meets the client's own rules",
    ),
    pytest.param(
        "PreToolUse",
        Answer(Verdict.CONTAIN, to_agent="why"),
        specific("PreToolUse", **decided("deny", "why")),
        id="contain without a rewritten call is a deny",
    ),
    pytest.param(
        "PreToolUse",
        Answer(Verdict.JUDGE, to_agent="why"),
        specific("PreToolUse", **decided("deny", "why")),
        id="judge that nobody judged is a deny",
    ),
    pytest.param(
        "PreToolUse",
        Answer(to_person="told", context="more"),
        {"systemMessage": "told", **specific("PreToolUse", additionalContext="more")},
        id="allowed with words",
    ),
    pytest.param(
        "UserPromptSubmit", Answer(Verdict.DENY, to_agent="why"), {"decision": "block", "reason": "why"}, id="prompt"
    ),
    pytest.param(
        "UserPromptSubmit", Answer(Verdict.ASK, to_agent="why"), {"decision": "block", "reason": "why"}, id="prompt ask"
    ),
    pytest.param(
        "ConfigChange",
        Answer(Verdict.DENY, to_agent="why", to_person="told"),
        {"decision": "block", "reason": "why", "systemMessage": "told"},
        id="settings",
    ),
    pytest.param(
        "ConfigChange",
        Answer(Verdict.DENY, context="x"),
        {"decision": "block", "reason": "Lockgate blocked this"},
        id="no context",
    ),
    pytest.param(
        "PreToolUse",
        Answer(context="approved", approved=True),
        specific("PreToolUse", permissionDecision="allow", additionalContext="approved"),
        id="a person elsewhere said yes",
    ),
    pytest.param("PostToolUse", Answer(Verdict.DENY, "why"), {"decision": "block", "reason": "why"}, id="result"),
    pytest.param("SessionStart", Answer(context="c"), specific("SessionStart", additionalContext="c"), id="start"),
    pytest.param("SubagentStart", Answer(context="c"), specific("SubagentStart", additionalContext="c"), id="agent"),
    pytest.param("SessionStart", Answer(to_person="told"), {"systemMessage": "told"}, id="start told"),
    pytest.param("SessionEnd", Answer(Verdict.DENY, "why"), {"systemMessage": "why"}, id="an end cannot be refused"),
    pytest.param("SubagentStop", Answer(Verdict.DENY, "why"), {"systemMessage": "why"}, id="nor a sub-agent's"),
    pytest.param("SessionEnd", Answer(context="c"), None, id="an end takes no context"),
]


@pytest.mark.parametrize(("event", "answer", "expected"), CASES)
def test_the_dialect(event: str, answer: Answer, expected: dict[str, Any] | None) -> None:
    stdout, _, code = encode(event, answer)
    assert code == 0
    assert (json.loads(stdout) if stdout else None) == expected


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("verdict", list(Verdict))
def test_nothing_is_ever_allowed_in_words(event: str, verdict: Verdict) -> None:
    stdout, *_ = encode(event, Answer(verdict, "a", "b", "c", {"command": "x"}))
    assert '"allow"' not in stdout
    assert '"approve"' not in stdout


def test_what_cannot_be_encoded_is_escaped() -> None:
    stdout, *_ = encode("PreToolUse", Answer(Verdict.DENY, to_agent="\ud800 \u2028"))
    assert stdout.isascii()


@pytest.mark.parametrize("event", [None, "", "Nonsense", "PreToolUse"])
def test_a_failure_of_an_unknown_event_denies_a_call(event: str | None) -> None:
    stdout, stderr, code = encode_failure(event, "stdin was\n empty")
    assert code == 2
    reason = json.loads(stdout)["hookSpecificOutput"]["permissionDecisionReason"]
    assert reason == stderr.strip()
    assert reason.endswith(r"stdin was\n empty")


@pytest.mark.parametrize("event", ["UserPromptSubmit", "ConfigChange", "PostToolUse"])
def test_a_failure_blocks_in_the_event_s_own_words(event: str) -> None:
    stdout, stderr, code = encode_failure(event, "x")
    assert json.loads(stdout)["decision"] == "block"
    assert stderr.strip() == json.loads(stdout)["reason"]
    assert code == 2


@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd", "Stop", "SubagentStop"])
def test_a_failure_where_nothing_can_be_refused_is_told(event: str) -> None:
    stdout, stderr, code = encode_failure(event, "x")
    assert json.loads(stdout) == {"systemMessage": stderr.strip()}
    assert code == 2
