"""A small pattern library: words that stand for what the real one finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from zlib import crc32

from lockgate.core.errors import PatternError
from lockgate.core.events import Context
from lockgate.core.model import ToolCall
from lockgate.gate import Guard
from lockgate.patterns.fields import fields_of
from lockgate.patterns.model import Expired, GuardrailDecision, GuardrailResult, Kind, Mode, PatternMatch, Severity
from lockgate.patterns.redaction.spans import redact

KEY = "KEY-abcdefgh"
"""A key: blocked on its way in, taken out on its way back."""
ASKED = "ASK-abcdefgh"
NOTED = "NOTE-abcdefgh"
MINOR = "MINOR-abcdefgh"
CANARY = "CANARY-abcdefgh"
KNOWN = "KNOWN-abcdefgh"
"""A known secret of ``.env``, as a person should see it."""
HELD = "HELD-abcdefgh"
"""Nothing takes it out of a result."""
LATE = "LATE"
"""A text with this word is never evaluated in time."""
BROKEN = "BROKEN"
"""With this word the library fails."""

_BLOCK, _ASK, _WARN = GuardrailDecision.BLOCK, GuardrailDecision.ASK, GuardrailDecision.WARN
_RULES = {
    KEY: ("secrets_detection/github_pat", Kind.SECRET, Severity.CRITICAL, _BLOCK, True),
    ASKED: ("pii_detection/iban", Kind.PII, Severity.HIGH, _ASK, True),
    NOTED: ("format_validation/project_id", Kind.FORMAT, Severity.HIGH, _WARN, False),
    MINOR: ("pii_detection/email", Kind.PII, Severity.LOW, _WARN, False),
    CANARY: ("canary/backup-key", Kind.SECRET, Severity.CRITICAL, _WARN, True),
    KNOWN: ("known_secrets/plain", Kind.SECRET, Severity.CRITICAL, _BLOCK, True),
    HELD: ("no_executable_code/destructive", Kind.CODE, Severity.HIGH, _BLOCK, False),
}
MARK = "[REDACTED:github_pat:0a1b2c3d]"


def _matches(path: str, text: str) -> list[PatternMatch]:
    found = []
    for word, (rule, kind, severity, decision, out) in _RULES.items():
        at = text.find(word)
        while at >= 0:
            kind_of = rule.rpartition("/")[2]
            fingerprint = "0a1b2c3d" if word is KEY else f"{crc32(word.encode()):08x}"
            mark = f"[REDACTED:{kind_of}:{fingerprint}]"
            end = at + len(word)
            found.append(
                PatternMatch(
                    rule,
                    kind_of,
                    severity,
                    Mode.BLOCK,
                    kind,
                    path,
                    at,
                    end,
                    fingerprint=fingerprint,
                    decision=decision,
                    redact=out,
                    replacement=mark,
                    detail=".env: STRIPE\x1b_KEY" if word is KNOWN else "",
                )
            )
            at = text.find(word, end)
    return found


def _result(texts: Sequence[tuple[str, str]]) -> GuardrailResult:
    if any(BROKEN in text for _, text in texts):
        raise PatternError("the compiled library is damaged; run: lockgate patterns build")
    found = [match for path, text in texts for match in _matches(path, text)]
    late = [Expired("pii_detection", "time", _BLOCK)] if any(LATE in text for _, text in texts) else []
    decision = max((match.decision for match in found), key=lambda each: each.rank, default=GuardrailDecision.APPROVE)
    return GuardrailResult(decision, "", found, 1.25, late)


def _check_input(context: Context, call: ToolCall) -> GuardrailResult:
    return _result([(field.path, field.text) for field in fields_of(call.tool_input)])


def _check_output(
    context: Context, call: ToolCall, texts: Sequence[tuple[str, str]]
) -> tuple[GuardrailResult, Mapping[str, str]]:
    new = {path: redact(text, _matches(path, text)) for path, text in texts}
    return _result(texts), {path: new[path] for path, text in texts if new[path] != text}


GUARD = Guard(_check_input, _check_output)
