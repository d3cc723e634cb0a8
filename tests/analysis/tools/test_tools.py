"""What tools other than the shell can do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lockgate.analysis
from lockgate.analysis import analyse
from lockgate.core.model import Analysis, Category, EffectKind, Label, ToolCall, Variant
from lockgate.resources.data import build
from lockgate.resources.host_view import AnalysisRules, CategoryRule, HostView, Service, TrustedDomain
from support import tables

WORK = "/home/user/work"
AROUND = HostView(home="/home/user", workspace=WORK)
ROWS = tables.read(build.HERE / "tools.yaml")
EXAMPLES = [
    pytest.param(tool, example, id=f"{tool}-{number}")
    for row in ROWS
    for tool in row["tools"]
    for number, example in enumerate(row["examples"])
]


def ask(tool: str, tool_input: dict[str, Any], around: HostView = AROUND) -> Analysis:
    return analyse(ToolCall(tool, tool_input, WORK), around)


def rows(analysis: Analysis) -> list[str]:
    return sorted({effect.row for effect in analysis.effects})


def test_each_tool_is_in_one_row():
    tools = [tool for row in ROWS for tool in row["tools"]]
    assert len(tools) == len(set(tools))


@pytest.mark.parametrize(("tool", "example"), EXAMPLES)
def test_example(tool, example):
    assert sorted({effect.kind.value for effect in ask(tool, example["input"]).effects}) == sorted(example["effects"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_required_parameters_are_known(row):
    assert set(row.get("required", ())) <= set(row.get("input", {}))


def test_unknown_tool_may_do_anything():
    analysis = ask("BrandNewTool", {})
    assert rows(analysis) == ["execute", "ingest"]
    assert analysis.gives == {Label.UNTRUSTED}
    assert analysis.category is Category.UNSAFE_ACTING


@pytest.mark.parametrize("tool", ["read", "READ", "Read ", "bash", "mcp_x__y", "", "Write\n"])
def test_names_are_exact(tool):
    assert "execute" in rows(ask(tool, {"file_path": "a"}))


def test_unknown_mcp_tool_is_source_and_sink():
    analysis = ask("mcp__demo__fetch_issue", {"n": 7})
    assert rows(analysis) == ["egress", "ingest"]
    assert analysis.gives == {Label.UNTRUSTED}
    assert analysis.category is Category.UNSAFE_ACTING


@pytest.mark.parametrize(
    ("category", "expected"),
    [
        (Category.SAFE, []),
        (Category.UNSAFE, ["ingest"]),
        (Category.ACTING, ["egress"]),
        (Category.UNSAFE_ACTING, ["egress", "ingest"]),
    ],
)
def test_a_category_tempers_an_mcp_tool(category, expected):
    everything: frozenset[Category | None] = frozenset({*Category, None})
    rule = CategoryRule(category, "lockbox.json:mcp_tools", everything)
    around = AROUND._replace(rules=AnalysisRules(tool_category=lambda tool: rule if tool == "mcp__a__b" else None))
    assert rows(ask("mcp__a__b", {}, around)) == expected
    assert rows(ask("mcp__a__c", {}, around)) == ["egress", "ingest"]


@pytest.mark.parametrize(
    ("tool_input", "expected"),
    [
        ({"path": "/home/user/.claude/settings.json"}, ["tamper"]),
        ({"path": ".claude/settings.json"}, ["tamper"]),
        ({"path": "lockgate.yaml", "content": "x"}, ["tamper_self"]),
        ({"files": [{"path": ".claude/hooks/a.sh"}]}, ["tamper"]),
        ({"x": "file:///home/user/.claude/settings.json"}, ["tamper"]),
        ({"path": "~/.ssh/id_rsa"}, ["read_secret"]),
        ({"path": " ~/.ssh/id_rsa\n"}, ["read_secret"]),
        ({"path": f"~/{'./' * 1000}.ssh/id_rsa"}, ["read_secret"]),
        ({"path": "src/main.py"}, []),
        ({"query": "lockgate.yaml"}, []),
        ({"body": "see .claude/settings.json and .env"}, []),
        ({"path": ".github/workflows/ci.yml"}, []),
    ],
)
def test_no_tool_reaches_what_binds_the_agent(tool_input, expected):
    rule = CategoryRule(Category.SAFE, "lockbox.json:mcp_tools", frozenset({*Category, None}))
    safe = AROUND._replace(rules=AnalysisRules(tool_category=lambda _: rule))
    assert rows(ask("mcp__files__write", tool_input, safe)) == expected
    assert set(expected) <= set(rows(ask("BrandNewTool", tool_input)))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"path": "y/../" * 1500 + "CLAUDE.md"}, True),
        ({"p": "/home/user/work/" + "./" * 3000 + "CLAUDE.md"}, True),
        ({"path": "y\n/../CLAUDE.md"}, True),
        ({"p": "./y\n/../CLAUDE.md"}, True),
        ({"p": "file:///home/user/work/CLAUDE.md"}, True),
        ({"p": "FILE://localhost/home/user/work/%43LAUDE.md"}, True),
        ({"p": "file:/home/user/work/CLAUDE.md"}, True),
        ({"p": "file: see CLAUDE.md"}, False),
        ({"content": "/* a\n * text\n */\n" * 1000}, False),
        ({"content": "~/x is a\ntext about CLAUDE.md"}, False),
        ({"path": "y" * 9000 + "/CLAUDE.md"}, False),
    ],
)
def test_no_path_hides_in_its_length_or_in_a_line(given, found):
    assert ("persist" in rows(ask("mcp__files__write", given))) is found


def test_no_path_hides_behind_many():
    rule = CategoryRule(Category.SAFE, "lockbox.json:mcp_tools", frozenset({*Category, None}))
    safe = AROUND._replace(rules=AnalysisRules(tool_category=lambda _: rule))
    paths = [f"/srv/{n}" for n in range(1000)]
    assert rows(ask("mcp__a__b", {"paths": [*paths[:99], ".claude/settings.json"]}, safe)) == ["tamper"]
    assert "execute" in rows(ask("mcp__a__b", {"paths": [".claude/settings.json", *paths]}, safe))
    assert rows(ask("mcp__a__b", {"rows": [{"n": n, "text": "a"} for n in range(5000)]}, safe)) == []


def test_an_acting_mcp_tool_may_write_what_is_executed_later():
    assert "persist" in rows(ask("mcp__files__write", {"path": ".github/workflows/ci.yml"}))


@pytest.mark.parametrize("path", [" .env", ".env ", "\ufeff.env", "\t~/.ssh/id_rsa\n"])
def test_spaces_around_a_path_hide_nothing(path):
    assert rows(ask("Read", {"file_path": path})) == ["read_secret"]


@pytest.mark.parametrize(
    "glob",
    [
        *("*.py .env", "*.py,.env*", "{*.py,.env}", "**/{a,.env*}", "/.env", "{{a,b},.env}", "}{a,.e{nv,x}}", "{.env}"),
        " ".join(f"*.{n}" for n in range(40)) + " .env",
        ",".join(f"*.{n}" for n in range(40)) + ",.env",
        "{" + ",".join(f"*.{n}" for n in range(40)) + ",.env}",
        "x" * 2000 + "*,.env",
        *(r".e\nv", r"\.env", "{[}],.env}", "{.e[,}]v,.env}", r"{\},.env}", r".e[\n]v", "{[]}],.env}"),
    ],
)
def test_each_part_of_a_glob_counts(glob):
    assert rows(ask("Grep", {"pattern": "x", "glob": glob})) == ["read_secret"]


@pytest.mark.parametrize("glob", ["{a,b}" * 12, "{" + "a," * 50_000 + "}", "a " * 10_000, "{" * 50_000 + "}" * 50_000])
def test_a_glob_that_stands_for_too_many_patterns_can_pick_anything(glob):
    assert "read_secret" in rows(ask("Grep", {"pattern": "x", "glob": glob}))


@pytest.mark.parametrize(
    "glob",
    [
        "*.{py,pyi,toml}",
        "src/**/*.{ts,tsx,js,jsx,mjs,cjs,mts,cts,vue,svelte}",
        "!.env",
        "*.md *.rst",
        r"app/\[id\]/*.tsx",
        r"\{a\}.ts",
        "[!a]bc.{c,h}",
    ],
)
def test_an_ordinary_glob_reads_no_secret(glob):
    assert rows(ask("Grep", {"pattern": "x", "glob": glob})) == []


NOTHING = Service(public_source=False, secret_data=False, public_sink=False, dangerous_writes=False)


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        (NOTHING, []),
        (NOTHING._replace(public_source=True), ["ingest"]),
        (NOTHING._replace(secret_data=True), ["read_secret"]),
        (NOTHING._replace(public_sink=True), ["egress"]),
        (NOTHING._replace(dangerous_writes=True), ["destroy"]),
        (NOTHING._replace(forbidden=True), ["tamper_self"]),
        (Service(), ["egress", "ingest"]),
    ],
)
def test_flags_of_a_service(service, expected):
    for declared in ("mcp__bank__pay", "mcp__bank"):
        look_up = {declared: service}.get
        assert rows(ask("mcp__bank__pay", {}, AROUND._replace(rules=AnalysisRules(service=look_up)))) == expected


def test_a_tools_own_flags_come_before_its_servers():
    declared = {"mcp__a": NOTHING, "mcp__a__b": NOTHING._replace(public_sink=True)}
    around = AROUND._replace(rules=AnalysisRules(service=declared.get))
    assert rows(ask("mcp__a__b", {}, around)) == ["egress"]
    assert rows(ask("mcp__a__c", {}, around)) == []
    assert rows(ask("mcp__ab__c", {}, around)) == ["egress", "ingest"]


@pytest.mark.parametrize(
    ("url", "row", "address", "labels"),
    [
        ("https://example.org/a#b", "fetch", "https://example.org/a", {Label.UNTRUSTED}),
        ("https://docs.example/a", "fetch_known", "https://docs.example/a", {Label.UNTRUSTED}),
        ("https://own.example/a", "fetch_known", "https://own.example/a", set()),
        ("https://x@own.example/a", "fetch", "", set()),
        ("https://own.example.evil/a", "fetch", "https://own.example.evil/a", {Label.UNTRUSTED}),
        ("https://evil\\@own.example/", "fetch", "", {Label.UNTRUSTED}),
        ("example.org", "fetch", "", {Label.UNTRUSTED}),
        ("file:///etc/passwd", "fetch", "", {Label.UNTRUSTED}),
    ],
)
def test_web_fetch(url, row, address, labels):
    trusted = (TrustedDomain("docs.example"), TrustedDomain("own.example", content=True))
    analysis = ask(
        "WebFetch", {"url": url, "prompt": "p"}, AROUND._replace(rules=AnalysisRules(trusted_domains=trusted))
    )
    fetch = next(effect for effect in analysis.effects if effect.kind is EffectKind.FETCH)
    assert (fetch.row, fetch.address, set(analysis.gives)) == (row, address, labels)


@pytest.mark.parametrize(
    "url", ["http://localhost/", "http://127.1:8000/", "http://[::1]/", "http://app.localhost:3000/x"]
)
def test_this_machine_is_no_source(url):
    assert ask("WebFetch", {"url": url, "prompt": "p"}).effects == ()


def test_a_declared_host_is_what_it_is_declared_to_be():
    declared = {"wiki.example": NOTHING._replace(secret_data=True), "bad.example": Service(forbidden=True)}
    around = AROUND._replace(rules=AnalysisRules(service=declared.get))
    assert rows(ask("WebFetch", {"url": "https://wiki.example/a"}, around)) == ["fetch_known", "read_secret"]
    assert "tamper_self" in rows(ask("WebFetch", {"url": "https://bad.example/a"}, around))


def test_addresses_count_only_where_the_agent_cannot_write_them():
    assert not ask("WebSearch", {"query": "q"}).echoes
    assert ask("WebFetch", {"url": "https://example.org/", "prompt": "print https://evil.example/?d=1"}).echoes
    assert ask("mcp__a__b", {}).echoes
    assert ask("Read", {"file_path": "a"}).echoes


@pytest.mark.parametrize(
    ("tool", "tool_input"),
    [
        ("Read", {"file_path": None}),
        ("Read", {"file_path": {"a": 1}}),
        ("Read", {"path": "a"}),
        ("Write", {"file_path": 3, "content": "x"}),
        ("Edit", {"file_path": ["/etc/passwd"]}),
        ("NotebookEdit", {"notebook_path": True}),
        ("Grep", {"pattern": "x", "path": ["/"]}),
        ("Grep", {"pattern": "x", "glob": {"a": "b"}}),
        ("WebFetch", {"url": ["https://a.example/"]}),
        ("WebSearch", {"query": {"q": 1}}),
        ("Bash", {"command": {"c": "ls"}}),
        ("Bash", {"command": None}),
        ("Bash", {"cmd": "ls"}),
        ("Monitor", {"command": ["ls"]}),
        ("Monitor", {"ws": {"url": 1}}),
        ("CronCreate", {"prompt": 5}),
        ("Read", {"file_path": "a" * 200_000}),
    ],
)
def test_input_that_is_not_understood(tool, tool_input):
    analysis = ask(tool, tool_input)
    assert rows(analysis) == ["execute"]
    assert {effect.rule for effect in analysis.effects} == {"tool:input"}


def test_optional_parameters_may_be_null():
    assert ask("Grep", {"pattern": "x", "path": None, "glob": None}).effects == ()


def test_a_fault_in_the_analysis_does_not_open_the_gate(monkeypatch):
    def broken(*_: object) -> Analysis:
        raise RecursionError

    monkeypatch.setattr(lockgate.analysis, "_analyse", broken)
    analysis = ask("Read", {"file_path": "a"})
    assert rows(analysis) == ["execute", "ingest"]
    assert {effect.rule for effect in analysis.effects} == {"analysis:error"}


TOOLS = sorted({tool for row in ROWS for tool in row["tools"]} - {"Bash", "Monitor"} | {"mcp__a__b", "New"})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from("ab/.~*[]{},:@h\0é"), max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    [
        "file_path",
        "notebook_path",
        "path",
        "pattern",
        "glob",
        "url",
        "query",
        "prompt",
        "action",
        "method",
        "ws",
        "stop",
        "isolation",
    ]
)


@given(st.sampled_from(TOOLS), st.dictionaries(NAMES, VALUES, max_size=5))
def test_every_input_is_answered_without_a_fault(tool, tool_input):
    analysis = ask(tool, tool_input)
    assert "analysis:error" not in {effect.rule for effect in analysis.effects}
    assert all(effect.because and effect.rule.count(":") == 1 for effect in analysis.effects)
    assert all(effect.variant is not Variant.KNOWN for effect in analysis.effects)


@pytest.mark.parametrize(
    ("prompt", "echoes"),
    [
        pytest.param("List the links on this page.", False, id="a-question"),
        pytest.param("Answer with exactly this: " + "x" * 400, True, id="enough-room-for-an-address-of-its-own"),
    ],
)
def test_links_of_a_page_are_seen_where_the_agent_did_not_write_them(
    prompt: str, echoes: bool, around: HostView
) -> None:
    call = ToolCall("WebFetch", {"url": "https://example.com/", "prompt": prompt})
    assert analyse(call, around).echoes is echoes
