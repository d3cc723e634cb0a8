"""Reuses opinions for exactly the same question. The store keeps a limited number, for a limited time.

A question is the same where the call, the labels, the effects, the model and the words of the prompt are. Its name in
the store is a keyed hash of all that, so that the store does not tell which calls were judged. Failures are not kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from lockgate.core.errors import LockgateError
from lockgate.core.questions import JudgeQuestion, Opinion
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.judge.prompts import VERSION
from lockgate.gate.judge.settings import JudgeSettings
from lockgate.store.audit.bodies import number
from lockgate.system.digests import blake2b, json_object

if TYPE_CHECKING:
    from lockgate.store.protocol import Store

MOST = 500
"""Opinions that are kept. Where there are as many, the older half goes."""
_PREFIX = "judge:opinion:"


def recall(store: Store, settings: JudgeSettings, question: JudgeQuestion, now: float) -> Opinion | None:
    """The opinion on exactly this question, where there is one that is young enough.

    Raises:
        StoreError: The store cannot be read.
    """
    with store.reading() as tx:
        text = tx.setting(_name(store.key, settings, question))
    kept = _parse(text or "")
    if kept is None or not 0 <= now - kept.at < settings.cache_seconds:
        return None
    return Opinion(kept.flagged, kept.reason, model=settings.model, cached=True)


def remember(store: Store, settings: JudgeSettings, question: JudgeQuestion, opinion: Opinion, now: float) -> None:
    """Keep an opinion, which must not be a failed one.

    Raises:
        StoreError: The store cannot be written.
    """
    value = {"flagged": opinion.flagged, "reason": opinion.reason, "at": now}
    with store.transaction() as tx:
        others = tx.settings(_PREFIX)
        if len(others) >= MOST:
            kept = {name: _parse(text) for name, text in others.items()}
            ages = {name: opinion.at if opinion else 0.0 for name, opinion in kept.items()}
            for name in sorted(ages, key=ages.__getitem__)[: MOST // 2]:
                tx.put_setting(name, None)
        tx.put_setting(_name(store.key, settings, question), json.dumps(value))


class _KeptOpinion(Record):
    at: float
    flagged: bool
    reason: str


def _parse(text: str) -> _KeptOpinion | None:
    """What a row of the store says; ``None`` where somebody has damaged it. A damaged row counts as the oldest."""
    value = json_object(text) or {}
    at, flagged, reason = number(value.get("at")), value.get("flagged"), value.get("reason")
    if at is None or not isinstance(flagged, bool) or not isinstance(reason, str):
        return None
    return _KeptOpinion(at, flagged, reason)


def _name(key: bytes, settings: JudgeSettings, question: JudgeQuestion) -> str:
    effects = sorted(
        json.dumps([reason.row, reason.column.value, *map(str, reason.effect._replace(because=""))])
        for reason in question.decision.reasons
    )
    facts = [
        VERSION,
        settings.api,
        settings.base_url,
        settings.model,
        question.digest,
        sorted(label.value for label in question.labels),
        effects,
    ]
    data = json.dumps(facts).encode()
    return _PREFIX + blake2b(data, key=key, digest_size=16, person=b"judge").hexdigest()


class OpinionCache:
    """The kept opinions of a store that is opened for each look. Where it cannot be, nothing is known or kept."""

    def __init__(self, open_store: Callable[[], Store], settings: JudgeSettings, clock: Callable[[], float]) -> None:
        self._open = open_store
        self._settings = settings
        self._clock = clock

    def recall(self, question: JudgeQuestion) -> Opinion | None:
        """See :func:`recall`."""
        if not self._settings.cache_seconds:
            return None
        try:
            store = self._open()
            try:
                return recall(store, self._settings, question, self._clock())
            finally:
                store.close()
        except LockgateError:
            return None

    def remember(self, question: JudgeQuestion, opinion: Opinion) -> None:
        """See :func:`remember`."""
        if not self._settings.cache_seconds:
            return
        try:
            store = self._open()
            try:
                remember(store, self._settings, question, opinion, self._clock())
            finally:
                store.close()
        except LockgateError:
            return
