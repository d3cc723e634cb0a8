"""What the routes tell of a machine on which something has happened. Nothing here changes anything."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from lockgate.core.model import Label
from lockgate.service.http.views import sessions
from lockgate.service.http.views import sessions as presence
from lockgate.store.protocol import Transaction
from lockgate.store.rows import AgentRow, BriefRow, GateRow, SessionRow
from lockgate.system import caller
from support.api_server import Machine


@pytest.fixture(scope="module")
def told(machine: Machine) -> Machine:
    """A machine on which something has happened."""
    machine.session("s1", seen_at=time.time() - 5)
    machine.session("s2", client="codex", workspace="/work/other", ended_at=time.time(), why="logout")
    machine.taint("s1", Label.UNTRUSTED, "WebFetch: https://example.com/\u202e<b>")
    with machine.store.transaction() as tx:
        tx.put_agent(AgentRow("s1", "a1", "researcher", started_at=time.time()))
        tx.put_brief(BriefRow("b1", "s1", "", "c9", "d", "read the news", at=time.time()))
        tx.block("s1", "", "Bash: git push", time.time())
    machine.decided(verdict="allow", command="ls", cascade={"tier": "local", "ms": 0.1})
    machine.decided()
    machine.recorded({"event": "outcome", "session": "s1", "call": "c1", "outcome": "refused", "gave": ["secret"]})
    rule = "secrets_detection/aws_access_key_id"
    match = {"rule": rule, "type": "aws", "severity": "critical", "path": "command", "fingerprint": "f"}
    guardrail = {"decision": "block", "matches": [match, match], "matches_omitted": 0, "elapsed_ms": 1.5}
    machine.decided("s2", command="echo 100%_done", client="codex", guardrail=guardrail)
    return machine


def get(client: httpx.Client, path: str, /, **query: Any) -> Any:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


# -- sessions


def test_running_sessions_come_first(told: Machine, person: httpx.Client) -> None:
    page = get(person, "sessions")
    assert [(each["session"], each["live"]) for each in page["items"]] == [("s1", True), ("s2", False)]
    assert (page["total"], page["live"], page["next"]) == (2, 1, None)
    first = page["items"][0]
    assert (first["state"], first["labels"], first["blocked"]) == ("untrusted", ["untrusted"], 1)


def ended_process() -> str:
    with subprocess.Popen(["true"]) as process:
        pid = process.pid
    return f"{pid}:1"


_SELF = caller.process(os.getpid())
OWN = f"{os.getpid()}:{_SELF.started if _SELF else ''}"
STARTS_ARE_TOLD = not OWN.endswith(":")


@pytest.mark.parametrize(
    ("process", "ago", "expected"),
    [
        pytest.param(OWN, 3600, False, id="runs"),
        pytest.param(ended_process(), 3600, True, id="killed"),
        pytest.param(f"{os.getpid()}:1", 3600, STARTS_ARE_TOLD, id="its-number-is-anothers"),
        pytest.param(f"{os.getpid()}:", 3600, False, id="of-a-system-that-tells-no-start"),
        pytest.param(ended_process(), 5, False, id="a-sign-just-now"),
        pytest.param("", 3600, False, id="not-known"),
        pytest.param("x:y", 3600, False, id="no-process"),
        pytest.param(OWN, 2 * 86400, True, id="for-days"),
    ],
)
def test_a_session_whose_client_was_killed_is_silent(tmp_path: Path, process: str, ago: float, expected: bool) -> None:
    machine = Machine(tmp_path)
    now = machine.store.clock()
    machine.session("s", process=process, seen_at=now - ago)
    machine.session("ended", process=process, seen_at=now - ago, ended_at=now)
    with machine.store.reading() as tx:
        page = sessions.page(tx, now, text="", live=False, limit=9, offset=0)
        told = [(each.session, each.silent) for each in page.items]
        assert (told, page.live, page.silent) == ([("s", expected), ("ended", False)], 1, int(expected))
        row = tx.session("s")
        assert row is not None
        assert sessions.whole(tx, row, now).silent is expected
    machine.store.close()


def test_of_a_process_on_another_machine_nothing_is_known(tmp_path: Path) -> None:
    class Look:
        def __init__(self, *own: bool) -> None:
            self.rows = [GateRow(f"g{number}", "", 0.0, 1, own=each) for number, each in enumerate(own)]

        def gates(self) -> list[GateRow]:
            return self.rows

    row = SessionRow("s", process=ended_process(), seen_at=1000.0)

    def is_silent(*own: bool) -> bool:
        return bool(presence.silent(cast(Transaction, Look(*own)), [row], 4600.0))

    assert (is_silent(True), is_silent(True, False), is_silent(False)) == (True, False, False)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param({"live": True}, ["s1"], id="live"),
        pytest.param({"text": "CODEX"}, ["s2"], id="client"),
        pytest.param({"text": "other"}, ["s2"], id="folder"),
        pytest.param({"limit": 1}, ["s1"], id="limit"),
        pytest.param({"limit": 1, "offset": 1}, ["s2"], id="offset"),
        pytest.param({"offset": 9}, [], id="beyond"),
    ],
)
def test_sessions_are_chosen(told: Machine, person: httpx.Client, query: dict[str, Any], expected: list[str]) -> None:
    assert [each["session"] for each in get(person, "sessions", **query)["items"]] == expected


def test_a_session_tells_its_time_line(told: Machine, person: httpx.Client) -> None:
    session = get(person, "sessions/s1")
    kinds = [each["kind"] for each in session["timeline"]]
    assert sorted(kinds) == ["agent", "began", "delegate", "label", "stopped"]
    label = next(each for each in session["timeline"] if each["kind"] == "label")
    assert label["text"] == "WebFetch: https://example.com/\\u{202e}<b>"
    assert label["decision"] is not None, "the decision on the call that brought it"
    stopped = next(each for each in session["timeline"] if each["kind"] == "stopped")
    assert (stopped["verdict"], stopped["text"]) == ("deny", "Bash: git push")
    assert get(person, f"decisions/{stopped['decision']}")["verdict"] == "deny"
    assert [each["type"] for each in session["agents"]] == ["researcher"]
    assert [each["text"] for each in session["delegates"]] == ["read the news"]
    assert [each["what"] for each in session["blocked_calls"]] == ["Bash: git push"]


# -- decisions


@pytest.mark.parametrize(
    ("query", "commands"),
    [
        pytest.param({}, ["echo 100%_done", "git push", "ls"], id="all"),
        pytest.param({"verdict": "deny"}, ["echo 100%_done", "git push"], id="verdict"),
        pytest.param({"verdict": "ask"}, [], id="no-such-verdict"),
        pytest.param({"session": "s2"}, ["echo 100%_done"], id="session"),
        pytest.param({"session": "s"}, [], id="whole-session-ids-only"),
        pytest.param({"client": "codex"}, ["echo 100%_done"], id="client"),
        pytest.param({"tool": "Bash", "tier": "local"}, ["ls"], id="tier"),
        pytest.param({"text": "GIT PUSH"}, ["git push"], id="text"),
        pytest.param({"text": "0%_d"}, ["echo 100%_done"], id="text-is-no-pattern"),
        pytest.param({"text": "%"}, ["echo 100%_done"], id="percent"),
        pytest.param({"rule": "secrets_detection/aws_access_key_id"}, ["echo 100%_done"], id="rule-of-a-pattern"),
        pytest.param({"rule": "program:git"}, [], id="whole-rules-only"),
        pytest.param({"until": "2001-01-01T00:00:00Z"}, [], id="until"),
        pytest.param({"since": "2001-01-01T00:00:00Z", "verdict": "allow"}, ["ls"], id="since"),
    ],
)
def test_decisions_are_found(told: Machine, person: httpx.Client, query: dict[str, Any], commands: list[str]) -> None:
    page = get(person, "decisions", **query)
    assert [each["summary"] for each in page["items"]] == [f"Bash: {command}" for command in commands]
    assert (page["next"], page["complete"]) == (None, True)


def test_decisions_are_told_page_by_page(told: Machine, person: httpx.Client) -> None:
    found, before = [], 0
    while before is not None:
        page = get(person, "decisions", limit=1, before=before)
        found += [each["seq"] for each in page["items"]]
        before = page["next"]
    assert found == sorted(found, reverse=True)
    assert len(found) == 3


def test_a_decision_tells_its_evidence(told: Machine, person: httpx.Client) -> None:
    seq = get(person, "decisions", session="s2")["items"][0]["seq"]
    whole = get(person, f"decisions/{seq}")
    assert whole["input"] == {"command": "echo 100%_done"}
    assert [each["rule"] for each in whole["guardrail"]["matches"]] == ["secrets_detection/aws_access_key_id"] * 2
    assert (whole["tier"], whole["profile"], whole["state"], whole["matches"]) == (
        "table",
        "quarantine",
        "untrusted",
        2,
    )
    assert whole["provenance"][0]["source"] == "WebFetch: https://x"
    assert len(whole["record"]) == len(whole["previous"]) == 64
    refused = get(person, "decisions", session="s1", verdict="deny")["items"][0]["seq"]
    related = get(person, f"decisions/{refused}")["related"]
    assert ("outcome", "refused, gave secret") in [(each["event"], each["text"]) for each in related]


def test_patterns_tell_what_they_have_found(told: Machine, person: httpx.Client) -> None:
    found = get(person, "patterns", text="aws_access_key_id")
    rule = found["rules"][0]
    assert (rule["id"], rule["hits"]) == ("aws_access_key_id", 1), "once a record"
    assert [each["id"] for each in get(person, "patterns", found=True)["rules"]] == ["aws_access_key_id"]
    assert sum(group["hits"] for group in found["groups"]) == 1
    page = get(person, "patterns", limit=3, offset=2)
    assert (len(page["rules"]), page["next"]) == (3, 5)
