"""Masks what the pattern library found in everything that is said and recorded about a call."""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.core.model import Analysis, Effect, PolicyDecision, ToolCall
from lockgate.core.questions import CODE
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.model import GuardrailResult

if TYPE_CHECKING:
    from typing import Any


class Mask(Record):
    """Values, the longest first, and what stands in the place of each."""

    values: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, result: GuardrailResult, call: ToolCall) -> Mask:
        """The mask of what was found in a call's input."""
        if not result.pattern_matches:
            return cls()
        from lockgate.patterns.fields import fields_of

        texts: dict[str, list[str]] = {}
        for field in fields_of(call.tool_input):
            texts.setdefault(field.path, []).append(field.text)
        return cls._of(result, texts)

    @classmethod
    def of_texts(cls, result: GuardrailResult, texts: Mapping[str, str]) -> Mask:
        """The mask of what was found in texts, by their paths."""
        return cls._of(result, {path: [text] for path, text in texts.items()})

    @classmethod
    def _of(cls, result: GuardrailResult, texts: Mapping[str, list[str]]) -> Mask:
        values = {
            text[match.start : match.end]: f"[{match.type}:{match.fingerprint}]"
            for match in result.pattern_matches
            for text in texts.get(match.path, ())
        }
        values.pop("", None)
        return cls(tuple(sorted(values.items(), key=lambda pair: (-len(pair[0]), pair[0]))))

    @property
    def may_hide_code(self) -> bool:
        """Whether a value could be more than a value to a shell: it holds a character that ends or expands a word."""
        return any(not CODE.isdisjoint(value) for value, _ in self.values)

    def text(self, text: str) -> str:
        """A text without the values."""
        for value, mark in self.values:
            text = text.replace(value, mark)
        return text

    def call(self, call: ToolCall) -> ToolCall:
        """A call without the values, to be shown or recorded."""
        return call._replace(tool_input=self._json(call.tool_input)) if self.values else call

    def result(self, result: GuardrailResult) -> GuardrailResult:
        """What was found, without values that are names of fields too."""
        if not self.values:
            return result
        matches = tuple(match._replace(path=self.text(match.path)) for match in result.pattern_matches)
        return result._replace(pattern_matches=matches)

    def decision(self, decision: PolicyDecision) -> PolicyDecision:
        """A decision whose reasons name no value."""
        if not self.values:
            return decision
        reasons = tuple(reason._replace(effect=self.effect(reason.effect)) for reason in decision.reasons)
        return decision._replace(reasons=reasons)

    def analysis(self, analysis: Analysis) -> Analysis:
        """What a call can do, told without the values."""
        if not self.values:
            return analysis
        return analysis._replace(
            effects=tuple(map(self.effect, analysis.effects)), hints=tuple(map(self.text, analysis.hints))
        )

    def effect(self, effect: Effect) -> Effect:
        """An effect that names no value."""
        return effect.map_texts(self.text)

    def _json(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._json(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._json(inner) for inner in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            shown = self.text(str(value))
            return value if shown == str(value) else shown
        return value
