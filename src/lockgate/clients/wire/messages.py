"""Requests to the host and answers to exactly those requests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from lockgate.clients.common.payload import parse
from lockgate.clients.wire.envelope import ANSWER, REQUEST, digest, seal, unseal
from lockgate.clients.wire.events import flag, from_json, lines, obj, require_fields, text, to_json
from lockgate.clients.wire.request_ids import time_of
from lockgate.core.errors import BadInputError, RemoteError
from lockgate.core.events import Answer, Event
from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Label, Variant, Verdict
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

VERSION = 1
CONTAIN = "contain"
LONGEST_WAIT = 3600.0
"""Seconds that a container may say it waits."""
_ID = lazy_re(r"[a-z0-9]{32}")
_EFFECTS = 64
_TEXT_MOST = 4096
_RULE_MOST = 200
_OWN = 32


class ContainerRequest(Record):
    """An event of a container, and what its side says about it."""

    id: str
    """32 random letters and digits: what the answer is found by, and never a path."""
    event: Event
    wait: float
    """Seconds that the container waits for the answer."""
    report: bool = False
    """Whether the call was let run already, because it is provably local."""
    able: tuple[str, ...] = ()
    """What the container can do with a call beside running it: ``contain``."""
    found: tuple[Effect, ...] = ()
    """What the container's own analysis sees, which has the files at hand. It is added to the host's own."""
    home: str = ""
    own: tuple[str, ...] = ()
    """Paths inside the container that belong to the gate."""
    kept: str | None = None
    """The whole of a long result, where the client keeps it in a file."""

    @property
    def made_at(self) -> float:
        """When its id was made, in seconds since the epoch; 0.0 where it does not tell."""
        return time_of(self.id)


class HostReply(Record):
    """The host's answer, or a note that somebody is being asked first."""

    answer: Answer
    kept: str | None = None
    """What is to stand in the file of a long result instead; ``None`` where that stays."""
    waiting: float = 0.0
    """Seconds that it may take until there is an answer; zero for the answer itself."""
    failed: str = ""
    """Why the host could not decide; empty where it could. The container's side then refuses, whatever the answer."""


def is_id(name: object) -> bool:
    """Whether a value can be the id of a request."""
    return isinstance(name, str) and _ID.fullmatch(name) is not None


# ---------------------------------------------------------------- requests
def write_request(key: bytes, request: ContainerRequest) -> bytes:
    """The sealed bytes of a request."""
    body = {
        "v": VERSION,
        "id": request.id,
        "event": to_json(request.event),
        "wait": request.wait,
        "report": request.report,
        "able": list(request.able),
        "found": [_effect_json(effect) for effect in _first_of_each(request.found)],
        "home": request.home,
        "own": list(request.own),
        "kept": request.kept,
    }
    return seal(key, REQUEST, _bytes(body))


def read_request(key: bytes, message: bytes) -> ContainerRequest:
    """What a container asks.

    Raises:
        RemoteError: The message was not sealed by it.
        BadInputError: It does not follow the schema.
    """
    said = parse(unseal(key, REQUEST, message))
    require_fields(said, {"v", "id", "event", "wait", "report", "able", "found", "home", "own", "kept"}, "the request")
    _same_version(said)
    if not is_id(said["id"]):
        raise BadInputError("id must be 32 lower-case letters and digits")
    wait = said["wait"]
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= LONGEST_WAIT:
        raise BadInputError(f"wait must be a number of seconds up to {LONGEST_WAIT:g}")
    found = said["found"]
    if not isinstance(found, list) or len(found) > _EFFECTS:
        raise BadInputError("found must be a list, and not a long one")
    return ContainerRequest(
        said["id"],
        from_json(said["event"]),
        float(wait),
        flag(said["report"], "report"),
        lines(said["able"], "able"),
        tuple(map(_effect, found)),
        text(said["home"], "home", _TEXT_MOST),
        lines(said["own"], "own")[:_OWN],
        None if said["kept"] is None else text(said["kept"], "kept"),
    )


def _first_of_each(effects: Sequence[Effect]) -> list[Effect]:
    """As many effects as there is room for. One of each sort comes first, because that decides."""
    first = {(effect.row, effect.gives, bool(effect.uncontainable)): effect for effect in reversed(effects)}
    return [*first.values(), *(effect for effect in effects if effect not in first.values())][:_EFFECTS]


