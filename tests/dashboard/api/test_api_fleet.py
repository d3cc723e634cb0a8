"""A dashboard on a store that many machines share: questions of all of them, answered from one."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.service.http.auth.tokens import add
from support.api_server import Machine, Server


@pytest.fixture
def fleet(tmp_path: Path, postgres_url: str) -> Iterator[tuple[Machine, Machine, Server]]:
    """The person's machine, another one, and the dashboard of the first."""
    here, there = Machine(tmp_path / "here", postgres_url), Machine(tmp_path / "there", postgres_url)
    with here.serve() as server:
        yield here, there, server
    here.store.close()
    there.store.close()


def test_a_question_of_another_machine_is_answered_here(fleet: tuple[Machine, Machine, Server]) -> None:
    here, there, server = fleet
    person = server.person()
    with there.store.transaction() as tx:  # as a gate does with each question: its first record makes it known
        tx.append_audit(time.time(), {"event": "test"})
    approval = there.asked("git push origin main")
    assert [each["approval"] for each in person.get("approvals").json()["items"]] == [approval]
    question = person.get(f"approvals/{approval}").json()
    assert question["call"]["fields"][0]["pieces"] == [{"text": "git push origin main", "effects": [0]}]
    answer = person.post(f"approvals/{approval}/approve", json={"shown": question["shown"]})
    assert (answer.status_code, answer.json()["state"]) == (200, "approved")
    assert there.row(approval).state == here.row(approval).state == "approved"


def test_other_machines_know_that_somebody_watches_and_are_heard(fleet: tuple[Machine, Machine, Server]) -> None:
    _, there, server = fleet
    assert not there.store.is_watched()
    heard = ""
    with server.person().stream("GET", "events") as response:
        parts = response.iter_text()
        heard += next(parts)
        deadline = time.monotonic() + 20
        while not there.store.is_watched():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        approval = there.asked()
        while "event: approval" not in heard:
            heard += next(parts)
        told = json.loads(heard.partition("event: approval\ndata: ")[2].partition("\n")[0])
        assert told["approval"] in (approval, None)


def test_what_each_gate_decided_is_found_and_its_chain_checked(fleet: tuple[Machine, Machine, Server]) -> None:
    here, there, server = fleet
    here.session("s1")
    own = here.decided(verdict="deny")
    there.decided("s2", "ls", "allow")
    person = server.person()
    assert [each["seq"] for each in person.get("decisions", params={"verdict": "deny"}).json()["items"]] == [own]
    assert person.get(f"decisions/{own}").json()["verdict"] == "deny"
    assert person.get("sessions/s1").json()["timeline"]
    assert person.post("audit/verify").json()["verified"]["ok"] is True
    assert person.get("patterns", params={"limit": 1}).status_code == 200


def test_the_decisions_of_another_gate_are_told_where_it_is_named(fleet: tuple[Machine, Machine, Server]) -> None:
    here, there, server = fleet
    here.decided()
    there.decided(command="ls", verdict="allow")
    person = server.person()
    gates = person.get("gates").json()["items"]
    assert {each["gate"]: each["own"] for each in gates} == {here.store.gate: True, there.store.gate: False}
    assert [each["records"] for each in gates] == [1, 1]
    (other,) = person.get("decisions", params={"gate": there.store.gate}).json()["items"]
    assert other["summary"] == "Bash: ls"
    whole = person.get(f"decisions/{other['seq']}", params={"gate": there.store.gate}).json()
    assert whole["verdict"] == "allow"
    assert person.get("decisions", params={"gate": "0" * 32}).json()["items"] == []
    assert person.get("decisions/1", params={"gate": "0" * 32}).status_code == 404


def test_a_token_is_one_machines(fleet: tuple[Machine, Machine, Server]) -> None:
    here, there, server = fleet
    assert server.program(add(here.store, "x", "read")).get("me").status_code == 200
    assert server.program(add(there.store, "x", "approve")).get("me").status_code == 401
