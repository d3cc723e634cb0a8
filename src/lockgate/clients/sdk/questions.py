"""Puts a question of the gate before a person, through the program or elsewhere."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from lockgate.clients.sdk.model import Ask, Asker, Question
from lockgate.clients.sdk.runner import Driver
from lockgate.core.errors import ApprovalError
from lockgate.core.model import Label
from lockgate.core.questions import PersonQuestion
from lockgate.gate import Parts
from lockgate.gate.approvals import questions

_log = logging.getLogger("lockgate")
_NOT_ASKED = (False, "the person could not be asked")


class Asking:
    """The way in which a program asks a person."""

    def __init__(self, driver: Driver, ask: Ask) -> None:
        """Use what the gate was opened with."""
        self._driver = driver
        self._ask = ask

    async def wait(self, question: PersonQuestion) -> None:
        """Get the question answered without blocking the event loop. The answer is in the store."""
        if isinstance(self._ask, str):
            await self._driver.wait_async(question)
            return
        asked, left = await asyncio.wrap_future(self._driver.submit(lambda parts: _question(parts, question)))
        reply: Any = _NOT_ASKED
        late = asyncio.timeout(max(left, 0))
        try:
            async with late:
                reply = await _put(self._ask, asked)
        except Exception as error:  # noqa: BLE001 - a program that cannot ask has not asked
            if late.expired():
                return
            _log.error("the person could not be asked", exc_info=error)
        await asyncio.wrap_future(self._driver.submit(lambda parts: _reply(parts, question, reply)))

    def block(self, question: PersonQuestion) -> None:
        """Get the question answered, and block until it is."""
        if isinstance(self._ask, str):
            self._driver.wait(question)
            return
        asked, _ = self._driver.submit(lambda parts: _question(parts, question)).result()
        reply: Any = _NOT_ASKED
        try:
            answered = self._ask(asked)
            reply = asyncio.run(_await(answered)) if inspect.isawaitable(answered) else answered
        except Exception as error:  # noqa: BLE001 - a program that cannot ask has not asked
            _log.error("the person could not be asked", exc_info=error)
        self._driver.submit(lambda parts: _reply(parts, question, reply)).result()


async def _put(ask: Asker, asked: Question) -> Any:
    """Ask; a plain function, which may block, in a thread of its own."""
    if inspect.iscoroutinefunction(ask):
        return await ask(asked)
    answered = await asyncio.to_thread(ask, asked)
    return await answered if inspect.isawaitable(answered) else answered


async def _await(answered: Any) -> Any:
    return await answered


def _question(parts: Parts, question: PersonQuestion) -> tuple[Question, float]:
    """What is asked, and how many seconds are left for it."""
    with parts.store.reading() as tx:
        row = tx.approval(question.approval)
    if row is None:
        raise ApprovalError("the question to a person is gone")
    about = row.about
    asked = Question(
        row.approval,
        str(about.get("tool", "")),
        about.get(questions.WHOLE, {}),  # the record has it cut, and contents of files by their hash
        tuple(reason["because"] for reason in about.get("reasons", ())),
        frozenset(map(Label, about.get("labels", ()))),
        tuple(_sources(about.get("provenance", ()))),
        row.expires_at,
        about,
    )
    return asked, row.expires_at - parts.clock()


def _sources(provenance: Any) -> Iterable[str]:
    return (str(entry.get("source", "")) for entry in provenance if isinstance(entry, Mapping))


def _reply(parts: Parts, question: PersonQuestion, reply: Any) -> None:
    """Note what was said. Nothing but a plain yes approves; what comes too late counts for nothing."""
    if reply is _NOT_ASKED:
        with parts.store.transaction() as tx:
            questions.lapse(tx, question.approval, reason=_NOT_ASKED[1], now=parts.clock())
        return
    approve, reason = reply if isinstance(reply, tuple) and len(reply) == 2 else (reply, "")
    with suppress(ApprovalError), parts.store.transaction() as tx:
        questions.decide(
            tx,
            question.approval,
            approve=approve is True,
            by=f"{question.context.client} (in-process)",
            reason=str(reason),
            now=parts.clock(),
        )
