"""Labels of delegates, which start clean on a brief."""

from __future__ import annotations

import pytest
from labelled import DIGEST, MAIN, NONE, S, U, call, ctx, delegate, source, spawn, taint

from lockgate.core.model import Subject
from lockgate.gate.session import begin_agent, end_agent, expect, expose, labels_of, provenance, settle_refusal
from lockgate.store.protocol import Transaction
from lockgate.store.rows import BriefRow


@pytest.mark.parametrize("labels", [(U,), (U, S)])
def test_a_delegate_starts_clean_and_brings_back_only_secret(tx: Transaction, labels) -> None:
    taint(tx, MAIN, *labels)
    before = provenance(tx, MAIN)
    delegate(tx)
    child = Subject("s", "d")
    assert labels_of(tx, child) == NONE
    expose(tx, child, "x", source(U, S, what="found by the delegate").effects, 3.0)
    end_agent(tx, ctx(agent="d"))
    new = [found for found in provenance(tx, MAIN) if found not in before]
    assert [(found.label, found.origin) for found in new] == [(S, "agent d")]
    assert labels_of(tx, MAIN) == {U, S}


@pytest.mark.parametrize("labels", [(), (S,)])
def test_a_delegate_of_a_parent_that_is_not_untrusted_is_an_ordinary_sub_agent(tx: Transaction, labels) -> None:
    taint(tx, MAIN, *labels)
    delegate(tx)
    row = tx.agent(Subject("s", "d"))
    assert row is not None
    assert row.delegate == ""
    assert labels_of(tx, Subject("s", "d")) == set(labels)
    expose(tx, Subject("s", "d"), "x", source(U).effects, 3.0)
    end_agent(tx, ctx(agent="d"))
    assert U in labels_of(tx, MAIN)


def test_a_parent_that_is_untrusted_only_for_now_is_not_laundered(tx: Transaction) -> None:
    taint(tx, MAIN, U)
    delegate(tx)
    # Untrusted by a call that is only pending, which may come to nothing: an ordinary sub-agent.
    expect(tx, MAIN, call("x"), source(U), DIGEST, 1.0)
    delegate(tx)
    settle_refusal(tx, MAIN, call("x"), digest=DIGEST)
    assert labels_of(tx, Subject("s", "d")) == NONE
    expose(tx, Subject("s", "d"), "x", source(U).effects, 3.0)
    end_agent(tx, ctx(agent="d"))
    assert labels_of(tx, MAIN) == {U}


@pytest.mark.parametrize("brief", ["unknown", "b-other"])
def test_a_brief_that_is_not_this_sessions_makes_no_delegate(tx: Transaction, brief: str) -> None:
    taint(tx, MAIN, U)
    tx.put_brief(BriefRow("b-other", "other", "", "c9", DIGEST, "push", "approved"))
    assert begin_agent(tx, ctx(agent="d"), 2.0, delegate=brief).delegate == ""
    assert labels_of(tx, Subject("s", "d")) == {U}


def test_a_delegate_that_is_given_more_to_do_is_no_delegate_any_more(tx: Transaction) -> None:
    taint(tx, MAIN, U)
    delegate(tx)
    end_agent(tx, ctx(agent="d"))
    assert begin_agent(tx, ctx(agent="d"), 4.0, delegate="b1").delegate == ""
    assert labels_of(tx, Subject("s", "d")) == {U}


def test_a_sub_agent_of_a_delegate_flows_into_the_delegate_and_no_further(tx: Transaction) -> None:
    taint(tx, MAIN, U)
    delegate(tx)
    before = provenance(tx, MAIN)
    spawn(tx, Subject("s", "d"), "c2", "inner")
    begin_agent(tx, ctx(agent="e", agent_type="inner"), 3.0)
    assert labels_of(tx, Subject("s", "e")) == NONE
    taint(tx, Subject("s", "e"), U, S)
    end_agent(tx, ctx(agent="d"))
    end_agent(tx, ctx(agent="e"))
    assert labels_of(tx, Subject("s", "d")) == {U, S}
    assert {found.label for found in provenance(tx, MAIN) if found not in before} == {S}
