"""Pattern files of every wrong kind: each is an error with its line, its key, and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockgate.patterns.library.linking import link
from lockgate.patterns.library.loading import load, real_checks, schema_text
from lockgate.patterns.library.merging import PatternLayer, merge
from lockgate.patterns.model import GuardrailDecision, Mode, Severity, Side

CHECKS = real_checks()
ROOT = Path(__file__).resolve().parents[3]

FIRST = """\
schema_version: "1.0.0"

validation_modes:
  block: "Reject operation"
  warn: "Log warning, allow operation"
  ask: "Prompt user for confirmation"

patterns:
  input:
    pii_detection:
      name: "PII Detection"
      description: "Detect personally identifiable information"
      mode: warn  # only told
      timeout_ms: 100
      rules:
        - pattern: "\\\\b\\\\d{3}-\\\\d{2}-\\\\d{4}\\\\b"
          type: "SSN"
          severity: high
        - pattern: "\\\\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\\\\.[A-Z|a-z]{2,}\\\\b"
          type: "email"
          severity: medium
    secrets_detection:
      mode: block
      timeout_ms: 100
      rules:
        - pattern: "(sk-[a-zA-Z0-9]{48}|sk-proj-[a-zA-Z0-9-_]{100,})"
          type: "openai_api_key"
          severity: critical
    format_validation:
      name: "Format Validation"
      mode: warn
      timeout_ms: 50
      rules:
        - pattern: "^PROJ-\\\\d{3}$"
          type: "project_id"
          applies_to: ["nse-*", "ps-*"]
        - pattern: "!^e-\\\\d+$"
          type: "entry_id"
          applies_to: ["*"]
  output:
    no_secrets_in_output:
      mode: block
      rules:
        - pattern: "(password|secret|token|api_key)\\\\s*[:=]\\\\s*['\\"][^'\\"]+['\\"]"
          type: "inline_secret"
          action: redact
          replacement: "[REDACTED]"
    no_executable_code:
      mode: warn
      rules:
        - pattern: "```(bash|sh|python).*\\\\n.*\\\\b(rm|del|chmod|chown)\\\\b"
          type: "destructive_command"

tool_rules:
  Write:
    patterns: ["secrets_detection", "format_validation"]
    fallback: block
  Bash:
    patterns: ["secrets_detection", "pii_detection"]
    fallback: warn
"""
"""The format as it was first designed: no ids, modes described, escapes in double quotes."""


def test_the_format_as_it_was_first_designed_loads_as_it_is() -> None:
    loaded = load(FIRST.encode(), "patterns.yaml", CHECKS)
    assert loaded.problems == ()
    assert loaded.document is not None
    state = merge([PatternLayer("user", "patterns.yaml", loaded.document)])
    library = link(state).library
    assert (state.problems, state.notes) == ([], [])
    rules = {rule.id: rule for rule in library.rules}
    assert rules["email"].pattern == r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Z|a-z]{2,}\b"
    assert rules["email"].severity is Severity.MEDIUM
    assert rules["project_id"].severity is Severity.HIGH
    assert rules["project_id"].applies_to == ("nse-*", "ps-*")
    assert (rules["entry_id"].negated, rules["entry_id"].pattern) == (True, r"^e-\d+$")
    assert rules["entry_id"].fields == ("entry_id",)
    groups = {group.id: group for group in library.groups}
    assert [library.rules[index].id for index in groups["pii_detection"].rules] == ["SSN", "email"]
    assert groups["secrets_detection"].mode is Mode.BLOCK
    assert groups["format_validation"].timeout_ms == 50
    assert groups["no_executable_code"].side is Side.OUTPUT
    bash = next(rule for rule in library.tool_rules if rule.tool == "Bash")
    assert bash.groups == ("secrets_detection", "pii_detection")
    assert bash.fallback is GuardrailDecision.WARN


GROUP = "patterns:\n  input:\n    g:\n"
RULE = GROUP + "      rules:\n        - type: t\n"

BAD = [
    pytest.param("patern: {}\n", 1, "patern", "did you mean `patterns`?", id="key"),
    pytest.param("schema_version: 1.0\n", 1, "schema_version", "must be text", id="version-number"),
    pytest.param("schema_version: '2.0.0'\n", 1, "schema_version", "a version that is read here", id="version"),
    pytest.param("validation_modes: {deny: x}\n", 1, "validation_modes.deny", "unknown key", id="modes"),
    pytest.param("patterns: {inputs: {}}\n", 1, "patterns.inputs", "did you mean `input`?", id="side"),
    pytest.param("patterns:\n  input: {'a b': {}}\n", 2, "patterns.input", "must be a name", id="group-name"),
    pytest.param(GROUP + "      mod: warn\n", 4, "patterns.input.g.mod", "did you mean `mode`?", id="group-key"),
    pytest.param(GROUP + "      mode: deny\n", 4, "patterns.input.g.mode", "one of block, ask, warn, off", id="mode"),
    pytest.param(GROUP + "      mode: off\n", 4, "patterns.input.g.mode", "'off' in quotes", id="mode-off"),
    pytest.param(GROUP + "      kind: keys\n", 4, "patterns.input.g.kind", "must be one of secret", id="kind"),
    pytest.param(GROUP + "      timeout_ms: soon\n", 4, "patterns.input.g.timeout_ms", "must be a number", id="time"),
    pytest.param(GROUP + "      timeout_ms: 0\n", 4, "patterns.input.g.timeout_ms", "at least 1", id="no-time"),
    pytest.param(GROUP + "      fallback: off\n", 4, "patterns.input.g.fallback", "'off' in quotes", id="fallback"),
    pytest.param(GROUP + "      include: [g]\n", 4, "patterns.input.g.include", "cannot include itself", id="itself"),
    pytest.param(GROUP + "      rules: {}\n", 4, "patterns.input.g.rules", "must be a list", id="rules"),
    pytest.param(GROUP + "      rules:\n        - x\n", 5, "patterns.input.g.rules[0]", "must be a mapping", id="rule"),
    pytest.param(
        GROUP + "      rules:\n        - pattern: x\n", 5, "patterns.input.g.rules[0]", "needs `type`", id="no-type"
    ),
    pytest.param(RULE + "          severty: high\n", 6, "patterns.input.g.rules[0].severty", "`severity`", id="typo"),
    pytest.param(RULE + "          severity: huge\n", 6, "patterns.input.g.rules[0].severity", "one of", id="level"),
    pytest.param(RULE + "          applies_to: x\n", 6, "patterns.input.g.rules[0].applies_to", "a list", id="globs"),
    pytest.param(RULE + "          applies_to: []\n", 6, "patterns.input.g.rules[0].applies_to", "empty", id="none"),
    pytest.param(RULE + "          action: drop\n", 6, "patterns.input.g.rules[0].action", "must be one of", id="act"),
    pytest.param(RULE + "          enabled: 1\n", 6, "patterns.input.g.rules[0].enabled", "true or false", id="on"),
    pytest.param(
        RULE + "          validate: [lun]\n", 6, "patterns.input.g.rules[0].validate[0]", "`luhn`?", id="validator"
    ),
    pytest.param(
        RULE + "          validate: [{luhn: x}]\n",
        6, "patterns.input.g.rules[0].validate[0].luhn", "must be a number", id="validator-parameter",
    ),
    pytest.param(
        RULE + "          examples: {match: [1]}\n",
        6, "patterns.input.g.rules[0].examples.match[0]", "must be a text", id="example",
    ),
    pytest.param(
        RULE + "          examples: {matches: []}\n",
        6, "patterns.input.g.rules[0].examples.matches", "did you mean `match`?", id="examples",
    ),
    pytest.param(
        RULE + "        - {type: t, pattern: x}\n", 6, "patterns.input.g.rules[1].type", "already: where", id="twice"
    ),
    pytest.param(
        GROUP + "  output:\n    g: {}\n", 5, "patterns.output.g", "one of input, too", id="group-on-both-sides"
    ),
    pytest.param("tool_rules: {Bash: [x]}\n", 1, "tool_rules.Bash", "must be a mapping", id="tool"),
    pytest.param("tool_rules: {Bash: {groups: []}}\n", 1, "tool_rules.Bash.groups", "unknown key", id="tool-key"),
    pytest.param("tool_rules: {Bash: {modes: {g: no}}}\n", 1, "tool_rules.Bash.modes.g", "quotes", id="tool-mode"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "key", "problem"), BAD)
def test_what_is_wrong_is_said_with_its_place(text: str, line: int, key: str, problem: str) -> None:
    text = text.replace("    g:\n  output", "    g: {}\n  output")
    loaded = load(text.encode(), "p.yaml", CHECKS)
    assert loaded.document is None
    found = [(error.line, error.key, problem in error.problem) for error in loaded.problems]
    assert (line, key, True) in found, [str(error) for error in loaded.problems]


PATTERNS = [
    pytest.param("(?=a)b", "look-ahead is not linear", id="look-ahead"),
    pytest.param("a(?!b)", "look-ahead is not linear", id="negative-look-ahead"),
    pytest.param("(?<=a)b", "look-behind is not linear", id="look-behind"),
    pytest.param("(?<!a)b", "look-behind is not linear", id="negative-look-behind"),
    pytest.param(r"(a)\1", "back references are not linear", id="back-reference"),
    pytest.param("(?P<value>a)(?P=value)", "no back references", id="named-back-reference"),
    pytest.param("(?>a)b", "atomic groups", id="atomic"),
    pytest.param("a++b", "possessive", id="possessive"),
    pytest.param("a{1001}", "at most 1,000 times", id="repeats"),
    pytest.param("(a{1,900}){1,900}", "at most 1,000 times", id="nested-repeats"),
    pytest.param("a{", "", id="brace-is-a-brace"),
    pytest.param("[a", "missing ]", id="class-open"),
    pytest.param("(a", "missing )", id="group-open"),
    pytest.param("a*", "matches the empty text", id="empty"),
    pytest.param("a|", "matches the empty text", id="empty-alternative"),
    pytest.param(r"\b", "matches the empty text", id="boundary"),
    pytest.param("^", "matches the empty text", id="begin"),
    pytest.param("$", "matches the empty text", id="end"),
    pytest.param("[äö]", "a class has ASCII characters only", id="class"),
    pytest.param("[^]ä]", "a class has ASCII characters only", id="class-with-bracket"),
    pytest.param(r"[\]ä]", "a class has ASCII characters only", id="class-with-escape"),
    pytest.param("[[:alpha:]ä]", "a class has ASCII characters only", id="class-with-name"),
    pytest.param("[[:alpha:]]ä", "", id="behind-a-class"),
    pytest.param("ä+", "several bytes", id="repeated-character"),
    pytest.param("(?:ä)+", "", id="repeated-group"),
    pytest.param(r"\pL", "text is matched as bytes", id="property"),
    pytest.param(r"\C", "text is matched as bytes", id="byte"),
    pytest.param(r"a\Z", "write \\z", id="end-of-text"),
    pytest.param("(?P<secret>a)", "only `value` and `key`", id="group-name"),
    pytest.param("(?U)a+", "Hyperscan", id="flag"),
    pytest.param(r"\x{100}", "Hyperscan", id="not-a-byte"),
    pytest.param("!a", "", id="negated"),
    pytest.param("!(?=a)b", "look-ahead is not linear", id="negated-look-ahead"),
    pytest.param(r"(?i)\bkey_(?P<value>[a-z0-9]{20,40})\b", "", id="good"),
]


@pytest.mark.parametrize(("pattern", "problem"), PATTERNS)
def test_patterns_that_are_not_linear_are_refused(pattern: str, problem: str) -> None:
    text = json.dumps({"patterns": {"input": {"g": {"rules": [{"type": "t", "pattern": pattern}]}}}})
    loaded = load(text.encode(), "p.json", CHECKS)
    found = [(error.key, problem in error.problem) for error in loaded.problems]
    assert found == ([("patterns.input.g.rules[0].pattern", True)] if problem else []), loaded.problems


def test_every_problem_of_a_file_is_told_at_once() -> None:
    text = RULE + "          pattern: '(?=a)'\n          validate: [nothing]\n        - {type: u, pattern: 'a*'}\n"
    loaded = load(text.encode(), "p.yaml", CHECKS)
    assert [(error.line, error.key.rpartition("[0].")[2] or error.key) for error in loaded.problems] == [
        (6, "pattern"),
        (7, "validate[0]"),
        (8, "patterns.input.g.rules[1].pattern"),
    ]


def test_a_name_has_no_line_break() -> None:
    text = json.dumps({"patterns": {"input": {"g": {"rules": [{"type": "t\n", "pattern": "x"}]}}}})
    assert load(text.encode(), "p.json", CHECKS).document is None


def test_the_published_schema_is_the_enforced_one() -> None:
    assert (ROOT / "schema" / "patterns.schema.json").read_text("utf-8") == schema_text()
