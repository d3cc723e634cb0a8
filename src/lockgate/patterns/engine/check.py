"""One check of a call's texts, one after the other: each as it is, and with encoded parts decoded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lockgate.core.lazy import lazy_re
from lockgate.core.model import SPAWNING_TOOLS, tool_names
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.engine.ask_validators import ValidatorAnswers, is_weak, narrow, strip_punctuation
from lockgate.patterns.engine.matcher import ConfirmedMatch, Hits
from lockgate.patterns.engine.time_budget import CheckTimer
from lockgate.patterns.fields import Field, find_assigned_values, is_for
from lockgate.patterns.known_values.values import KnownKind
from lockgate.patterns.model import GuardrailDecision, GuardrailResult, Mode, PatternMatch, Rule, Severity, Side

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockgate.patterns.decoding.decoded_views import View
    from lockgate.patterns.engine.request import CheckRequest, Chosen, GroupUse, LoadedLibrary
    from lockgate.patterns.engine.results import MatchPrecision
    from lockgate.patterns.known_values.values import KnownHit

MOST_REDACTED = 5000
"""Matches of one rule that are redacted. Where there are more, the group counts as not evaluated."""
KNOWN_GROUPS = {KnownKind.SECRET: "known_secrets", KnownKind.CANARY: "canary"}
"""The groups that say what is done with values that are known."""
_MODES = {"block": Mode.BLOCK, "ask": Mode.ASK, "warn": Mode.WARN}


class _Over(Exception):  # noqa: N818 - no error
    """The time of a group is over."""


class _Enough(Exception):  # noqa: N818 - no error
    """More matches of this rule change nothing."""


class _Text(Record):
    """A text that is checked: a field, or what a part of it encodes."""

    field: Field
    data: bytes
    view: View | None = None
    """How it was made of the field, if it is not the field itself."""

    def place(self, start: int, end: int) -> tuple[tuple[str, ...], int, int]:
        """How a part of it is encoded in the field, and which bytes of the field that is."""
        return ((), start, end) if self.view is None else (self.view.encoding, *self.view.span(start, end))

    def shows(self, start: int, end: int) -> bool:
        """Whether a match was to be seen nowhere before: decoding made it, or what stands directly beside it."""
        return self.view is None or self.view.is_changed(max(start - 1, 0), end + 1)


class Check:
    """A check in progress."""

    def __init__(self, library: LoadedLibrary, request: CheckRequest, chosen: Chosen) -> None:
        """Begin with what looks at the request; the time runs from here."""
        self._library = library
        self._matcher = library.matcher
        self._request = request
        self._time = CheckTimer(chosen.uses, chosen.shortest, library.clock)
        self._by_rule = chosen.by_rule
        self._known = library.known if chosen.known else None
        self._known_uses = chosen.known
        self._negated = chosen.negated
        self._applies: dict[int, bool] = {}
        self._kept: dict[tuple[object, ...], MatchPrecision] = {}
        self._judge = ValidatorAnswers()
        self._counts: dict[tuple[str, int], int] = {}

    # ------------------------------------------------------------ texts
    def look_at(self, field: Field) -> None:
        """Look at one text, and at what is encoded in it."""
        if self._time.expired and self._time.are_all_expired():
            return
        data = field.text.encode("utf-8", "surrogatepass")
        before = len(self._kept)
        if self._negated:
            self._hold_to_format(field, data, (0, len(data)))
            if self._request.tool in SPAWNING_TOOLS:
                self._hold_assigned_to_format(field, data)
        spots = self._look(field, data)
        if spots:
            self._look_inside(field, data, spots)
        if len(self._kept) > before and len(data) != len(field.text):
            self._count_characters(data, before)

    def is_over(self) -> bool:
        """Whether no group has time left."""
        return self._time.check_clock()

    def _look_inside(self, field: Field, data: bytes, spots: list[tuple[str, int]]) -> None:
        """Look at all that is encoded in a text, or put together in it."""
        import lockgate.patterns.decoding as decoding  # which `from` would look through each time

        pieces: list[Hits] = []

        def find_spots(inner: bytes) -> list[tuple[str, int]]:
            pieces[:] = self._matcher.pieces(inner)
            return [spot for hits in pieces for spot in hits.spots]

        budget = decoding.Budget(len(data), self._time.until_over())
        for view in decoding.views(data, spots, find_spots, budget):
            self._look(field, view.data, view, pieces)
        if budget.exceeded:
            self._time.expire_all(budget.exceeded)

    def _look(
        self, field: Field, data: bytes, view: View | None = None, pieces: Iterable[Hits] | None = None
    ) -> list[tuple[str, int]]:
        """Look at one text as it is; the places in it where something may be encoded."""
        spots: list[tuple[str, int]] = []
        matcher = self._matcher
        for hits in matcher.pieces(data) if pieces is None else pieces:
            spots += hits.spots
            for index in sorted(hits.ends):
                uses = self._by_rule.get(index)
                # Most hits in short texts end here, before it is asked what the rule is about.
                if uses and matcher.in_reach(index, data, hits) and self._does_rule_apply(index, field):
                    self._confirm(index, uses, _Text(field, data, view), hits)
            if self._time.check_clock():
                return []
        if self._known is not None:
            found = self._known(data)
            if found:
                self._keep_known(found, _Text(field, data, view))
        return spots

    # ------------------------------------------------------------ rules
    def _does_rule_apply(self, index: int, field: Field) -> bool:
        applies = self._applies.get(index)
        rule = self._matcher.rule(index)
        if applies is None:
            applies = self._applies[index] = "*" in rule.applies_to or self._is_named(rule)
        return applies and is_for(rule, field.name)

    def _is_named(self, rule: Rule) -> bool:
        from lockgate.resources.globs import name_matches

        names = [name for name in (*tool_names(self._request.tool), self._request.agent, self._request.spawns) if name]
        return any(name_matches(glob, name) for glob in rule.applies_to for name in names)

    def _confirm(self, index: int, uses: Sequence[GroupUse], text: _Text, hits: Hits) -> None:
        clock = self._time.clock
        for use in uses:
            if use.group.id in self._time.expired:
                continue
            began = clock()
            left = self._time.seconds_left(use, began)

            def accept(found: ConfirmedMatch, use: GroupUse = use, until: float = began + left) -> int:
                if clock() > until:
                    raise _Over
                return self._accept(found, use, text)

            try:
                if left <= 0:
                    raise _Over
                self._matcher.confirm(index, text.data, hits, accept)
            except _Over:
                self._time.expire(use, "time")
            except _Enough:
                pass
            self._time.spend(use, clock() - began)

    def _accept(self, found: ConfirmedMatch, use: GroupUse, text: _Text) -> int:
        """Keep a match where its validators accept it; where it ends, or 0."""
        rule = self._matcher.rule(found.rule)
        found = narrow(rule, found, text.data)
        proven = self._judge.answer(rule, found, text.data)
        if proven is False:
            return 0
        self._count(found.rule, rule, use)
        if text.shows(found.start, found.end):
            span = (found.value_start, strip_punctuation(rule, text.data, found.value_start, found.value_end))
            if is_weak(rule, text.data[slice(*span)]):
                rule = rule._replace(severity=min(rule.severity, Severity.MEDIUM), action="warn")
            elif is_public(rule.type, text.data, *span):
                rule = rule._replace(severity=Severity.LOW, action="warn")
            self._keep(rule, use, text, span, validated=proven is True)
        return found.end

    def _count(self, index: int, rule: Rule, use: GroupUse) -> None:
        count = self._counts[use.group.id, index] = self._counts.get((use.group.id, index), 0) + 1
        if self._redacts(rule, use):
            if count > MOST_REDACTED:
                self._time.expire(use, "matches")
                raise _Enough
        elif count > self._request.most_matches:
            raise _Enough

    def _redacts(self, rule: Rule, use: GroupUse) -> bool:
        return self._request.side is Side.OUTPUT and (rule.action or use.group.action) == "redact"

    def _keep(
        self,
        rule: Rule,
        use: GroupUse,
        text: _Text,
        span: tuple[int, int],
        *,
        validated: bool,
        detail: str = "",
    ) -> None:
        from lockgate.patterns.engine.results import MatchPrecision
        from lockgate.patterns.redaction.spans import fingerprint, replacement_of
        from lockgate.patterns.severities import decision_of

        print_ = fingerprint(text.data[slice(*span)], self._library.key)
        encoding, start, end = text.place(*span)
        name = f"{rule.group}/{rule.id}"
        place = (name, use.group.id, text.field.path, start, end, print_)
        if place in self._kept:
            return  # however it was written around the value
        decision = decision_of(_MODES.get(rule.action, use.mode), rule.severity)
        match = PatternMatch(
            rule=name,
            type=rule.type,
            severity=rule.severity,
            mode=use.mode,
            kind=use.group.kind,
            path=text.field.path,
            start=start,
            end=end,
            validated=validated,
            encoding=encoding,
            fingerprint=print_,
            decision=decision,
            redact=self._redacts(rule, use),
            detail=detail,
            replacement=replacement_of(rule.replacement or use.group.replacement, rule.type, print_),
        )
        self._kept[place] = MatchPrecision(match, rule.generic)

    def _keep_known(self, hits: Sequence[KnownHit], text: _Text) -> None:
        """Values that are known to be secret, and canaries. They have no rule: their group says it all."""
        for hit in hits:
            group = KNOWN_GROUPS[hit.kind]
            use = self._known_uses.get(group)
            if use is not None and use.group.id not in self._time.expired:
                name = hit.form if hit.kind is KnownKind.SECRET else hit.name
                rule = Rule(name, group, hit.kind.value, "", Severity.CRITICAL)
                if text.view is None or text.view.is_changed(hit.start, hit.end):
                    self._keep(rule, use, text, (hit.start, hit.end), validated=True, detail=hit.name)

    def _hold_to_format(self, field: Field, data: bytes, span: tuple[int, int]) -> None:
        """Find what is not written as a rule wants it: a whole value that stands under a name."""
        value = data[slice(*span)]
        for index in self._library.list_format_rules(field.name):
            uses = self._by_rule.get(index)
            if not uses or not self._does_rule_apply(index, field):
                continue
            if self._matcher.pattern(index)[0](value, 0, len(value))[0][0] >= 0:
                continue
            for use in uses:
                self._keep(self._matcher.rule(index), use, _Text(field, data), span, validated=False)

    def _hold_assigned_to_format(self, field: Field, data: bytes) -> None:
        """Hold the values that a sub-agent's brief hands over in its text to their formats."""
        for name, span in find_assigned_values(data):
            self._hold_to_format(field._replace(name=name), data, span)

    # ------------------------------------------------------------ the end
    def _count_characters(self, data: bytes, first: int) -> None:
        """Turn offsets of bytes into offsets of characters, for the matches from the given one on.

        A piece of a known value may begin or end within a character: all of that belongs to it.
        """
        spans = {place: _span(self._kept[place].match, data) for place in list(self._kept)[first:]}
        offsets = sorted({offset for span in spans.values() for offset in span})
        characters: dict[int, int] = {}
        done = count = 0
        for offset in offsets:
            count += len(data[done:offset].decode("utf-8", "surrogatepass"))
            characters[offset], done = count, offset
        for place, span in spans.items():
            kept = self._kept[place]
            start, end = (characters[offset] for offset in span)
            self._kept[place] = kept._replace(match=kept.match._replace(start=start, end=end))

    def result(self) -> GuardrailResult:
        """What all texts came to."""
        if not self._kept and not self._time.expired:  # as nearly always: nothing more is imported
            return GuardrailResult(elapsed_ms=self._time.seconds_since_start() * 1000)
        from lockgate.patterns.engine.results import decision_of_all, most_precise, reason_of

        matches = most_precise(list(self._kept.values()))
        expired = tuple(self._time.expired.values())
        decision = decision_of_all(matches, expired)
        reason = "" if decision is GuardrailDecision.APPROVE else reason_of(matches, expired)
        return GuardrailResult(decision, reason, tuple(matches), self._time.seconds_since_start() * 1000, expired)


