"""Stand-ins for the models of other clients: OpenAI's two APIs and Gemini's, answering from the same scripts.

Which turn is next is read from the request, as in :mod:`e2e.harness.scripted_model`.
https://platform.openai.com/docs/api-reference/responses-streaming,
https://platform.openai.com/docs/api-reference/chat-streaming and https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

from e2e.harness.script import Script, Turn, call_id
from e2e.harness.served import ServedScript


class OtherModel(ServedScript):
    """A server on loopback, and everything that the client sent to it."""

    def __init__(self, script: Script) -> None:
        super().__init__(script, _handler(self))

    def result(self, turn: int, call: int = 0, marker: str = "") -> str:
        """What the model was given as the result of the call at a place of the script."""
        wanted = call_id(marker, turn, call)
        with self._lock:
            found = [text for request in self.requests for name, text in self.results_in(request) if name == wanted]
        assert found, f"the model never saw a result of {wanted}; it saw {json.dumps(self.requests)[-2000:]}"
        return found[-1]

    def seen(self) -> str:
        """Everything that the client ever sent, as JSON."""
        with self._lock:
            return json.dumps(self.requests)

    def turn(self, request: dict[str, Any], said: str, done: int) -> tuple[str, Turn]:
        """The answer to a request: which conversation it is, by what people said in it, and how far it has come."""
        with self._lock:
            self.requests.append(request)
        marker = next(marker for marker in self.script.conversations if marker in said)
        turns = self.script.conversations[marker]
        turn = turns[done] if done < len(turns) else Turn(text="ALL DONE")
        if turn.before is not None:
            turn.before()
        return marker, turn

    def results_in(self, request: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """The results of calls in one request, by their ids."""
        raise NotImplementedError

    def answer(self, path: str, request: dict[str, Any]) -> tuple[bytes, str]:
        """Body and content type of the answer."""
        raise NotImplementedError


class ResponsesModel(OtherModel):
    """OpenAI's Responses API, as Codex speaks it.

    A call's name may have a namespace before a slash; one whose input is ``{"source": ...}`` is a cell of code.
    """

    def results_in(self, request: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """The results of calls in one request, by their ids."""
        for item in request.get("input", ()):
            if str(item.get("type", "")).endswith("_output"):
                output = item.get("output")
                yield item["call_id"], output if isinstance(output, str) else json.dumps(output)

    def answer(self, path: str, request: dict[str, Any]) -> tuple[bytes, str]:
        """A stream of events."""
        items = request.get("input", [])
        said = "\n".join(
            json.dumps(item) for item in items if item.get("role") == "user" or item.get("type") == "agent_message"
        )
        calls = {item["call_id"].rpartition("_")[0] for item in items if str(item.get("type", "")).endswith("_call")}
        texts = sum(item.get("role") == "assistant" for item in items)
        done = len(calls) + texts
        marker, turn = self.turn(request, said, done)
        output = list(_items(turn, marker, done))
        response: dict[str, Any] = {"id": f"resp_{marker}_{done}", "object": "response", "created_at": 0, "model": "m"}
        usage: dict[str, Any] = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        events: list[dict[str, Any]] = [{"type": "response.created", "response": {**response, "status": "in_progress"}}]
        events += [
            {"type": "response.output_item.done", "output_index": number, "item": item}
            for number, item in enumerate(output)
        ]
        whole = {**response, "status": "completed", "output": output, "usage": usage}
        events.append({"type": "response.completed", "response": whole})
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
        return "".join(lines).encode(), "text/event-stream"


def _items(turn: Turn, marker: str, done: int) -> Iterator[dict[str, Any]]:
    if turn.text:
        content = [{"type": "output_text", "text": turn.text, "annotations": []}]
        yield {"type": "message", "role": "assistant", "id": f"msg_{done}", "status": "completed", "content": content}
    for place, call in enumerate(turn.calls):
        space, _, name = call.name.rpartition("/")
        item = {"id": f"fc_{done}_{place}", "call_id": call_id(marker, done, place), "name": name}
        item |= {"namespace": space} if space else {}
        if "source" in call.input:
            yield {"type": "custom_tool_call", "status": "completed", "input": call.input["source"], **item}
        else:
            arguments = json.dumps(dict(call.input))
            yield {"type": "function_call", "status": "completed", "arguments": arguments, **item}


class ChatModel(OtherModel):
    """OpenAI's Chat Completions API, as Copilot CLI and OpenCode speak it."""

    def results_in(self, request: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """The results of calls in one request, by their ids."""
        for message in request.get("messages", ()):
            if message.get("role") == "tool":
                content = message.get("content")
                yield message.get("tool_call_id", ""), content if isinstance(content, str) else json.dumps(content)

    def answer(self, path: str, request: dict[str, Any]) -> tuple[bytes, str]:
        """A stream of chunks; a request without tools is the client's own, for a title."""
        messages = request.get("messages", [])
        said = "\n".join(json.dumps(message) for message in messages if message.get("role") == "user")
        done = sum(message.get("role") == "assistant" for message in messages)
        marker, turn = self.turn(request, said, done) if request.get("tools") else ("", Turn(text="a title"))
        calls: list[dict[str, Any]] = [
            {
                "index": place,
                "id": call_id(marker, done, place),
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.input))},
            }
            for place, call in enumerate(turn.calls)
        ]
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": turn.text}]
        deltas += [{"tool_calls": calls}] if calls else []
        choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"})
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        base = {"id": f"chat_{marker}_{done}", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        chunks = [{**base, "choices": [choice]} for choice in choices] + [{**base, "choices": [], "usage": usage}]
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        return "".join([*lines, "data: [DONE]\n\n"]).encode(), "text/event-stream"


class GeminiModel(OtherModel):
    """Gemini's API."""

    def results_in(self, request: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """The results of calls in one request, by their ids."""
        for content in request.get("contents", ()):
            for part in content.get("parts", ()):
                if "functionResponse" in part:
                    response = part["functionResponse"]
                    yield response.get("id", ""), json.dumps(response.get("response"), ensure_ascii=False)

    def answer(self, path: str, request: dict[str, Any]) -> tuple[bytes, str]:
        """One event with the whole answer; questions of the client about itself get one that is not looked at."""
        if path.endswith(":countTokens"):
            return b'{"totalTokens": 1}', "application/json"
        contents = request.get("contents", [])
        parts: list[dict[str, Any]]
        if request.get("tools"):
            said = "\n".join(json.dumps(content) for content in contents if content.get("role") == "user")
            done = sum(content.get("role") == "model" for content in contents)
            marker, turn = self.turn(request, said, done)
            parts = [{"text": turn.text}] if turn.text else []
            for place, call in enumerate(turn.calls):
                called = {"id": call_id(marker, done, place), "name": call.name, "args": dict(call.input)}
                parts.append({"functionCall": called})
        else:
            parts = [{"text": '{"model_choice": "flash", "reasoning": "r", "next_speaker": "user"}'}]
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        body = json.dumps({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r"})
        if "streamGenerateContent" in path:
            return f"data: {body}\n\n".encode(), "text/event-stream"
        return body.encode(), "application/json"


def _handler(model: OtherModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
            pass

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self._send(b'{"data": [], "models": []}', "application/json")

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            try:
                request = json.loads(data or b"{}")
            except ValueError:
                request = {}
            self._send(*model.answer(self.path.partition("?")[0], request))

    return Handler
