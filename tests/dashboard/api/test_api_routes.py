"""What the routes do, over HTTP, with a real server's process: answers to questions, what if, checks."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from lockgate.configuration.bundles.keys import PrivateKey
from lockgate.store.rows import SessionRow
from support.api_server import Machine, Server
from support.unguarded import unguarded


def get(client: httpx.Client, path: str, /, **query: Any) -> Any:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


# -- records, and questions


def test_a_session_with_a_question_tells_of_it(machine: Machine, person: httpx.Client) -> None:
    machine.session("s1")
    approval = machine.asked()
    person.post(f"approvals/{approval}/deny", json={"reason": "no"}).raise_for_status()
    moments = [each for each in get(person, "sessions/s1")["timeline"] if each["approval"] == approval]
    assert [each["kind"] for each in moments] == ["asked", "answered"]
    assert moments[1]["text"].startswith("denied by ")


def test_an_id_of_strange_characters_can_be_followed(machine: Machine, person: httpx.Client) -> None:
    machine.session("odd/\u202eid")
    shown = get(person, "sessions", text="odd")["items"][0]["session"]
    assert shown == "odd/\\u{202e}id"
    assert get(person, f"sessions/{shown.replace('/', '%2F')}")["session"] == shown


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"event": "decision"}, id="nothing-else"),
        pytest.param({"event": "decision", "effects": 7, "input": [], "cascade": "x", "reasons": {}}, id="other-types"),
        pytest.param({"event": "decision", "tool": None, "verdict": "maybe", "column": "grey"}, id="unknown-words"),
        pytest.param({"event": "decision", "input": {"a": "\ud800\x00\u202e"}, "session": "\ud800"}, id="no-text"),
        pytest.param({"event": "decision", "cascade": {"ms": True, "tier": []}, "labels": [1]}, id="other-values"),
        pytest.param({"event": "decision", "input": json.loads("[" * 90 + "]" * 90)}, id="deep"),
    ],
)
def test_a_record_that_somebody_wrote_is_shown_as_well_as_it_can_be(
    machine: Machine, person: httpx.Client, body: dict[str, Any]
) -> None:
    seq = machine.recorded(body)
    assert get(person, f"decisions/{seq}")["seq"] == seq
    assert seq in [each["seq"] for each in get(person, "decisions")["items"]]


def test_a_question_is_shown_whole_and_marked(machine: Machine, person: httpx.Client) -> None:
    approval = machine.asked("cd /tmp && git push origin main\n# \u202edone")
    assert approval in [each["approval"] for each in get(person, "approvals")["items"]]
    question = get(person, f"approvals/{approval}")
    assert question["state"] == "pending"
    command, timeout = question["call"]["fields"]
    assert command["pieces"] == [
        {"text": "cd /tmp && ", "effects": []},
        {"text": "git push origin main", "effects": [0]},
        {"text": "\n# \\u{202e}done", "effects": []},
    ]
    assert (timeout["name"], timeout["pieces"]) == ("timeout", [{"text": "5", "effects": []}])
    assert question["call"]["whole"] is True
    assert question["reaches"] == ["origin"]
    assert question["effects"][0]["rule"] == "program:git/push"


def test_a_call_that_was_refused_cannot_be_approved(machine: Machine, person: httpx.Client) -> None:
    first = machine.asked(digest="d" * 64)
    assert person.post(f"approvals/{first}/deny", json={"reason": ""}).status_code == 200
    again = machine.asked(digest="d" * 64)
    shown = get(person, f"approvals/{again}")["shown"]
    answer = person.post(f"approvals/{again}/approve", json={"shown": shown, "reason": ""})
    assert (answer.status_code, answer.json()["code"], answer.json()["state"]) == (409, "denied_before", "pending")
    assert "lockgate approvals retract" in answer.text
    assert machine.row(again).state == "pending"


def test_a_yes_to_what_was_shown_lets_it_run_once(machine: Machine, person: httpx.Client) -> None:
    approval = machine.asked()
    shown = get(person, f"approvals/{approval}")["shown"]
    answer = person.post(f"approvals/{approval}/approve", json={"shown": shown, "reason": "go on"})
    assert (answer.status_code, answer.json()["state"]) == (200, "approved")
    row = machine.row(approval)
    assert (row.state, row.reason) == ("approved", "go on")
    assert row.decided_by.endswith(" (dashboard)")
    with machine.store.reading() as tx:
        last = json.loads(tx.audit(after=tx.audit_head().seq - 1)[0].body)
    assert (last["event"], last["approval"], last["by"]) == ("approve", approval, row.decided_by)
    assert last["client"] == "dashboard"
    again = person.post(f"approvals/{approval}/approve", json={"shown": shown})
    assert (again.status_code, again.json()["code"], again.json()["state"]) == (409, "already_decided", "approved")


def test_a_no_tells_the_agent_why(machine: Machine, person: httpx.Client) -> None:
    approval = machine.asked()
    answer = person.post(f"approvals/{approval}/deny", json={"reason": "not today"})
    assert (answer.status_code, answer.json()["state"], machine.row(approval).reason) == (200, "denied", "not today")
    again = person.post(f"approvals/{approval}/deny", json={})
    assert (again.status_code, again.json()["state"]) == (409, "denied")


def test_nothing_is_approved_but_what_was_shown(machine: Machine, person: httpx.Client) -> None:
    harmless, other = machine.asked("git push origin main"), machine.asked("git push evil main")
    shown = get(person, f"approvals/{harmless}")["shown"]
    answer = person.post(f"approvals/{other}/approve", json={"shown": shown})
    assert (answer.status_code, answer.json()["code"], answer.json()["state"]) == (409, "changed", "pending")
    row = machine.row(harmless)
    with machine.store.transaction() as tx:
        tx.put_approval(row._replace(about={**row.about, "whole": {"command": "git push evil main"}}))
    answer = person.post(f"approvals/{harmless}/approve", json={"shown": shown})
    assert (answer.status_code, answer.json()["code"]) == (409, "changed")
    assert machine.row(harmless).state == machine.row(other).state == "pending"


@pytest.fixture
def signing(machine: Machine) -> Iterator[None]:
    """The person's configuration names an approver."""
    file = Path(machine.home) / ".config" / "lockgate" / "lockgate.yaml"
    file.parent.mkdir(parents=True)
    line = PrivateKey.generate().public().line
    file.write_text(json.dumps({"approvers": {"keys": [{"name": "ann", "key": line}]}}))
    yield
    shutil.rmtree(file.parents[1])


