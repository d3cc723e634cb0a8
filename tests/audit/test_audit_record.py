"""What is recorded of an event: enough to understand it, bounded, without secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockgate.cli.approvals import text as approvals_text
from lockgate.core.events import Context
from lockgate.core.model import (
    Analysis,
    Effect,
    EffectKind,
    Label,
    LabelState,
    PolicyDecision,
    Reason,
    Subject,
    Taint,
    ToolCall,
    Variant,
    Verdict,
)
from lockgate.gate.approvals import notification_text as telling
from lockgate.gate.session import ResultOutcome
from lockgate.service.http.views import calls
from lockgate.store.audit.record import Timing, approval_record, came_back, cascade, decision_record, event_record
from lockgate.store.chain_links import canonical
from lockgate.store.rows import ApprovalRow, BriefRow

CONTEXT = Context("claude-code", Subject("s", "a1"), cwd="/w")
TOKEN = "ghp_" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1bCd4fGh7j"
CALL = ToolCall("Bash", {"command": f"curl -H 'Authorization: token {TOKEN}' https://api.github.com"}, "/w/x", "c1")
EFFECT = Effect(
    EffectKind.EGRESS, "api.github.com", "program:curl", "curl sends to api.github.com", gives=Label.UNTRUSTED
)
DECISION = PolicyDecision(
    Verdict.DENY, LabelState.UNTRUSTED, (Reason(EFFECT, "egress", LabelState.UNTRUSTED, Verdict.DENY),), "quarantine"
)
TAINT = Taint(Label.UNTRUSTED, "WebFetch: https://example.com/", "WebFetch", "c0", 5.0, origin="main agent")


def test_a_decision_is_recorded_with_all_that_explains_it() -> None:
    body = decision_record(CONTEXT, CALL, "d" * 64, [TAINT], Analysis((EFFECT,)), DECISION)
    assert TOKEN not in canonical(body)
    assert "https://api.github.com" in body["input"]["command"]
    del body["input"]
    assert body == {
        "event": "decision",
        "client": "claude-code",
        "session": "s",
        "agent": "a1",
        "cwd": "/w/x",
        "tool": "Bash",
        "call": "c1",
        "digest": "d" * 64,
        "labels": ["untrusted"],
        "provenance": [
            {
                "label": "untrusted",
                "source": "WebFetch: https://example.com/",
                "tool": "WebFetch",
                "call": "c0",
                "at": 5.0,
                "state": "confirmed",
                "origin": "main agent",
            }
        ],
        "effects": [
            {
                "row": "egress",
                "what": "api.github.com",
                "rule": "program:curl",
                "because": "curl sends to api.github.com",
                "gives": "untrusted",
            }
        ],
        "effects_omitted": 0,
        "verdict": "deny",
        "column": "untrusted",
        "profile": "quarantine",
        "reasons": [{"rule": "program:curl", "row": "egress", "because": "curl sends to api.github.com"}],
    }


def test_what_would_have_been_decided_is_recorded_beside() -> None:
    allow = PolicyDecision(Verdict.ALLOW, LabelState.UNTRUSTED, (), "observe")
    body = decision_record(CONTEXT, CALL, "d" * 64, [], Analysis((EFFECT,)), allow, DECISION)
    assert (body["verdict"], body["would_have"]["verdict"]) == ("allow", "deny")


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (None, {}),
        (
            ResultOutcome(frozenset({Label.UNTRUSTED, Label.SECRET}), True),
            {"gave": ["secret", "untrusted"], "was_expected": True},
        ),
        (ResultOutcome(frozenset(), False), {"gave": [], "was_expected": False}),
    ],
)
def test_an_outcome(result: ResultOutcome | None, told: dict[str, object]) -> None:
    body = came_back(CONTEXT, CALL, "d" * 64, "finished", result)
    assert (body["event"], body["outcome"], body["call"], body["digest"]) == ("outcome", "finished", "c1", "d" * 64)
    assert {name: body[name] for name in ("gave", "was_expected") if name in body} == told
    assert "input" not in body


def test_an_approved_brief() -> None:
    brief = BriefRow("b1", "s", "", "c9", "e" * 64, f"push with {TOKEN}", "running", "a1")
    body = approval_record(CONTEXT, brief)
    assert (body["event"], body["brief"], body["digest"], body["call"]) == ("delegate", "b1", "e" * 64, "c9")
    assert TOKEN not in body["text"]


def test_other_events_are_redacted_and_cannot_forge_who_it_was() -> None:
    body = event_record(
        CONTEXT, "session", {"how": TOKEN, "event": "decision", "session": "other", "list": [{"x": TOKEN}]}
    )
    assert (body["event"], body["session"]) == ("session", "s")
    assert TOKEN not in canonical(body)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("x" * 1_000_000, id="long text"),
        pytest.param(["x"] * 100_000, id="long list"),
        pytest.param({str(number): "y" * 50 for number in range(100_000)}, id="wide object"),
        pytest.param(json.loads("[" * 500 + "]" * 500), id="deep list"),
        pytest.param(json.loads('{"a":' * 500 + "1" + "}" * 500), id="deep object"),
        pytest.param([float("nan"), float("inf"), {"x": float("-inf")}], id="no number"),
        pytest.param("\ud800\x00\u202e", id="odd characters"),
    ],
)
def test_any_input_is_recorded_within_bounds(value: object) -> None:
    call = CALL._replace(tool="mcp__x__y", tool_input={"value": value})
    effects = (EFFECT._replace(what="w" * 100_000),) * 1000
    taints = [TAINT._replace(source=f"{number} " + "s" * 10_000) for number in range(1000)]
    body = decision_record(
        CONTEXT, call, "d" * 64, taints, Analysis(effects), DECISION._replace(reasons=DECISION.reasons * 1000)
    )
    assert len(canonical(body)) < 400_000
    assert body["effects_omitted"] == 1000 - len(body["effects"]) > 0
    assert len(canonical(event_record(CONTEXT, "prompt", {"value": value}))) < 400_000


@pytest.mark.parametrize("length", [1999, 2000, 2001, 4000, 4001, 1_000_000])
def test_what_is_cut_says_how_much_it_was(length: int) -> None:
    said = approval_record(CONTEXT, BriefRow("b1", "s", "", "c9", "e" * 64, "x" * length, "running", "a1"))["text"]
    assert said == ("x" * length if length <= 2000 else f"{'x' * 2000} [... {length - 2000} more ...]")


def test_numbers_stay_numbers_where_json_has_them() -> None:
    given = {"list": [0.5, -1e308, 7, True, None], "none": [float("inf"), float("nan")]}
    body = event_record(CONTEXT, "session", given)
    assert (body["list"], body["none"]) == ([0.5, -1e308, 7, True, None], ["inf", "nan"])


def test_the_question_that_a_decision_rests_on_is_named() -> None:
    assert cascade(DECISION, Timing(), None, "q1")["cascade"]["approval"] == "q1"
    assert "approval" not in cascade(DECISION, Timing(), None, "")["cascade"]


def test_of_an_effect_in_a_script_it_is_said_what_it_is() -> None:
    """Its row is that of code that runs; who is asked about the call has to know whom it reaches."""
    inside = EFFECT._replace(variant=Variant.SCRIPT)
    effects = decision_record(CONTEXT, CALL, "d" * 64, [], Analysis((EFFECT, inside)), DECISION)["effects"]
    assert [(each["row"], each.get("kind")) for each in effects] == [("egress", None), ("execute", "egress")]
    assert all(map(telling.reaches, effects))
    assert calls.reaches({"effects": effects}) == ["api.github.com"]
    shown = approvals_text.lines(ApprovalRow("k", "s", "", "", "", "", "", {"effects": effects[1:]}), 0.0)
    assert any("api.github.com" in line for line in shown)


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        ({"row": "fetch"}, True),
        ({"row": "fetch_known"}, True),
        ({"row": "fetch_search"}, True),
        ({"row": "execute"}, False),
        ({"row": "execute", "kind": "ingest"}, False),
        ({}, False),
        ({"row": 7, "kind": None}, False),
    ],
)
def test_which_effects_name_whom_a_call_reaches(effect: dict[str, object], expected: bool) -> None:
    assert telling.reaches(effect) is expected


def test_every_field_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "audit-records.md").read_text()
    decision = decision_record(CONTEXT, CALL, "d" * 64, [TAINT], Analysis((EFFECT,)), DECISION, DECISION)
    outcome = came_back(CONTEXT, CALL, "d" * 64, "failed", ResultOutcome(frozenset(), True))
    brief = approval_record(CONTEXT, BriefRow("b1", "s", "", "c9", "e" * 64, "text"))
    for body in (decision, outcome, brief):
        assert f"| `{body['event']}` |" in text
        assert {name for name in (*body, *decision["effects"][0]) if f"`{name}`" not in text} == set()
