"""The vocabulary of the pattern library, as frozen types.

A *library* has *groups* of *rules*. A rule has a pattern; where the pattern matches and every validator of the rule
accepts, there is a *match*. Matches, the mode of their group and the severity of their rule give a *decision*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum, StrEnum

from lockgate.core.record import Record


class Side(StrEnum):
    """The direction in which text goes."""

    INPUT = "input"
    """Into a tool."""
    OUTPUT = "output"
    """Out of a tool, to the model."""


class Severity(IntEnum):
    """The damage that is done if a match is real."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2
    CRITICAL = 3

    @property
    def word(self) -> str:
        """As the library spells it."""
        return self.name.lower()


class Mode(IntEnum):
    """The most that a match of a group may come to."""

    OFF = 0
    WARN = 1
    ASK = 2
    BLOCK = 3

    @property
    def word(self) -> str:
        """As the library spells it."""
        return self.name.lower()


class GuardrailDecision(StrEnum):
    """A guardrail's decision on a call; from lenient to strict."""

    APPROVE = "approve"
    WARN = "warn"
    ASK = "ask"
    BLOCK = "block"

    @property
    def rank(self) -> int:
        """The place in the order, 0 for ``approve``."""
        return _ORDER.index(self)


_ORDER = tuple(GuardrailDecision)


class Kind(StrEnum):
    """The kind of thing that the rules of a group look for."""

    SECRET = "secret"  # noqa: S105 - a word, not a password
    """Credentials. A match gives the label ``secret`` to what it is found in."""
    PII = "pii"
    FORMAT = "format"
    CODE = "code"
    OTHER = "other"


class Candidate(Record):
    """A piece of text that a rule's pattern matches: what validators look at. All text is untrusted."""

    value: str
    """What the pattern's group ``value`` holds; the whole match where it has none."""
    match: str
    key: str
    """What the pattern's group ``key`` holds: the name that the value is assigned to. Empty where there is none."""
    before: str
    """Up to 80 characters before the match."""
    after: str
    """Up to 80 characters behind the match."""


class PatternMatch(Record):
    """A match of a rule. It holds no text of the match, so that it can be recorded."""

    rule: str
    """``group/id``."""
    type: str
    severity: Severity
    mode: Mode
    kind: Kind
    path: str
    """Where it is: ``command``, ``edits[0].new_string``. Names in it are untrusted text."""
    start: int
    """First character of the value in the string at ``path``; in what is decoded, of all that was decoded."""
    end: int
    validated: bool = False
    """Whether a checksum or the structure of the format proves it."""
    encoding: tuple[str, ...] = ()
    """How it is written there, from the outermost: ``("base64", "gzip")``. Empty for plain text."""
    fingerprint: str = ""
    """Eight hexadecimal digits, keyed: two matches of one value have the same."""
    decision: GuardrailDecision = GuardrailDecision.WARN
    redact: bool = False
    """Whether the rule's action is to redact."""
    replacement: str = ""
    """What stands in its place where it is redacted."""
    detail: str = ""
    """For known secrets and canaries: which one, for a person. Untrusted text."""


class Expired(Record):
    """A group that could not be evaluated whole."""

    group: str
    because: str
    """``time``, ``expansion``, or what failed."""
    fallback: GuardrailDecision


class GuardrailResult(Record):
    """The library's decision on one text, or on all texts of one call."""

    decision: GuardrailDecision = GuardrailDecision.APPROVE
    reason: str = ""
    """One sentence for a person, empty for ``approve``. Holds no text that was matched."""
    pattern_matches: Sequence[PatternMatch] = ()
    elapsed_ms: float = 0.0
    expired: Sequence[Expired] = ()

    @property
    def is_empty(self) -> bool:
        """Whether all was looked at and nothing was found, as nearly always."""
        return not self.pattern_matches and not self.expired and self.decision is GuardrailDecision.APPROVE

    @property
    def found_secret(self) -> bool:
        """Whether a match is one of credentials that counts as real: stricter than a remark."""
        return bool(self.pattern_matches) and any(
            match.kind is Kind.SECRET
            and match.decision is not GuardrailDecision.APPROVE
            and match.severity >= Severity.HIGH
            for match in self.pattern_matches
        )


class Rule(Record):
    """A pattern and what it means. ``docs/patterns.md`` describes each field."""

    id: str
    group: str
    type: str
    pattern: str
    """Regular expression in RE2's syntax, without a leading ``!``."""
    severity: Severity = Severity.HIGH
    negated: bool = False
    """The pattern was written with a leading ``!``: what does *not* match is found."""
    applies_to: tuple[str, ...] = ("*",)
    fields: tuple[str, ...] = ()
    boundary: str = "word"
    validate: tuple[tuple[str, float | None], ...] = ()
    """Names of validators with their parameter."""
    generic: bool = False
    action: str = ""
    """``block``, ``ask``, ``warn``, ``redact``, or empty for the mode of the group."""
    replacement: str = ""
    multiline: bool = False


class RuleGroup(Record):
    """Rules that share a mode, a time bound and a fallback."""

    id: str
    side: Side
    name: str
    mode: Mode
    timeout_ms: float
    kind: Kind
    fallback: GuardrailDecision
    rules: tuple[int, ...]
    """Indexes into the library's rules. A group of one side may include rules of another."""
    action: str = ""
    """``redact``, or empty: what is done with a match of a rule that says no action itself."""
    replacement: str = ""
    """For rules that say none themselves."""
    covers: tuple[str, ...] = ()
    """Ids of the groups that it includes, itself too: for what is found without a rule."""


class ToolRule(Record):
    """The groups that look at the calls of the tools with a name."""

    tool: str
    """A glob."""
    groups: tuple[str, ...]
    fallback: GuardrailDecision | None
    modes: Mapping[str, Mode]
    """Groups whose mode is another one for this tool."""


class Library(Record):
    """The merged layers: everything that a scanner is compiled from."""

    rules: tuple[Rule, ...]
    groups: tuple[RuleGroup, ...]
    tool_rules: tuple[ToolRule, ...]
    version: str
    """SHA-256 over the rest, hexadecimal: the same content has the same version wherever it was read."""
