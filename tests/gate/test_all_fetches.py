"""A yes to all pages of one host: which calls it holds for, and what ends it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gate.world import WORK, World
from lockgate.core.errors import ApprovalError
from lockgate.core.events import ToolRequested
from lockgate.core.model import ToolCall, Verdict
from lockgate.core.questions import PersonQuestion
from lockgate.gate.approvals import answering
from lockgate.gate.approvals.endorsing import endorse
from lockgate.gate.contradictions import contradictions
from lockgate.gate.session.endorsements import sources_of
from support.hidden_records import hide_records

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
HOST = "https://docs.example.com"


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.start()
    world.unattended, world.is_heard = "", True
    world.store.clock = world._now  # type: ignore[method-assign]
    return world


def call(url: str, number: int = 0, tool: str = "WebFetch", **more: Any) -> ToolCall:
    return ToolCall(tool, {"url": url, "prompt": "p", **more}, WORK, f"f{number}")


def grant(world: World, asked: ToolCall, *, fetches: bool = True, agent: str = "") -> Verdict:
    going = world.gate.deliberate(ToolRequested(world.context(agent), asked, waits=True))
    question = going.send(None)
    assert isinstance(question, PersonQuestion)
    answering.answer(
        world.store, str(world.folder / "state"), question.approval, approve=True, by="ann", fetches=fetches
    )
    try:
        going.send(None)
    except StopIteration as end:
        world.done(asked, "a page", agent=agent)
        verdict: Verdict = end.value.verdict
        return verdict
    raise AssertionError("asked again")


def ask(world: World, url: str, **more: Any) -> Verdict:
    return world.ask("WebFetch", {"url": url, "prompt": "p"}, **more)[0].verdict


@pytest.fixture
def granted(world: World) -> World:
    """An untrusted session that may read all pages of a host."""
    world.taint()
    assert ask(world, f"{HOST}/a?x=1") is ASK
    assert grant(world, call(f"{HOST}/a?x=1")) is ALLOW
    return world


def test_all_pages_of_the_host_are_read_unasked(granted: World) -> None:
    assert [ask(granted, f"{HOST}/{page}") for page in ("b", "c?q=1", "")] == [ALLOW] * 3
    assert granted.records("decision")[-1]["cascade"]["tier"] == "person"
    [record] = granted.records("approve")
    assert record["fetches"] == {"host": "docs.example.com", "labels": ["untrusted"]}


def test_a_plain_yes_is_for_one_page(world: World) -> None:
    world.taint()
    assert grant(world, call(f"{HOST}/a"), fetches=False) is ALLOW
    assert ask(world, f"{HOST}/b") is ASK


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("https://docs.example.com.evil.example/x", id="a longer host"),
        pytest.param("https://evil.example/https://docs.example.com/", id="in the path"),
        pytest.param("https://docs.example.com@evil.example/x", id="as a user"),
        pytest.param("https://docs.example.com:443@evil.example/x", id="as a user and password"),
        pytest.param("https://docs.example.com:8443/x", id="another port"),
        pytest.param("http://docs.example.com/x", id="another scheme"),
        pytest.param("https://docs.example.com\\@evil.example/x", id="a backslash"),
        pytest.param("https://d\u043ecs.example.com/x", id="a look-alike"),
        pytest.param("https://sub.docs.example.com/x", id="a host below it"),
    ],
)
def test_another_host_is_asked_about(granted: World, url: str) -> None:
    assert ask(granted, url) is not ALLOW


def test_a_command_and_another_agent_are_asked_about(granted: World) -> None:
    assert granted.bash(f"curl {HOST}/b") is not ALLOW
    assert ask(granted, f"{HOST}/b", agent="a1") is not ALLOW
    assert ask(granted, f"{HOST}/b", session_id="s2") is ALLOW, "a clean session of its own is not asked"


def test_a_secret_ends_it(granted: World) -> None:
    granted.run("Read", {"file_path": ".env"}, "KEY=geheim")
    assert granted.labels() == {"untrusted", "secret"}
    assert ask(granted, f"{HOST}/b") is DENY


def test_it_holds_in_no_table_with_both_labels(world: World) -> None:
    (world.config / "lockgate.yaml").write_text("table: {fetch: ask}\n")
    world.taint()
    assert grant(world, call(f"{HOST}/a")) is ALLOW
    world.run("Read", {"file_path": ".env"}, "KEY=geheim")
    assert ask(world, f"{HOST}/b") is ASK
    with pytest.raises(ApprovalError, match="knows a secret"):
        grant(world, call(f"{HOST}/c", 1))


def test_a_label_that_comes_ends_what_was_said_without_it(world: World) -> None:
    (world.config / "lockgate.yaml").write_text("table: {fetch: ask}\n")
    assert grant(world, call(f"{HOST}/a")) is ALLOW  # the page itself makes the session untrusted
    assert world.labels() == {"untrusted"}
    assert ask(world, f"{HOST}/b") is ASK


def test_an_endorsement_ends_it(world: World) -> None:
    world.taint()
    assert grant(world, call(f"{HOST}/a")) is ALLOW
    with world.store.reading() as tx:
        sources = sources_of(tx, "s1")
    for each in sources:
        endorse(world.store, each, by="ann")
    assert world.labels() == set()
    with world.store.reading() as tx:
        assert contradictions(tx, None) == []
    world.taint()
    assert ask(world, f"{HOST}/b") is ASK


def test_a_grant_that_an_endorsement_has_ended_cannot_be_put_back(world: World) -> None:
    world.taint()
    assert grant(world, call(f"{HOST}/a")) is ALLOW
    query = "UPDATE approvals SET about = ?, seal = ?"
    kept = world.store._connection.execute("SELECT about, seal FROM approvals").fetchone()
    with world.store.reading() as tx:
        [before] = tx.approvals(session="s1", state="used")
        sources = sources_of(tx, "s1")
    for each in sources:
        endorse(world.store, each, by="ann")
    world.taint()
    world.store._connection.execute(query, kept)
    with world.store.reading() as tx:
        assert tx.approvals(session="s1", state="used") == [before]
    assert ask(world, f"{HOST}/b") is ASK
    assert grant(world, call(f"{HOST}/c", 2)) is ALLOW
    assert ask(world, f"{HOST}/d") is ALLOW


def test_a_grant_is_over_where_the_record_of_an_endorsement_is_hidden(world: World) -> None:
    world.taint()
    assert grant(world, call(f"{HOST}/a")) is ALLOW
    with world.store.reading() as tx:
        [before] = tx.approvals(session="s1", state="used")
        sources = sources_of(tx, "s1")
    for each in sources:
        endorse(world.store, each, by="ann")
    world.taint()
    world.store._connection.execute("UPDATE approvals SET about = ?", (json.dumps(before.about),))
    with hide_records(world.folder / "state", "endorse") as hidden:
        assert hidden == len(sources)
        assert ask(world, f"{HOST}/b") is not ALLOW


def test_it_is_said_to_a_page_alone(world: World) -> None:
    (world.config / "lockgate.yaml").write_text("table: {egress: ask}\n")
    with pytest.raises(ApprovalError, match="no question about a page"):
        grant(world, ToolCall("Bash", {"command": "git push origin main"}, WORK, "f9"))


def test_a_persons_no_stands(granted: World) -> None:
    going = granted.gate.deliberate(ToolRequested(granted.context(), call("https://other.example/x", 5), waits=True))
    question = going.send(None)
    assert isinstance(question, PersonQuestion)
    answering.answer(granted.store, str(granted.folder / "state"), question.approval, approve=False, by="ann")
    assert grant(granted, call("https://other.example/y", 6)) is ALLOW
    assert ask(granted, "https://other.example/x") is DENY
