"""Labels between agents of a session: sub-agents, and messages."""

from __future__ import annotations

import pytest
from labelled import DIGEST, MAIN, NONE, S, U, call, ctx, delegate, never, source, spawn, taint

from lockgate.core.model import Subject, Taint
from lockgate.gate.session import (
    begin_agent,
    end_agent,
    ensure_subject,
    expect,
    join_message,
    labels_of,
    note_launch,
    provenance,
    settle_result,
)
from lockgate.store.protocol import Transaction


def siblings(tx: Transaction) -> None:
    """Two agents of the main agent: ``a1`` is untrusted, ``a2`` has a secret."""
    for name, label in (("a1", U), ("a2", S)):
        spawn(tx, MAIN, f"by-main-{name}", name)
        begin_agent(tx, ctx(agent=name, agent_type=name), 1.0)
        taint(tx, Subject("s", name), label)


def test_a_sub_agent_starts_with_its_parents_labels_and_brings_back_its_own(tx: Transaction) -> None:
    ensure_subject(tx, ctx(), 1.0)
    taint(tx, MAIN, U)
    spawn(tx, MAIN, "c1")
    child = Subject("s", "a1")
    row = begin_agent(tx, ctx(agent="a1", agent_type="general"), 2.0)
    assert (row.parent, row.parents, row.call_id) == ("", (), "c1")
    assert [(found.label, found.origin) for found in provenance(tx, child)] == [(U, "main agent")]
    taint(tx, child, S)
    assert labels_of(tx, MAIN) == {U}
    end_agent(tx, ctx(agent="a1"))
    assert [(found.label, found.origin) for found in provenance(tx, MAIN)] == [(U, ""), (S, "agent a1")]


def test_the_parent_is_whoever_has_a_call_out_that_spawns_such_an_agent(tx: Transaction) -> None:
    siblings(tx)
    spawn(tx, Subject("s", "a1"), "c1", "general")
    spawn(tx, Subject("s", "a2"), "c2", "special", asked=True)
    assert begin_agent(tx, ctx(agent="b1", agent_type="general"), 2.0).parent == "a1"
    assert begin_agent(tx, ctx(agent="b2", agent_type="special"), 2.0).parent == "a2"
    assert labels_of(tx, Subject("s", "b1")) == {U}
    assert labels_of(tx, Subject("s", "b2")) == {S}


def test_several_possible_parents_give_all_and_get_all(tx: Transaction) -> None:
    siblings(tx)
    for name in ("a1", "a2"):
        spawn(tx, Subject("s", name), f"c-{name}")
    row = begin_agent(tx, ctx(agent="b", agent_type="general"), 2.0)
    assert row.parents == ("a1", "a2")
    assert labels_of(tx, Subject("s", "b")) == {U, S}
    end_agent(tx, ctx(agent="b"))
    assert labels_of(tx, Subject("s", "a1")) == labels_of(tx, Subject("s", "a2")) == {U, S}
    assert labels_of(tx, MAIN) == NONE


def test_the_call_that_the_client_names_decides(tx: Transaction) -> None:
    siblings(tx)
    for name in ("a1", "a2"):
        spawn(tx, Subject("s", name), f"c-{name}")
    row = begin_agent(tx, ctx(agent="b", agent_type="general", spawned_by="c-a2"), 2.0)
    assert (row.parent, row.call_id) == ("a2", "c-a2")
    assert labels_of(tx, Subject("s", "b")) == {S}


def test_an_agent_that_nobody_seems_to_have_spawned_has_all_that_the_session_has(tx: Transaction) -> None:
    ensure_subject(tx, ctx(agent="a1"), 1.0)
    taint(tx, Subject("s", "a1"), S)
    taint(tx, MAIN, U)
    unseen = Subject("s", "b")
    assert labels_of(tx, unseen) == {U, S}
    assert {found.label for found in provenance(tx, unseen)} == {U, S}
    ensure_subject(tx, ctx(agent="b"), 2.0)
    assert labels_of(tx, unseen) == {U, S}
    assert labels_of(tx, Subject("other", "b")) == NONE


def test_a_background_agent_is_linked_by_the_answer_of_its_call(tx: Transaction) -> None:
    siblings(tx)
    for name in ("a1", "a2"):
        spawn(tx, Subject("s", name), f"c-{name}")
    note_launch(tx, "s", "c-a1", "b")
    note_launch(tx, "s", "unknown", "b")
    assert begin_agent(tx, ctx(agent="b", agent_type="general"), 2.0).parent == "a1"
    assert begin_agent(tx, ctx(agent="d", agent_type="general"), 2.0).parent == "a2"
    end_agent(tx, ctx(agent="b"))
    assert {row.call_id: row.state for row in tx.calls("s")}["c-a1"] == "finished"


def test_parallel_agents_of_one_parent(tx: Transaction) -> None:
    for number in range(3):
        spawn(tx, MAIN, f"c{number}")
    for number in range(3):
        assert begin_agent(tx, ctx(agent=f"a{number}", agent_type="general"), 2.0).parents == ()
    taint(tx, Subject("s", "a1"), U)
    assert labels_of(tx, Subject("s", "a2")) == labels_of(tx, MAIN) == NONE
    end_agent(tx, ctx(agent="a1"))
    assert labels_of(tx, MAIN) == {U}
    assert labels_of(tx, Subject("s", "a2")) == NONE


