"""What a configuration declares about services: which name wins, and what that comes to in each profile."""

from __future__ import annotations

from typing import Any

import pytest

from lockgate.analysis import analyse
from lockgate.core.model import EffectKind, Label, ToolCall, Verdict
from lockgate.policy.compiled import policy
from lockgate.policy.decide import decide
from lockgate.policy.lockbox.merging import LockboxLayer, merge
from lockgate.resources.host_view import HostView

FLAGS = ("public_source", "secret_data", "public_sink", "dangerous_writes")
LABELS = {
    "clean": frozenset[Label](),
    "untrusted": frozenset({Label.UNTRUSTED}),
    "secret": frozenset({Label.SECRET}),
    "both": frozenset(Label),
}


def kinds(services: dict[str, Any], tool: str, profile: str = "quarantine", **more: Any) -> set[str]:
    return {effect.kind.value for effect in effects(services, tool, profile, **more)}


def effects(services: dict[str, Any], tool: str, profile: str, *, given: Any = None, **more: Any) -> Any:
    rules = policy(merge([LockboxLayer("user", {"profile": profile, "services": services, **more})])).rules
    around = HostView(home="/home/u", workspace="/home/u/work", rules=rules)
    return analyse(ToolCall(tool, given or {}, "/home/u/work"), around).effects


def verdicts(services: dict[str, Any], tool: str, profile: str, **more: Any) -> list[str]:
    compiled = policy(merge([LockboxLayer("user", {"profile": profile, "services": services})]))
    found = effects(services, tool, profile, **more)
    able = frozenset({Verdict.JUDGE, Verdict.CONTAIN})
    return [decide(found, labels, compiled.profile, able=able).verdict.word for labels in LABELS.values()]


# ---------------------------------------------------------------- which name wins

EVERYTHING = dict.fromkeys(FLAGS, True)
NOTHING = dict.fromkeys(FLAGS, False)
MEANT = {"mcp__git": "server", "mcp__git__push": "tool", "mcp__*": "server glob", "mcp__git__*": "tool glob"}


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        pytest.param("mcp__git__push", "mcp__git__p*", id="tool-over-tool-glob"),
        pytest.param("mcp__git__push", "mcp__git", id="tool-over-server"),
        pytest.param("mcp__git__push", "mcp__*", id="tool-over-server-glob"),
        pytest.param("mcp__git__*", "mcp__git", id="tool-glob-over-server"),
        pytest.param("mcp__*__push", "mcp__git", id="tool-glob-of-many-servers-over-server"),
        pytest.param("*push", "mcp__git", id="glob-that-does-not-fit-the-server-is-one-of-tools"),
        pytest.param("mcp__*__push", "mcp__gi*", id="tool-glob-over-server-glob"),
        pytest.param("mcp__git", "mcp__*", id="server-over-server-glob"),
        pytest.param("mcp__git", "mcp__git*", id="server-over-its-own-glob"),
        pytest.param("mcp__git__pu*", "mcp__git__*", id="the-glob-with-more-letters"),
        pytest.param("mcp__gi*", "mcp__*", id="the-server-glob-with-more-letters"),
        pytest.param("mcp__git__?ush", "mcp__git__*********", id="stars-are-no-letters"),
    ],
)
def test_the_more_exact_name_wins_whatever_the_order(stronger: str, weaker: str) -> None:
    tool = "mcp__git__push"
    for one, other in ((NOTHING, EVERYTHING), (EVERYTHING, NOTHING)):
        for services in ({stronger: one, weaker: other}, {weaker: other, stronger: one}):
            assert kinds(services, tool) == kinds({tool: one}, tool), services


