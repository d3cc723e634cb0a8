"""The table, the decision, and the laws of the lattice."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lockgate.core.model import Effect, EffectKind, Label, LabelState, PolicyDecision, Tier, Variant, Verdict
from lockgate.policy import build as compiler
from lockgate.policy.decide import decide, possible, strictest
from lockgate.policy.profiles import COLUMNS, FALLS_BACK, FINAL, FLOOR, Profile, chain, read_shipped_profiles

A, C, J, Q, D = Verdict.ALLOW, Verdict.CONTAIN, Verdict.JUDGE, Verdict.ASK, Verdict.DENY
LABELS = {
    "clean": frozenset[Label](),
    "untrusted": frozenset({Label.UNTRUSTED}),
    "secret": frozenset({Label.SECRET}),
    "both": frozenset(Label),
}
ABLE = [frozenset(x) for x in ((), (C,), (J,), (Q,), (C, J), (C, J, Q))]
ROWS = {
    "ingest": (EffectKind.INGEST, Variant.PLAIN),
    "read_secret": (EffectKind.READ_SECRET, Variant.PLAIN),
    "fetch": (EffectKind.FETCH, Variant.PLAIN),
    "fetch_known": (EffectKind.FETCH, Variant.KNOWN),
    "fetch_search": (EffectKind.FETCH, Variant.SEARCH),
    "fetch_packages": (EffectKind.FETCH, Variant.PACKAGES),
    "egress": (EffectKind.EGRESS, Variant.PLAIN),
    "egress_secret": (EffectKind.EGRESS, Variant.SECRET),
    "egress_shell": (EffectKind.EGRESS, Variant.SHELL),
    "execute_download": (EffectKind.EXECUTE, Variant.DOWNLOAD),
    "execute": (EffectKind.EXECUTE, Variant.PLAIN),
    "execute_runtime": (EffectKind.EXECUTE, Variant.RUNTIME),
    "execute_unlisted": (EffectKind.EXECUTE, Variant.UNLISTED),
    "execute_installed": (EffectKind.EXECUTE, Variant.INSTALLED),
    "persist": (EffectKind.PERSIST, Variant.PLAIN),
    "destroy": (EffectKind.DESTROY, Variant.PLAIN),
    "destroy_remote": (EffectKind.DESTROY, Variant.REMOTE),
    "tamper": (EffectKind.TAMPER, Variant.PLAIN),
    "tamper_self": (EffectKind.TAMPER, Variant.SELF),
}


WRITTEN = yaml.safe_load((compiler.FOLDER / "profiles.yaml").read_text(encoding="utf-8"))


def effect(row: str, what: str = "x") -> Effect:
    kind, variant = ROWS[row]
    return Effect(kind, what, f"test:{row}", "for a test", variant)


# Each row: clean, untrusted, secret, both; on a host that can neither contain nor judge, and on one that can do both.
STRICT = {
    "ingest": ([A, A, A, A], [A, A, A, A]),
    "read_secret": ([A, A, A, A], [A, A, A, A]),
    "fetch": ([A, Q, A, D], [A, Q, A, D]),
    "fetch_known": ([A, A, A, A], [A, A, A, A]),
    "fetch_search": ([A, A, A, Q], [A, A, A, Q]),
    "fetch_packages": ([A, Q, A, D], [A, Q, A, D]),
    "egress": ([A, D, A, D], [A, D, A, D]),
    "egress_secret": ([Q, Q, Q, Q], [Q, C, Q, C]),
    "egress_shell": ([Q, Q, Q, Q], [Q, C, Q, C]),
    "execute_download": ([Q, Q, Q, Q], [Q, C, Q, C]),
    "execute": ([A, Q, A, Q], [A, C, A, C]),
    "execute_runtime": ([A, Q, A, Q], [A, C, A, C]),
    "execute_unlisted": ([A, Q, Q, Q], [A, C, C, C]),
    "execute_installed": ([A, Q, A, Q], [A, C, A, C]),
    "persist": ([A, D, A, D], [A, D, A, D]),
    "destroy": ([Q, D, Q, D], [Q, D, Q, D]),
    "destroy_remote": ([Q, D, Q, D], [Q, D, Q, D]),
    "tamper": ([Q, D, Q, D], [Q, D, Q, D]),
    "tamper_self": ([D, D, D, D], [D, D, D, D]),
}
QUARANTINE = STRICT | {
    "fetch": ([A, D, A, D], [A, D, A, D]),
    "fetch_packages": ([A, D, A, D], [A, C, A, D]),
    "execute_installed": ([Q, Q, Q, Q], [C, C, C, C]),
}
"""Where nobody is proven to be there, it refuses composed addresses, too."""
ATTENDED = {row: [A, Q, A, D] for row in ("fetch", "fetch_packages", "egress", "persist")} | {
    "destroy_remote": [Q, Q, Q, D]
}
"""What ``quarantine`` says otherwise where a person is proven to be there."""
CASCADE = {
    "ingest": ([A, A, A, A], [A, A, A, A]),
    "read_secret": ([A, A, A, A], [A, A, A, A]),
    "fetch": ([A, Q, Q, Q], [A, J, J, Q]),
    "fetch_known": ([A, A, A, A], [A, A, A, A]),
    "fetch_search": ([A, A, Q, Q], [A, A, J, J]),
    "fetch_packages": ([A, Q, Q, Q], [A, J, J, Q]),
    "egress": ([A, Q, Q, Q], [A, J, J, Q]),
    "egress_secret": ([Q, Q, Q, Q], [Q, Q, Q, Q]),
    "egress_shell": ([Q, Q, Q, Q], [Q, Q, Q, Q]),
    "execute_download": ([Q, Q, Q, Q], [Q, Q, Q, Q]),
    "execute": ([A, Q, Q, Q], [A, C, C, C]),
    "execute_runtime": ([A, Q, Q, Q], [A, C, C, C]),
    "execute_unlisted": ([A, Q, Q, Q], [A, C, C, C]),
    "execute_installed": ([A, Q, Q, Q], [A, C, C, C]),
    "persist": ([A, Q, Q, Q], [A, J, J, Q]),
    "destroy": ([A, Q, Q, Q], [A, J, J, Q]),
    "destroy_remote": ([A, Q, Q, Q], [A, J, J, Q]),
    "tamper": ([Q, D, Q, D], [Q, D, Q, D]),
    "tamper_self": ([D, D, D, D], [D, D, D, D]),
}
TRIFECTA = {
    "ingest": ([A, A, A, A], [A, A, A, A]),
    "read_secret": ([A, A, A, A], [A, A, A, A]),
    "fetch": ([A, A, A, Q], [A, A, A, Q]),
    "fetch_known": ([A, A, A, A], [A, A, A, A]),
    "fetch_search": ([A, A, A, Q], [A, A, A, J]),
    "fetch_packages": ([A, A, A, Q], [A, A, A, Q]),
    "egress": ([A, A, A, D], [A, A, A, D]),
    "egress_secret": ([Q, Q, Q, Q], [Q, Q, Q, Q]),
    "egress_shell": ([Q, Q, Q, Q], [Q, Q, Q, Q]),
    "execute_download": ([Q, Q, Q, Q], [Q, Q, Q, Q]),
    "execute": ([A, A, A, Q], [A, A, A, C]),
    "execute_runtime": ([A, A, A, Q], [A, A, A, C]),
    "execute_unlisted": ([A, A, A, Q], [A, A, A, C]),
    "execute_installed": ([A, A, A, Q], [A, A, A, C]),
    "persist": ([A, A, A, Q], [A, A, A, Q]),
    "destroy": ([A, A, A, A], [A, A, A, A]),
    "destroy_remote": ([A, A, A, A], [A, A, A, A]),
    "tamper": ([Q, D, Q, D], [Q, D, Q, D]),
    "tamper_self": ([D, D, D, D], [D, D, D, D]),
}
OBSERVE = {row: ([A] * 4, [A] * 4) for row in ROWS} | {"tamper_self": ([D] * 4, [D] * 4)}
TABLES = {
    "quarantine": QUARANTINE,
    "quarantine-strict": STRICT,
    "cascade": CASCADE,
    "trifecta": TRIFECTA,
    "observe": OBSERVE,
}
CELLS = [
    pytest.param(profile, row, column, able, expected, id=f"{profile}-{row}-{column}-{'able' if able else 'bare'}")
    for profile, table in TABLES.items()
    for row, (bare, full) in table.items()
    for able, verdicts in ((frozenset[Verdict](), bare), (frozenset({C, J}), full))
    for column, expected in zip(LABELS, verdicts, strict=True)
]


@pytest.mark.parametrize(("profile", "row", "column", "able", "expected"), CELLS)
def test_every_cell(profile: str, row: str, column: str, able: frozenset[Verdict], expected: Verdict) -> None:
    decision = decide([effect(row)], LABELS[column], read_shipped_profiles()[profile], able=able)
    assert (decision.verdict, decision.column, decision.profile) == (expected, LabelState(column), profile)
    assert [(r.effect.rule, r.row, r.verdict) for r in decision.reasons] == [(f"test:{row}", row, expected)]


@pytest.mark.parametrize("able", [frozenset({Q}), frozenset({Q, C, J})], ids=["bare", "able"])
@pytest.mark.parametrize("column", LABELS)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("row", ROWS)
def test_a_person_who_is_there_is_asked_in_quarantine_alone(
    row: str, name: str, column: str, able: frozenset[Verdict]
) -> None:
    place = list(LABELS).index(column)
    expected = TABLES[name][row][C in able][place]
    if name == "quarantine" and row in ATTENDED:
        # What the relay holds to its word is contained, and nobody is asked.
        contained = row == "fetch_packages" and C in able and expected is C
        expected = C if contained else ATTENDED[row][place]
    decision = decide([effect(row)], LABELS[column], read_shipped_profiles()[name], able=able)
    assert (decision.verdict, [r.row for r in decision.reasons]) == (expected, [row])


def test_what_takes_no_person_is_still_denied() -> None:
    both = [effect("egress"), effect("tamper")]
    decision = decide(both, LABELS["untrusted"], read_shipped_profiles()["quarantine"], able=frozenset({Q}))
    assert (decision.verdict, [reason.row for reason in decision.reasons]) == (D, ["tamper"])


def test_the_other_profiles_are_what_they_were() -> None:
    """``quarantine-strict`` is, byte for byte, what ``quarantine`` was before a person in front was asked."""
    recorded = json.loads((Path(__file__).parent / "profiles_before_attendance.json").read_text(encoding="utf-8"))
    now = {name: profile.to_json() for name, profile in read_shipped_profiles().items()}
    strict = {**now["quarantine-strict"], "name": "quarantine"}
    told = {"quarantine": strict, "cascade": now["cascade"], "trifecta": now["trifecta"]}
    told["observe"] = {**now["observe"], "shadow": None}
    assert json.dumps(told, sort_keys=True) == json.dumps(recorded, sort_keys=True)


@pytest.mark.parametrize("name", TABLES)
def test_a_profile_has_every_row_and_no_other(name: str) -> None:
    general = set(ROWS) - set(FALLS_BACK)
    own = {
        "cascade": {"execute_runtime"},
        "quarantine": {"execute_unlisted", "execute_installed", "destroy_remote", "fetch_packages"},
        "quarantine-strict": {"execute_unlisted"},
    }.get(name, set())
    assert set(read_shipped_profiles()[name].table) == general | own | {"local"}
    assert {effect(row).row for row in ROWS} == set(ROWS)


@pytest.mark.parametrize("column", LABELS)
@pytest.mark.parametrize("name", TABLES)
def test_local_work_is_never_in_the_way(name: str, column: str) -> None:
    tier = Tier.LABELS if column == "clean" else Tier.LOCAL
    assert decide([], LABELS[column], read_shipped_profiles()[name]) == PolicyDecision(
        A, LabelState(column), (), name, tier
    )


def test_observe_shadows_quarantine() -> None:
    assert read_shipped_profiles()["observe"].shadow == read_shipped_profiles()["quarantine"]
    assert [name for name, profile in read_shipped_profiles().items() if profile.shadow] == ["observe"]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("column", COLUMNS)
def test_what_the_judge_flags(name: str, row: str, column: LabelState) -> None:
    """One label: denied. Both: a person, in the profile that calls one."""
    profile = read_shipped_profiles()[name]
    chain_here = profile.cell(row, column)
    decision = decide([effect(row)], LABELS[column.value], profile, able=frozenset({J}), flagged=True)
    if J not in chain_here:
        assert (decision.verdict, decision.tier) != (D, Tier.JUDGE)
        return
    asked = name == "cascade" and column is LabelState.BOTH
    assert (decision.verdict, decision.tier) == (Q if asked else D, Tier.JUDGE)


@pytest.mark.parametrize("name", ["quarantine", "cascade", "trifecta"])
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(("row", "general"), FLOOR.items())
def test_a_table_without_a_row_of_the_floor_asks_at_least(
    name: str, column: LabelState, row: str, general: str
) -> None:
    profile = read_shipped_profiles()[name]
    older = profile._replace(table={each: cells for each, cells in profile.table.items() if each != row})
    without = possible(older.cell(general, column), frozenset())
    assert decide([effect(row)], LABELS[column.value], older).verdict == max(without, Q)
    assert Profile.from_json(older.to_json()) == older


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", ["quarantine", "cascade", "trifecta"])
@pytest.mark.parametrize(("row", "general"), FLOOR.items())
def test_to_let_run_the_general_row_is_not_to_let_run_the_floor(
    name: str, column: LabelState, row: str, general: str
) -> None:
    loosened = read_shipped_profiles()[name].with_cells({general: {column: (A,)}})
    assert decide([effect(general), effect(row)], LABELS[column.value], loosened).verdict == Q


def test_what_sends_a_secret_is_recorded_where_nothing_is_asked() -> None:
    observe = read_shipped_profiles()["observe"]
    assert observe.shadow is not None
    call = [effect("egress"), effect("egress_secret")]
    assert decide(call, LABELS["clean"], observe).verdict == A
    assert [reason.row for reason in decide(call, LABELS["clean"], observe.shadow).reasons] == ["egress_secret"]


def test_an_unknown_row_is_denied() -> None:
    profile = read_shipped_profiles()["observe"]
    without = profile._replace(table={row: cells for row, cells in profile.table.items() if row != "egress"})
    decision = decide([effect("egress")], LABELS["clean"], without)
    assert decision.verdict == D
    assert decision.reasons[0].row == "egress"


def test_an_unknown_variant_is_denied() -> None:
    odd = effect("egress")._replace(variant=Variant.KNOWN)
    assert decide([odd], LABELS["clean"], read_shipped_profiles()["observe"]).verdict == D


def test_only_the_strictest_effects_are_reasons_and_each_once() -> None:
    effects = [effect("ingest"), effect("egress", "a"), effect("egress", "b"), effect("egress", "a"), effect("fetch")]
    decision = decide(effects, LABELS["untrusted"], read_shipped_profiles()["quarantine-strict"])
    assert [(r.effect.what, r.verdict) for r in decision.reasons] == [("a", D), ("b", D)]


@pytest.mark.parametrize(
    ("label", "carrier", "verdict"),
    [
        pytest.param("untrusted", "fetch", D, id="composed-address"),
        pytest.param("untrusted", "fetch_search", Verdict.ASK, id="search"),
        pytest.param("clean", "egress", Verdict.ALLOW, id="a-clean-session-may"),
        pytest.param("untrusted", "ingest", Verdict.ALLOW, id="nothing-carries-it"),
    ],
)
def test_a_secret_read_by_the_call_that_carries_it_counts_as_read(label: str, carrier: str, verdict: Verdict) -> None:
    decision = decide([effect("read_secret"), effect(carrier)], LABELS[label], read_shipped_profiles()["quarantine"])
    assert decision.verdict == verdict


def test_strictest_keeps_the_reasons_of_all_that_say_so() -> None:
    profile = read_shipped_profiles()["quarantine"]
    allow = decide([effect("ingest")], LABELS["clean"], profile)
    deny = decide([effect("egress", "a")], LABELS["untrusted"], profile)
    other = decide([effect("egress", "b")], LABELS["both"], profile)
    joined = strictest([allow, deny, other, deny])
    assert joined.verdict == D
    assert joined.column == LabelState.UNTRUSTED
    assert [reason.effect.what for reason in joined.reasons] == ["a", "b"]
    with pytest.raises(ValueError):
        strictest([])


# ---------------------------------------------------------------- laws

effects = st.lists(st.sampled_from(sorted(ROWS)).map(effect), max_size=5)
labels = st.sets(st.sampled_from(sorted(Label))).map(frozenset)
hosts = st.sampled_from(ABLE)
profiles = st.sampled_from(sorted(TABLES)).map(lambda name: read_shipped_profiles()[name])


def reference(kinds: list[str], label: frozenset[Label], name: str, able: frozenset[Verdict]) -> Verdict:
    """The rule, written once more and otherwise, from the YAML source."""
    table: dict[str, Any] = WRITTEN[name]["table"]
    column = {0: "clean", 1: next(iter(label), Label.SECRET).value, 2: "both"}[len(label)]
    heads = {kind.partition("_")[0] for kind in kinds if kind != "read_secret"}
    if column == "untrusted" and "read_secret" in kinds and heads & {"fetch", "egress"}:
        column = "both"
    words = ["allow", "contain", "judge", "ask", "deny"]
    cannot = {word for word in ("contain", "judge", "ask") if Verdict[word.upper()] not in able}
    worst = 0
    for kind in kinds:
        general = kind.removesuffix("_runtime").removesuffix("_unlisted")
        general = general.removesuffix("_remote").removesuffix("_packages").removesuffix("_installed")
        cell = table.get(kind) or table.get(general, "deny")
        cell = cell[column] if isinstance(cell, dict) else cell
        words_here = [cell] if isinstance(cell, str) else cell
        can = [word for word in words_here if word not in cannot or word == words_here[-1]]
        worst = max(worst, words.index(can[0]))
    return Verdict(worst)


@given(effects, labels, profiles, hosts)
def test_it_agrees_with_the_reference(
    some: list[Effect], label: frozenset[Label], profile: Profile, able: frozenset[Verdict]
) -> None:
    expected = reference([e.row for e in some], label, profile.name, able)
    assert decide(some, label, profile, able=able).verdict == expected


@given(effects, effects, labels, profiles, hosts)
def test_a_further_effect_never_loosens(
    some: list[Effect], more: list[Effect], label: frozenset[Label], profile: Profile, able: frozenset[Verdict]
) -> None:
    few = decide(some, label, profile, able=able)
    many = decide([*some, *more], label, profile, able=able)
    rest = decide(more, label, profile, able=able)
    assert many.verdict >= max(few.verdict, rest.verdict)
    if many.column == few.column == rest.column:  # no secret is read on the way to a carrier
        assert many.verdict == max(few.verdict, rest.verdict)
        assert set(many.reasons) == set(strictest([few, rest]).reasons)


@given(effects, labels, profiles, hosts, st.randoms())
def test_the_order_of_effects_does_not_matter(
    some: list[Effect], label: frozenset[Label], profile: Profile, able: frozenset[Verdict], random: Any
) -> None:
    shuffled = random.sample(some, len(some))
    one, other = decide(some, label, profile, able=able), decide(shuffled, label, profile, able=able)
    assert (one.verdict, set(one.reasons)) == (other.verdict, set(other.reasons))


@given(effects, labels, profiles)
def test_a_host_that_can_do_less_is_never_looser(some: list[Effect], label: frozenset[Label], profile: Profile) -> None:
    for less, more in itertools.product(ABLE, ABLE):
        if less <= more:
            assert decide(some, label, profile, able=less).verdict >= decide(some, label, profile, able=more).verdict


@pytest.mark.parametrize("able", ABLE, ids=lambda able: "+".join(sorted(v.word for v in able)) or "bare")
@pytest.mark.parametrize("name", TABLES)
def test_a_further_label_never_loosens(name: str, able: frozenset[Verdict]) -> None:
    for row in ROWS:
        for fewer, more in itertools.product(LABELS.values(), LABELS.values()):
            if fewer <= more:
                before = decide([effect(row)], fewer, read_shipped_profiles()[name], able=able).verdict
                after = decide([effect(row)], more, read_shipped_profiles()[name], able=able).verdict
                # What is contained reaches nobody, so there is nothing left to ask.
                assert after >= before or (row, after) == (row if row in FLOOR else "", C), (row, fewer, more)


# ---------------------------------------------------------------- the data


def test_the_compiled_profiles_are_fresh() -> None:
    source = (compiler.FOLDER / "profiles.yaml").read_text(encoding="utf-8")
    assert (compiler.FOLDER / "profiles.json").read_text(encoding="utf-8") == compiler.compile_profiles(source), (
        "run `python -m lockgate.policy.build`"
    )


def test_compiling_writes_what_is_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (compiler.FOLDER / "profiles.yaml").read_text(encoding="utf-8")
    shipped_text = (compiler.FOLDER / "profiles.json").read_text(encoding="utf-8")
    (tmp_path / "profiles.yaml").write_text(source, encoding="utf-8")
    (tmp_path / "schema").mkdir()
    ours = (compiler.FOLDER / "schema" / "lockgate.schema.json").read_text(encoding="utf-8")
    (tmp_path / "schema" / "lockgate.schema.json").write_text(ours, encoding="utf-8")
    monkeypatch.setattr(compiler, "FOLDER", tmp_path)
    assert compiler.main(["--check"]) == 1
    assert compiler.main() == 0
    assert compiler.main(["--check"]) == 0
    assert (tmp_path / "profiles.json").read_text(encoding="utf-8") == shipped_text


@pytest.mark.parametrize("name", TABLES)
def test_every_chain_goes_from_lenient_to_strict_and_ends_in_what_every_host_can_do(name: str) -> None:
    for cells in read_shipped_profiles()[name].table.values():
        for cell in cells.values():
            assert list(cell) == sorted(set(cell))
            assert cell[-1] in FINAL


@pytest.mark.parametrize("name", TABLES)
def test_a_profile_survives_json(name: str) -> None:
    assert Profile.from_json(read_shipped_profiles()[name].to_json()) == read_shipped_profiles()[name]


@pytest.mark.parametrize(
    ("written", "error"),
    [
        pytest.param([], ValueError, id="empty"),
        pytest.param(["ask", "contain"], ValueError, id="toward-lenient"),
        pytest.param(["ask", "ask"], ValueError, id="twice"),
        pytest.param(["contain"], ValueError, id="not-every-host-contains"),
        pytest.param("judge", ValueError, id="not-every-host-judges"),
        pytest.param("permit", KeyError, id="no-verdict"),
    ],
)
def test_a_chain_that_cannot_be(written: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        chain(written)


def test_replacing_a_cell_leaves_the_rest() -> None:
    quarantine = read_shipped_profiles()["quarantine"]
    changed = quarantine.with_cells({"egress": {LabelState.UNTRUSTED: (Q,)}})
    assert changed.cell("egress", LabelState.UNTRUSTED) == (Q,)
    for row, column in itertools.product(ROWS, COLUMNS):
        if (row, column) != ("egress", LabelState.UNTRUSTED):
            assert changed.cell(row, column) == quarantine.cell(row, column)
