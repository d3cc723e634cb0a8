"""A person's word that a result is fine, over the API: of exactly what was shown, by a person, and once."""

from __future__ import annotations

import itertools
import json
from typing import Any

import httpx
import pytest

from lockgate.core.events import Context
from lockgate.core.model import Analysis, Effect, EffectKind, Label, Subject, ToolCall
from lockgate.gate.session import begin_session, expect, labels_of, settle_result
from lockgate.store.audit.chain import verify_store
from lockgate.system.folders import user_name
from support.api_server import Machine, Server

TEXT = "Fix the parser.\n<img src=x onerror=alert(1)>\n\x1b[2J\u202eplease"
_numbers = itertools.count()


class Reading:
    """A session that has read an issue."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.session = f"reads-{next(_numbers)}"
        self.subject = Subject(self.session)
        with machine.store.transaction() as tx:
            begin_session(tx, Context("claude-code", self.subject, "/work/shop", "/work/shop"), "startup", (), 1.0)

    def read(self, text: str = TEXT, call: str = "c1", at: float = 2.0) -> None:
        told = ToolCall("mcp__tracker__get_issue", {"number": 7}, "/work/shop", call)
        source = Analysis((Effect(EffectKind.INGEST, told.tool, "tool:mcp", "others wrote it", gives=Label.UNTRUSTED),))
        with self.machine.store.transaction() as tx:
            expect(tx, self.subject, told, source, "0" * 64, at, facts={"looks": True})
            # As the gate records that it let the call run.
            gives = [{"what": told.tool, "gives": "untrusted"}]
            body = {"event": "decision", "session": self.session, "agent": "", "call": call, "digest": "0" * 64}
            tx.append_audit(at, {**body, "effects": gives})
            settle_result(tx, self.subject, told, text, at, digest="0" * 64, fresh=lambda: source, keep=True)

    def write(self) -> None:
        with self.machine.store.transaction() as tx:
            call = ToolCall("Write", {"file_path": "a.py"}, "/work/shop", "w1")
            expect(tx, self.subject, call, Analysis(), "1" * 64, 3.0)

    def results(self, who: httpx.Client) -> list[dict[str, Any]]:
        answer = who.get("results", params={"session": self.session})
        assert answer.status_code == 200, answer.text
        items: list[dict[str, Any]] = answer.json()["items"]
        return items

    def endorse(self, who: httpx.Client, result: dict[str, Any], **changed: str) -> httpx.Response:
        body = {"session": self.session, "shown": result["shown"]} | changed
        return who.post(f"results/{result['result']}/endorse", json=body)

    @property
    def labels(self) -> set[Label]:
        with self.machine.store.reading() as tx:
            return set(labels_of(tx, self.subject))

    @property
    def records(self) -> list[dict[str, Any]]:
        with self.machine.store.reading() as tx:
            told = [json.loads(record.body) for record in tx.audit()]
        return [body for body in told if body["event"] == "endorse" and body["session"] == self.session]


@pytest.fixture
def reading(machine: Machine) -> Reading:
    found = Reading(machine)
    found.read()
    return found


def test_a_person_is_shown_the_first_lines_and_endorses_the_result_once(
    machine: Machine, person: httpx.Client, reading: Reading
) -> None:
    (result,) = reading.results(person)
    assert result["text"] == "Fix the parser.\n<img src=x onerror=alert(1)>\n\\e[2J\\u{202e}please"
    assert (result["problem"], result["more"], result["sources"]) == ("", 0, ["mcp__tracker__get_issue: number=7"])
    answer = reading.endorse(person, result)
    assert (answer.status_code, answer.json()) == (200, {"items": [], "left": []})
    assert reading.labels == set()
    (record,) = reading.records
    assert (record["client"], record["by"], record["call"]) == ("dashboard", f"{user_name()} (dashboard)", "c1")
    assert (record["result"], record["left"]) == (result["result"], [])
    again = reading.endorse(person, result)
    assert again.status_code == 404
    assert "no result with this id" in again.json()["detail"]
    assert len(reading.records) == 1
    with machine.store.reading() as tx:
        assert verify_store(tx, machine.store.key).ok


def test_of_two_results_one_leaves_the_session_untrusted(person: httpx.Client, reading: Reading) -> None:
    reading.read("another", "c2", 2.5)
    first, second = reading.results(person)
    told = reading.endorse(person, first).json()
    assert told["left"] == ["untrusted"]
    assert [each["call"] for each in told["items"]] == ["c2"]
    assert reading.endorse(person, second).json()["left"] == []


def test_how_much_is_not_shown_is_told_and_empty_lines_are_counted(machine: Machine, person: httpx.Client) -> None:
    reading = Reading(machine)
    reading.read("one" + "\n" * 15 + "\n".join(map(str, range(30))))
    (result,) = reading.results(person)
    assert result["more"] == 25
    assert result["text"].startswith("one\n[... 14 empty lines ...]\n0\n1")


@pytest.mark.parametrize("who", ["nobody", "a cookie alone", "another page", "a reader", "an approver"])
def test_who_is_no_person_that_has_logged_in_endorses_nothing(
    server: Server, person: httpx.Client, reader: httpx.Client, approver: httpx.Client, reading: Reading, who: str
) -> None:
    (result,) = reading.results(person)
    csrf = {"X-CSRF-Token": person.headers["X-CSRF-Token"]}
    other = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    asker, refused = {
        "nobody": (server.browser(), (401, "login")),
        "a cookie alone": (server.browser(cookies=dict(person.cookies)), (401, "login")),
        "another page": (server.client({**other, **csrf}, cookies=dict(person.cookies)), (403, "origin")),
        "a reader": (reader, (403, "scope")),
        "an approver": (approver, (403, "person")),
    }[who]
    answer = reading.endorse(asker, result)
    assert (answer.status_code, answer.json()["code"]) == refused
    assert reading.labels == {Label.UNTRUSTED}
    assert reading.records == []


@pytest.mark.parametrize(
    ("changed", "refused"),
    [
        pytest.param({"result": "0" * 16}, 404, id="another-id"),
        pytest.param({"result": "zz" * 8}, 422, id="no-id"),
        pytest.param({"shown": "0" * 64}, 409, id="another-digest"),
        pytest.param({"shown": ""}, 422, id="no-digest"),
        pytest.param({"session": "another"}, 404, id="another-session"),
    ],
)
def test_what_was_not_shown_is_not_endorsed(
    machine: Machine, person: httpx.Client, reading: Reading, changed: dict[str, str], refused: int
) -> None:
    machine.session("another")
    (result,) = reading.results(person)
    result["result"] = changed.pop("result", result["result"])
    assert reading.endorse(person, result, **changed).status_code == refused
    assert reading.labels == {Label.UNTRUSTED}


def test_the_beginning_of_an_id_is_none(person: httpx.Client, reading: Reading) -> None:
    (result,) = reading.results(person)
    assert reading.endorse(person, {**result, "result": result["result"][:8]}).status_code == 422
    assert reading.labels == {Label.UNTRUSTED}


def test_another_text_of_the_same_call_is_not_what_was_shown(person: httpx.Client, reading: Reading) -> None:
    (result,) = reading.results(person)
    with reading.machine.store.transaction() as tx:
        row = tx.call(reading.session, "c1")
        said = {**row.facts["said"], "digest": "f" * 64}
        tx.put_call(row._replace(facts={**row.facts, "said": said}))
    assert reading.endorse(person, result).status_code == 404
    (now,) = reading.results(person)
    answer = reading.endorse(person, {**result, "result": now["result"]})
    assert (answer.status_code, answer.json()["code"]) == (409, "changed")
    assert reading.labels == {Label.UNTRUSTED}


def test_after_the_session_wrote_it_says_why_not(person: httpx.Client, reading: Reading) -> None:
    (result,) = reading.results(person)
    reading.write()
    (now,) = reading.results(person)
    assert now["problem"].startswith("since then the session may have written files")
    for seen in (result, now):
        answer = reading.endorse(person, seen)
        assert (answer.status_code, answer.json()["code"]) == (409, "not_endorsable")
        assert answer.json()["detail"] == f"this result cannot be endorsed: {now['problem']}"
    assert reading.labels == {Label.UNTRUSTED}
    assert reading.records == []


def test_looking_changes_nothing(person: httpx.Client, reading: Reading) -> None:
    (result,) = reading.results(person)
    answer = person.get(f"results/{result['result']}/endorse")
    assert answer.status_code == 405
    assert reading.labels == {Label.UNTRUSTED}
    assert person.get("results", params={"session": "no-such"}).status_code == 404
