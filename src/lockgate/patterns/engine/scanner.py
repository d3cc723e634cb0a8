"""Scans texts with the whole library, within the time that each group has.

One look of Hyperscan at a text serves all groups. What it hits is confirmed group by group; each group pays for that
itself and shares what is common. A group whose time is over says its fallback, and that is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lockgate.core.model import tool_names
from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.engine.check import KNOWN_GROUPS, Check
from lockgate.patterns.engine.matcher import Matcher
from lockgate.patterns.engine.request import CheckRequest, Chosen, GroupUse
from lockgate.patterns.fields import Field, is_for, plain_name
from lockgate.patterns.model import GuardrailDecision, GuardrailResult, Kind, Mode, RuleGroup, Side, ToolRule

if TYPE_CHECKING:
    from typing import Any

    from lockgate.patterns.known_values.values import KnownHit

_KEPT, _LONGEST_NAME = 256, 100
"""Tools of which a scanner remembers what looks at their calls, and names of fields; and most characters of either."""
_MANY = 64
"""Texts of one call from which on short ones are looked at together."""
_EVERYWHERE = "canary"
"""The group that a tool's list cannot leave out: whoever laid a canary wants to hear of it from every tool."""


class Scanner:
    """The library, loaded."""

    def __init__(
        self,
        matcher: Matcher,
        clock: Callable[[], float],
        key: bytes,
        known: Callable[[bytes], Sequence[KnownHit]] | None = None,
        modes: Mapping[str, Mode] | None = None,
    ) -> None:
        """Make a scanner.

        Args:
            matcher: The compiled library.
            clock: Seconds of processor time of this thread: a busy machine must not make a guardrail say no.
            key: The installation's secret, for fingerprints.
            known: Finds known secrets of this machine and canaries in a text.
            modes: By group, a mode instead of its own.
        """
        self.matcher = matcher
        self.clock = clock
        self.key = key
        self.known = known
        groups = [_group(fields) for fields in matcher.header["groups"]]
        self._groups = [group._replace(mode=modes.get(group.id, group.mode)) for group in groups] if modes else groups
        self._chosen: dict[tuple[Side, str, float | None], Chosen] = {}
        self._held: dict[str, Sequence[int]] = {}
        self._formats: frozenset[str] | None = None
        """What the rules that hold what does not match call their fields, once it was asked for."""
        self._tool_rules = [
            ToolRule(
                tool,
                tuple(groups),
                None if fallback is None else GuardrailDecision(fallback),
                {name: Mode(mode) for name, mode in modes.items()},
            )
            for tool, groups, fallback, modes in matcher.header["tools"]
        ]

    def check(self, texts: Iterable[Field], request: CheckRequest) -> GuardrailResult:
        """Check all texts of one call."""
        chosen = self.choose(request)
        if not chosen.uses:
            return GuardrailResult()
        check = Check(self, request, chosen)
        fields = list(texts)
        many = len(fields) >= _MANY and self.matcher.joins
        for field in self._with_hits(fields, check, chosen) if many else fields:
            check.look_at(field)
        return check.result()

    def _with_hits(self, fields: Sequence[Field], check: Check, chosen: Chosen) -> Iterator[Field]:
        """Those of very many texts that have to be looked at one by one."""
        from lockgate.patterns.engine.batch import runs, with_hits

        for some in runs(fields):
            if check.is_over():
                return
            yield from with_hits(self, some, negated=chosen.negated, known=bool(chosen.known))

    def choose(self, request: CheckRequest) -> Chosen:
        """What looks at a request. Found once for each tool: a scanner may live for as long as its process."""
        if len(request.tool) > _LONGEST_NAME:
            return self._choose(self.uses(request))
        name = (request.side, request.tool, request.timeout_ms)
        found = self._chosen.get(name)
        if found is None:
            if len(self._chosen) >= _KEPT:
                self._chosen.clear()
            found = self._chosen[name] = self._choose(self.uses(request))
        return found

    def list_format_rules(self, name: str) -> Sequence[int]:
        """Rules that hold what does not match, and look at fields of a name. Found once for each name."""
        if len(name) > _LONGEST_NAME:
            return self._negations_for(name)
        found = self._held.get(name)
        if found is None:
            if len(self._held) >= _KEPT:
                self._held.clear()
            found = self._held[name] = self._negations_for(name)
        return found

    def _negations_for(self, name: str) -> Sequence[int]:
        if self._formats is None:
            fields = (self.matcher.rule(index).fields for index in self.matcher.header["negated"])
            self._formats = frozenset(plain_name(glob) for globs in fields for glob in globs or ("*",))
        if plain_name(name) not in self._formats and all(map(str.isalnum, self._formats)):
            return ()  # as nearly always, and a call may have thousands of names: no glob, and none of these
        return [index for index in self.matcher.header["negated"] if is_for(self.matcher.rule(index), name)]

    def _choose(self, uses: list[GroupUse]) -> Chosen:
        by_rule: dict[int, list[GroupUse]] = {}
        for use in uses:
            for index in use.group.rules:
                by_rule.setdefault(index, []).append(use)
        covering = {group: use for use in reversed(uses) for group in (*use.group.covers, use.group.id)}
        known = {group: covering[group] for group in KNOWN_GROUPS.values() if group in covering}
        shortest = min((use.timeout for use in uses), default=0.0)
        return Chosen(uses, shortest, by_rule, known, any(index in by_rule for index in self.matcher.header["negated"]))

    def uses(self, request: CheckRequest) -> list[GroupUse]:
        """The groups that look at a request, and how."""
        tool_rule = self._tool_rule(request.tool)
        uses = []
        for group in self._groups:
            named = tool_rule is None or request.side is Side.OUTPUT or group.id in (*tool_rule.groups, _EVERYWHERE)
            if group.side is not request.side or not named:
                continue
            mode, fallback = group.mode, group.fallback
            if tool_rule is not None:
                mode = tool_rule.modes.get(group.id, mode)
                fallback = tool_rule.fallback or fallback
            if mode is not Mode.OFF:
                milliseconds = group.timeout_ms if request.timeout_ms is None else request.timeout_ms
                uses.append(GroupUse(group, mode, fallback, milliseconds / 1000))
        return uses

    def _tool_rule(self, tool: str) -> ToolRule | None:
        """The rule of a tool: one that names it, else the first whose glob does."""
        if not tool or not self._tool_rules:
            return None
        from lockgate.resources.globs import name_matches

        names = tool_names(tool)
        exact = next((rule for rule in self._tool_rules if rule.tool in names), None)
        fits = (rule for rule in self._tool_rules if any(name_matches(rule.tool, name) for name in names))
        return exact or next(fits, None)


def _group(fields: Sequence[Any]) -> RuleGroup:
    group = RuleGroup(*fields)
    return group._replace(
        side=Side(group.side),
        mode=Mode(group.mode),
        kind=Kind(group.kind),
        fallback=GuardrailDecision(group.fallback),
    )
