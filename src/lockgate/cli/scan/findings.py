"""Turns matches into findings with lines and columns, and prints them for people or programs."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from lockgate.cli.scan.sources import ScannedText
from lockgate.core.record import Record
from lockgate.patterns.engine.request import CheckRequest
from lockgate.patterns.engine.scanner import Scanner
from lockgate.patterns.fields import Field
from lockgate.patterns.model import GuardrailResult, Kind, PatternMatch, Severity, Side

SECONDS = 60.0
"""Processor time for one text; a hook has far less."""
MOST = 10_000
"""Matches of one rule in one text."""
KINDS = (Kind.SECRET, Kind.PII, Kind.OTHER)
"""What is looked for unless a person says otherwise."""


class FindingFilter(Record):
    """Selects the findings that count."""

    severity: Severity = Severity.MEDIUM
    """The least."""
    kinds: Collection[Kind] = KINDS


class Finding(Record):
    """A match with its place in a text."""

    name: str
    match: PatternMatch
    line: int
    """1-based."""
    column: int
    """1-based, in characters."""
    end_line: int
    end_column: int
    """Behind the last character."""


class Scanned(Record):
    """The findings in one text."""

    findings: tuple[Finding, ...]
    unfinished: tuple[str, ...] = ()
    """Groups that could not be evaluated whole, with the reason."""


def scan(scanner: Scanner, source: ScannedText, wanted: FindingFilter) -> Scanned:
    """All findings in one text, in their order."""
    result = check(scanner, source.text)
    starts = _line_starts(source.text)
    found = [
        Finding(source.name, match, *_place(match.start, starts, source), *_place(match.end, starts, source))
        for match in matches_in(result, wanted)
    ]
    return Scanned(tuple(found), tuple(f"{each.group} ({each.because})" for each in result.expired))


def check(scanner: Scanner, text: str) -> GuardrailResult:
    """One text through the library, as an input of no tool in particular."""
    request = CheckRequest(Side.INPUT, timeout_ms=SECONDS * 1000, most_matches=MOST)
    return scanner.check([Field("", "", text)], request)


def matches_in(result: GuardrailResult, wanted: FindingFilter) -> list[PatternMatch]:
    """The matches that count, from the first to the last."""
    matches = (
        match for match in result.pattern_matches if match.severity >= wanted.severity and match.kind in wanted.kinds
    )
    return sorted(matches, key=lambda match: (match.start, match.end, match.rule))


def brief(match: PatternMatch) -> dict[str, Any]:
    """A match as ``--jsonl`` tells it."""
    return {
        "rule": match.rule,
        "type": match.type,
        "start": match.start,
        "end": match.end,
        "severity": match.severity.word,
        "validated": match.validated,
    }


def whole(finding: Finding) -> dict[str, Any]:
    """A finding as ``--json`` tells it."""
    return {
        "file": finding.name,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        **brief(finding.match),
        "kind": finding.match.kind.value,
        "encoding": list(finding.match.encoding),
        "fingerprint": finding.match.fingerprint,
    }


def _line_starts(text: str) -> list[int]:
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


def _place(offset: int, starts: Sequence[int], source: ScannedText) -> tuple[int, int]:
    line = bisect_right(starts, offset)
    number = source.lines[line - 1] if source.lines else line
    return number, offset - starts[line - 1] + 1


# ---------------------------------------------------------------- SARIF
_LEVELS = {Severity.CRITICAL: "error", Severity.HIGH: "error", Severity.MEDIUM: "warning", Severity.LOW: "note"}
_SCORES = {Severity.CRITICAL: "9.5", Severity.HIGH: "8.0", Severity.MEDIUM: "5.0", Severity.LOW: "2.0"}


def sarif(findings: Iterable[Finding], incomplete: Iterable[str], version: str) -> Mapping[str, Any]:
    """A SARIF 2.1.0 log: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.

    Args:
        findings: What was found.
        incomplete: What could not be looked at, in words.
        version: Of Lockgate.
    """
    rules: dict[str, dict[str, Any]] = {}
    numbers: dict[str, int] = {}
    results = []
    for finding in findings:
        match = finding.match
        rules.setdefault(match.rule, _sarif_rule(match))
        results.append(_sarif_result(finding, numbers.setdefault(match.rule, len(numbers))))
    notes = [{"level": "error", "message": {"text": each}} for each in incomplete]
    return sarif_log(list(rules.values()), results, notes, version)


def sarif_log(
    rules: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    notes: Sequence[Mapping[str, Any]],
    version: str,
) -> Mapping[str, Any]:
    """A SARIF 2.1.0 log of results.

    Args:
        rules: What the results refer to.
        results: Each with its rule and its place.
        notes: What kept the run from being whole.
        version: Of Lockgate.
    """
    invocation = {"executionSuccessful": not notes, "toolExecutionNotifications": notes}
    driver = {
        "name": "Lockgate",
        "version": version,
        "rules": rules,
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _sarif_rule(match: PatternMatch) -> dict[str, Any]:
    return {
        "id": match.rule,
        "name": match.type,
        "shortDescription": {"text": f"{match.type} ({match.kind.value})"},
        "defaultConfiguration": {"level": _LEVELS[match.severity]},
        "properties": {"security-severity": _SCORES[match.severity], "tags": ["security", match.kind.value]},
    }


def _sarif_result(finding: Finding, index: int) -> dict[str, Any]:
    match = finding.match
    region = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": finding.end_line,
        "endColumn": finding.end_column,
    }
    coded = f", written as {' of '.join(match.encoding)}" if match.encoding else ""
    return {
        "ruleId": match.rule,
        "ruleIndex": index,
        "level": _LEVELS[match.severity],
        "message": {"text": f"{match.type} found{coded}"},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": file_uri(finding.name)}, "region": region}},
        ],
        "partialFingerprints": {"lockgate/v1": match.fingerprint},
    }


def file_uri(name: str) -> str:
    """A reference to a file: relative to the current folder where it lies there, as code hosts expect it."""
    from urllib.parse import quote

    path = os.path.relpath(name) if os.path.isabs(name) else name.removeprefix("./")
    if path.startswith(f"..{os.sep}"):
        path = os.path.abspath(name)
    prefix = "file://" if os.path.isabs(path) else ""
    return prefix + quote(path.replace(os.sep, "/"), safe="/", errors="surrogateescape")