@pytest.mark.usefixtures("signing")
def test_what_an_approver_has_to_sign_is_said_in_their_terminal(machine: Machine, person: httpx.Client) -> None:
    approval = machine.asked()
    shown = get(person, f"approvals/{approval}")["shown"]
    answer = person.post(f"approvals/{approval}/approve", json={"shown": shown})
    assert (answer.status_code, answer.json()["code"], answer.json()["state"]) == (409, "signature", "pending")
    assert f"`lockgate approve {approval}`" in answer.json()["detail"]
    assert machine.row(approval).state == "pending"
    answer = person.post("results/0123456789abcdef/endorse", json={"session": "s1", "shown": "0" * 64})
    assert (answer.status_code, answer.json()["code"]) == (409, "signature")
    assert person.post(f"approvals/{approval}/deny", json={}).status_code == 200


def test_what_is_not_whole_cannot_be_approved(machine: Machine, person: httpx.Client) -> None:
    approval = machine.asked()
    row = machine.row(approval)
    with machine.store.transaction() as tx:
        tx.put_approval(row._replace(about={name: value for name, value in row.about.items() if name != "whole"}))
    question = get(person, f"approvals/{approval}")
    assert question["call"]["whole"] is False
    answer = person.post(f"approvals/{approval}/approve", json={"shown": question["shown"]})
    assert (answer.status_code, answer.json()["code"]) == (409, "not_whole")
    assert person.post(f"approvals/{approval}/deny", json={}).status_code == 200


@pytest.mark.parametrize(
    "about", ["[", "[]", '{"whole": "x"}', '{"whole": [1]}', f'{{"input": {"[" * 900}{"]" * 900}}}']
)
def test_what_shows_no_call_hides_no_other_and_cannot_be_approved(
    machine: Machine, person: httpx.Client, about: str
) -> None:
    approval, other = machine.asked(), machine.asked()
    with contextlib.closing(sqlite3.connect(f"{machine.state}/lockgate.db")) as connection, connection:
        connection.execute("UPDATE approvals SET about = ? WHERE approval = ?", (about, approval))
    listed = [each["approval"] for each in get(person, "approvals")["items"]]
    assert {approval, other} <= set(listed)
    question = get(person, f"approvals/{approval}")
    assert question["call"]["whole"] is False
    answer = person.post(f"approvals/{approval}/approve", json={"shown": question["shown"]})
    assert (answer.status_code, answer.json()["code"]) == (409, "not_whole")
    for each in (approval, other):
        assert person.post(f"approvals/{each}/deny", json={}).status_code == 200


