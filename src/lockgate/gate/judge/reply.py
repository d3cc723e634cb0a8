"""Parses an endpoint's answer strictly: anything that is not exactly an opinion is a failure."""

from __future__ import annotations

from lockgate.core.errors import JudgeError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.digests import strict_decoder

if TYPE_CHECKING:
    from typing import Any, NoReturn

MAX_REASON = 2000
"""Characters of a reason."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"flagged": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["flagged", "reason"],
    "additionalProperties": False,
}
"""What an endpoint is asked to hold its model to. It is not believed to."""


class Reply(Record):
    """A model's reply."""

    flagged: bool
    reason: str
    tokens: tuple[int, int] = (0, 0)
    """Tokens read and written, zero where the endpoint does not say."""


def parse(data: bytes | str, what: str) -> Any:
    """One JSON value.

    Args:
        data: The whole text.
        what: What it is, for the error.

    Raises:
        JudgeError: It is not UTF-8 or not JSON, names a key twice, has a number that JSON does not know, or is nested
            too deep.
    """

    def refuse(why: str) -> NoReturn:
        raise JudgeError(f"{what} {why}")

    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        return strict_decoder(refuse).decode(text)
    except UnicodeDecodeError:
        raise JudgeError(f"{what} is not UTF-8") from None
    except (ValueError, RecursionError):
        raise JudgeError(f"{what} is not JSON") from None


def opinion(text: Any, tokens: tuple[int, int]) -> Reply:
    """A model's answer: exactly the object that was asked for, and nothing around it.

    Raises:
        JudgeError: It is anything else.
    """
    if not isinstance(text, str):
        raise JudgeError("the model gave no text")
    value = parse(text, "the model's answer")
    if not isinstance(value, dict) or value.keys() != {"flagged", "reason"}:
        raise JudgeError("the model's answer is not an object with flagged and reason alone")
    flagged, reason = value["flagged"], value["reason"]
    if flagged is not True and flagged is not False:
        raise JudgeError("the model's flagged is neither true nor false")
    if not isinstance(reason, str) or not 0 < len(reason.strip()) <= MAX_REASON:
        raise JudgeError("the model's reason is no text, empty or too long")
    return Reply(flagged, reason.strip(), tokens)


def tokens_of(value: Any, read: str, written: str) -> tuple[int, int]:
    """The tokens that an answer's ``usage`` counts, zero where it does not say."""
    usage = value.get("usage") if isinstance(value, dict) else None
    return (_count(usage.get(read)), _count(usage.get(written))) if isinstance(usage, dict) else (0, 0)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else 0


def member(value: Any, name: str, kind: type, what: str) -> Any:
    """A member of an object, of one type.

    Raises:
        JudgeError: There is no such object, or member, or it is of another type.
    """
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, kind):
        raise JudgeError(f"{what} has no {name}")
    return found
