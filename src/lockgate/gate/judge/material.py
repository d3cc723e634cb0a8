"""Selects what the judge is sent: the call without credentials, and what the analysis says of it.

The endpoint is somebody else's machine, so credentials stay here. But what is taken out is also what the judge cannot
see: a call is not put to it where that could be more than a value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from lockgate.core.errors import JudgeError
from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, Taint
from lockgate.core.questions import CODE, JudgeQuestion
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.judge.delimiters import Block, readable
from lockgate.patterns.redaction.credentials import redact

if TYPE_CHECKING:
    from typing import Any

MAX_CALL = 24_000
"""Characters of a call that is judged. A longer one is not cut, because its end would go unseen: it is not judged."""
_EFFECTS = 30
_TAINTS = 12
_LINE = 400
"""Characters of one line about an effect or a label, which the judge is told beside the call."""

_HIDDEN = "a value that must not be sent to the judge could hold code"
_MARK = lazy_re(r"\[redacted:[^\]]*\]")
_NO_VALUE = CODE | frozenset("\"' \t@~*?")
"""Characters that no key has, and that can make more of what is taken out: other words, files, a pattern of names."""
_NAMED = lazy_re(r"(?<!\w)([A-Za-z_]\w*)[\"']?\s{0,4}(?::=|=|:)\s{0,4}[\"']?\[redacted:")
"""A name with a value that was taken out."""


class Material(Record):
    """Everything that is sent of a question, beside the labels and the kinds of effects."""

    call: Block
    folder: Block
    effects: Block
    labels: Block

    @property
    def blocks(self) -> tuple[Block, ...]:
        """In the order in which they are sent."""
        return tuple(self)


def material_of(question: JudgeQuestion) -> Material:
    """What is sent of a question.

    Raises:
        JudgeError: The call is too long, or a value that must not be sent could hold code.
    """
    if question.obscured:
        raise JudgeError(_HIDDEN)
    call = readable(_call(question))
    if len(call) > MAX_CALL:
        raise JudgeError(f"the call is too long to be judged: {len(call)} characters; at most {MAX_CALL}")
    effects = (_effect(reason.effect) for reason in question.decision.reasons)
    return Material(
        Block("call", call),
        Block("working folder", readable(_line(question.call.cwd))),
        Block("effects", readable(_lines(effects, _EFFECTS))),
        Block("where the labels come from", readable(_lines(map(_taint, question.taints), _TAINTS))),
    )


# ---------------------------------------------------------------- the call
def _call(question: JudgeQuestion) -> str:
    """The tool and its input: a command as it is written, all else as JSON."""
    call = question.call
    rest = dict(call.tool_input)
    parts = [f"tool: {_without_credentials(call.tool)}"]
    command = rest.pop("command", None)
    if isinstance(command, str):
        cleaned = _without_credentials(command)
        _check_names(cleaned)
        parts.append(f"command:\n{cleaned}")
    elif command is not None:
        rest["command"] = command
    if rest:
        parts.append(f"input: {json.dumps(_clean(rest), indent=1, ensure_ascii=False, default=str)}")
    return "\n".join(parts)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _without_credentials(value)
    if isinstance(value, Mapping):
        return {_without_credentials(str(name)): _clean_field(name, item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value


def _clean_field(name: object, value: Any) -> Any:
    """A field's value; whether a text is a credential may be said by the field's name alone."""
    if not isinstance(value, str):
        return _clean(value)
    cleaned = _without_credentials(value)
    prefix = f"{name}="
    with_name = redact(prefix + cleaned)
    if with_name == prefix + cleaned or not with_name.startswith(prefix):
        return cleaned
    _check(prefix + cleaned, with_name)
    return with_name.removeprefix(prefix)


def _without_credentials(text: str) -> str:
    redacted = redact(text)
    if redacted != text:
        _check(text, redacted)
    return redacted


def _check(text: str, redacted: str) -> None:
    # What was taken out is what the text has more of: which of several equal pieces it stood between does not matter.
    left = "".join(_MARK.split(redacted))
    if any(text.count(character) > left.count(character) for character in _NO_VALUE):
        raise JudgeError(_HIDDEN)


def _check_names(command: str) -> None:
    """Make sure that no value that was taken out of a command is used by its name: as an address, an option, a file."""
    named = _NAMED.findall(command)
    if any(len(re.findall(rf"(?<!\w){name}(?!\w)", command)) > named.count(name) for name in dict.fromkeys(named)):
        raise JudgeError(_HIDDEN)


# ---------------------------------------------------------------- what is said of it
def _effect(effect: Effect) -> str:
    kind = f"{effect.kind.value} ({effect.variant.value})" if effect.variant.value else effect.kind.value
    return _line(f"{kind}: {effect.what}: {effect.because} [{effect.rule}]")


def _taint(taint: Taint) -> str:
    return _line(f"{taint.label.value}: {taint.source}")


def _line(text: str) -> str:
    # Cut before it is searched for credentials too: an address can be as long as a call.
    from lockgate.core.display_text import visible

    return visible(redact(visible(text, 4 * _LINE)), _LINE)


def _lines(texts: Iterable[str], most: int) -> str:
    every = list(dict.fromkeys(texts))
    more = [f"and {len(every) - most} more"] if len(every) > most else []
    return "\n".join(f"- {line}" for line in (*every[:most], *more)) or "none"
