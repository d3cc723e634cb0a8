"""Speaks Anthropic's Messages API.

See https://platform.claude.com/docs/en/api/messages. Structured outputs (``output_config.format``) take a JSON Schema;
the answer is the text of one block, which blocks of thinking may precede. Newer models refuse ``temperature``, so none
is sent.
"""

from __future__ import annotations

from lockgate.core.errors import JudgeError
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.judge.prompts import Prompt
from lockgate.gate.judge.reply import SCHEMA, Reply, member, opinion, tokens_of
from lockgate.gate.judge.settings import ANTHROPIC_MODEL, JudgeSettings

if TYPE_CHECKING:
    from typing import Any

MAX_TOKENS = 2048
"""Thinking counts too."""
_VERSION = "2023-06-01"
_WHAT = "the endpoint's answer"
_EFFORT = {ANTHROPIC_MODEL: "low"}
"""Models that think for as long as they like unless they are told. Others may refuse to be told."""
_THINKING = frozenset({"thinking", "redacted_thinking"})


def address(settings: JudgeSettings) -> str:
    """Where the question is sent. SDKs take the address without the version; with it, it is understood too."""
    return settings.base_url.removesuffix("/v1") + "/v1/messages"


def headers(key: str) -> dict[str, str]:
    """The headers beside the usual ones."""
    version = {"anthropic-version": _VERSION}
    return {**version, "x-api-key": key} if key else version


def body(settings: JudgeSettings, prompt: Prompt) -> dict[str, Any]:
    """The question."""
    effort = {"effort": _EFFORT[settings.model]} if settings.model in _EFFORT else {}
    return {
        "model": settings.model,
        "max_tokens": MAX_TOKENS,
        "system": prompt.system,
        "messages": [{"role": "user", "content": prompt.user}],
        "output_config": {**effort, "format": {"type": "json_schema", "schema": SCHEMA}},
    }


def read(value: Any) -> Reply:
    """The answer.

    Raises:
        JudgeError: It is not exactly one finished opinion.
    """
    stop = member(value, "stop_reason", str, _WHAT)
    if stop == "refusal":
        raise JudgeError("the model refused to judge this")
    if stop == "max_tokens":
        raise JudgeError("the model's answer was cut at its limit of tokens")
    if stop != "end_turn":
        raise JudgeError("the model did not come to an end")
    blocks = [
        block
        for block in member(value, "content", list, _WHAT)
        if not (isinstance(block, dict) and block.get("type") in _THINKING)
    ]
    if len(blocks) != 1 or not isinstance(blocks[0], dict) or blocks[0].get("type") != "text":
        raise JudgeError("the model's answer is not one text")
    return opinion(blocks[0].get("text"), tokens_of(value, "input_tokens", "output_tokens"))
