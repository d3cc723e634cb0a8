"""A session that a state which was put back does not know has every label, until the client says that it begins."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from labelled import DIGEST, MAIN, NONE, S, U, call, ctx, never, source

from lockgate.core.events import Context
from lockgate.core.model import Label, Subject
from lockgate.gate.session import begin_session, ensure_subject, expect, labels_of, settle_result
from lockgate.store.files import PUT_BACK_SINCE
from lockgate.store.protocol import Transaction

BOTH = frozenset(Label)
SINCE = "100.0"
ANY = ""
"""An event that is not the beginning."""


class Case(NamedTuple):
    """What happens to a session that nobody knows."""

    events: tuple[str, ...]
    """How it begins; or :data:`ANY`."""
    labels: frozenset[Label]
    since: str | None = SINCE
    made_at: str = ""


CASES = {
    "the state was not put back": Case((ANY,), NONE, since=None),
    "goes on": Case((ANY,), BOTH),
    "goes on for long": Case((ANY, ANY, ANY), BOTH),
    "begins": Case(("startup",), NONE),
    "begins, and goes on": Case(("startup", ANY), NONE),
    "begins with nothing of before": Case(("clear", ANY), NONE),
    "its beginning is told after its first prompt": Case((ANY, "startup", ANY), NONE),
    "is resumed": Case(("resume",), BOTH),
    "is resumed, and that is told late": Case((ANY, "resume"), BOTH),
    "is resumed, and says afterwards that it begins": Case((ANY, "resume", "startup"), BOTH),
    "is compacted, and says afterwards that it begins": Case((ANY, "compact", "startup"), BOTH),
    "its id is younger": Case((ANY,), NONE, made_at="101.0"),
    "its id is as old": Case((ANY,), BOTH, made_at="100.0"),
    "its id is older": Case((ANY,), BOTH, made_at="99.0"),
    "nobody knows since when": Case((ANY,), BOTH, since="x", made_at="101.0"),
    "since no time at all": Case((ANY,), BOTH, since="nan", made_at="101.0"),
}


def _tell(tx: Transaction, context: Context, how: str, now: float) -> None:
    if how:
        begin_session(tx, context, how, (), now)
    else:
        ensure_subject(tx, context, now)


@pytest.mark.parametrize("name", CASES)
def test_which_session_has_every_label(tx: Transaction, name: str) -> None:
    case = CASES[name]
    tx.put_setting(PUT_BACK_SINCE, case.since)
    for number, how in enumerate(case.events):
        _tell(tx, ctx()._replace(made_at=case.made_at), how, 200.0 + number)
    assert labels_of(tx, MAIN) == case.labels


@pytest.mark.parametrize(("how", "labels"), [("startup", NONE), ("resume", BOTH)])
def test_its_agents_have_what_it_has(tx: Transaction, how: str, labels: frozenset[Label]) -> None:
    tx.put_setting(PUT_BACK_SINCE, SINCE)
    ensure_subject(tx, ctx(agent="a"), 200.0)
    assert labels_of(tx, Subject("s", "a")) == BOTH
    begin_session(tx, ctx(), how, (), 201.0)
    assert labels_of(tx, Subject("s", "a")) == labels


def test_what_it_has_read_before_its_beginning_is_told_stays(tx: Transaction) -> None:
    tx.put_setting(PUT_BACK_SINCE, SINCE)
    ensure_subject(tx, ctx(), 200.0)
    expect(tx, MAIN, call("c1"), source(U), DIGEST, 200.0, asked=False)
    settle_result(tx, MAIN, call("c1"), "text", 201.0, digest=DIGEST, fresh=never)
    begin_session(tx, ctx(), "startup", (), 202.0)
    assert labels_of(tx, MAIN) == {U}
    assert S not in labels_of(tx, MAIN)


def test_the_transcript_of_a_session_that_begins_late_counts(tx: Transaction) -> None:
    """One that has read something is none that begins, whatever is told of it afterwards."""
    tx.put_setting(PUT_BACK_SINCE, SINCE)
    ensure_subject(tx, ctx(), 200.0, history=lambda: True)
    begin_session(tx, ctx(), "startup", (), 201.0)
    assert labels_of(tx, MAIN) == BOTH