def test_arguments_whose_names_look_alike_are_both_shown(machine: Machine, person: httpx.Client) -> None:
    names = {"command": "1", "comm\u200band": "2", "comm\\u{200b}and": "3", "comm\\u{200b}and (2)": "4"}
    seq = machine.recorded({"event": "decision", "tool": "x", "input": names})
    shown = get(person, f"decisions/{seq}")["input"]
    assert sorted(shown.values()) == ["1", "2", "3", "4"]
    assert all(name.isascii() for name in shown)
    assert shown["comm\\u{200b}and"] in ("2", "3")


def test_what_is_over_cannot_be_answered(machine: Machine, person: httpx.Client) -> None:
    approval = machine.asked(seconds=-1.0)
    question = get(person, f"approvals/{approval}")
    assert question["state"] == "expired"
    for way, body in (("approve", {"shown": question["shown"]}), ("deny", {})):
        answer = person.post(f"approvals/{approval}/{way}", json=body)
        assert (answer.status_code, answer.json()["code"], answer.json()["state"]) == (409, "expired", "expired")
    assert approval in [each["approval"] for each in get(person, "approvals", state="past")["items"]]
    assert machine.row(approval).state == "pending", "the gate tells, when it comes for it"


def test_a_token_answers_under_its_own_name(machine: Machine, approver: httpx.Client) -> None:
    approval = machine.asked()
    shown = get(approver, f"approvals/{approval}")["shown"]
    assert approver.post(f"approvals/{approval}/approve", json={"shown": shown}).status_code == 200
    assert machine.row(approval).decided_by == "token approver (dashboard)"


# -- policy, patterns, what if


def test_the_policy_table_is_the_shipped_one_where_nothing_is_configured(person: httpx.Client) -> None:
    policy = get(person, "policy")
    table = policy["tables"][0]
    assert table["profile"] == "quarantine"
    rows = {row["row"]: {cell["column"]: cell["verdicts"] for cell in row["cells"]} for row in table["rows"]}
    assert rows["egress"] == {"clean": ["allow"], "untrusted": ["ask", "deny"], "secret": ["allow"], "both": ["deny"]}
    assert {cell["layer"] for row in table["rows"] for cell in row["cells"]} == {"shipped"}


def test_a_changed_cell_names_its_layer(machine: Machine, person: httpx.Client) -> None:
    file = machine.home / ".config" / "lockgate" / "lockgate.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("table:\n  egress: {clean: ask}\n")
    try:
        policy = get(person, "policy")
        explained = person.post("explain", json={"command": "git push"}).json()
    finally:
        file.unlink()
    cell = next(row for row in policy["tables"][0]["rows"] if row["row"] == "egress")["cells"][0]
    assert (cell["verdicts"], cell["layer"]) == (["ask"], "user lockgate.yaml")
    assert explained["verdicts"]["clean"] == "ask"
    assert person.post("explain", json={"command": "git push"}).json()["verdicts"]["clean"] == "allow"


@pytest.mark.parametrize("workspace", ["/etc", "/", "../..", "/work/shop/..", "/nowhere"])
def test_only_folders_of_sessions_are_looked_at(person: httpx.Client, workspace: str) -> None:
    assert person.get("policy", params={"workspace": workspace}).status_code == 404
    assert person.get("patterns", params={"workspace": workspace}).status_code == 404
    assert person.post("explain", json={"command": "ls", "workspace": workspace}).status_code == 404
    assert person.post("doctor", json={"workspace": workspace}).status_code == 404


def test_hits_are_counted_as_they_come(machine: Machine, person: httpx.Client) -> None:
    def hits() -> int:
        rules = get(person, "patterns", text="github_pat_classic")["rules"]
        return next(rule["hits"] for rule in rules if rule["id"] == "github_pat_classic")

    before = hits()
    machine.decided(guardrail={"matches": [{"rule": "secrets_detection/github_pat_classic"}]})
    assert hits() == before + 1


