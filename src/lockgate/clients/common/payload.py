"""Parses what a client wrote to a hook's stdin: bytes of unknown origin become one JSON object."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lockgate.core.errors import BadInputError
from lockgate.core.events import Context, Event, PromptSubmitted, SessionEnded, SessionStarted
from lockgate.core.model import OBJECT
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.digests import strict_decoder

if TYPE_CHECKING:
    from typing import Any, NoReturn, TypeVar

    _Decoder = TypeVar("_Decoder")

_MAX_ID = 256


def _refuse(why: str) -> NoReturn:
    raise BadInputError(f"the payload {why}")


_SPACE = " \t\n\r"
"""What JSON allows around a value; :meth:`json.JSONDecoder.decode` looks for it by patterns, which takes longer."""
_DECODER = strict_decoder(_refuse)


def parse(data: bytes) -> Mapping[str, Any]:
    """Read a payload.

    Raises:
        BadInputError: It is not one JSON object in UTF-8, says a key twice, or is nested too deep.
    """
    if not data.strip():
        raise BadInputError("stdin was empty; the client must write one JSON object to it")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInputError(f"the payload is not UTF-8 (byte {error.start})") from None
    try:
        text = text.strip(_SPACE)
        payload, end = _DECODER.raw_decode(text)
        if end != len(text):
            raise BadInputError("the payload is not JSON (Extra data)")
        if b"\\ud" in data or b"\\uD" in data:
            payload = _without_surrogates(payload)
    except RecursionError:
        raise BadInputError("the payload is nested too deep") from None
    except ValueError as error:
        raise BadInputError(f"the payload is not JSON ({getattr(error, 'msg', 'a number is too long')})") from None
    if not isinstance(payload, dict):
        raise BadInputError("the payload must be a JSON object")
    return payload


def _without_surrogates(value: Any) -> Any:
    """Replace lone surrogates by U+FFFD, as the client does when it passes a string to a process or a file."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value


# ---------------------------------------------------------------- events that clients spell alike
def prompt_submitted(payload: Mapping[str, Any], context: Context) -> Event:
    """A prompt: a person's, unless a sub-agent has it, or the client says that nobody typed it."""
    typed = payload.get("typed") is not False and not context.subject.agent
    return PromptSubmitted(context, text(payload, "prompt", empty=True), human=typed)


def session_started(payload: Mapping[str, Any], context: Context) -> Event:
    """The beginning of a session, of a client that does not say how it began."""
    return SessionStarted(context, "startup")


def session_begun(payload: Mapping[str, Any], context: Context) -> Event:
    """The beginning of a session, of a client that says how it began."""
    return SessionStarted(context, text(payload, "source"))


def session_ended(payload: Mapping[str, Any], context: Context) -> Event:
    """The end of a session, with the reason that the client gives."""
    return SessionEnded(context, optional(payload, "reason"))


def agent_decoder(field: str, event: Callable[[Context], Event]) -> Callable[[Mapping[str, Any], Context], Event]:
    """A decoder of an event of a sub-agent, whose id stands in a field of the payload."""

    def decoder(payload: Mapping[str, Any], context: Context) -> Event:
        identifier(payload, field)
        return event(context)

    return decoder


# ---------------------------------------------------------------- fields of a payload
def quote_text(text: str) -> str:
    """A text of a payload as an error may quote it."""
    from lockgate.core.display_text import visible

    return repr(visible(text, 60))


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def text(payload: Mapping[str, Any], field: str, *, empty: bool = False) -> str:
    """A required string; with ``empty`` it may be empty.

    Raises:
        BadInputError: It is missing, or no string.
    """
    value = payload.get(field)
    if isinstance(value, str):
        if value or empty:
            return value
        raise BadInputError(f"{field} is empty")
    if field not in payload:
        raise BadInputError(f"the payload has no {field}")
    raise BadInputError(f"{field} must be a string, not {kind(value)}")


def optional(payload: Mapping[str, Any], field: str) -> str:
    """A string that may be missing, null or empty.

    Raises:
        BadInputError: It is something else.
    """
    value = payload.get(field)
    if isinstance(value, str):
        return value
    return "" if value is None else text(payload, field, empty=True)


def identifier(payload: Mapping[str, Any], field: str, *, maybe: bool = False) -> str:
    """A short printable string; with ``maybe`` it may be missing.

    Raises:
        BadInputError: It is something else.
    """
    value = payload.get(field)
    if maybe and value is None:
        return ""
    if not isinstance(value, str) or not value:
        value = text(payload, field, empty=maybe)
    if len(value) > _MAX_ID or not value.isprintable():
        raise BadInputError(f"{field} is not an identifier: {quote_text(value)}")
    return value


def require_object(payload: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    """A required object.

    Raises:
        BadInputError: It is missing, or no object.
    """
    if field not in payload:
        raise BadInputError(f"the payload has no {field}")
    value = payload[field]
    if not isinstance(value, OBJECT):
        raise BadInputError(f"{field} must be an object, not {kind(value)}")
    return value


def decoder_of(
    payload: Mapping[str, Any],
    decoders: Mapping[str, _Decoder],
    ignored: frozenset[str] = frozenset(),
    field: str = "hook_event_name",
) -> _Decoder | None:
    """What decodes a payload, by the event that it names; ``None`` for an event that needs nothing.

    Raises:
        BadInputError: It names no event that is known.
    """
    name = text(payload, field)
    decoder = decoders.get(name)
    if decoder is None and name not in ignored:
        raise BadInputError(f"unknown event {quote_text(name)}; is this version of Lockgate older than the client?")
    return decoder
