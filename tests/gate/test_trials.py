"""The doctor's own call is no call of an agent; and nobody but the doctor can have one."""

from __future__ import annotations

import json

import pytest

from lockgate.core.model import Verdict
from lockgate.gate.session.sessions import TRIAL
from lockgate.gate.session.trials import announce

from .world import World

SESSION = f"{TRIAL}5f2c"
NOW = 1_000_000.0
"""When every world begins."""


def call(world: World, session: str = SESSION) -> bool:
    """Make a call that is refused; whether it is recorded as a trial."""
    assert world.bash("lockgate untrust", session_id=session) is Verdict.DENY
    with world.store.reading() as tx:
        return "trial" in json.loads(tx.audit()[-1].body)


def known(world: World) -> list[str]:
    """The sessions beside the one that every world begins with."""
    with world.store.reading() as tx:
        return [row.session for row in tx.sessions() if row.session != "s1"]


def test_a_call_that_was_announced_makes_no_session(world: World) -> None:
    with world.store.transaction() as tx:
        announce(tx, SESSION, NOW)
    assert call(world)
    assert known(world) == []


def test_the_next_call_under_the_same_name_is_an_agents(world: World) -> None:
    with world.store.transaction() as tx:
        announce(tx, SESSION, NOW)
    assert call(world)
    assert not call(world)
    assert known(world) == [SESSION]


@pytest.mark.parametrize("session", ["lockgate-doctor", TRIAL, SESSION])
def test_who_only_takes_the_doctors_name_is_an_agent(world: World, session: str) -> None:
    assert not call(world, session)
    assert known(world) == [session]


def test_what_a_doctor_announced_that_was_killed_is_no_trial_later_and_does_not_stay(world: World) -> None:
    with world.store.transaction() as tx:
        announce(tx, SESSION, NOW - 3600)
        announce(tx, f"{SESSION}1", NOW - 10)
        tx.put_setting(f"trial:{SESSION}2", "announced")  # as an earlier version put it
    assert not call(world)
    assert not call(world, f"{SESSION}2")
    with world.store.transaction() as tx:
        tx.put_setting(f"trial:{SESSION}2", str(NOW - 3600))
        announce(tx, f"{SESSION}3", NOW)
        assert list(tx.settings("trial:")) == [f"trial:{SESSION}1", f"trial:{SESSION}3"]
    assert call(world, f"{SESSION}1"), "another doctor is at work"
