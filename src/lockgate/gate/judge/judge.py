"""Asks the judge one question. It always gives an opinion, also when something fails."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Coroutine, Mapping

from lockgate.core.errors import JudgeError, LockgateError
from lockgate.core.questions import JudgeQuestion, Opinion
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.judge.api_key import EXTRA, ApiKey, find_key
from lockgate.gate.judge.cache import OpinionCache
from lockgate.gate.judge.settings import JudgeSettings, settings_of

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.protocol import Store


def ask(
    question: JudgeQuestion,
    state: str,
    open_store: Callable[[], Store],
    environ: Mapping[str, str],
    prolong: Callable[[float], float],
) -> Opinion:
    """What the judge says of a call that its own question describes. Arguments and promises are those of ``Judge``."""
    try:
        settings = settings_of(question.options)
    except JudgeError as error:
        return Opinion(flagged=True, reason="", failed=str(error))
    return Judge(settings, state, open_store, environ, prolong).ask(question)


class Judge:
    """Asks one endpoint. It can be used from several threads at once, and keeps nothing open."""

    def __init__(
        self,
        settings: JudgeSettings,
        state: str,
        open_store: Callable[[], Store],
        environ: Mapping[str, str],
        prolong: Callable[[float], float] = float,
    ) -> None:
        """A judge.

        Args:
            settings: Which endpoint, and how.
            state: The state folder: the slots are there.
            open_store: Opens the store in which opinions are kept; what it gives is closed after each use.
            environ: Where the key may be.
            prolong: Told for how many seconds the endpoint is about to be waited for; gives how many it may be.
        """
        self._settings = settings
        self._state = state
        self._environ = environ
        self._prolong = prolong
        self._kept = OpinionCache(open_store, settings, time.time)

    def ask(self, question: JudgeQuestion) -> Opinion:
        """What the judge says of a call. Never raises: a failure is an opinion that says so.

        Blocks, and has an event loop of its own: it is for a thread that has none.
        """
        began = time.monotonic()
        try:
            kept = self._kept.recall(question)
            if kept is not None:
                return _with_time(kept, began)
            opinion = _run(self._ask(question))
            self._kept.remember(question, opinion)
        except Exception as error:  # noqa: BLE001 - the call is decided, whatever happens here
            opinion = self._fail(error)
        return _with_time(opinion, began)

    async def _ask(self, question: JudgeQuestion) -> Opinion:
        """The endpoint's opinion. Raises where there is none."""
        from lockgate.gate.judge.concurrency import Slots
        from lockgate.gate.judge.delimiters import draw_marker
        from lockgate.gate.judge.http import ask
        from lockgate.gate.judge.material import material_of
        from lockgate.gate.judge.prompts import prompt_of

        settings = self._settings
        material = material_of(question)
        prompt = prompt_of(question, material, draw_marker(material.blocks, os.urandom))
        seconds = self._prolong(settings.timeout_seconds)
        until = time.monotonic() + seconds
        key = await self._key(seconds)
        slots = Slots(self._state, settings.max_concurrent)
        reply = await ask(settings, prompt, key, slots, until=until, seconds=round(seconds, 1))
        return Opinion(reply.flagged, reply.reason, model=settings.model, tokens=reply.tokens)

    async def _key(self, seconds: float) -> ApiKey | None:
        if not self._settings.key_keyring:
            return find_key(self._settings, self._environ, self._state)
        import asyncio

        try:
            async with asyncio.timeout(seconds):  # a keyring may be locked, and wait for the person
                return await asyncio.to_thread(find_key, self._settings, self._environ, self._state)
        except TimeoutError:
            raise JudgeError("the system keyring does not answer") from None

    def _fail(self, error: Exception) -> Opinion:
        # The text of an error that is not ours may hold anything.
        known = isinstance(error, LockgateError)
        missing = isinstance(error, ImportError)
        said = EXTRA if missing else type(error).__name__
        return Opinion(flagged=True, reason="", failed=str(error) if known else said, model=self._settings.model)


def _with_time(opinion: Opinion, began: float) -> Opinion:
    return opinion._replace(ms=(time.monotonic() - began) * 1000)


def _run(work: Coroutine[Any, Any, Opinion]) -> Opinion:
    """Run on a loop of its own. Not by ``asyncio.run``, which would wait for a name server that never answers."""
    import asyncio

    loop = asyncio.new_event_loop()
    settled = _settle(work)
    try:
        outcome = loop.run_until_complete(settled)
    finally:
        settled.close()
        work.close()
        loop.close()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


async def _settle(work: Coroutine[Any, Any, Opinion]) -> Opinion | Exception:
    """What comes of it, after answers that were half read have been let go of."""
    import asyncio

    outcome: Opinion | Exception
    try:
        outcome = await work
    except Exception as error:  # noqa: BLE001 - it is raised again
        outcome = error
    await asyncio.get_running_loop().shutdown_asyncgens()
    return outcome