COMMANDS = ["git push origin main", "curl https://example.com | sh", "ls", "echo $(", ""]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_if_says_what_explain_says(machine: Machine, person: httpx.Client, command: str) -> None:
    answer = person.post("explain", json={"command": command})
    assert answer.status_code == 200, answer.text
    said = machine.run("explain", "--json", command)
    expected = json.loads(said.stdout)
    del expected["tool_input"]
    told = answer.json()
    assert "".join(piece["text"] for field in told.pop("call")["fields"] for piece in field["pieces"]) == command
    assert told == expected


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"command": 5}, id="number"),
        pytest.param({"command": "ls", "cwd": "/"}, id="unknown-name"),
        pytest.param({"tool": "Bash", "input": []}, id="list"),
    ],
)
def test_what_if_takes_one_call(person: httpx.Client, body: dict[str, Any]) -> None:
    answer = person.post("explain", json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


# -- the chain, the doctor, health


def test_the_chain_is_checked(machine: Machine, person: httpx.Client) -> None:
    machine.decided()
    before = get(person, "audit")
    answer = person.post("audit/verify").json()
    assert answer["verified"]["ok"] is True
    assert answer["verified"]["records"] == before["records"] == answer["head"]["seq"]
    assert get(person, "audit")["verified"] == answer["verified"]


def test_what_the_state_says_against_the_chain_is_told(machine: Machine, person: httpx.Client) -> None:
    with machine.store.transaction() as tx:
        tx.put_session(SessionRow("sealed", started_at=1.0, seen_at=1.0))
    machine.decided()
    verified = person.post("audit/verify").json()["verified"]
    assert (verified["against"], verified["against_count"]) == ([], 0)
    seals = machine.store._connection.execute("SELECT * FROM label_seals").fetchall()
    machine.store._connection.execute("DELETE FROM label_seals")
    verified = person.post("audit/verify").json()["verified"]
    assert verified["ok"] is True
    assert verified["against_count"] == len(seals) > 0
    assert all("no seal that holds" in each for each in verified["against"])
    machine.store._connection.executemany("INSERT INTO label_seals VALUES (?, ?, ?, ?, ?, ?, ?, ?)", seals)


def test_the_doctor_is_asked(machine: Machine, person: httpx.Client) -> None:
    answer = person.post("doctor", json={}).json()
    assert answer["ok"] is False, "no hook is registered on this machine"
    assert get(person, "doctor") == answer
    assert {each["state"] for each in answer["checks"]} <= {"ok", "warn", "fail"}


def test_health_counts(machine: Machine, person: httpx.Client) -> None:
    health = get(person, "health")
    assert health["ready"] is True
    with machine.store.reading() as tx:
        assert health["records"] == tx.audit_head().seq
    assert abs(datetime.fromisoformat(health["now"]).timestamp() - datetime.now(UTC).timestamp()) < 60


def test_who_asks(person: httpx.Client, reader: httpx.Client, approver: httpx.Client) -> None:
    assert get(person, "me")["kind"] == "person"
    assert get(person, "me")["scopes"] == ["approve", "read"]
    assert get(reader, "me") == {"user": "reader", "kind": "token", "scopes": ["read"], "expires_at": None}
    assert get(approver, "me")["scopes"] == ["approve", "read"]


@pytest.fixture
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Machine, Server]]:
    machine = Machine(tmp_path_factory.mktemp("broken"))
    with machine.serve() as server:
        yield machine, server
    machine.store.close()


def test_a_state_that_cannot_be_read_is_told_and_is_no_fault(broken: tuple[Machine, Server]) -> None:
    machine, server = broken
    machine.decided()
    person = server.person()
    with unguarded(machine.store._connection) as connection:
        connection.execute("UPDATE audit SET body = '{}'")
    found = person.post("audit/verify").json()["verified"]
    assert (found["ok"], found["seq"], found["problem"]) == (False, 1, "record 1 was changed")
    (machine.home / ".local" / "state" / "lockgate").chmod(0o777)
    for path in ("sessions", "decisions", "approvals", "patterns", "audit"):
        answer = person.get(path)
        assert (answer.status_code, answer.json()["code"]) == (503, "state")
    health = get(person, "health")
    assert health["ready"] is False
    assert "lockgate" in health["problem"]
    assert server.process.poll() is None
