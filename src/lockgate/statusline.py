"""The process behind Claude Code's status line: the client's JSON on stdin, one short line out.

It runs every few seconds beside a working session, so it is as light as a hook, gives up early and never fails.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

TYPE_CHECKING = False  # nothing of ours, nor typing itself, is imported before main() can fail quietly
if TYPE_CHECKING:
    from typing import NoReturn

    from lockgate.core.model import Taint
    from lockgate.store.protocol import Transaction

_MAX_INPUT = 1 << 20
_SECONDS = 1.0
_UNKNOWN = "lockgate: ?"
_NOT_ACTIVE = "lockgate: not active in this session"


def line(state: str, session: str) -> str:
    """The status line of a session's main agent.

    Args:
        state: The state folder.
        session: The session's id.

    Raises:
        StoreError: The state cannot be read.
    """
    from lockgate.core.model import Label, Subject
    from lockgate.gate.session import provenance, state_warnings
    from lockgate.store.opening import open_existing

    store = open_existing(state, busy_seconds=_SECONDS / 2)
    if store is None:
        return _NOT_ACTIVE
    try:
        with store.reading() as tx:
            if tx.session(session) is None:
                return _NOT_ACTIVE
            taints = provenance(tx, Subject(session))
            told = "".join(f"{each.short} | " for each in state_warnings(tx, store.clock()))
            paused = _pause_text(tx, state)
    finally:
        store.close()
    shown = [_label(taints, label) for label in (Label.UNTRUSTED, Label.SECRET)]
    labels = " + ".join(text for text in shown if text) or "clean"
    return f"lockgate: {told}{_anchors(state)}{paused}{labels}"


def _anchors(state: str) -> str:
    import time

    from lockgate.store.sqlite.head_anchors import HeadAnchors

    return "ANCHOR PROBLEM (lockgate status) | " if HeadAnchors(state, "", None).has_problems(time.time()) else ""


def _pause_text(tx: Transaction, state: str) -> str:
    from lockgate.system.folders import PAUSE

    if not os.path.lexists(os.path.join(state, PAUSE)):
        return ""
    from lockgate.configuration.pause import look_at_pause
    from lockgate.system.timestamps import local_time
    from lockgate.system.uptime import instant

    until = look_at_pause(tx, state, instant()).until
    return f"PAUSED until {local_time(until, seconds=False)} | " if until else ""


def _label(taints: Sequence[Taint], label: str) -> str:
    first = next((taint for taint in taints if taint.label == label), None)
    return f"{label.upper()} ({_short(first.source)})" if first else ""


def _short(source: str) -> str:
    """A source in a few words: of an address only its host."""
    from lockgate.core.display_text import visible

    tool, _, what = source.partition(": ")
    if "://" in what:
        host = what.partition("://")[2].partition("/")[0].rpartition("@")[2].partition("?")[0]
        return visible(f"{tool} {host}", 60)
    return visible(f"{tool} {what}".strip(), 60)


def _answer(arguments: Sequence[str]) -> str:
    import json

    from lockgate.system.folders import state_dir

    data = b""
    while chunk := os.read(0, 1 << 16):
        data += chunk
        if len(data) > _MAX_INPUT:
            return _UNKNOWN
    session = json.loads(data)["session_id"]
    if not isinstance(session, str):
        return _UNKNOWN
    state = arguments[1] if len(arguments) == 2 and arguments[0] == "--state" else state_dir()
    return line(state, session)


def main(arguments: Sequence[str]) -> NoReturn:
    """Print the line and end the process with 0, whatever happens.

    Args:
        arguments: Nothing, or ``--state`` and the state folder.
    """
    import signal

    def give_up(*_: object) -> None:
        _print(_UNKNOWN)

    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        text = _answer(arguments)
    except BaseException:  # noqa: BLE001 - a status line that fails would only be in the way
        text = _UNKNOWN
    signal.setitimer(signal.ITIMER_REAL, 0)
    _print(text)


def _print(text: str) -> NoReturn:
    try:
        os.write(1, f"{text}\n".encode("utf-8", "replace"))
    finally:
        os._exit(0)


if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    main(sys.argv[1:])
