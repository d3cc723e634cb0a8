"""The callbacks of the Claude Agent SDK, called as it calls them: the cascade's truth table, and bad payloads."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest

from e2e.harness.world import World
from lockgate import Gate, Session
from lockgate.clients.sdk.integrations.claude_agent_sdk import hooks_for
from lockgate.core.errors import LockgateError
from support.cascade_cases import Case
from support.court import CASES, CONTAINED, Court

from .conftest import OpenGate


@pytest.fixture(scope="module")
def court(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    made = Court(tmp_path_factory.mktemp("court"))
    yield made
    made.gate.close()


def _heard(court: Court, payload: Any, **options: Any) -> Mapping[str, Any]:
    return _answered(court.gate, payload, **options)


def _answered(gate: Gate, payload: Any, **options: Any) -> Mapping[str, Any]:
    (matcher,) = hooks_for(gate, **options)["PreToolUse"]
    answer = asyncio.run(cast("Any", matcher.hooks[0])(payload, None, {"signal": None}))
    found: Mapping[str, Any] = answer
    return found


def _payload(court: Court, case: Case, session: str, call_id: str) -> dict[str, Any]:
    return _event(court.gate, case.call.tool, case.call.tool_input, session, call_id)


def _event(gate: Gate, tool: str, tool_input: Mapping[str, Any], session: str, call_id: str) -> dict[str, Any]:
    return {
        "session_id": session,
        "transcript_path": "",
        "cwd": gate.workspace,
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": dict(tool_input),
        "tool_use_id": call_id,
    }


def _verdict(answer: Mapping[str, Any]) -> str:
    said = answer.get("hookSpecificOutput", {})
    if said.get("permissionDecision") in ("deny", "ask"):
        return str(said["permissionDecision"])
    return "contain" if said.get("updatedInput", {}).get("command") == CONTAINED else "allow"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_cell(court: Court, case: Case) -> None:
    def check(session: Session, name: str) -> str:
        return _verdict(_heard(court, _payload(court, case, session.name, name)))

    verdict = court.hear(case, check)
    assert (verdict, court.judged, court.asked) == (case.verdict, case.judged, case.asked)


@pytest.mark.parametrize("case", [case for case in CASES if case.asked], ids=lambda case: case.name)
def test_a_cell_where_the_client_asks(court: Court, case: Case) -> None:
    def check(session: Session, name: str) -> str:
        return _verdict(_heard(court, _payload(court, case, session.name, name), ask="caller"))

    assert (court.hear(case, check), court.asked) == ("ask", False)


@pytest.mark.parametrize(
    "change",
    [
        {"tool_input": "text"},
        {"tool_name": None},
        {"session_id": ""},
        {"session_id": 7},
        {"cwd": ["x"]},
    ],
    ids=str,
)
def test_a_payload_that_cannot_be_read_is_denied(court: Court, change: dict[str, Any]) -> None:
    answer = _heard(court, {**_payload(court, CASES[0], "s", "c"), **change})
    assert _verdict(answer) == "deny"


@pytest.mark.parametrize("payload", [None, [], "text", {}, {"hook_event_name": "SomethingNew"}], ids=str)
def test_what_is_no_payload_is_an_error_that_the_client_blocks_on(court: Court, payload: Any) -> None:
    with pytest.raises(LockgateError):
        _heard(court, payload)


@pytest.mark.parametrize(
    ("rules", "rewritten", "permission"),
    [
        pytest.param({}, True, None, id="no rules"),
        pytest.param({"deny": ["Bash(bash report.sh:*)"]}, False, "deny", id="one that refuses"),
        pytest.param({"allow": ["Bash(bash report.sh:*)"]}, True, "allow", id="one that permits"),
    ],
)
def test_the_clients_own_rules_keep_their_meaning(
    place: World, gate: OpenGate, rules: dict[str, Any], rewritten: bool, permission: str | None
) -> None:
    """A contained command is spelt otherwise: a rule that refuses would not find it, nor would one that permits."""
    place.settings.write_text(json.dumps({"permissions": rules}))
    opened = gate()
    opened.session("s").finished_sync("WebFetch", {"url": "https://a.example.com/", "prompt": "x"}, "x")
    answer = _answered(opened, _event(opened, "Bash", {"command": "bash report.sh"}, "s", "c"))
    said = answer["hookSpecificOutput"]
    assert ("updatedInput" in said) is rewritten
    assert said.get("permissionDecision") == permission
