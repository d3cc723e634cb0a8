"""The events of :mod:`lockgate.core.events` as JSON, and back.

The schema is strict: every field is named and has a type.

What a client's payload holds beside these fields does not travel. Which fields there are is said once, in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lockgate.core import events
from lockgate.core.errors import BadInputError
from lockgate.core.events import Context, Event
from lockgate.core.model import Subject, ToolCall
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_TEXT, _FLAG, _CALL, _LINES, _PAIRS, _PARTS = "text", "flag", "call", "lines", "pairs", "parts"

EVENT_KINDS: Mapping[str, tuple[type, Mapping[str, str]]] = {
    "tool_requested": (
        events.ToolRequested,
        {"call": _CALL, "askable": _FLAG, "waits": _FLAG, "rewritable": _FLAG, "headless": _FLAG},
    ),
    "tool_finished": (
        events.ToolFinished,
        {
            "call": _CALL,
            "text": _TEXT,
            "agent": _TEXT,
            "untold": _FLAG,
            "background": _FLAG,
            "texts": _PAIRS,
            "names": _TEXT,
            "kept": _TEXT,
            "shown": _TEXT,
        },
    ),
    "tool_failed": (events.ToolFailed, {"call": _CALL, "error": _TEXT, "or_refused": _FLAG}),
    "tool_refused": (events.ToolRefused, {"call": _CALL, "reason": _TEXT}),
    "calls_answered": (events.CallsAnswered, {}),
    "prompt_submitted": (
        events.PromptSubmitted,
        {"prompt": _TEXT, "human": _FLAG, "rejected": _LINES, "outside": _FLAG, "parts": _PARTS},
    ),
    "session_started": (events.SessionStarted, {"how": _TEXT, "parents": _LINES}),
    "session_ended": (events.SessionEnded, {"why": _TEXT}),
    "agent_started": (events.AgentStarted, {}),
    "agent_stopped": (events.AgentStopped, {}),
    "config_changed": (events.ConfigChanged, {"source": _TEXT, "file": _TEXT, "harm": _TEXT, "acting": _TEXT}),
    "instructions_loaded": (events.InstructionsLoaded, {"file": _TEXT, "reason": _TEXT}),
}
"""Each kind of event: its type, and the fields that travel. Of a result these are its texts, and not the record."""

CONTEXT_FIELDS = (
    "client",
    "session",
    "agent",
    "cwd",
    "workspace",
    "agent_type",
    "process",
    "transcript",
    "mode",
    "spawned_by",
    "job",
)
_CALL_FIELDS = frozenset(("tool", "input", "cwd", "call_id"))
_ID_MOST = 256
_NAME_MOST = 4096


def to_json(event: Event) -> dict[str, Any]:
    """An event as a JSON object."""
    kind, fields = next((kind, fields) for kind, (made, fields) in EVENT_KINDS.items() if isinstance(event, made))
    body: dict[str, Any] = {"kind": kind, "context": _context_json(event.context)}
    for field, sort in fields.items():
        value = getattr(event, field)
        if sort is _CALL:
            value = {"tool": value.tool, "input": value.tool_input, "cwd": value.cwd, "call_id": value.call_id}
        elif sort in (_LINES, _PAIRS, _PARTS):
            value = list(value)
        body[field] = value
    return body


def _context_json(context: Context) -> dict[str, str]:
    said = {field: getattr(context, field) for field in CONTEXT_FIELDS if field not in ("session", "agent")}
    return {**said, "session": context.subject.session, "agent": context.subject.agent}


def from_json(body: object) -> Event:
    """The event of a JSON object.

    Raises:
        BadInputError: It is not one: a field is missing, of another type, too long, or not known.
    """
    said = obj(body, "the event")
    kind = said.get("kind")
    if not isinstance(kind, str) or kind not in EVENT_KINDS:
        raise BadInputError("the event is of no kind that is known; is one side older than the other?")
    made, fields = EVENT_KINDS[kind]
    require_fields(said, {"kind", "context", *fields}, "the event")
    values = {field: _READERS[sort](said[field], field) for field, sort in fields.items()}
    if made is events.ToolFinished:
        values["result"] = None
    event: Event = made(context=_context(said["context"]), **values)
    return event


def _context(value: object) -> Context:
    said = obj(value, "context")
    require_fields(said, set(CONTEXT_FIELDS), "context")
    texts = {field: text(said[field], field, _NAME_MOST) for field in CONTEXT_FIELDS}
    subject = Subject(_identifier(texts.pop("session"), "session"), _identifier(texts.pop("agent"), "agent"))
    return Context(subject=subject, **texts)


def _call(value: object, field: str) -> ToolCall:
    said = obj(value, field)
    require_fields(said, _CALL_FIELDS, field)
    tool = text(said["tool"], "tool", _NAME_MOST)
    if not tool:
        raise BadInputError("tool is empty")
    call_id = _identifier(text(said["call_id"], "call_id"), "call_id")
    return ToolCall(tool, obj(said["input"], "input"), text(said["cwd"], "cwd", _NAME_MOST), call_id)


# ---------------------------------------------------------------- values
def obj(value: object, what: str) -> Mapping[str, Any]:
    """A JSON object. Raises ``BadInputError`` for anything else."""
    if not isinstance(value, dict):
        raise BadInputError(f"{what} must be an object")
    return value


def require_fields(said: Mapping[str, Any], fields: frozenset[str] | set[str], what: str) -> None:
    """Make sure that an object has these fields and no other."""
    if set(said) != fields:
        raise BadInputError(f"{what} must have exactly the fields {', '.join(sorted(fields))}")


def text(value: object, what: str, most: int = -1) -> str:
    """A string of so many characters at most. Raises ``BadInputError`` for anything else."""
    if not isinstance(value, str):
        raise BadInputError(f"{what} must be a string")
    if 0 <= most < len(value):
        raise BadInputError(f"{what} is longer than {most} characters")
    return value


def flag(value: object, what: str) -> bool:
    """``true`` or ``false``. Raises ``BadInputError`` for anything else: a word for it is none."""
    if not isinstance(value, bool):
        raise BadInputError(f"{what} must be true or false")
    return value


def lines(value: object, what: str) -> tuple[str, ...]:
    """A list of strings. Raises ``BadInputError`` for anything else."""
    if not isinstance(value, list):
        raise BadInputError(f"{what} must be a list")
    return tuple(text(each, what) for each in value)


def _pairs(value: object, what: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in value):
        raise BadInputError(f"{what} must be a list of pairs")
    pairs = tuple((text(path, what), text(said, what)) for path, said in value)
    if len({path for path, _ in pairs}) != len(pairs):
        raise BadInputError(f"{what} names a place twice")
    return pairs


def _parts(value: object, what: str) -> tuple[events.PromptPart, ...]:
    if not isinstance(value, list) or any(not isinstance(part, list) or len(part) != 3 for part in value):
        raise BadInputError(f"{what} must be a list of an author, a text and a source each")
    return tuple(events.PromptPart(*(text(each, what) for each in part)) for part in value)


def _identifier(value: str, what: str) -> str:
    if len(value) > _ID_MOST or not value.isprintable():
        raise BadInputError(f"{what} is not an identifier")
    return value


_READERS: Mapping[str, Callable[[object, str], Any]] = {
    _TEXT: text,
    _FLAG: flag,
    _CALL: _call,
    _LINES: lines,
    _PAIRS: _pairs,
    _PARTS: _parts,
}
