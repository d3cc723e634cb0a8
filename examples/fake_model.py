"""A model on loopback that says what it was told to say: the examples run against it, with no account and no network.

It speaks as much of the Messages API (Claude) and of the Responses API (OpenAI) as the SDKs need. Formats:
https://docs.anthropic.com/en/api/messages-streaming and https://platform.openai.com/docs/api-reference/responses
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

Item = dict[str, Any]
_IDS = count(1)


def say(text: str) -> Item:
    """The model says something."""
    return {"text": text}


def call(name: str, **arguments: Any) -> Item:
    """The model calls a function, or a tool of Claude Code's."""
    return {"call": name, "arguments": arguments, "id": f"call_{next(_IDS)}"}


def item(kind: str, **members: Any) -> Item:
    """The model gives an item of the Responses API that is no function call: ``shell_call``, ``apply_patch_call``."""
    number = next(_IDS)
    return {"type": kind, "id": f"item_{number}", "call_id": f"call_{number}", "status": "completed", **members}


class FakeModel:
    """The server. Each request gets the next turn; when there is none left, the model says that it is done."""

    def __init__(self, *turns: Item | Sequence[Item]) -> None:
        self._turns = [list(turn) if isinstance(turn, (list, tuple)) else [turn] for turn in turns]
        self._lock = threading.Lock()
        self.requests: list[Any] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    def __enter__(self) -> FakeModel:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def seen(self) -> str:
        """All that the model was given to read."""
        with self._lock:
            return json.dumps(self.requests, ensure_ascii=False)

    def next(self, request: Any) -> list[Item]:
        """The turn that answers a request."""
        with self._lock:
            self.requests.append(request)
            return self._turns.pop(0) if self._turns else [say("done")]


# ---------------------------------------------------------------- OpenAI: responses
def _response(turn: Sequence[Item]) -> Any:
    return {
        "id": f"resp_{next(_IDS)}",
        "object": "response",
        "created_at": 0,
        "model": "fake",
        "status": "completed",
        "output": [_output(part) for part in turn],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _output(part: Item) -> Item:
    if "text" in part:
        content = [{"type": "output_text", "text": part["text"], "annotations": []}]
        return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    if "call" not in part:
        return part
    called = {"name": part["call"], "call_id": part["id"], "arguments": json.dumps(part["arguments"])}
    return {"type": "function_call", "id": f"fc_{part['id']}", "status": "completed", **called}


# ---------------------------------------------------------------- Anthropic: messages
def _message_events(turn: Sequence[Item]) -> Iterator[Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    about = {"id": f"msg_{next(_IDS)}", "type": "message", "role": "assistant", "model": "fake", "content": []}
    yield {"type": "message_start", "message": {**about, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    for index, part in enumerate(turn):
        if "text" in part:
            block: Item = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": part["text"]}
        else:
            block = {"type": "tool_use", "id": part["id"], "name": part["call"], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(part["arguments"])}
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if any("call" in part for part in turn) else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def _handler(model: FakeModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def _send(self, body: str, kind: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_HEAD(self) -> None:
            self._send("")

        def do_GET(self) -> None:
            self._send("{}")

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            path = self.path.partition("?")[0]
            if path.endswith("/responses"):
                response = _response(model.next(request))
                if request.get("stream"):
                    done = {"type": "response.completed", "sequence_number": 0, "response": response}
                    self._send(f"event: {done['type']}\ndata: {json.dumps(done)}\n\n", "text/event-stream")
                else:
                    self._send(json.dumps(response))
            elif path.endswith("/messages"):
                # Titles and summaries are asked for without tools.
                turn = model.next(request) if request.get("tools") else [say("ok")]
                lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _message_events(turn))
                self._send("".join(lines), "text/event-stream")
            else:
                self._send('{"input_tokens": 1}')

    return Handler
