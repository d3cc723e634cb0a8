"""Sends one question over HTTP, and retries while there is time and hope.

Everything stays within one deadline: the wait for a slot, names, connections, each byte of the answer, and all tries.
No redirect is followed, and the environment has no say in where the question goes: neither proxies nor certificates
are taken from variables, because a project's settings can set variables for hooks.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from lockgate.core.errors import JudgeError
from lockgate.core.version import __version__
from lockgate.gate.judge import anthropic, openai
from lockgate.gate.judge.api_key import ApiKey
from lockgate.gate.judge.concurrency import Slots
from lockgate.gate.judge.prompts import Prompt
from lockgate.gate.judge.reply import Reply, parse
from lockgate.gate.judge.settings import JudgeSettings
from lockgate.system.libraries import library

MAX_ANSWER = 64 * 1024
"""Bytes of an answer. An opinion takes a few hundred, thinking some thousand."""
_TRIES = 4
_FIRST_PAUSE = 0.25
"""Seconds at most before the second try; before each further one twice as many. Chance takes up to half of them."""
_ENOUGH = 0.2
"""Seconds that must be left for another try."""
_BUSY = "as many questions as may be are under way"
_PASSING = frozenset({408, 409, 425, 429})
"""Statuses below 500 that may pass. All from 500 on may."""
_SAID = {
    400: "the endpoint does not understand the question",
    401: "the endpoint does not accept the key",
    402: "the endpoint's account is out of money",
    403: "the endpoint refuses the key",
    404: "the endpoint does not know the address or the model",
    413: "the question is too long for the endpoint",
    429: "the endpoint limits how much is asked",
    529: "the endpoint is overloaded",
}
_WIRES: Mapping[str, ModuleType] = {"anthropic": anthropic, "openai": openai}


class _PassingError(JudgeError):
    """A failure that may be another one at the next try."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after
        """Seconds that the endpoint wants to be left alone, where it says so."""


async def ask(
    settings: JudgeSettings, prompt: Prompt, key: ApiKey | None, slots: Slots, *, until: float, seconds: float
) -> Reply:
    """Put a question to the endpoint.

    Args:
        settings: Which endpoint.
        prompt: The question.
        key: The key, if it gets one.
        slots: Limits how many are asked at once.
        until: When there must be an answer, by the clock that only goes forward.
        seconds: How long that was at the beginning, for a person.

    Raises:
        JudgeError: There is no opinion; the message says why, in our own words and without what was sent.
    """
    failures = [_BUSY]
    try:
        async with asyncio.timeout(until - time.monotonic()), slots.hold():
            failures.clear()
            return await _try(settings, prompt, key, until, failures)
    except TimeoutError:
        beside = f" ({failures[-1]})" if failures else ""
        raise JudgeError(f"there was no answer within {seconds:g} s{beside}") from None


async def _try(settings: JudgeSettings, prompt: Prompt, key: ApiKey | None, until: float, failures: list[str]) -> Reply:
    httpx = library("httpx")
    wire = _WIRES[settings.api]
    data = json.dumps(wire.body(settings, prompt)).encode()
    async with _client(httpx, settings) as client:
        while True:
            try:
                return await _once(httpx, client, wire, settings, data, key)
            except _PassingError as error:
                failures.append(str(error))
                pause = _pause(len(failures), error.after)
                if len(failures) == _TRIES or time.monotonic() + pause + _ENOUGH > until:
                    raise
                await asyncio.sleep(pause)


def _pause(failures: int, after: float | None) -> float:
    """Seconds until the next try: what the endpoint wants, at the least."""
    longest = _FIRST_PAUSE * (1 << failures - 1)
    return max(after or 0.0, longest * random.uniform(0.5, 1.0))  # noqa: S311 - spreads tries, and hides nothing


def _client(httpx: Any, settings: JudgeSettings) -> Any:
    import ssl

    context: ssl.SSLContext | bool = True
    if settings.base_url.startswith("http://"):
        context = False  # no certificate is asked for, so none needs to be loaded: it is this very machine
    elif settings.ca_file:
        try:
            context = ssl.create_default_context(cafile=settings.ca_file)
        except (OSError, ssl.SSLError):
            raise JudgeError("judge.ca_file cannot be read as certificates") from None
    return httpx.AsyncClient(
        verify=context,
        trust_env=False,
        proxy=settings.proxy or None,
        follow_redirects=False,
        timeout=None,  # all of it has one deadline
    )


async def _once(
    httpx: Any, client: Any, wire: ModuleType, settings: JudgeSettings, data: bytes, key: ApiKey | None
) -> Reply:
    headers = {
        **wire.headers(key.reveal() if key else ""),
        "content-type": "application/json",
        "accept": "application/json",
        "accept-encoding": "identity",
        "user-agent": f"lockgate/{__version__}",
    }
    try:
        async with client.stream("POST", wire.address(settings), content=data, headers=headers) as response:
            _check_status(response)
            _check_form(response)
            value = parse(await _bytes_of(response), "the endpoint's answer")
    except httpx.TransportError as error:
        if _is_distrust(error):
            raise JudgeError("the endpoint's certificate is not trusted") from None
        raise _PassingError(f"the endpoint cannot be reached ({_kind(error)})") from None
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise JudgeError(f"the question cannot be sent ({_kind(error)})") from None
    reply: Reply = wire.read(value)
    return reply


def _is_distrust(error: BaseException | None) -> bool:
    import ssl

    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None


def _kind(error: Exception) -> str:
    # The text of an error may name headers or addresses; its kind says enough.
    return type(error).__name__


def _check_status(response: Any) -> None:
    status: int = response.status_code
    if status == 200:
        return
    said = _SAID.get(status, "the endpoint answered otherwise than it must")
    if 300 <= status < 400:
        said = "the endpoint wants to send the question elsewhere"
    message = f"{said} (status {status})"
    if status in _PASSING or status >= 500:
        raise _PassingError(message, _retry_after(response.headers.get("retry-after", "")))
    raise JudgeError(message)


def _retry_after(text: str) -> float | None:
    """Seconds of a ``Retry-After`` (RFC 9110, 10.2.3): a number, or a date."""
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # a year or an hour may have any number of digits
        return None
    if at.tzinfo is None:
        return None
    return max((at - datetime.now(UTC)).total_seconds(), 0.0)


def _check_form(response: Any) -> None:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise JudgeError("the endpoint's answer is not marked as JSON")
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise JudgeError("the endpoint's answer is compressed, which was not asked for")


async def _bytes_of(response: Any) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_raw():
        size += len(part)
        if size > MAX_ANSWER:
            raise JudgeError(f"the endpoint's answer is larger than {MAX_ANSWER // 1024} KB")
        parts.append(part)
    return b"".join(parts)
