"""The input of a check: texts, the groups that look at them, and the loaded library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.model import GuardrailDecision, Mode, RuleGroup, Side

if TYPE_CHECKING:
    from typing import Protocol

    from lockgate.patterns.engine.matcher import Matcher
    from lockgate.patterns.known_values.values import KnownHit

    class LoadedLibrary(Protocol):
        """The library as a check uses it: see ``Scanner``."""

        matcher: Matcher
        clock: Callable[[], float]
        key: bytes
        known: Callable[[bytes], Sequence[KnownHit]] | None

        def list_format_rules(self, name: str) -> Sequence[int]:
            """Rules that hold what does not match, and look at fields of a name."""


class CheckRequest(Record):
    """The input of a check."""

    side: Side
    tool: str = ""
    agent: str = ""
    """The agent's type, for ``applies_to``."""
    timeout_ms: float | None = None
    """Instead of each group's own."""
    most_matches: int = 100
    """Matches of one rule that are kept, but for those that are redacted: more would not change the decision."""
    spawns: str = ""
    """The type of the sub-agent that the call starts, for ``applies_to``."""


class GroupUse(Record):
    """A group as it holds for one request."""

    group: RuleGroup
    mode: Mode
    fallback: GuardrailDecision
    timeout: float
    """Seconds."""


class Chosen(Record):
    """The rules and groups that look at the texts of one call."""

    uses: Sequence[GroupUse]
    shortest: float
    """The fewest seconds that any of these groups has."""
    by_rule: Mapping[int, Sequence[GroupUse]]
    """The groups of each rule, by the rule's number."""
    known: Mapping[str, GroupUse]
    """The groups of known values, by their names."""
    negated: bool
    """Whether there are rules among them that hold what does not match."""