def test_what_is_pending_in_a_sub_agent_is_pending_in_its_parent_and_settles_in_both(tx: Transaction) -> None:
    spawn(tx, MAIN, "c1")
    child = Subject("s", "a1")
    begin_agent(tx, ctx(agent="a1", agent_type="general"), 2.0)
    expect(tx, child, call("x"), source(U), DIGEST, 2.0)
    end_agent(tx, ctx(agent="a1"))
    assert labels_of(tx, MAIN) == {U}
    settle_result(tx, child, call("x"), "", 4.0, digest=DIGEST, fresh=never)
    assert labels_of(tx, MAIN) == labels_of(tx, child) == NONE


def test_what_comes_to_an_agent_after_its_end_comes_to_its_parent(tx: Transaction) -> None:
    spawn(tx, MAIN, "c1")
    begin_agent(tx, ctx(agent="a1", agent_type="general"), 2.0)
    end_agent(tx, ctx(agent="a1"))
    settle_result(tx, Subject("s", "a1"), call("x"), "text", 4.0, digest=DIGEST, fresh=lambda: source(U))
    assert labels_of(tx, MAIN) == {U}


def test_the_result_of_the_spawning_call_brings_the_labels_too(tx: Transaction) -> None:
    spawn(tx, MAIN, "c1")
    begin_agent(tx, ctx(agent="a1", agent_type="general"), 2.0)
    taint(tx, Subject("s", "a1"), U)
    settle_result(tx, MAIN, call("c1", "Agent", subagent_type="general"), "report", 3.0, digest=DIGEST, fresh=never)
    assert labels_of(tx, MAIN) == {U}
    assert [row.state for row in tx.agents("s")] == ["ended"]


def test_nested_agents_bring_labels_up_even_when_the_middle_one_has_ended(tx: Transaction) -> None:
    spawn(tx, MAIN, "c1", "outer")
    begin_agent(tx, ctx(agent="a", agent_type="outer"), 1.0)
    spawn(tx, Subject("s", "a"), "c2", "inner")
    begin_agent(tx, ctx(agent="b", agent_type="inner"), 1.0)
    end_agent(tx, ctx(agent="a"))
    taint(tx, Subject("s", "b"), U)
    end_agent(tx, ctx(agent="b"))
    assert labels_of(tx, MAIN) == {U}


def test_the_end_of_an_agent_that_was_never_seen_brings_nothing(tx: Transaction) -> None:
    ensure_subject(tx, ctx(agent="a1"), 1.0)
    taint(tx, Subject("s", "a1"), U)
    end_agent(tx, ctx(agent="helper"))
    assert labels_of(tx, MAIN) == NONE
    assert tx.agent(Subject("s", "helper")) is None


def test_an_agent_that_goes_on_has_what_its_parent_has_now(tx: Transaction) -> None:
    spawn(tx, MAIN, "c1")
    begin_agent(tx, ctx(agent="a1", agent_type="general"), 1.0)
    end_agent(tx, ctx(agent="a1"))
    taint(tx, MAIN, U)
    assert begin_agent(tx, ctx(agent="a1", agent_type="general"), 3.0).state == "running"
    assert labels_of(tx, Subject("s", "a1")) == {U}


def test_many_taints_of_a_parent_are_told_in_short(tx: Transaction) -> None:
    tx.add_taints(MAIN, [Taint(U, f"page {number}", "WebFetch", f"c{number}", float(number)) for number in range(500)])
    taint(tx, MAIN, S)
    ensure_subject(tx, ctx(agent="a1"), 1.0)
    found = provenance(tx, Subject("s", "a1"))
    assert {one.label for one in found} == {U, S}
    assert len(found) < 40
    assert found[0].source == "page 0"


@pytest.mark.parametrize(
    ("to", "reached"),
    [
        pytest.param(Subject("s", "a2"), {"a2"}, id="one agent"),
        pytest.param(Subject("s"), {""}, id="the main agent"),
        pytest.param(Subject("s", "unknown"), {"", "a2", "d"}, id="an agent that is not known"),
        pytest.param(None, {"", "a2", "d"}, id="nobody knows who"),
        pytest.param(Subject("s", "d"), {"d"}, id="a delegate is clean no longer"),
    ],
)
def test_labels_flow_with_a_message(tx: Transaction, to: Subject | None, reached: set[str]) -> None:
    taint(tx, MAIN, U)
    delegate(tx)
    for agent in ("a1", "a2", "gone"):
        spawn(tx, Subject("s", "d"), f"c-{agent}", agent)
        begin_agent(tx, ctx(agent=agent, agent_type=agent), 2.0)
    end_agent(tx, ctx(agent="gone"))
    taint(tx, Subject("s", "a1"), S)
    join_message(tx, Subject("s", "a1"), to)
    assert {agent for agent in ("", "a2", "d", "gone") if S in labels_of(tx, Subject("s", agent))} == reached