def _same_version(said: Mapping[str, Any]) -> None:
    if said["v"] is not VERSION and (isinstance(said["v"], bool) or said["v"] != VERSION):
        raise BadInputError("the other side speaks another version: install the same Lockgate on both")


def _effect_json(effect: Effect) -> dict[str, Any]:
    return {
        "kind": effect.kind.value,
        "what": effect.what[:_TEXT_MOST],
        "rule": effect.rule[:_RULE_MOST],
        "because": effect.because[:_TEXT_MOST],
        "variant": effect.variant.value,
        "address": effect.address if len(effect.address) <= _TEXT_MOST else "",
        "gives": effect.gives.value if effect.gives else None,
        "uncontainable": effect.uncontainable[:_TEXT_MOST],
    }


def _effect(value: object) -> Effect:
    said = obj(value, "found")
    require_fields(said, {"kind", "what", "rule", "because", "variant", "address", "gives", "uncontainable"}, "found")
    rule = text(said["rule"], "rule", _RULE_MOST)
    if not rule.isprintable():
        raise BadInputError("rule is not the name of one")
    try:
        kind, variant = EffectKind(said["kind"]), Variant(said["variant"])
        gives = None if said["gives"] is None else Label(said["gives"])
    except (ValueError, TypeError):
        raise BadInputError("found says what no effect is") from None
    fields = ("what", "because", "address", "uncontainable")
    what, because, address, uncontainable = (text(said[field], field, _TEXT_MOST) for field in fields)
    return Effect(kind, what, rule, because, variant, address, gives, uncontainable=uncontainable)


# ---------------------------------------------------------------- answers
def write_reply(key: bytes, request: bytes, name: str, reply: HostReply) -> bytes:
    """The sealed bytes of an answer.

    Args:
        key: The container's.
        request: The whole message that is answered.
        name: Its id.
        reply: The answer.
    """
    answer = reply.answer
    body = {
        "v": VERSION,
        "id": name,
        "request": digest(request),
        "waiting": reply.waiting,
        "failed": reply.failed,
        "verdict": answer.verdict.word,
        "to_agent": answer.to_agent,
        "to_person": answer.to_person,
        "context": answer.context,
        "texts": dict(answer.texts),
        "withheld": answer.withheld,
        "approval": answer.approval,
        "approved": answer.approved,
        "kept": reply.kept,
    }
    return seal(key, ANSWER, _bytes(body))


_VERDICTS = {verdict.word: verdict for verdict in Verdict if verdict is not Verdict.JUDGE}
_REPLY = frozenset(
    "v id request waiting failed verdict to_agent to_person context texts withheld approval approved kept".split()  # noqa: SIM905
)


def read_reply(key: bytes, request: bytes, name: str, message: bytes) -> HostReply:
    """The answer to one request.

    Raises:
        RemoteError: It is forged or cut, answers another request, or does not follow the schema.
    """
    body = unseal(key, ANSWER, message)
    try:
        return _reply(parse(body), request, name)
    except BadInputError as error:
        raise RemoteError(f"the answer cannot be read: {error}") from None


def _reply(said: Mapping[str, Any], request: bytes, name: str) -> HostReply:
    require_fields(said, _REPLY, "the answer")
    _same_version(said)
    if said["id"] != name or said["request"] != digest(request):
        raise RemoteError("this is the answer to another request")
    verdict = _VERDICTS.get(text(said["verdict"], "verdict"))
    waiting, texts = said["waiting"], obj(said["texts"], "texts")
    if verdict is None or isinstance(waiting, bool) or not isinstance(waiting, int | float) or waiting < 0:
        raise BadInputError("there is no such verdict")
    answer = Answer(
        verdict,
        text(said["to_agent"], "to_agent"),
        text(said["to_person"], "to_person"),
        text(said["context"], "context"),
        texts={path: text(value, "texts") for path, value in texts.items()},
        withheld=text(said["withheld"], "withheld"),
        approval=text(said["approval"], "approval"),
        approved=flag(said["approved"], "approved"),
    )
    kept = None if said["kept"] is None else text(said["kept"], "kept")
    return HostReply(answer, kept, float(waiting), text(said["failed"], "failed"))


def _bytes(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
