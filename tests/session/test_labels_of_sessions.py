"""Labels as sessions begin, go on and end, and what is asked of them."""

from __future__ import annotations

import pytest
from labelled import DIGEST, KEY, MAIN, NONE, S, U, call, ctx, source, taint

from lockgate.core.model import LabelState, Subject
from lockgate.gate.session import (
    begin_session,
    column,
    end_session,
    ensure_subject,
    expect,
    expose,
    knows,
    labels_of,
    lock_state,
    provenance,
    remember,
    settle_refusal,
)
from lockgate.store.protocol import Transaction


def test_startup_is_clean(tx: Transaction) -> None:
    row = begin_session(tx, ctx(cwd="/w", workspace="/w", process="1:2"), "startup", (), 5.0)
    assert (row.how, row.parent, row.started_at, row.seen_at, row.cwd) == ("startup", "", 5.0, 5.0, "/w")
    assert column(tx, MAIN) is LabelState.CLEAN


@pytest.mark.parametrize("how", ["startup", "resume", "compact", "clear", "fork", "something new"])
def test_a_known_session_keeps_its_labels_however_it_begins_again(tx: Transaction, how: str) -> None:
    begin_session(tx, ctx(), "startup", (), 1.0)
    taint(tx, MAIN, U)
    end_session(tx, ctx(), "logout", 2.0)
    row = begin_session(tx, ctx(), how, (), 3.0)
    assert labels_of(tx, MAIN) == {U}
    assert (row.how, row.ended_at, row.why, row.started_at, row.seen_at) == ("startup", 0.0, "", 1.0, 3.0)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("resume", "resumed a session that Lockgate did not watch"),
        ("compact", "compacted a session that Lockgate did not watch"),
        ("fork", "forked a session that Lockgate did not watch"),
        ("something new", "something new: a session that Lockgate did not watch"),
    ],
)
def test_a_session_that_was_not_watched_is_untrusted_and_says_why(tx: Transaction, how: str, says: str) -> None:
    begin_session(tx, ctx(), how, (), 1.0)
    assert [(found.label, found.source) for found in provenance(tx, MAIN)] == [(U, says)]


@pytest.mark.parametrize(("history", "left"), [(False, NONE), (True, {U})])
def test_an_event_of_a_session_whose_start_was_not_seen(tx: Transaction, history: bool, left) -> None:
    ensure_subject(tx, ctx(), 1.0, history=lambda: history)
    assert labels_of(tx, MAIN) == left
    ensure_subject(tx, ctx(), 2.0, history=lambda: True)
    assert labels_of(tx, MAIN) == left
    row = tx.session("s")
    assert row is not None
    assert (row.how, row.seen_at) == ("", 2.0)


def test_clear_is_clean_and_linked_to_what_the_same_process_cleared_last(tx: Transaction) -> None:
    for number, (process, why) in enumerate([("1:2", "clear"), ("1:2", "clear"), ("1:2", "logout"), ("3:4", "clear")]):
        context = ctx(f"old{number}", process=process)
        begin_session(tx, context, "startup", (), float(number))
        taint(tx, context.subject, U, S)
        remember(tx, KEY, context.subject.session, ["https://seen/"], human=False)
        remember(tx, KEY, context.subject.session, [f"https://said/{number}"], human=True)
        end_session(tx, context, why, 10.0 + number)
    row = begin_session(tx, ctx("new", process="1:2"), "clear", (), 20.0)
    assert row.parent == "old1"
    assert labels_of(tx, Subject("new")) == NONE
    assert labels_of(tx, Subject("old1")) == {U, S}
    assert knows(tx, KEY, "new", "https://said/1", human_only=True)
    assert not knows(tx, KEY, "new", "https://seen/")
    assert not knows(tx, KEY, "new", "https://said/0")


@pytest.mark.parametrize("process", ["", "9:9"])
def test_clear_without_a_known_predecessor(tx: Transaction, process: str) -> None:
    begin_session(tx, ctx("old", process=""), "startup", (), 1.0)
    end_session(tx, ctx("old", process=""), "clear", 2.0)
    assert begin_session(tx, ctx("new", process=process), "clear", (), 3.0).parent == ""
    assert labels_of(tx, Subject("new")) == NONE