@pytest.mark.parametrize("profile", ["quarantine", "cascade"])
@pytest.mark.parametrize(
    ("services", "tool", "as_with"),
    [
        pytest.param({"mcp__hub": NOTHING}, "mcp__hub__x__act", {}, id="another server whose name begins alike"),
        pytest.param({"mcp__hub": NOTHING}, "mcp__hub___act", {}, id="an underscore of which"),
        pytest.param({"mcp__hub": NOTHING}, "mcp__hub" + "__x" * 90, {}, id="too many to look at"),
        pytest.param(
            {"mcp__hub": EVERYTHING}, "mcp__hub__x__act", {"mcp__hub__x__act": EVERYTHING}, id="all that one does"
        ),
        pytest.param(
            {"mcp__hub": NOTHING, "mcp__hub__x": NOTHING}, "mcp__hub__x__act", {"*": NOTHING}, id="both declared"
        ),
        pytest.param(
            {"mcp__hub": NOTHING, "mcp__hub__x": EVERYTHING}, "mcp__hub__x__act", {"*": EVERYTHING}, id="the stricter"
        ),
        pytest.param({"mcp__hub__x": NOTHING}, "mcp__hub__x__act", {}, id="the longer alone"),
        pytest.param({"mcp__hub__x__*": NOTHING}, "mcp__hub__x__act", {"*": NOTHING}, id="a glob of tools"),
        pytest.param(
            {"mcp__hub": EVERYTHING, "mcp__hub__x__act": NOTHING}, "mcp__hub__x__act", {"*": NOTHING}, id="the tool"
        ),
        pytest.param({"mcp__hub": NOTHING}, "mcp__hub__act", {"*": NOTHING}, id="no doubt"),
        pytest.param({"mcp__hub": NOTHING}, "mcp__hub__an_act", {"*": NOTHING}, id="no doubt, with an underscore"),
    ],
)
def test_where_the_name_of_a_server_may_end_twice(services: Any, tool: str, as_with: Any, profile: str) -> None:
    assert kinds(services, tool, profile) == kinds(as_with, tool, profile)


@pytest.mark.parametrize("server", ["mcp__hub", "mcp__hub__x"])
def test_who_forbids_a_server_forbids_it_however_its_name_is_read(server: str) -> None:
    services = {"mcp__hub": NOTHING, "mcp__hub__x": NOTHING, server: {"public_sink": "forbidden"}}
    assert set(verdicts(services, "mcp__hub__x__act", "quarantine")) == {"deny"}


def test_each_flag_comes_from_the_most_exact_name_that_has_it() -> None:
    services = {
        "mcp__*": {"dangerous_writes": True},
        "mcp__git": {"public_source": True, "public_sink": True},
        "mcp__git__*": {"public_sink": False},
        "mcp__git__push": {"secret_data": False},
    }
    assert kinds(services, "mcp__git__push") == {"ingest", "destroy"}
    assert kinds(services, "mcp__other__x") == {"ingest", "egress", "destroy"}


def test_the_other_name_of_a_tool_is_meant_too() -> None:
    assert kinds({"Task": {"public_sink": "forbidden"}}, "Agent", given={"prompt": "x"}) >= {"tamper"}


# ---------------------------------------------------------------- what is declared, and what is not


@pytest.mark.parametrize("profile", ["quarantine", "observe"])
def test_lockboxs_view_of_what_is_not_declared(profile: str) -> None:
    assert kinds({}, "mcp__x__y", profile) == {"egress", "ingest"}
    assert kinds({}, "SomeTool", profile) == {"execute", "ingest"}


@pytest.mark.parametrize("tool", ["mcp__x__y", "SomeTool"])
@pytest.mark.parametrize("profile", ["cascade", "trifecta"])
def test_what_is_not_declared_has_all_four(profile: str, tool: str) -> None:
    found = effects({}, tool, profile)
    assert {effect.kind for effect in found} >= {
        EffectKind.INGEST,
        EffectKind.READ_SECRET,
        EffectKind.EGRESS,
        EffectKind.DESTROY,
    }
    assert {effect.gives for effect in found} >= set(Label)


def test_a_category_is_a_declaration_in_lockboxs_words() -> None:
    assert kinds({}, "mcp__x__y", "cascade", mcp_tools={"mcp__x__*": "safe"}) == set()
    assert kinds({}, "mcp__x__y", "cascade", mcp_tools={"mcp__x__*": "unsafe"}) == {"ingest"}
    assert kinds({}, "mcp__x__y", "cascade", mcp_default="unsafe") == {"ingest"}
    assert kinds({}, "SomeTool", "cascade", tools={"SomeTool": "safe"}) == set()


@pytest.mark.parametrize("profile", ["quarantine", "cascade", "trifecta", "observe"])
@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("tool", ["mcp__x__y", "SomeTool"])
def test_to_say_something_is_never_stricter_than_to_say_nothing(tool: str, flag: str, profile: str) -> None:
    order = [verdict.word for verdict in Verdict]
    unsaid = verdicts({}, tool, profile)
    said = verdicts({tool: {flag: False}}, tool, profile)
    assert all(order.index(one) <= order.index(other) for one, other in zip(said, unsaid, strict=True)), (said, unsaid)


def test_a_half_declared_service_is_not_asked_about_in_a_clean_session() -> None:
    assert verdicts({"mcp__x": {"public_source": True}}, "mcp__x__y", "quarantine")[0] == "allow"
    assert verdicts({"mcp__x": {"dangerous_writes": True}}, "mcp__x__y", "quarantine")[0] == "ask"


