"""Speaks OpenAI's chat completions, as do Ollama, llama.cpp, vLLM and LM Studio.

See https://platform.openai.com/docs/api-reference/chat/create. ``response_format`` takes a JSON Schema. OpenAI's own
models want ``max_completion_tokens``, the servers ``max_tokens``.
"""

from __future__ import annotations

from lockgate.core.errors import JudgeError
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.judge.prompts import Prompt
from lockgate.gate.judge.reply import SCHEMA, Reply, member, opinion, tokens_of
from lockgate.gate.judge.settings import JudgeSettings

if TYPE_CHECKING:
    from typing import Any

MAX_TOKENS = 2048
"""Thinking counts too."""
_OWN = "https://api.openai.com"
_WHAT = "the endpoint's answer"


def address(settings: JudgeSettings) -> str:
    """Where the question is sent."""
    return settings.base_url + "/chat/completions"


def headers(key: str) -> dict[str, str]:
    """The headers beside the usual ones."""
    return {"authorization": f"Bearer {key}"} if key else {}


def body(settings: JudgeSettings, prompt: Prompt) -> dict[str, Any]:
    """The question."""
    limit = "max_completion_tokens" if settings.base_url.startswith(f"{_OWN}/") else "max_tokens"
    return {
        "model": settings.model,
        limit: MAX_TOKENS,
        "stream": False,
        "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "opinion", "strict": True, "schema": SCHEMA},
        },
    }


def read(value: Any) -> Reply:
    """The answer.

    Raises:
        JudgeError: It is not exactly one finished opinion.
    """
    choices = member(value, "choices", list, _WHAT)
    if len(choices) != 1:
        raise JudgeError("the endpoint gave not one answer but several, or none")
    stop = member(choices[0], "finish_reason", str, _WHAT)
    message = member(choices[0], "message", dict, _WHAT)
    if message.get("refusal") or stop == "content_filter":
        raise JudgeError("the model refused to judge this")
    if stop == "length":
        raise JudgeError("the model's answer was cut at its limit of tokens")
    if stop != "stop" or message.get("tool_calls") or message.get("function_call"):
        raise JudgeError("the model did not come to an end")
    return opinion(message.get("content"), tokens_of(value, "prompt_tokens", "completion_tokens"))
