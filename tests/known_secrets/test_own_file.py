"""A known secret may be written into the file that it comes from, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lockgate.configuration.known_secrets.collect import SearchScope, gather, sources
from lockgate.configuration.known_secrets.own_file import excuse_own_values
from lockgate.core.model import ToolCall
from lockgate.patterns.model import GuardrailDecision, GuardrailResult, Kind, Mode, PatternMatch, Severity

BLOCK, WARN = GuardrailDecision.BLOCK, GuardrailDecision.WARN


def found(rule: str, detail: str, path: str = "content", start: int = 0, kind: Kind = Kind.SECRET) -> PatternMatch:
    return PatternMatch(
        rule, "t", Severity.CRITICAL, Mode.BLOCK, kind, path, start, start + 20, decision=BLOCK, detail=detail
    )


def decided(tmp_path: Path, tool: str, given: dict[str, Any], *matches: PatternMatch) -> list[GuardrailDecision]:
    where = SearchScope(str(tmp_path / "home"), str(tmp_path), {})
    call = ToolCall(tool, given, str(tmp_path))
    result = excuse_own_values(GuardrailResult(BLOCK, "", matches), call, where)
    assert result.decision is max((match.decision for match in result.pattern_matches), key=lambda each: each.rank)
    return [match.decision for match in result.pattern_matches]


KNOWN = found("known_secrets/plain", ".env: STRIPE_KEY")


@pytest.mark.parametrize(
    ("tool", "given", "decision"),
    [
        ("Write", {"file_path": ".env"}, WARN),
        ("Write", {"file_path": "{here}/.env"}, WARN),
        ("Edit", {"file_path": "{here}/.env"}, WARN),
        ("MultiEdit", {"file_path": "./.env"}, WARN),
        ("Write", {"file_path": "{here}/.env.example"}, BLOCK),
        ("Write", {"file_path": "{here}/deep/.env"}, BLOCK),
        ("Write", {"file_path": "deep/../.env"}, BLOCK),
        ("Write", {"file_path": "{here}/link.env"}, BLOCK),
        ("Write", {"file_path": 5}, BLOCK),
        ("Write", {}, BLOCK),
        ("Bash", {"command": "cat > .env", "file_path": ".env"}, BLOCK),
        ("mcp__files__write", {"file_path": ".env"}, BLOCK),
    ],
)
def test_only_its_own_file(tmp_path: Path, tool: str, given: dict[str, Any], decision: GuardrailDecision) -> None:
    (tmp_path / "link.env").symlink_to(tmp_path / ".env")
    given = {name: value.format(here=tmp_path) if isinstance(value, str) else value for name, value in given.items()}
    assert decided(tmp_path, tool, given, KNOWN) == [decision]


def test_a_link_in_its_place_may_lead_anywhere(tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / ".env").symlink_to(tmp_path / "public" / "index.html")
    assert decided(tmp_path, "Write", {"file_path": ".env"}, KNOWN) == [BLOCK]


@pytest.mark.parametrize(
    ("other", "decision"),
    [
        (found("secrets_detection/stripe", ""), WARN),
        (found("secrets_detection/stripe", "", start=10), WARN),
        (found("secrets_detection/stripe", "", start=20), BLOCK),
        (found("secrets_detection/stripe", "", path="file_path"), BLOCK),
        (found("pii_detection/card", "", kind=Kind.PII), BLOCK),
        (found("known_secrets/plain", "~/.npmrc: _authToken"), BLOCK),
        (found("canary/backup", "backup"), BLOCK),
    ],
)
def test_what_else_is_found_in_it(tmp_path: Path, other: PatternMatch, decision: GuardrailDecision) -> None:
    assert decided(tmp_path, "Write", {"file_path": ".env"}, KNOWN, other) == [WARN, decision]


def test_each_place_of_a_value_is_its_own(tmp_path: Path) -> None:
    line = "API_KEY=" + "tR7kQp09" + "vLxZ0aBw\n"
    for name in (".env", ".env.local"):
        (tmp_path / name).write_text(line)
    where = SearchScope(str(tmp_path / "home"), str(tmp_path), {"API_KEY": "tR7kQp09" + "vLxZ0aBw"})
    (named,) = gather(where, sources(where, []))
    known = found("known_secrets/plain", named.name)
    for file, decision in ((".env", WARN), (".env.local", WARN), ("environment", BLOCK), ("a.py", BLOCK)):
        assert decided(tmp_path, "Write", {"file_path": file}, known) == [decision]
