"""The steps that a decision is told in, held against the decision; and the laws of the cascade."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.core.model import Effect, Label, LabelState, Tier, Verdict
from lockgate.policy.decide import decide
from lockgate.policy.profiles import FLOOR, Profile, read_shipped_profiles
from lockgate.policy.steps import find_deciding_step, steps
from policy.test_decide import ABLE, LABELS, ROWS, effect

A, C, J, Q, D = Verdict.ALLOW, Verdict.CONTAIN, Verdict.JUDGE, Verdict.ASK, Verdict.DENY
LACKING = {C: "no sandbox", J: "no judge"}

calls = st.lists(st.sampled_from(sorted(ROWS)).map(effect), max_size=5)
labels = st.sets(st.sampled_from(sorted(Label))).map(frozenset)
hosts = st.sampled_from(ABLE)
profiles = st.sampled_from(sorted(read_shipped_profiles())).map(lambda name: read_shipped_profiles()[name])


# ---------------------------------------------------------------- what is told is what is decided


@given(calls, labels, profiles, hosts)
def test_the_first_step_that_decides_says_the_decision(
    call: Sequence[Effect], label: frozenset[Label], profile: Profile, able: frozenset[Verdict]
) -> None:
    taken = steps(call, label, profile, able=able, lacking=LACKING)
    decision = decide(call, label, profile, able=able)
    last = next(step for step in taken if step.verdict is not None)
    assert last.verdict is decision.verdict
    assert find_deciding_step(taken) is (Tier.PERSON if decision.verdict is Q else decision.tier)


@given(calls, labels, profiles, hosts)
def test_the_steps_come_in_their_order_and_end_with_the_one_that_decides(
    call: Sequence[Effect], label: frozenset[Label], profile: Profile, able: frozenset[Verdict]
) -> None:
    taken = steps(call, label, profile, able=able, lacking=LACKING)
    order = [list(Tier).index(step.tier) for step in taken]
    assert order == sorted(set(order))
    assert all(step.says for step in taken)
    decides = [step.verdict is not None for step in taken]
    # After a judge, a person may still be asked.
    assert decides.index(True) in (len(decides) - 1, len(decides) - 2)
    if not decides[-1]:
        assert (taken[-2].verdict, taken[-1].tier) == (J, Tier.PERSON)


@given(calls, labels, profiles, hosts)
def test_what_could_only_fail_contained_is_decided_as_where_there_is_no_sandbox(
    call: Sequence[Effect], label: frozenset[Label], profile: Profile, able: frozenset[Verdict]
) -> None:
    marked = [effect._replace(uncontainable="it needs a service") for effect in call]
    with_sandbox, without = decide(marked, label, profile, able=able), decide(call, label, profile, able=able - {C})
    assert with_sandbox.verdict is without.verdict
    assert with_sandbox.verdict >= decide(call, label, profile, able=able).verdict
    told = [step.says for step in steps(marked, label, profile, able=able | {C}, lacking=LACKING)]
    assert "it runs where it can reach nobody" not in told


# ---------------------------------------------------------------- laws: for every profile, and for one's own tables

words = st.sampled_from(list(Verdict))
chains = st.sets(words, min_size=1).map(sorted).filter(lambda chain: chain[-1] in (A, Q, D)).map(tuple)


@st.composite
def tables(draw: st.DrawFn) -> Profile:
    """A table of one's own in which, as in the shipped ones, no column is looser than one with fewer labels."""
    table = {}
    for row in (*ROWS, "local"):
        cells = draw(
            st.lists(chains, min_size=4, max_size=4).map(lambda some: sorted(some, key=lambda chain: chain[0]))
        )
        clean, one, other, both = cells
        table[row] = dict(zip(LabelState, (clean, one, other, both), strict=True))
    table["local"] = dict.fromkeys(LabelState, (A,))
    return Profile("own", table)


own = st.one_of(profiles, tables())


@given(calls, labels, own, hosts)
def test_a_judge_who_flags_is_never_looser_than_one_who_does_not(
    call: Sequence[Effect], label: frozenset[Label], profile: Profile, able: frozenset[Verdict]
) -> None:
    fine, flagged = (decide(call, label, profile, able=able, flagged=said).verdict for said in (False, True))
    assert flagged >= fine


