"""The library as a program uses it."""

from __future__ import annotations

from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

from lockgate.clients.sdk.patterns import PatternLibrary, validate_tool_input, validate_tool_output
from lockgate.core.errors import ConfigError

KEY = "ghp_" + "nQ8vT2xK7mB4wR9cZ1yH6sD3fG5jL0" + "4Zk8Qa"
OURS = """
schema_version: "1.0.0"
patterns:
  input:
    ours: {mode: ask, rules: [{type: ticket, pattern: 'TICKET-[0-9]{4}'}]}
    undecided: {rules: [{type: draft, pattern: 'DRAFT-[0-9]{4}', severity: critical}]}
  output:
    masks: {mode: block, action: redact, replacement: "<{type}>", include: [ours]}
tool_rules:
  Note: {patterns: []}
"""


@pytest.fixture(scope="module")
def patterns(tmp_path_factory: pytest.TempPathFactory) -> PatternLibrary:
    file = tmp_path_factory.mktemp("patterns") / "patterns.yaml"
    file.write_text(OURS)
    return PatternLibrary.of_files(str(file))


@pytest.mark.parametrize(
    ("tool", "command", "decision", "rules"),
    [
        ("Bash", "ls", "approve", []),
        ("Bash", f"echo {KEY}", "block", ["secrets_detection/github_pat_classic"]),
        ("Bash", "close TICKET-0001", "ask", ["ours/ticket"]),
        ("Note", f"{KEY} TICKET-0001", "approve", []),
    ],
)
def test_inputs(patterns: PatternLibrary, tool: str, command: str, decision: str, rules: list[str]) -> None:
    result = validate_tool_input(tool, {"command": command}, patterns)
    assert result.decision == decision
    assert [match.rule for match in result.pattern_matches] == rules
    assert result.elapsed_ms >= 0  # of a clock that reckons: it can be less than it takes
    assert bool(result.reason) is (decision != "approve")


@pytest.mark.parametrize("mode", ["warn", "ask", "block"])
def test_a_group_without_a_mode_has_the_one_that_is_given(patterns: PatternLibrary, mode: str) -> None:
    """As the first guardrail hooks had it: timeout and mode are the fourth and the fifth argument."""
    assert validate_tool_input("Bash", {"command": "see DRAFT-0001"}, patterns, 5000, mode).decision == mode
    assert validate_tool_input("Bash", {"command": "close TICKET-0001"}, patterns, 5000, mode).decision == "ask"


def test_a_mode_that_does_not_exist(patterns: PatternLibrary) -> None:
    with pytest.raises(ValueError, match="perhaps"):
        validate_tool_input("Bash", {}, patterns, mode="perhaps")


@pytest.mark.parametrize(
    ("agent", "prompt", "found"),
    [
        ("ps-validator", "Go on. project_id: PROJ-042, entry_id=e-17.", []),
        ("ps-validator", "Go on. project_id: PROJ-42.", ["project_id"]),
        ("ps-validator", '**Project-Id:** "PROJ-0042"', ["project_id"]),
        ("reviewer", "project_id: PROJ-42", []),
        ("reviewer", "entry_id: E-1\nentry_id: e-1", ["entry_id"]),
        ("reviewer", "entry_id: the one above, entry_id: <e-id>, `entry_id`: {e-1}", []),
    ],
)
def test_ids_in_the_brief_of_a_sub_agent(patterns: PatternLibrary, agent: str, prompt: str, found: list[str]) -> None:
    for tool in ("Agent", "Task"):
        result = validate_tool_input(tool, {"subagent_type": agent, "prompt": prompt}, patterns)
        assert [match.type for match in result.pattern_matches] == found
    told = validate_tool_input("Bash", {"subagent_type": agent, "command": prompt}, patterns)
    assert told.pattern_matches == ()


def test_outputs(patterns: PatternLibrary) -> None:
    result, text = validate_tool_output("Bash", f"see TICKET-0001 and {KEY}.", patterns)
    assert result.decision == "warn"
    assert text.startswith("see <ticket> and [REDACTED:github_pat:")
    assert text.endswith("].")


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        PatternLibrary.of_files(str(tmp_path / "gone.yaml"))
    broken = tmp_path / "patterns.yaml"
    broken.write_text("patterns:\n  input:\n    g: {mode: perhaps}\n")
    with pytest.raises(ConfigError, match=r"patterns.yaml:3: patterns.input.g.mode"):
        PatternLibrary.of_files(str(broken))


def test_several_threads_at_once(patterns: PatternLibrary) -> None:
    """The scratch space of a scan is one thread's: two of them in it would fail, or find what is not there."""
    text = f"x = 1; user@example.org {KEY}\n" + "lorem ipsum dolor 4111 1111 1111 1112\n" * 2000

    def check(_number: int) -> list[str]:
        result = validate_tool_input("Bash", {"command": text}, patterns, timeout_ms=60_000)
        return [match.rule for match in result.pattern_matches]

    expected = check(0)
    assert "secrets_detection/github_pat_classic" in expected
    with ThreadPool(4) as pool:
        assert pool.map(check, range(40)) == [expected] * 40
