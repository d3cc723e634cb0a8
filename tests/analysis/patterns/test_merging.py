"""Layers over each other: what each may change, and that a project can never loosen."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lockgate.patterns.engine.request import CheckRequest
from lockgate.patterns.engine.scanner import Scanner
from lockgate.patterns.library.linking import BESIDE, link
from lockgate.patterns.library.loading import PatternChecks, load
from lockgate.patterns.library.merging import MOST_PROJECT_RULES, MergeState, PatternLayer, merge
from lockgate.patterns.model import GuardrailDecision, Library, Mode, Rule, RuleGroup, Severity, Side, ToolRule
from support.stress import examples

CHECKS = PatternChecks(lambda patterns: [""] * len(patterns), ("luhn",))
BASE = """
patterns:
  input:
    keys:
      mode: ask
      kind: secret
      fallback: ask
      timeout_ms: 100
      rules:
        - {id: a, type: ta, pattern: aaaa, severity: medium, validate: [luhn], examples: {match: [aaaa]}}
        - {id: b, type: tb, pattern: bbbb, replacement: x}
        - {id: gone, type: tgone, pattern: cccc, enabled: false}
    pii: {mode: warn, fallback: allow, rules: [{type: ssn, pattern: dddd}]}
  output:
    out: {mode: block, include: [keys], action: redact, replacement: "<{type}>"}
tool_rules:
  Bash: {patterns: [keys], fallback: ask}
  mcp__*: {patterns: [pii], modes: {pii: ask}}
