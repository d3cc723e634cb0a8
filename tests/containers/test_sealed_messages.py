"""What the two sides say to each other: sealed, strict, and the same after it was read."""

from __future__ import annotations

import hashlib
import hmac
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lockgate.clients.wire import events as wire
from lockgate.clients.wire.envelope import ANSWER, REQUEST, hmac_sha256, seal, unseal
from lockgate.clients.wire.keys import ContainerKey, is_group, key_file, parse_key
from lockgate.clients.wire.messages import (
    ContainerRequest,
    HostReply,
    is_id,
    read_reply,
    read_request,
    write_reply,
    write_request,
)
from lockgate.clients.wire.short_form import read_short
from lockgate.core import events
from lockgate.core.errors import BadInputError, RemoteError
from lockgate.core.events import Answer, Context, ToolFinished, ToolRequested
from lockgate.core.model import Effect, EffectKind, Label, Subject, ToolCall, Variant, Verdict

KEY = bytes(range(32))
NAME = "a1" * 16
CONTEXT = Context("claude-code", Subject("s", "a"), "/w", "/w", "kind", "1:2", "/t.jsonl", "default", "c0", "CI")
CALL = ToolCall("Bash", {"command": "ls", "n": [1, None, {"x": True}]}, "/w", "c1")
EVENTS = [
    ToolRequested(CONTEXT, CALL, askable=False, waits=True),
    ToolFinished(CONTEXT, CALL, None, "text", "agent", True, (("stdout", "a"), ("stderr", "b")), "n", "/k", "stdout"),
    events.ToolFailed(CONTEXT, CALL, "error"),
    events.ToolRefused(CONTEXT, CALL, "no"),
    events.PromptSubmitted(
        CONTEXT, "do it", True, ("c1", "c2"), True, (events.PromptPart("stranger", "x", "issue 7"),)
    ),
    events.SessionStarted(CONTEXT, "fork", ("p1",)),
    events.SessionEnded(CONTEXT, "clear"),
    events.AgentStarted(CONTEXT),
    events.AgentStopped(CONTEXT),
    events.ConfigChanged(CONTEXT, "user", "/f", "harm", "hooks"),
    events.InstructionsLoaded(CONTEXT, "/f", "nested"),
]
EFFECT = Effect(EffectKind.FETCH, "https://e", "address:fetch", "because", Variant.SEARCH, "https://e", Label.UNTRUSTED)


@example(b"k" * 63, b"text")
@example(b"k" * 64, b"text")
@example(b"k" * 65, b"text")
@given(st.binary(max_size=200), st.binary(max_size=300))
def test_the_code_is_hmac_sha256(key: bytes, text: bytes) -> None:
    assert hmac_sha256(key, text) == hmac.new(key, text, hashlib.sha256).hexdigest()


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_arrives_as_it_was_sent(event: events.Event) -> None:
    sent = ContainerRequest(NAME, event, 12.5, True, ("contain",), (EFFECT,), "/home/a", ("/own",), "kept")
    assert read_request(KEY, write_request(KEY, sent)) == sent


def test_every_event_and_every_field_can_travel() -> None:
    kinds = dict(wire.EVENT_KINDS.values())
    assert set(kinds) == set(events.Event.__args__)
    for made, fields in kinds.items():
        assert set(made._fields) - {"context", "result"} == set(fields), made
    assert set(wire.CONTEXT_FIELDS) == set(Context._fields) - {"subject", "run", "made_at"} | {"session", "agent"}


def test_a_reply_arrives_as_it_was_sent() -> None:
    answer = Answer(Verdict.ASK, "a", "p", "c", texts={"x": "y"}, withheld="w", approval="id")
    request = write_request(KEY, ContainerRequest(NAME, EVENTS[0], 1.0))
    for reply in (HostReply(answer, "kept", 3.0, "why"), HostReply(Answer())):
        assert read_reply(KEY, request, NAME, write_reply(KEY, request, NAME, reply)) == reply


def test_a_request_is_no_answer_and_an_answer_no_request() -> None:
    for one, other in ((REQUEST, ANSWER), (ANSWER, REQUEST)):
        with pytest.raises(RemoteError, match="seal does not hold"):
            unseal(KEY, other, seal(KEY, one, b"{}"))


