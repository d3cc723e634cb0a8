"""Asks a resident gate for its status, or to end. For the command line."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from lockgate.clients.wire.resident import (
    NONCE,
    NOT_HERE,
    PROOF,
    BytesAnswer,
    HookRequest,
    answer_of,
    encode_request,
    is_proved,
    proof_begun,
)
from lockgate.clients.wire.resident_files import connect, is_held, wait_until_gone
from lockgate.core.errors import BadInputError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.peer_credentials import peer_of

if TYPE_CHECKING:
    from _socket import socket as Socket  # noqa: N812 - the name of the class that it is
    from typing import Any

SECONDS = 2.0
"""How long a gate may take to tell how it is."""
ENDING = 3.0
"""How long a gate may take to end by itself. It keeps nothing that would be lost, so it is killed after that."""
_PROVING = 0.3
"""How long one may take to prove that it is the gate."""
_PAUSE = 0.02


class ResidentState(Record):
    """The state of the gate of a state folder."""

    runs: bool
    """Whether a process holds the gate's lock."""
    problem: str = ""
    """Why it does not answer; empty where it does, or where there is none."""
    facts: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """What it says of itself: see :meth:`lockgate.service.resident.metrics.Measures.told`."""

    @property
    def answers(self) -> bool:
        """Whether hooks can have it decide."""
        return self.runs and not self.problem


def look(state: str, seconds: float = SECONDS) -> ResidentState:
    """See whether a gate serves a state folder, and how it is. Never starts one.

    Args:
        state: The state folder.
        seconds: How long it may take to answer.
    """
    if not is_held(state) and not (_is_reached(state) and not is_held(state)):
        return ResidentState(runs=False)
    try:
        with _connect(state, seconds) as (connection, _):
            code, stdout, _ = _ask(connection, "@status", _key(state))
        facts = json.loads(stdout)
    except (OSError, BadInputError, ValueError) as error:
        return ResidentState(runs=True, problem=_describe_error(error))
    if code or not isinstance(facts, dict):
        return ResidentState(runs=True, problem="it does not say how it is")
    return ResidentState(runs=True, facts=facts)


def is_genuine(state: str) -> bool:
    """Whether what listens has the installation's key."""
    try:
        with _connect(state, _PROVING) as (connection, _):
            _ask(connection, "@status", _key(state))
    except (OSError, BadInputError):
        return False
    return True


def stop_gate(state: str, seconds: float = ENDING) -> bool:
    """End the gate, and wait until it has ended; whether there was one.

    One that does not hear is killed: what it has answered is in the store, and a hook that still waits for it decides
    by itself.

    Args:
        state: The state folder.
        seconds: How long it may take by itself.

    Raises:
        OSError: It cannot be ended.
    """
    if not is_held(state):
        return False
    until = time.monotonic() + seconds
    pid = 0
    with suppress(OSError), _connect(state, seconds) as (connection, process):
        pid = process
        try:
            _ask(connection, "@stop")
        except BadInputError:  # an older one, which does not understand this
            os.kill(pid, signal.SIGTERM)
    if wait_until_gone(state, until):
        return True
    if not pid:
        raise OSError("the resident gate cannot be reached, and does not end")
    os.kill(pid, signal.SIGKILL)
    if not wait_until_gone(state, time.monotonic() + ENDING):
        raise OSError("the resident gate does not end")
    return True


def wait_for(state: str, seconds: float) -> ResidentState:
    """Wait until a gate answers, so long at most.

    Args:
        state: The state folder.
        seconds: How long.
    """
    until = time.monotonic() + seconds
    while not (found := look(state)).answers and time.monotonic() < until:
        time.sleep(_PAUSE)
    return found


@contextmanager
def _connect(state: str, seconds: float) -> Iterator[tuple[Socket, int]]:
    """A connection to the gate, and its process id as the kernel tells it."""
    connection, _ = connect(state, time.monotonic() + seconds)
    with closing(connection):
        connection.settimeout(seconds)
        peer = peer_of(connection)
        if peer.uid != os.geteuid():
            raise BadInputError(f"the socket belongs to a process of user {peer.uid}")
        yield connection, peer.pid


def _is_reached(state: str) -> bool:
    """Whether something listens where a gate does. One without the lock is none."""
    try:
        with _connect(state, _PROVING):
            return True
    except (OSError, BadInputError):
        return False


def _key(state: str) -> bytes:
    """The installation's key; empty where it cannot be read, which is told elsewhere."""
    from lockgate.system.files import read_regular

    try:
        return read_regular(os.path.join(state, "key"), 64, follow=False)
    except OSError:
        return b""


def _ask(connection: Socket, word: str, key: bytes = b"") -> BytesAnswer:
    """Ask one thing. With the key, the answer has to be of a process that has it too."""
    nonce = os.urandom(NONCE).hex() if key else ""
    spelt = encode_request(HookRequest(os.getppid(), (word,), {}, b"", nonce=nonce))
    connection.sendall(spelt)
    heard = b""
    while part := connection.recv(1 << 16):
        heard += part
    if not key or heard == NOT_HERE:
        return answer_of(heard)
    if not is_proved(proof_begun(key, spelt), heard):
        raise BadInputError("it does not prove that it has the key of this installation, so it is no gate")
    return answer_of(heard[:-PROOF])


def _describe_error(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    if isinstance(error, OSError):
        return f"its socket cannot be reached ({error.strerror or type(error).__name__})"
    return str(error) if isinstance(error, BadInputError) else "what it says makes no sense"
