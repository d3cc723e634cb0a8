"""Texts through small libraries: what is found, where, and what it comes to."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import count

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from lockgate.patterns.engine.check import Check
from lockgate.patterns.engine.matcher import _OVERLAP, PIECE, _finder, _finder_by_search, _is_bounded
from lockgate.patterns.engine.request import CheckRequest
from lockgate.patterns.engine.scanner import Scanner
from lockgate.patterns.fields import Field, fields_of
from lockgate.patterns.known_values.values import KnownHit, KnownKind
from lockgate.patterns.model import Candidate, GuardrailDecision, Kind, Mode, Severity, Side, ToolRule
from lockgate.patterns.redaction.spans import fingerprint, has_mark, redact
from lockgate.patterns.severities import TABLE
from support.pattern_library import KEY, check, group, library, rule, scanner

BLOCK, ASK, WARN, APPROVE = (GuardrailDecision(word) for word in ("block", "ask", "warn", "approve"))
TOKEN = "acme_" + "a1b2c3d4e5"
ACME = rule(r"acme_[a-z0-9]{10}", "acme")


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        (TOKEN, [(0, 15)]),
        (f"x {TOKEN} y", [(2, 17)]),
        (f"é€😀 {TOKEN}", [(4, 19)]),
        (f"{TOKEN}.", [(0, 15)]),
        (f"x={TOKEN},{TOKEN}", [(2, 17), (18, 33)]),
        (f"a\\n{TOKEN}", [(3, 18)]),
        (f"x{TOKEN}", []),
        (f"{TOKEN}z", []),
        (f"_{TOKEN}", []),
        ("acme_" + "acme_" + "acme012345" + "6", []),
        ("acme_short", []),
        (f"x{TOKEN} {TOKEN}", [(17, 32)]),
    ],
)
def test_places(text: str, spans: list[tuple[int, int]]) -> None:
    assert [(match.start, match.end) for match in check(library(ACME), text).pattern_matches] == spans


@pytest.mark.parametrize(
    ("boundary", "text", "found"),
    [
        ("word", "a-" + TOKEN, True),
        ("token", "a-" + TOKEN, False),
        ("token", TOKEN + "/b", False),
        ("token", "KEY=" + TOKEN, True),
        ("token", f'"{TOKEN}"', True),
        ("none", "x" + TOKEN + "y", True),
    ],
)
def test_boundaries(boundary: str, text: str, found: bool) -> None:
    result = check(library(ACME._replace(boundary=boundary)), text)
    assert bool(result.pattern_matches) is found


def test_a_value_whose_quotes_are_escaped_is_found_once() -> None:
    made = library(rule(r'"pass"\s*:\s*"(?P<value>[a-z0-9]{8})"', "password", boundary="none"))
    (match,) = check(made, r"x \"pass\": \"hunter22\" y").pattern_matches
    assert (match.start, match.end, match.encoding) == (14, 22, ("escape",))
    (match,) = check(made, r'x "pass": "hunter22", "\"y"').pattern_matches
    assert (match.start, match.end, match.encoding) == (11, 19, ())
    (match,) = check(made, r'x "pass"\u003a "hunter22" y').pattern_matches
    assert (match.start, match.end, match.encoding) == (16, 24, ("escape",))


@pytest.mark.parametrize(
    "text",
    [
        "a%3DTOKEN%26b",
        "%22TOKEN%22",
        r"{\"a\":\u0022TOKEN\u0022}",
        r"a\x3dTOKEN",
        r"a\012TOKEN\012",
        r"a\bTOKEN",
        "a=3DTOKEN b=3D",
        "a &#61;TOKEN",
        "a%253DTOKEN",
        "\x1b[32mTOKEN\x1b[0m",
        "+\x1b[1;32mTOKEN",
        r"a \e[32mTOKEN\e[0m",
        r"\e[32mTOKEN\e[0m",
        r"a\vTOKEN\v",
        "a &#61TOKEN",
        r"a \u001b[32mTOKEN",
    ],
)
def test_what_stands_beside_a_value_was_decoded(text: str) -> None:
    (match,) = check(library(ACME), text.replace("TOKEN", TOKEN)).pattern_matches
    assert (match.start, match.end) == (text.index("TOKEN"), text.index("TOKEN") + len(TOKEN))


_WORDS = r"-?(?:[ab]{1,3}-?)?b_[ab]"


@cache
def _words(boundary: str) -> Scanner:
    return scanner(library(rule(_WORDS, boundary=boundary)))


@given(st.text("ab-_=n\\ .", max_size=40), st.sampled_from(["word", "token"]))
def test_no_match_that_stands_alone_is_passed_over(text: str, boundary: str) -> None:
    """Starts within a word are skipped after a refusal; those that count must not be."""
    result = _words(boundary).check(fields_of({"t": text}), CheckRequest(Side.INPUT))
    found = {(m.start, m.end) for m in result.pattern_matches}
    data = text.encode()
    for start in range(len(text)):
        match = re2.compile(_WORDS).match(text, start)
        if match is not None and _is_bounded(data, *match.span(), boundary):
            assert any(begin < match.end() and match.start() < end for begin, end in found)


def test_a_checksum_needs_no_boundary() -> None:
    made = library(rule(r"ghp_[0-9A-Za-z]{36}", validate=(("github_checksum", None),)))
    key = "ghp_" + "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ" + "0mLq17"
    assert [(m.start, m.end) for m in check(made, f"a{key}bc").pattern_matches] == [(1, 41)]
    assert not check(made, f"a{key[:-1]}8bc").pattern_matches
    assert check(made, f"{key[:-1]}8").pattern_matches


def test_a_match_within_one_that_is_refused() -> None:
    """The first `sk-` begins inside a word; the one behind it does not."""
    made = library(rule(r"sk-[a-z-]{6,}"))
    assert [m.start for m in check(made, "task-sk-abcdef").pattern_matches] == [5]


def test_the_value_is_reported_and_the_key_is_handed_to_validators() -> None:
    made = library(rule(r"(?P<key>pin)=(?P<value>\d{4})", validate=()))
    (match,) = check(made, "pin=1234").pattern_matches
    assert (match.start, match.end, match.path, match.rule, match.type) == (4, 8, "text", "g/r", "r")
    assert match.fingerprint == fingerprint(b"1234", KEY)


@cache
def _acme() -> Scanner:
    return scanner(library(ACME))


@cache
def _pairs() -> Scanner:
    return scanner(library(rule("ab{1,2}", boundary="none")))


@given(st.integers(0, 3), st.integers(-40, 40))
def test_matches_at_the_seams_of_long_texts(piece: int, shift: int) -> None:
    at = max(0, piece * (PIECE - _OVERLAP) + shift)
    result = _acme().check(fields_of({"t": " " * at + TOKEN + " " * 1000}), CheckRequest(Side.INPUT))
    assert [(match.start, match.end) for match in result.pattern_matches] == [(at, at + len(TOKEN))]


@given(st.lists(st.sampled_from(["ab", "abab", "b", " ", "aab"]), max_size=900))
def test_many_hits_are_what_re2_finds(parts: list[str]) -> None:
    text = "".join(parts)
    result = _pairs().check(fields_of({"t": text}), CheckRequest(Side.INPUT, most_matches=10**6))
    assert sorted((m.start, m.end) for m in result.pattern_matches) == [m.span() for m in re2.finditer("ab{1,2}", text)]


# ---------------------------------------------------------------- what it comes to
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("severity", Severity)
def test_mode_bounds_and_severity_lowers(mode: Mode, severity: Severity) -> None:
    made = library(ACME._replace(severity=severity), groups=(group("g", (0,), mode=mode),))
    result = check(made, TOKEN)
    assert result.decision is TABLE[mode][severity]
    assert bool(result.pattern_matches) is (mode is not Mode.OFF)
    ranks = [cell.rank for cell in TABLE[mode]]
    assert ranks == sorted(ranks)
    assert all(TABLE[low][severity].rank <= TABLE[high][severity].rank for low in Mode for high in Mode if low <= high)


def test_the_strictest_match_decides_and_gives_the_reason() -> None:
    made = library(
        ACME._replace(group="strict"),
        rule("[0-9]{3}", "number", severity=Severity.LOW),
        groups=(group("g", (1,), mode=Mode.WARN), group("strict", (0,))),
    )
    result = check(made, {"a": "123 456", "b": [{"c": TOKEN}]})
    assert result.decision is BLOCK
    assert result.reason == "strict/acme matches in b[0].c, and 1 more rule"
    assert TOKEN not in result.reason


def test_a_precise_rule_is_preferred_to_a_generic_one() -> None:
    generic = rule(r"key=(?P<value>\S+)", "generic", generic=True)
    result = check(library(ACME, generic), f"key={TOKEN} key=other")
    assert [(match.type, match.start) for match in result.pattern_matches] == [("acme", 4), ("generic", 24)]


@pytest.mark.parametrize(
    ("tool", "decision"),
    [("Bash", BLOCK), ("mcp__a__b", WARN), ("Read", APPROVE), ("", BLOCK), ("Agent", BLOCK), ("Task", BLOCK)],
)
def test_tool_rules_choose_groups_and_modes(tool: str, decision: GuardrailDecision) -> None:
    tools = (
        ToolRule("mcp__*", ("g",), None, {"g": Mode.WARN}),
        ToolRule("*", (), None, {}),
        ToolRule("Bash", ("g",), None, {}),
        ToolRule("Agent", ("g",), None, {}),
    )
    assert check(library(ACME, tools=tools), TOKEN, tool=tool).decision is decision


@pytest.mark.parametrize(("tool", "found"), [("Bash", True), ("Write", False), ("mcp__x__y", True)])
def test_applies_to(tool: str, found: bool) -> None:
    made = library(ACME._replace(applies_to=("Bash", "mcp__*")))
    assert bool(check(made, TOKEN, tool=tool).pattern_matches) is found


def test_rules_about_what_does_not_match() -> None:
    made = library(rule(r"^PROJ-\d{3}$", "project_id", negated=True, fields=("project_id",)))
    assert check(made, {"project_id": "PROJ-001"}).decision is APPROVE
    assert check(made, {"projectId": "PROJ-1"}).decision is BLOCK
    assert check(made, {"project-id": ["PROJ-001", "x"]}).pattern_matches[0].path == "project-id[1]"
    assert check(made, {"name": "PROJ-1"}).decision is APPROVE


def test_what_a_scanner_remembers_is_bounded_in_number_and_length() -> None:
    made = scanner(library(rule(r"^PROJ-\d{3}$", "project_id", negated=True, fields=("*project_id",))))
    for number in range(600):
        for name in (f"x{number}_project_id", f"{number:x>200}_project_id"):
            tool = f"{name}_tool"
            assert made.check(fields_of({name: "x", "name": "x"}), CheckRequest(Side.INPUT, tool)).decision is BLOCK
    assert 0 < len(made._held) <= 256
    assert 0 < len(made._chosen) <= 256
    assert max(map(len, made._held)) <= 100
    assert max(len(tool) for _, tool, _ in made._chosen) <= 100


def test_fields_names_and_numbers_are_looked_at() -> None:
    made = library(ACME, rule(r"4[0-9]{15}", "card"))
    result = check(made, {"n": 4111111111111111, TOKEN: 1, "small": 41})
    assert {(match.type, match.path) for match in result.pattern_matches} == {
        ("card", "n"),
        ("acme", "{" + TOKEN + "}"),
    }


def test_the_sides_are_apart() -> None:
    groups = (group("g", (0,)), group("out", (0,), side=Side.OUTPUT, mode=Mode.WARN))
    made = library(ACME, groups=groups)
    assert check(made, TOKEN).decision is BLOCK
    assert check(made, TOKEN, Side.OUTPUT).decision is WARN


# ---------------------------------------------------------------- what is known
def _finds(value: bytes, kind: KnownKind) -> Callable[[bytes], list[KnownHit]]:
    def known(data: bytes) -> list[KnownHit]:
        at = data.find(value)
        return [KnownHit(at, at + len(value), "mine", "plain", kind)] if at >= 0 else []

    return known


@pytest.mark.parametrize(
    ("kind", "name"), [(KnownKind.SECRET, "known_secrets/plain"), (KnownKind.CANARY, "canary/mine")]
)
@pytest.mark.parametrize("side", Side)
def test_known_values_are_found_by_the_groups_that_cover_them(kind: KnownKind, name: str, side: Side) -> None:
    groups = (
        group("known_secrets", ()),
        group("canary", ()),
        group("out", (), side=Side.OUTPUT, action="redact", covers=("canary", "known_secrets", "out")),
    )
    made = scanner(library(ACME, groups=groups), known=_finds(b"hunter2", kind))
    (match,) = made.check(fields_of({"t": "é hunter2"}), CheckRequest(side)).pattern_matches
    assert (match.rule, match.start, match.end, match.detail, match.validated) == (name, 2, 9, "mine", True)
    assert match.redact is (side is Side.OUTPUT)


@pytest.mark.parametrize(("kind", "found"), [(KnownKind.SECRET, False), (KnownKind.CANARY, True)])
def test_a_list_of_a_tool_leaves_out_no_canary(kind: KnownKind, found: bool) -> None:
    groups = (group("g", (0,)), group("known_secrets", ()), group("canary", ()))
    made = library(ACME, groups=groups, tools=(ToolRule("Bash", ("g",), None, {}),))
    result = scanner(made, known=_finds(b"hunter2", kind)).check(
        fields_of({"t": "hunter2"}), CheckRequest(Side.INPUT, "Bash")
    )
    assert bool(result.pattern_matches) is found


@pytest.mark.parametrize(
    ("text", "found"), [("é hünter2ß", "ünter2ß"), ("ünter2ß", "ünter2ß"), ("hünter2ßé", "ünter2ß")]
)
def test_a_piece_that_cuts_characters_is_found_with_all_of_them(text: str, found: str) -> None:
    groups = (group("known_secrets", ()), group("in", (), covers=("known_secrets",)))
    made = scanner(library(ACME, groups=groups), known=_finds(found.encode()[1:-1], KnownKind.SECRET))
    (match,) = made.check(fields_of({"t": text}), CheckRequest(Side.INPUT)).pattern_matches
    assert text[match.start : match.end] == found


def test_without_a_group_that_covers_them_known_values_are_nothing() -> None:
    made = scanner(library(ACME), known=_finds(b"hunter2", KnownKind.SECRET))
    assert not made.check(fields_of({"t": "hunter2"}), CheckRequest(Side.INPUT)).pattern_matches


def test_a_value_that_was_refused_often_is_not_judged_again() -> None:
    made = library(rule("key=(?P<value>[a-z0-9]+)", validate=(("not_placeholder", None),)))
    made_scanner, request = scanner(made), CheckRequest(Side.INPUT)
    check_ = Check(made_scanner, request, made_scanner.choose(request))
    check_.look_at(Field("t", "t", "key=changeme " * 100 + "key=k8w2qzj5x7"))
    assert [match.start for match in check_.result().pattern_matches] == [1304]
    assert max(check_._judge.refused.values()) == 16
    assert len(check_._judge.refused) <= 3


def test_rules_with_the_same_pattern_ask_once_whether_a_match_is_a_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def is_credential(candidate: Candidate, form: float | None = None) -> bool | None:
        asked.append(candidate.value)
        return None if candidate.after.startswith("!") else False

    monkeypatch.setattr("lockgate.patterns.credentials.classifier.is_credential", is_credential)
    pattern, judged = r"(?P<key>password)=(?P<value>\w+)", (("credential", None),)
    made = library(rule(pattern, "one", validate=judged), rule(pattern, "two", validate=judged))
    found = check(made, "password=k8w2qzj5x7 password=k8w2qzj5x7!").pattern_matches
    assert asked == ["k8w2qzj5x7"] * 2
    assert {match.start for match in found} == {29}


def test_a_value_that_counts_for_nothing_somewhere_counts_elsewhere() -> None:
    made = library(rule(r"(?P<key>pass_?word)=(?P<value>\w+)", validate=(("credential", None),)))
    value = "k8w2qzj5x7"
    (match,) = check(made, f"password={value}()\n" * 50 + f"password={value}\n").pattern_matches
    assert match.start == 1109


# ---------------------------------------------------------------- time
def test_a_group_whose_time_is_over_says_its_fallback() -> None:
    slow = group("slow", (0,), timeout_ms=0, fallback=ASK)
    made = library(ACME, groups=(slow, group("g", (0,), timeout_ms=10**9, mode=Mode.WARN)))
    ticks = count()
    result = scanner(made, clock=lambda: float(next(ticks))).check(fields_of({"t": TOKEN}), CheckRequest(Side.INPUT))
    assert [(expired.group, expired.because, expired.fallback) for expired in result.expired] == [("slow", "time", ASK)]
    assert result.decision is ASK
    assert [match.rule for match in result.pattern_matches] == ["g/acme"]
    assert "slow could not be evaluated (time)" not in result.reason  # a match says more


def test_time_runs_within_one_rule() -> None:
    made = library(ACME, groups=(group("g", (0,), timeout_ms=5000),))
    ticks = count()
    result = scanner(made, clock=lambda: float(next(ticks))).check(
        fields_of({"t": f"{TOKEN} " * 100}), CheckRequest(Side.INPUT)
    )
    assert 0 < len(result.pattern_matches) < 100
    assert result.decision is BLOCK
    assert result.expired


def test_a_timeout_of_the_request_holds_for_all_groups() -> None:
    ticks = count()
    made = scanner(library(ACME), clock=lambda: float(next(ticks)))
    assert made.check(fields_of({"t": TOKEN}), CheckRequest(Side.INPUT, timeout_ms=0.0)).expired


# ---------------------------------------------------------------- redaction
def _out(**changes: object) -> tuple[object, ...]:
    return (group("out", (0,), side=Side.OUTPUT, action="redact", **changes),)


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        (f"a {TOKEN} b", "a [acme] b"),
        (f"é{{{TOKEN}}}\r\n\0{TOKEN}", "é{[acme]}\r\n\0[acme]"),
        ("nothing", "nothing"),
        (f"\udcff {TOKEN} \ud800", "\udcff [acme] \ud800"),
    ],
)
def test_what_is_redacted_and_what_stays(text: str, redacted: str) -> None:
    made = library(ACME, groups=_out(replacement="[{type}]"))  # type: ignore[arg-type]
    result = check(made, text, Side.OUTPUT)
    assert redact(text, result.pattern_matches) == redacted
    assert result.decision in (WARN, APPROVE)


def test_the_usual_mark_tells_the_same_from_another() -> None:
    made = library(ACME, groups=_out())  # type: ignore[arg-type]
    other = TOKEN.replace("1", "2")
    text = f"{TOKEN} {TOKEN} {other}"
    first, second, third = redact(text, check(made, text, Side.OUTPUT).pattern_matches).split()
    assert first == second != third
    assert first.startswith("[REDACTED:acme:")
    assert has_mark(first)
    assert not has_mark("[REDACTED]")


def test_overlapping_matches_are_replaced_together() -> None:
    made = library(
        rule("[a-c]{6}", "one", boundary="none"),
        rule("[c-e]{6}", "two", boundary="none"),
        groups=(group("out", (0, 1), side=Side.OUTPUT, action="redact", replacement="<{type}>"),),
    )
    result = check(made, "-abcabcdedcd-", Side.OUTPUT)
    assert redact("-abcabcdedcd-", result.pattern_matches) == "-<one>-"


@cache
def _redacting() -> Scanner:
    return scanner(library(ACME, groups=_out(replacement="\0")))  # type: ignore[arg-type]


@given(st.lists(st.sampled_from([TOKEN, " ", "é", "x", "\n", "acme_", "acme_12345", "\udc80"]), max_size=30))
def test_redaction_leaves_nothing_and_changes_nothing_else(parts: list[str]) -> None:
    text = "".join(parts)
    result = _redacting().check(fields_of({"t": text}), CheckRequest(Side.OUTPUT))
    left = redact(text, result.pattern_matches)
    assert not _redacting().check(fields_of({"t": left}), CheckRequest(Side.OUTPUT)).pattern_matches
    assert len(text) - len(left) == (len(TOKEN) - 1) * len(result.pattern_matches)
    assert left.replace("\0", TOKEN) == text


def test_more_matches_than_are_redacted_count_as_not_evaluated() -> None:
    made = library(ACME, groups=_out(fallback=BLOCK))  # type: ignore[arg-type]
    result = check(made, f"{TOKEN} " * 5001, Side.OUTPUT)
    assert result.expired[0].because == "matches"
    assert result.decision is BLOCK


def test_more_matches_than_matter_are_not_kept() -> None:
    result = check(library(ACME, groups=(group("g", (0,), mode=Mode.WARN, kind=Kind.PII),)), f"{TOKEN} " * 500)
    assert len(result.pattern_matches) == 100
    assert result.decision is WARN
    assert not result.expired


# ---------------------------------------------------------------- default passwords
@pytest.mark.parametrize(
    ("value", "weak"),
    [("postgres", True), ("admin", True), ("shop", True), ("Tr0ub4dor&3", False), ("hunter2x9", False)],
)
def test_a_default_password_is_remarked_on_and_stays(value: str, weak: bool) -> None:
    pattern = rule("(?P<key>password)=(?P<value>[^ ]+)", severity=Severity.CRITICAL, validate=(("credential", 3.0),))
    made = library(pattern, groups=_out())  # type: ignore[arg-type]
    result = check(made, f"password={value}", Side.OUTPUT)
    (match,) = result.pattern_matches
    assert match.redact is not weak
    assert match.severity is (Severity.MEDIUM if weak else Severity.CRITICAL)
    assert result.decision is WARN
    assert result.found_secret is not weak


@pytest.mark.parametrize("pattern", [rb"(?P<key>k\w*)=(?P<value>\d+)?", rb"^b", rb"\b", rb"x*$", rb"none"])
def test_the_quick_way_into_re2_finds_what_its_search_finds(pattern: bytes) -> None:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    compiled = re2.compile(pattern, options)
    data = b"a key=12\nb k= \xff key1=7"
    quick, slow = _finder(re2, compiled), _finder_by_search(compiled)
    for start in range(len(data)):
        for stop in range(start, len(data) + 1):
            found = list(map(tuple, quick(data, start, stop)))
            assert found == list(slow(data, start, stop)) or found[0][0] == slow(data, start, stop)[0][0] == -1


def test_a_version_of_re2_that_is_made_otherwise_inside_is_searched_as_usual() -> None:
    class Compiled:
        groups = 0

        def search(self, data: bytes, start: int, stop: int) -> re.Match[bytes] | None:
            return re.compile(rb"b").search(data, start, stop)

    assert _finder(re2, Compiled())(b"abc", 0, 3) == [(1, 2)]
    assert _finder(re2, Compiled())(b"abc", 2, 3) == [(-1, -1)]