@given(st.data())
def test_a_message_that_differs_in_any_byte_is_refused(data: st.DataObject) -> None:
    message = write_request(KEY, ContainerRequest(NAME, EVENTS[0], 1.0))
    at = data.draw(st.integers(0, len(message) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != message[at]))
    with pytest.raises(RemoteError):
        read_request(KEY, message[:at] + bytes([other]) + message[at + 1 :])
    with pytest.raises(RemoteError):
        read_request(KEY, message[:at])


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def _places(value: object, path: tuple = ()) -> list[tuple]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found + [place for key, inner in items for place in _places(inner, (*path, key))]


@given(st.data())
def test_a_sealed_request_with_anything_in_any_place_is_read_or_refused(data: st.DataObject) -> None:
    """The container has the key: what it seals can be anything."""
    event = data.draw(st.sampled_from(EVENTS))
    body = json.loads(write_request(KEY, ContainerRequest(NAME, event, 1.0, found=(EFFECT,))).partition(b"\n")[2])
    place = data.draw(st.sampled_from(_places(body)))
    inner = body
    for step in place[:-1]:
        inner = inner[step]
    if data.draw(st.booleans()):
        inner[place[-1]] = data.draw(_JSON)
    else:
        inner[data.draw(st.text(max_size=5)) if isinstance(inner, dict) else place[-1]] = data.draw(_JSON)
    try:
        request = read_request(KEY, seal(KEY, REQUEST, json.dumps(body).encode()))
    except BadInputError:
        return
    assert is_id(request.id)
    assert type(request.event) in {made for made, _ in wire.EVENT_KINDS.values()}


@given(st.binary(max_size=400))
def test_any_sealed_bytes_are_read_or_refused_by_both_sides(text: bytes) -> None:
    with pytest.raises((BadInputError, RemoteError)):
        read_request(KEY, seal(KEY, REQUEST, text))
    with pytest.raises(RemoteError):
        read_reply(KEY, b"request", NAME, seal(KEY, ANSWER, text))


@given(st.data())
def test_a_sealed_answer_with_anything_in_any_place_is_read_or_refused(data: st.DataObject) -> None:
    request = write_request(KEY, ContainerRequest(NAME, EVENTS[0], 1.0))
    message = write_reply(KEY, request, NAME, HostReply(Answer(Verdict.DENY, "no", texts={"a": "b"})))
    body = json.loads(message.partition(b"\n")[2])
    body[data.draw(st.sampled_from(sorted(body)))] = data.draw(_JSON)
    try:
        reply = read_reply(KEY, request, NAME, seal(KEY, ANSWER, json.dumps(body).encode()))
    except RemoteError:
        return
    assert isinstance(reply.answer.verdict, Verdict)
    assert all(isinstance(text, str) for text in reply.answer.texts.values())


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(BadInputError):
        read_request(KEY, seal(KEY, REQUEST, b'{"v":1,"id":' + b"[" * 100_000 + b"]" * 100_000 + b"}"))


@pytest.mark.parametrize("name", ["web", "a", "a-b-1", "x" * 32])
def test_names_of_groups(name: str) -> None:
    assert is_group(name)


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a/b", "a.b", "..", "x" * 33, "a\n", "ä", None, 7])
def test_what_is_no_name_of_a_group(name: object) -> None:
    assert not is_group(name)


def test_a_key_is_read_as_it_was_written() -> None:
    key = ContainerKey("web", KEY, local=False)
    assert parse_key(key_file(key)) == key
    assert key.token != ContainerKey("web", bytes(32)).token
    assert KEY.hex() not in key.token


@pytest.mark.parametrize(
    "change",
    [{"v": 2}, {"group": "../x"}, {"key": "00"}, {"local": 1}, {"more": 1}],
    ids=lambda change: next(iter(change)),
)
def test_what_is_no_key(change: dict) -> None:
    with pytest.raises(ValueError):
        parse_key(json.dumps({**json.loads(key_file(ContainerKey("web", KEY))), **change}).encode())


def test_the_short_form() -> None:
    uuid = "123e4567-e89b-12d3-a456-426614174000"
    shown, request = read_short(
        json.dumps({"type": "security:bash_check", "request_id": uuid, "command": "ls"}).encode()
    )
    assert (shown, request.id) == (uuid, uuid.replace("-", ""))
    assert request.event.call.tool_input == {"command": "ls"}


@pytest.mark.parametrize(
    "change", [{"type": "x"}, {"request_id": "../../x"}, {"command": 7}, {"command": None}, {"session": "s1"}]
)
def test_what_is_no_short_form(change: dict) -> None:
    body = {"type": "security:bash_check", "request_id": NAME, "command": "ls", **change}
    with pytest.raises(BadInputError):
        read_short(json.dumps(body).encode())