@given(calls, labels, own)
def test_no_judge_is_never_looser_than_a_judge_who_finds_nothing(
    call: Sequence[Effect], label: frozenset[Label], profile: Profile
) -> None:
    judged = frozenset({J})
    without = decide(call, label, profile).verdict
    assert without >= decide(call, label, profile, able=judged, flagged=False).verdict


@given(calls, labels, own, hosts)
def test_where_no_cell_names_the_judge_nobody_cares_what_it_says(
    call: Sequence[Effect], label: frozenset[Label], profile: Profile, able: frozenset[Verdict]
) -> None:
    decision = decide(call, label, profile, able=able)
    if all(J not in profile.cell(one.row, decision.column) for one in call):
        for said in (False, True):
            assert decide(call, label, profile, able=able, flagged=said) == decision


@given(calls, labels, own, hosts)
def test_a_judge_is_asked_only_where_it_can_be_and_only_where_it_matters(
    call: Sequence[Effect], label: frozenset[Label], profile: Profile, able: frozenset[Verdict]
) -> None:
    verdict = decide(call, label, profile, able=able).verdict
    assert verdict is not J or J in able
    assert verdict is not C or C in able
    assert decide(call, label, profile, able=able, flagged=True).verdict is not J


@pytest.mark.parametrize("said", [None, False, True], ids=["unasked", "fine", "flags"])
@pytest.mark.parametrize("able", ABLE, ids=lambda able: "+".join(sorted(v.word for v in able)) or "bare")
@pytest.mark.parametrize("name", sorted(read_shipped_profiles()))
def test_a_further_label_never_loosens_for_calls_with_two_effects(
    name: str, able: frozenset[Verdict], said: bool | None
) -> None:
    """It holds for what the table says, and for what a judge who finds nothing leaves.

    It does not hold for what a judge has flagged: with one label that is denied, with both a person decides. A person's
    word is not looser than the machine's, so a deny that becomes a question is the one step down.
    """
    for one, other in itertools.combinations_with_replacement(ROWS, 2):
        for fewer, more in itertools.product(LABELS.values(), LABELS.values()):
            if not fewer <= more:
                continue
            call = [effect(one), effect(other)]
            before = decide(call, fewer, read_shipped_profiles()[name], able=able, flagged=said)
            after = decide(call, more, read_shipped_profiles()[name], able=able, flagged=said)
            flagged = said is True and before.tier is Tier.JUDGE
            # What is contained reaches nobody, so there is nothing left to ask.
            contained = after.verdict is C and not {one, other}.isdisjoint(FLOOR)
            assert contained or after.verdict >= (Q if flagged else before.verdict), (one, other, fewer, more)


@given(calls, labels, hosts)
def test_in_the_cascade_what_leaves_with_a_label_is_never_let_run_unheard(
    call: Sequence[Effect], label: frozenset[Label], able: frozenset[Verdict]
) -> None:
    leaves = {"fetch", "fetch_packages", "egress", "egress_secret", "egress_shell", "persist", "destroy"}
    leaves |= {"execute", "execute_download", "execute_runtime", "execute_unlisted", "execute_installed"}
    decision = decide(call, label, read_shipped_profiles()["cascade"], able=able)
    if label and any(one.row in leaves for one in call):
        assert decision.verdict > A
    if not label and all(one.row not in ("tamper", "tamper_self", *FLOOR) for one in call):
        assert (decision.verdict, decision.tier) == (A, Tier.LABELS)


@given(calls, labels, hosts)
def test_trifecta_objects_only_where_all_three_meet(
    call: Sequence[Effect], label: frozenset[Label], able: frozenset[Verdict]
) -> None:
    call = [one for one in call if not one.row.startswith("tamper") and one.row not in FLOOR]
    decision = decide(call, label, read_shipped_profiles()["trifecta"], able=able)
    if decision.verdict > A:
        assert decision.column is LabelState.BOTH
        assert {reason.row for reason in decision.reasons} <= {
            "fetch", "fetch_packages", "fetch_search", "egress", "execute", "execute_runtime", "execute_unlisted",
            "execute_installed", "persist",
        }  # fmt: skip
