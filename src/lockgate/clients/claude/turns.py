"""Finds calls that Claude Code's model wrote in the same message, as far as the transcript proves it.

The transcript is believed only where the client keeps it by itself, and as one file of the same user: nothing that an
agent can write may stand in for it. Commands that write there are never let run, and contained ones cannot see it.
"""

from __future__ import annotations

import math
import os
import stat
import time
from collections.abc import Callable, Iterator
from functools import partial

from lockgate.clients.common.transcripts import ends_of, moment_of, parse_json
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.files import real_path

if TYPE_CHECKING:
    from typing import Any

    from lockgate.core.events import Context
    from lockgate.core.questions import TurnQuestion

_PART = 256 * 1024
"""How much of a transcript's end is looked at."""
_SECONDS = 0.4
"""How long a message is waited for: both observed versions of the client write within 0.2 s."""
_PAUSE = 0.04


def turn_reader(context: Context, home: str) -> Callable[[TurnQuestion], frozenset[str]] | None:
    """A reader of the calls in one message, where a session's transcript lies in the place that can be believed.

    A client that was told to keep its transcripts elsewhere may keep them where contained commands can write.
    """
    folder, name = os.path.split(context.transcript)
    top, project = os.path.split(folder)
    is_at_home = top == os.path.join(home, ".claude", "projects") and project not in ("", ".", "..")
    is_own = name == f"{context.subject.session}.jsonl"
    return partial(_together, home) if is_at_home and is_own else None


def _together(home: str, question: TurnQuestion) -> frozenset[str]:
    """Which of some calls were made in the same message as another one.

    The client makes and writes its transcript about a tenth of a second late: what does not stand there yet is waited
    for.
    """
    until = time.monotonic() + _SECONDS
    transcript = question.context.transcript
    while True:
        try:
            if not _is_believed(transcript, home):
                return frozenset()
            calls, began = calls_of_turn(transcript, question.call_id)
        except FileNotFoundError:
            calls, began = frozenset(), math.inf
        # A service may use an id twice: what ran before the model read something was written before it, too.
        wanted = frozenset(other for other, at in question.among.items() if at >= began or not calls)
        if (calls and wanted <= calls) or time.monotonic() >= until:
            return wanted & calls
        time.sleep(_PAUSE)


def calls_of_turn(transcript: str, call_id: str) -> tuple[frozenset[str], float]:
    """The calls of the message that made a call, none where the transcript does not tell (yet); and how old it can be.

    The client writes a line for each part of the assistant's message, all with the message's id. A result, or anything
    else that the model reads, is a line of its own: what stands before one and what stands after it is never the same
    message, even where a service gives all messages one id. The message is younger than what was read before it.
    Nothing but a line's own fields counts.
    """
    message, found, began = "", set[str](), math.inf
    for line in ends_of(transcript, _PART, only_end=True):
        record = parse_json(line)
        if not isinstance(record, dict) or record.get("type") not in ("user", "assistant"):
            continue
        said = record.get("message")
        name = said.get("id") if record["type"] == "assistant" and isinstance(said, dict) else None
        if not isinstance(name, str) or name != message:
            if call_id in found:
                break
            message, found = name if isinstance(name, str) else "", set()
        if record["type"] == "user":
            moment = moment_of(record.get("timestamp"))
            began = math.inf if moment is None else moment
        if message and isinstance(said, dict):
            found.update(_call_ids(said.get("content")))
    return (frozenset(found), began) if call_id in found else (frozenset(), math.inf)


def _is_believed(transcript: str, home: str) -> bool:
    """Whether a transcript is the user's own file, and reached by no link of any kind.

    Raises:
        FileNotFoundError: It is not there yet.
    """
    try:
        there = os.lstat(transcript)
        is_at_home = real_path(transcript) == real_path(home) + transcript[len(home) :]
    except FileNotFoundError:
        raise
    except (OSError, ValueError):
        return False
    is_own = there.st_uid == os.geteuid() and not there.st_mode & stat.S_IWOTH
    return is_at_home and is_own and stat.S_ISREG(there.st_mode) and there.st_nlink == 1


def _call_ids(content: Any) -> Iterator[str]:
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_use" and isinstance(block.get("id"), str):
            yield block["id"]
