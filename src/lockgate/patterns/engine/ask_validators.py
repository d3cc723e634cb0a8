"""Asks a rule's validators about what its pattern matches."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.patterns.engine.matcher import ConfirmedMatch, needs_no_boundary
from lockgate.patterns.model import Candidate, Rule

_OFTEN = 16
"""A match that was refused so often is not judged again: a log repeats the same line very often."""
_REMEMBERED = 1024
"""Answers about credentials that are cached."""
_CREDENTIAL = "credential"
_NEAR = 8
"""Bytes on each side that must be the same too. Else a value that is refused in one place often enough would also pass
where it counts."""
_QUOTES = frozenset((b'"', b"'", b"`"))
_NEXT_PARAMETER = lazy_re(rb"&(?:amp;?|[A-Za-z_][\w.\[\]-]{0,40}=)")
_BEHIND = lazy_re(rb"(?<![.])(?:[.)\]}]|\xc2\xbb|\xe2\x80[\x99\x9c\x9d]|\*\*)\Z")
"""A sign of the sentence, or of the text around: ``»`` and closing quotes too. The dots of ``abc...`` belong to it."""
_COOKIE_NAME = lazy_re(rb"[A-Za-z0-9_.-]{1,40}=")
_OPENED_BY = {b")": b"(", b"]": b"[", b"}": b"{"}


class ValidatorAnswers:
    """The answers of one check."""

    def __init__(self) -> None:
        """Begin without answers."""
        self.refused: dict[tuple[int, bytes], int] = {}
        """How often a match was refused, by rule and the bytes around it."""
        self._credentials: dict[tuple[float | None, Candidate], bool | None] = {}
        """Cached answers, which are expensive: rules with the same pattern ask about the same match."""

    def answer(self, rule: Rule, found: ConfirmedMatch, data: bytes) -> bool | None:
        """The joint answer of all validators: ``True`` proven, ``None`` plausible, ``False`` refused."""
        if not found.alone and not needs_no_boundary(rule):
            return False
        same = (found.rule, data[max(found.start - _NEAR, 0) : found.end + _NEAR])
        if self.refused.get(same, 0) >= _OFTEN:
            return False
        proven = self._ask(rule, found.candidate(data))
        if proven is False or (proven is None and not found.alone):
            self.refused[same] = self.refused.get(same, 0) + 1
            return False
        return proven

    def _ask(self, rule: Rule, candidate: Candidate) -> bool | None:
        """Validators in their order, up to the first that refuses."""
        if not rule.validate:
            return None
        from lockgate.patterns.validators import VALIDATORS

        proven = None
        for name, number in rule.validate:
            ask = self._credential if name == _CREDENTIAL else VALIDATORS[name]
            answer = ask(candidate, number)
            if answer is False:
                return False
            proven = proven or answer
        return proven

    def _credential(self, candidate: Candidate, number: float | None) -> bool | None:
        from lockgate.patterns.credentials.classifier import is_credential

        same = (number, candidate)
        if same not in self._credentials:
            if len(self._credentials) >= _REMEMBERED:
                self._credentials.clear()
            self._credentials[same] = is_credential(candidate, number)
        return self._credentials[same]


def narrow(rule: Rule, found: ConfirmedMatch, data: bytes) -> ConfirmedMatch:
    """A match cut to its value: without the next parameter of an address, or the name of a cookie.

    Rules for values without a format take all up to the next blank, since people write anything into passwords.
    """
    start, end = found.value_start, found.value_end
    of_cookie = found.key[-6:].lower() == b"cookie"
    if not (of_cookie or data.find(b"&", start + 1, end) > 0) or not _is_unquoted(rule, data, start):
        return found
    if of_cookie and (name := _COOKIE_NAME.match(data, start, end)):
        start = name.end()
    parameter = _NEXT_PARAMETER.search(data, start + 1, end)
    if parameter is None:
        return found._replace(value_start=start)
    return found._replace(value_start=start, value_end=parameter.start(), end=parameter.start())


def strip_punctuation(rule: Rule, data: bytes, start: int, end: int) -> int:
    """The end of a value without the punctuation of the text around it."""
    if not _is_unquoted(rule, data, start):
        return end
    while end > start + 1 and (behind := _BEHIND.search(data[start:end])) is not None:
        sign = behind.group()
        if sign in _OPENED_BY and data.count(_OPENED_BY[sign], start, end) >= data.count(sign, start, end):
            break
        end = start + behind.start()
    return end


def _is_unquoted(rule: Rule, data: bytes, start: int) -> bool:
    return rule.generic and data[start - 1 : start] not in _QUOTES and _is_judged(rule)


def _is_judged(rule: Rule) -> bool:
    return any(name == _CREDENTIAL for name, _ in rule.validate)


def is_weak(rule: Rule, value: bytes) -> bool:
    """Whether a value is a default password or a plain word."""
    if not _is_judged(rule):
        return False
    from lockgate.patterns.credentials import classifier

    return classifier.is_weak(value.decode("utf-8", "replace"))
