"""A session that a command of another session has started has what that one has."""

from __future__ import annotations

import pytest
from labelled import ctx

from lockgate.core.model import Label, Subject, Taint
from lockgate.gate.session import begin_session, end_session, ensure_subject, is_started_by_agent, labels_of
from lockgate.store.protocol import Transaction

ABOVE = ("30:3", "20:2", "10:1")
UNTRUSTED = Taint(Label.UNTRUSTED, "WebFetch e.example", "", "", 1.0)


def begin(tx: Transaction, name: str, process: str, *, read: bool = True, client: str = "claude-code") -> None:
    begin_session(tx, ctx(name, process=process)._replace(client=client), "startup", (), 1.0)
    if read:
        tx.add_taints(Subject(name), [UNTRUSTED])


@pytest.mark.parametrize("known", [True, False], ids=["its beginning is told", "its first call is told"])
def test_it_has_the_labels_of_the_nearest_client_above(tx: Transaction, known: bool) -> None:
    begin(tx, "outer", "10:1", read=False)
    begin(tx, "inner", "20:2")
    context = ctx("child", process="40:4")
    if known:
        row = begin_session(tx, context, "startup", (), 2.0, ABOVE)
    else:
        row = ensure_subject(tx, context, 2.0, above=lambda: ABOVE)
    assert row.parent == "inner"
    assert is_started_by_agent(row)
    assert labels_of(tx, Subject("child")) == {Label.UNTRUSTED}


def test_a_clean_client_starts_clean_ones(tx: Transaction) -> None:
    begin(tx, "inner", "20:2", read=False)
    row = begin_session(tx, ctx("child", process="40:4"), "startup", (), 2.0, ABOVE)
    assert row.parent == "inner"
    assert labels_of(tx, Subject("child")) == set()


@pytest.mark.parametrize(
    ("process", "client"), [("99:9", "claude-code"), ("20:7", "claude-code"), ("20:2", "cursor")],
    ids=["no client is above", "another process with that number", "an editor with the person's terminals"],
)  # fmt: skip
def test_what_a_person_starts_begins_clean(tx: Transaction, process: str, client: str) -> None:
    begin(tx, "other", process, client=client)
    row = begin_session(tx, ctx("child", process="40:4"), "startup", (), 2.0, ABOVE)
    assert row.parent == ""
    assert not is_started_by_agent(row)
    assert labels_of(tx, Subject("child")) == set()


def test_of_the_sessions_of_one_client_those_count_that_go_on(tx: Transaction) -> None:
    begin(tx, "before", "20:2")
    end_session(tx, ctx("before", process="20:2"), "clear", 1.5)
    begin(tx, "now", "20:2", read=False)
    row = begin_session(tx, ctx("child", process="40:4"), "startup", (), 2.0, ABOVE)
    assert row.parent == "now"
    assert labels_of(tx, Subject("child")) == set()


def test_a_session_that_is_known_keeps_what_it_has(tx: Transaction) -> None:
    begin_session(tx, ctx("child", process="40:4"), "startup", (), 1.0)
    begin(tx, "inner", "20:2")
    begin_session(tx, ctx("child", process="40:4"), "startup", (), 2.0, ABOVE)
    assert labels_of(tx, Subject("child")) == set()