def test_a_late_result_does_not_reopen_a_cleared_session(tx: Transaction) -> None:
    begin_session(tx, ctx(process="1:2"), "startup", (), 1.0)
    end_session(tx, ctx(process="1:2"), "clear", 2.0)
    ensure_subject(tx, ctx(process="1:2"), 3.0)
    assert begin_session(tx, ctx("new", process="1:2"), "clear", (), 4.0).parent == "s"


@pytest.mark.parametrize(
    ("parents", "left", "parent"),
    [
        pytest.param(("p1",), {U}, "p1", id="one"),
        pytest.param(("p1", "p2"), {U, S}, "", id="two"),
        pytest.param(("p3",), NONE, "p3", id="a clean one"),
        pytest.param(("p2", "unknown"), {U, S}, "p2", id="one of them unknown"),
        pytest.param(("new", "p3"), NONE, "p3", id="its own lines in the transcript"),
        pytest.param((), {U}, "", id="none named"),
        pytest.param(("unknown",), {U}, "", id="only unknown"),
    ],
)
def test_a_fork_has_what_its_parents_have(tx: Transaction, parents, left, parent: str) -> None:
    for name, label in (("p1", U), ("p2", S), ("p3", None)):
        begin_session(tx, ctx(name), "startup", (), 1.0)
        if label:
            expect(tx, Subject(name), call(), source(label), DIGEST, 1.0)
        remember(tx, KEY, name, [f"https://{name}/"], human=False)
    row = begin_session(tx, ctx("new"), "fork", parents, 2.0)
    assert labels_of(tx, Subject("new")) == left
    assert row.parent == parent
    for name in ("p1", "p2", "p3"):
        assert knows(tx, KEY, "new", f"https://{name}/") == (name in parents)
        settle_refusal(tx, Subject(name), call(), digest=DIGEST)
    # Nothing in the fork settles a call of its parent: what was pending there is for good here.
    assert labels_of(tx, Subject("new")) == left


def test_ending_keeps_labels_and_ends_agents(tx: Transaction) -> None:
    ensure_subject(tx, ctx(agent="a1"), 1.0)
    taint(tx, MAIN, U)
    end_session(tx, ctx(), "logout", 2.0)
    row = tx.session("s")
    assert row is not None
    assert (row.ended_at, row.why) == (2.0, "logout")
    assert [agent.state for agent in tx.agents("s")] == ["ended"]
    assert labels_of(tx, MAIN) == {U}


def test_a_session_that_only_ends_is_recorded(tx: Transaction) -> None:
    end_session(tx, ctx(), "", 2.0)
    row = tx.session("s")
    assert row is not None
    assert (row.why, row.how) == ("other", "")


def test_lockbox_fields(tx: Transaction) -> None:
    assert lock_state(tx, "s") == {"locked": False, "locked_by": None, "locked_at": None, "blocked_tools": []}
    taint(tx, MAIN, S)
    assert lock_state(tx, "s")["locked"] is False
    expose(tx, MAIN, "WebFetch", source(U, what="https://example.com/").effects, 1_700_000_000.5)
    expose(tx, MAIN, "WebFetch", source(U, what="https://later/").effects, 1_700_000_100.0)
    for agent, what in (("", "Bash: git push"), ("a1", "Bash: curl"), ("", "Bash: git push")):
        tx.block("s", agent, what, 3.0)
    assert lock_state(tx, "s") == {
        "locked": True,
        "locked_by": "WebFetch: https://example.com/",
        "locked_at": "2023-11-14T22:13:20.500000+00:00",
        "blocked_tools": ["Bash: git push", "Bash: curl"],
    }


def test_an_address_that_is_composed_is_never_known(tx: Transaction) -> None:
    remember(tx, KEY, "s", ["", "https://a/"], human=True)
    assert not knows(tx, KEY, "s", "")
    assert knows(tx, KEY, "s", "https://a/")
    assert not knows(tx, KEY, "s", "https://a/?q=1")
    assert not knows(tx, b"x" * 32, "s", "https://a/")
    assert not knows(tx, KEY, "t", "https://a/")