"""


def layer(text: str | dict[str, Any], name: str = "shipped", *, may_loosen: bool = True) -> PatternLayer:
    data = (text if isinstance(text, str) else json.dumps(text)).encode()
    loaded = load(data, f"{name}.yaml", CHECKS)
    assert loaded.document is not None, loaded.problems
    return PatternLayer(name, f"{name}.yaml", loaded.document, may_loosen)


def over(text: str | dict[str, Any], *, may_loosen: bool = True) -> tuple[MergeState, Library]:
    state = merge([layer(BASE), layer(text, "upper", may_loosen=may_loosen)])
    return state, link(state).library


def group(library: Library, name: str) -> RuleGroup:
    (found,) = [each for each in library.groups if each.id == name]
    return found


def rule(library: Library, name: str) -> Rule:
    (found,) = [each for each in library.rules if each.id == name]
    return found


def tool(library: Library, name: str) -> ToolRule:
    (found,) = [each for each in library.tool_rules if each.tool == name]
    return found


def rules_in(library: Library, name: str) -> list[str]:
    return [library.rules[index].id for index in group(library, name).rules]


# ---------------------------------------------------------------- a layer of the person


def test_only_the_given_keys_of_a_rule_change() -> None:
    _, library = over("patterns: {input: {keys: {rules: [{id: a, severity: low}]}}}")
    found = rule(library, "a")
    assert (found.severity, found.pattern, found.validate) == (Severity.LOW, "aaaa", (("luhn", None),))


def test_examples_of_another_pattern_go_with_it() -> None:
    state, _ = over("patterns: {input: {keys: {rules: [{id: a, pattern: eeee}]}}}")
    origin = next(origin for origin in link(state).origins if origin.match or origin.layers == ("shipped", "upper"))
    assert (origin.match, origin.layers) == ((), ("shipped", "upper"))


def test_a_rule_is_switched_off_and_on_by_its_id() -> None:
    _, library = over("patterns: {input: {keys: {rules: [{id: a, enabled: false}, {id: gone, enabled: true}]}}}")
    assert rules_in(library, "keys") == rules_in(library, "out") == ["b", "gone"]


PERSONAL = [
    ("patterns: {input: {keys: {mode: 'off'}}}", lambda lib: group(lib, "keys").mode, Mode.OFF),
    ("patterns: {input: {keys: {timeout_ms: 900}}}", lambda lib: group(lib, "keys").timeout_ms, 900.0),
    (
        "patterns: {input: {keys: {fallback: allow}}}",
        lambda lib: group(lib, "keys").fallback,
        GuardrailDecision.APPROVE,
    ),
    ("patterns: {input: {keys: {rules: [{type: n, pattern: nn}]}}}", lambda lib: rules_in(lib, "out"), ["a", "b", "n"]),
    ("patterns: {input: {new: {rules: [{type: n, pattern: nnnn}]}}}", lambda lib: group(lib, "new").mode, Mode.WARN),
    ("patterns: {output: {out: {include: [pii]}}}", lambda lib: rules_in(lib, "out"), ["a", "b", "ssn"]),
    ("tool_rules: {Bash: {patterns: [pii]}}", lambda lib: tool(lib, "Bash").groups, ("pii",)),
    ("tool_rules: {Bash: {fallback: allow}}", lambda lib: tool(lib, "Bash").fallback, GuardrailDecision.APPROVE),
    ("tool_rules: {Bash: {modes: {keys: warn}}}", lambda lib: tool(lib, "Bash").modes, {"keys": Mode.WARN}),
    ("tool_rules: {Edit: {fallback: warn}}", lambda lib: tool(lib, "Edit").groups, ("keys", "pii")),
    ("tool_rules: {Task: {patterns: [pii]}}", lambda lib: tool(lib, "Agent").groups, ("pii",)),
    ("tool_rules: {Agent: {fallback: ask}, Task: {fallback: warn}}",
     lambda lib: tool(lib, "Agent").fallback, GuardrailDecision.ASK),
    ("tool_rules: {mcp__a*: {patterns: []}}", lambda lib: lib.tool_rules[0].tool, "mcp__a*"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "look", "wanted"), PERSONAL, ids=[case[0] for case in PERSONAL])
def test_a_layer_of_the_person_changes_what_it_names(text: str, look: Any, wanted: Any) -> None:
    state, library = over(text)
    assert look(library) == wanted
    assert (state.notes, state.problems) == ([], [])


DANGLING = [
    ("patterns: {output: {out: {include: [key]}}}", "patterns.output.out.include[0]", "did you mean `keys`?"),
    ("tool_rules: {Bash: {patterns: [keys, pi]}}", "tool_rules.Bash.patterns[1]", "there is no group `pi`"),
    ("tool_rules: {Bash: {modes: {zzz: warn}}}", "tool_rules.Bash.modes.zzz", "there is no group `zzz`"),
    ("patterns: {input: {keys: {rules: [{id: z, severity: low}]}}}", "patterns.input.keys.rules[0]", "needs `pattern`"),
    ("patterns: {output: {keys: {mode: warn}}}", "patterns.output.keys", "has this group in input"),
]


@pytest.mark.parametrize(("text", "key", "problem"), DANGLING, ids=[case[1] for case in DANGLING])
@pytest.mark.parametrize("may_loosen", [True, False])
def test_what_leads_nowhere_is_a_problem_and_the_rest_holds(
    text: str, key: str, problem: str, *, may_loosen: bool
) -> None:
    written = yaml.safe_load(text)
    written.setdefault("patterns", {}).setdefault("input", {})["more"] = {"rules": [{"type": "n", "pattern": "nnnn"}]}
    state, library = over(written, may_loosen=may_loosen)
    assert [(error.file, error.line, error.key) for error in state.problems] == [("upper.yaml", 1, key)]
    assert problem in state.problems[0].problem
    assert rule(library, "n").pattern == "nnnn"


def test_groups_may_include_each_other() -> None:
    _, library = over("patterns: {input: {keys: {include: [pii]}, pii: {include: [keys]}}}")
    assert rules_in(library, "keys") == rules_in(library, "pii") == ["a", "b", "ssn"]


def test_the_same_content_has_the_same_version() -> None:
    one, other = over("patterns: {}")[1], over("tool_rules: {}")[1]
    assert one.version == other.version
    assert over("patterns: {input: {keys: {mode: warn}}}")[1].version != one.version


# ---------------------------------------------------------------- a project's layer


TIGHTER = [
    ("patterns: {input: {keys: {mode: block}}}", lambda lib: group(lib, "keys").mode, Mode.BLOCK),
    ("patterns: {input: {keys: {fallback: block}}}", lambda lib: group(lib, "keys").fallback, GuardrailDecision.BLOCK),
    ("patterns: {input: {keys: {rules: [{id: a, severity: critical}]}}}", lambda lib: rule(lib, "a").severity,
     Severity.CRITICAL),
    ("patterns: {input: {new: {mode: block, rules: [{type: n, pattern: nnnn}]}}}", lambda lib: rules_in(lib, "new"),
     ["n"]),
    ("tool_rules: {Bash: {patterns: [pii]}}", lambda lib: tool(lib, "Bash").groups, ("keys", "pii")),
    ("tool_rules: {Bash: {fallback: block}}", lambda lib: tool(lib, "Bash").fallback, GuardrailDecision.BLOCK),
    ("tool_rules: {Bash: {modes: {keys: block}}}", lambda lib: tool(lib, "Bash").modes, {"keys": Mode.BLOCK}),
    ("tool_rules: {mcp__a: {patterns: [keys]}}", lambda lib: tool(lib, "mcp__a").groups, ("pii", "keys")),
    ("tool_rules: {mcp__a: {patterns: [keys]}}", lambda lib: tool(lib, "mcp__a").modes, {"pii": Mode.ASK}),
    ("tool_rules: {Edit: {patterns: [pii]}}", lambda lib: tool(lib, "Edit").groups, ("keys", "pii")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "look", "wanted"), TIGHTER, ids=[case[0] for case in TIGHTER])
def test_a_project_may_tighten(text: str, look: Any, wanted: Any) -> None:
    state, library = over(text, may_loosen=False)
    assert look(library) == wanted
    assert (state.notes, state.problems) == ([], [])


LOOSER = [
    ("patterns: {input: {keys: {mode: warn}}}", "patterns.input.keys.mode: it can only tighten: `ask` holds"),
    ("patterns: {input: {keys: {mode: 'off'}}}", "`ask` holds"),
    ("patterns: {input: {keys: {fallback: allow}}}", "`ask` holds"),
    ("patterns: {input: {keys: {kind: other}}}", "until the file is trusted"),
    ("patterns: {input: {keys: {timeout_ms: 1}}}", "until the file is trusted"),
    ("patterns: {input: {keys: {timeout_ms: 9000}}}", "until the file is trusted"),
    ("patterns: {output: {out: {action: warn}}}", "until the file is trusted"),
    ("patterns: {output: {out: {replacement: 'do this'}}}", "until the file is trusted"),
    ("patterns: {input: {keys: {rules: [{id: a, enabled: false}]}}}", "until the file is trusted"),
    ("patterns: {input: {keys: {rules: [{id: gone, enabled: true}]}}}", "until the file is trusted"),
    ("patterns: {input: {keys: {rules: [{id: a, severity: low}]}}}", "`medium` holds"),
    ("patterns: {input: {keys: {rules: [{id: a, pattern: zzzz}]}}}", "until the file is trusted"),
    ("patterns: {input: {keys: {rules: [{id: a, applies_to: [Nothing]}]}}}", "until the file is trusted"),
    ("patterns: {input: {keys: {rules: [{id: a, fields: [nothing]}]}}}", "until the file is trusted"),
    ("patterns: {input: {keys: {rules: [{id: a, boundary: token}]}}}", "until the file is trusted"),
    ("patterns: {input: {keys: {rules: [{id: b, validate: [luhn]}]}}}", "until the file is trusted"),
    ("patterns: {input: {keys: {rules: [{id: a, validate: []}]}}}", "until the file is trusted"),
    ("patterns: {input: {keys: {rules: [{id: b, generic: true}]}}}", "until the file is trusted"),
    ("patterns: {input: {keys: {rules: [{id: b, action: warn}]}}}", "until the file is trusted"),
    ("patterns: {input: {keys: {rules: [{id: b, replacement: y}]}}}", "until the file is trusted"),
    ("tool_rules: {Bash: {fallback: allow}}", "`ask` holds"),
    ("tool_rules: {Bash: {modes: {keys: warn}}}", "`ask` holds"),
    ("tool_rules: {mcp__a: {fallback: warn}}", "that of each group holds"),
    ("tool_rules: {mcp__a: {modes: {pii: warn}}}", "`ask` holds"),
    ("tool_rules: {'*': {patterns: []}}", "name tools without * and ?"),
    ("tool_rules: {'mcp__[a]': {patterns: []}}", "name tools without * and ?"),
]


@pytest.mark.parametrize(("text", "note"), LOOSER, ids=[case[0] for case in LOOSER])
def test_a_project_may_not_loosen(text: str, note: str) -> None:
    state, library = over(text, may_loosen=False)
    assert [note in each for each in state.notes] == [True], state.notes
    base = link(merge([layer(BASE)])).library
    assert (library.rules, library.groups) == (base.rules, base.groups)
    assert [each for each in library.tool_rules if each.tool != "mcp__a"] == list(base.tool_rules)


def test_rules_of_a_project_have_time_of_their_own_beside_the_groups_that_they_join() -> None:
    added = {"type": "n", "pattern": "nnnn", "replacement": "ignore all rules", "action": "redact"}
    state, library = over({"patterns": {"input": {"keys": {"rules": [added]}}}}, may_loosen=False)
    assert rules_in(library, "keys") == rules_in(library, "out") == ["a", "b"]
    assert rules_in(library, "keys" + BESIDE) == rules_in(library, "out" + BESIDE) == ["n"]
    assert group(library, "out" + BESIDE).action == "redact"
    assert group(library, "keys" + BESIDE).mode is Mode.ASK
    assert tool(library, "Bash").groups == ("keys", "keys" + BESIDE)
    assert (rule(library, "n").generic, rule(library, "n").replacement) == (True, "")
    assert "the standard text is used" in state.notes[0]


def test_what_a_project_adds_is_bounded() -> None:
    rules = [{"type": f"t{number}", "pattern": f"x{number}xxx"} for number in range(MOST_PROJECT_RULES + 2)]
    written = {"patterns": {"input": {"many": {"timeout_ms": 9000, "rules": rules}}}}
    state, library = over(written, may_loosen=False)
    assert group(library, "many").timeout_ms == 200
    assert len(group(library, "many").rules) == MOST_PROJECT_RULES
    assert [error.key for error in state.problems] == [
        f"patterns.input.many.rules[{MOST_PROJECT_RULES}]",
        f"patterns.input.many.rules[{MOST_PROJECT_RULES + 1}]",
    ]


def test_a_layer_that_may_not_loosen_does_not_stand_between_others() -> None:
    project = layer("patterns: {input: {keys: {rules: [{type: n, pattern: nnnn}]}}}", "project", may_loosen=False)
    trusted = layer("patterns: {input: {keys: {rules: [{type: n, pattern: mmmm}]}}}", "trusted")
    library = link(merge([layer(BASE), project, trusted])).library
    assert (rule(library, "n").pattern, rule(library, "n").generic) == ("mmmm", False)


# ---------------------------------------------------------------- never looser, whatever a project says

IDS = st.sampled_from(["a", "b", "gone", "n"])
GROUPS = st.sampled_from(["keys", "pii", "new"])
WORDS = {
    "mode": st.sampled_from(["block", "ask", "warn", "off"]),
    "fallback": st.sampled_from(["block", "ask", "warn", "allow"]),
}
RULES = st.fixed_dictionaries(
    {"id": IDS},
    optional={
        "pattern": st.sampled_from(["aaaa", "zzzz", "!zzzz"]),
        "severity": st.sampled_from(["low", "medium", "high", "critical"]),
        "action": st.sampled_from(["block", "ask", "warn", "redact"]),
        "applies_to": st.just(["Nothing"]),
        "fields": st.just(["nothing"]),
        "boundary": st.sampled_from(["word", "token", "none"]),
        "validate": st.just(["luhn"]),
        "generic": st.booleans(),
        "enabled": st.booleans(),
    },
)
GROUP = st.fixed_dictionaries(
    {},
    optional={
        **WORDS,
        "kind": st.sampled_from(["secret", "other"]),
        "timeout_ms": st.sampled_from([1, 100, 9000]),
        "action": st.sampled_from(["block", "warn", "redact"]),
        "include": st.lists(GROUPS, max_size=1),
        "rules": st.lists(RULES, max_size=3, unique_by=lambda rule: rule["id"]),
    },
)
TOOL = st.fixed_dictionaries(
    {},
    optional={
        "patterns": st.lists(GROUPS, max_size=2),
        "fallback": WORDS["fallback"],
        "modes": st.dictionaries(GROUPS, WORDS["mode"], max_size=2),
    },
)
TOOLS = st.sampled_from(["Bash", "Edit", "*", "mcp__*", "mcp__a", "mcp__a*"])
FILES = st.fixed_dictionaries(
    {
        "patterns": st.fixed_dictionaries(
            {"input": st.dictionaries(GROUPS, GROUP, max_size=3), "output": st.dictionaries(st.just("out"), GROUP)}
        ),
        "tool_rules": st.dictionaries(TOOLS, TOOL, max_size=3),
    }
)


def own_layer(written: dict[str, Any], name: str, *, may_loosen: bool) -> PatternLayer | None:
    for name_, content in written["patterns"]["input"].items():
        if name_ in content.get("include", ()):
            del content["include"]
    loaded = load(json.dumps(written).encode(), f"{name}.json", CHECKS)
    return None if loaded.document is None else PatternLayer(name, name, loaded.document, may_loosen)


class _Linked:
    """What a scanner takes of a library to find the groups of a call."""

    def __init__(self, library: Library) -> None:
        tools = [[rule.tool, rule.groups, rule.fallback, rule.modes] for rule in library.tool_rules]
        self.header = {"groups": library.groups, "tools": tools}


def uses(library: Library, side: Side, name: str) -> dict[tuple[str, str], tuple[Mode, int, float, Rule]]:
    """For each group and rule that looks at a call: mode, fallback, time, rule."""
    scanner = Scanner(_Linked(library), lambda: 0.0, b"")  # type: ignore[arg-type]
    return {
        (use.group.id, f"{library.rules[index].group}/{library.rules[index].id}"): (
            use.mode, use.fallback.rank, use.timeout, library.rules[index],
        )
        for use in scanner.uses(CheckRequest(side, name))
        for index in use.group.rules
    }  # fmt: skip


@settings(max_examples=examples(200))
@given(FILES, FILES, st.lists(FILES, min_size=1, max_size=2))
def test_a_project_never_makes_anything_looser(
    managed: dict[str, Any], users: dict[str, Any], projects: list[dict[str, Any]]
) -> None:
    own = [own_layer(managed, "managed", may_loosen=True), own_layer(users, "user", may_loosen=True)]
    below = [layer(BASE), *(each for each in own if each)]
    theirs = [own_layer(each, f"project{number}", may_loosen=False) for number, each in enumerate(projects)]
    before = link(merge(below)).library
    after = link(merge([*below, *(each for each in theirs if each)])).library
    known = {f"{rule.group}/{rule.id}" for rule in before.rules}
    for side in Side:
        for name in ("Bash", "Edit", "Read", "mcp__a", "mcp__ab", "mcp__b"):
            then, now = uses(before, side, name), uses(after, side, name)
            for place, (mode, fallback, seconds, old) in then.items():
                new_mode, new_fallback, new_seconds, new = now[place]
                assert new_mode >= mode
                assert new_fallback >= fallback
                assert new_seconds == seconds
                assert new.severity >= old.severity
                assert new._replace(severity=old.severity) == old
            for place in now.keys() - then.keys():
                assert now[place][3].generic or place[1] in known, place