def _span(match: PatternMatch, data: bytes) -> tuple[int, int]:
    """Where a match stands in a text in UTF-8, in whole characters."""
    start, end = match.start, match.end
    while 0 < start < len(data) and data[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return start, end


_BEFORE, _BEHIND = 160, 240
"""Bytes beside a key that are looked at."""
_WEB_APP = lazy_re(rb"(?i)firebase|\bauthDomain\b|\bmessagingSenderId\b")
_SERVER = lazy_re(rb"(?i)(?:server|admin|private|fcm)[\w.-]{0,20}[\"'\s:=]{0,8}$")


def is_public(type_: str, data: bytes, start: int, end: int) -> bool:
    """Whether a value is public by design: it is remarked on, not hidden or refused.

    Keys whose prefix says so (``pk_live_``) have rules of their own. Here are those that share a format with secrets.

    Args:
        type_: Of the rule that found it.
        data: The text.
        start: Where the value stands in it.
        end: Where it ends.
    """
    judge = _JUDGES.get(type_)
    return judge is not None and judge(data, start, end)


def _is_anonymous(data: bytes, start: int, end: int) -> bool:
    """A token of Supabase whose role is ``anon``: https://supabase.com/docs/guides/api/api-keys."""
    from lockgate.patterns.validators.keys import claims_of

    claims = claims_of(data[start:end].decode("utf-8", "replace"))
    return claims.get("role") == "anon" and "supabase" in str(claims.get("iss", ""))


def _is_of_a_web_app(data: bytes, start: int, end: int) -> bool:
    """A key of Google in the configuration of a web app: https://firebase.google.com/docs/projects/api-keys."""
    before = data[max(0, start - _BEFORE) : start]
    beside = _WEB_APP.search(before) or _WEB_APP.search(data[end : end + _BEHIND])
    return beside is not None and _SERVER.search(before) is None


_JUDGES: dict[str, Callable[[bytes, int, int], bool]] = {
    "json_web_token": _is_anonymous,
    "supabase_token": _is_anonymous,
    "gcp_api_key": _is_of_a_web_app,
}
