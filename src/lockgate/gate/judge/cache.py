"""Opinions that are used again for exactly the same question. They are kept in the store, for a time and a number.

A question is the same where the call, the labels, the effects, the model and the words of the prompt are. Its name in
the store is a keyed hash of all that, so that the store does not tell which calls were judged. Failures are not kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from lockgate.core.errors import LockgateError
from lockgate.core.questions import JudgeQuestion, Opinion
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.judge.prompts import VERSION
from lockgate.gate.judge.settings import JudgeSettings
from lockgate.system.digests import blake2b, json_object

if TYPE_CHECKING:
    from typing import Any

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
    value = _kept(text or "")
    if value is None or not 0 <= now - value["at"] < settings.cache_seconds:
        return None
    return Opinion(value["flagged"], value["reason"], model=settings.model, cached=True)


def remember(store: Store, settings: JudgeSettings, question: JudgeQuestion, opinion: Opinion, now: float) -> None:
    """Keep an opinion, which must not be a failed one.

    Raises:
        StoreError: The store cannot be written.
    """
    value = {"flagged": opinion.flagged, "reason": opinion.reason, "at": now}
    with store.transaction() as tx:
        others = tx.settings(_PREFIX)
        if len(others) >= MOST:
            oldest = sorted(others, key=lambda name: float((_kept(others[name]) or {"at": 0.0})["at"]))
            for name in oldest[: MOST // 2]:
                tx.put_setting(name, None)
        tx.put_setting(_name(store.key, settings, question), json.dumps(value))


def _kept(text: str) -> dict[str, Any] | None:
    """What a row of the store says; ``None`` where somebody has damaged it. A damaged row counts as the oldest."""
    value = json_object(text)
    if value is None or not isinstance(value.get("flagged"), bool) or not isinstance(value.get("reason"), str):
        return None
    at = value.get("at")
    return value if isinstance(at, int | float) and not isinstance(at, bool) else None


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
        """As :func:`recall`."""
        if not self._settings.cache_seconds:
            return None
        try:
            store = self._open()
            try:
                return recall(store, self._settings, question, self._clock())
            finally:
                store.close()
        except (LockgateError, ValueError, KeyError, TypeError):
            return None

    def remember(self, question: JudgeQuestion, opinion: Opinion) -> None:
        """As :func:`remember`."""
        if not self._settings.cache_seconds:
            return
        try:
            store = self._open()
            try:
                remember(store, self._settings, question, opinion, self._clock())
            finally:
                store.close()
        except (LockgateError, ValueError, KeyError, TypeError):
            return