# ---------------------------------------------------------------- verdicts

TABLE = [
    # profile, what is declared, in a clean, an untrusted, a secret session, and in one that is both
    ("quarantine", {}, "allow deny allow deny"),
    ("quarantine", {"public_source": True, "public_sink": False}, "allow allow allow allow"),
    ("quarantine", {"public_source": False, "public_sink": False}, "allow allow allow allow"),
    ("quarantine", {"public_sink": False, "dangerous_writes": True}, "ask deny ask deny"),
    ("cascade", {}, "allow ask judge ask"),
    ("cascade", {"secret_data": False}, "allow judge judge ask"),
    ("cascade", {"public_sink": False, "dangerous_writes": False}, "allow allow allow allow"),
    ("cascade", {"public_sink": True, "secret_data": False, "dangerous_writes": False}, "allow judge judge ask"),
    ("cascade", {"public_sink": False, "secret_data": False, "dangerous_writes": True}, "allow judge judge ask"),
    ("trifecta", {}, "allow deny allow deny"),
    ("trifecta", {"secret_data": False}, "allow allow allow deny"),
    ("trifecta", {"public_sink": False}, "allow allow allow allow"),
    ("trifecta", {"public_source": False, "secret_data": False, "dangerous_writes": False}, "allow allow allow deny"),
]


@pytest.mark.parametrize(("profile", "flags", "expected"), TABLE)
def test_what_a_declaration_comes_to(profile: str, flags: dict[str, Any], expected: str) -> None:
    assert verdicts({"mcp__x": flags} if flags else {}, "mcp__x__y", profile) == expected.split()


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("profile", ["quarantine", "cascade", "trifecta", "observe"])
@pytest.mark.parametrize(
    ("name", "tool", "given"),
    [
        ("mcp__x", "mcp__x__y", {}),
        ("mcp__x__*", "mcp__x__y", {}),
        ("WebFetch", "WebFetch", {"url": "https://example.com/", "prompt": "x"}),
        ("WebSearch", "WebSearch", {"query": "x"}),
        ("Some*", "SomeTool", {}),
    ],
)
def test_forbidden_is_denied_in_every_state(name: str, tool: str, given: Any, profile: str, flag: str) -> None:
    assert verdicts({name: {**NOTHING, flag: "forbidden"}}, tool, profile, given=given) == ["deny"] * 4


def test_a_tools_own_word_lifts_what_its_server_forbids() -> None:
    services = {"mcp__x": {"public_sink": "forbidden"}, "mcp__x__y": NOTHING}
    assert verdicts(services, "mcp__x__y", "quarantine") == ["allow"] * 4
    assert verdicts(services, "mcp__x__z", "quarantine") == ["deny"] * 4


# ---------------------------------------------------------------- tools that are known

URL = {"url": "https://example.com/?q=1", "prompt": "x"}
KNOWN = [
    ("WebFetch", URL, {}, {"fetch", "ingest"}),
    ("WebFetch", URL, {"public_source": True}, {"fetch", "ingest"}),
    ("WebFetch", URL, {"public_source": False}, {"fetch"}),
    ("WebFetch", URL, {"public_sink": False}, {"ingest"}),
    ("WebFetch", URL, {"secret_data": True}, {"fetch", "ingest", "read_secret"}),
    ("WebFetch", URL, {"dangerous_writes": True}, {"fetch", "ingest", "destroy"}),
    ("WebFetch", URL, NOTHING, set()),
    ("Read", {"file_path": ".env"}, NOTHING, {"read_secret"}),
    ("Read", {"file_path": "a.txt"}, {"public_source": True}, {"ingest"}),
    ("Write", {"file_path": ".git/hooks/pre-commit", "content": "x"}, NOTHING, {"persist"}),
    ("Write", {"file_path": ".claude/settings.json", "content": "x"}, NOTHING, {"tamper"}),
]


@pytest.mark.parametrize(("tool", "given", "flags", "expected"), KNOWN)
def test_a_known_tool_is_what_it_is_but_for_what_is_said(
    tool: str, given: Any, flags: dict[str, Any], expected: set[str]
) -> None:
    assert kinds({tool: flags} if flags else {}, tool, given=given) == expected


def test_a_known_tool_declared_trusted_gives_no_label() -> None:
    assert {
        effect.gives for effect in effects({"WebFetch": {"public_source": False}}, "WebFetch", "cascade", given=URL)
    } == {None}
