"""The short form of a request about a shell command, for programs that speak only JSON.

::

    {"type": "security:bash_check", "request_id": "...", "command": "curl https://..."}

It names no session and brings no results, so it has one session for each group, whose labels can only grow: what a
command may bring counts as come. It needs no seal, because it can take nothing away. Its answer is one JSON object,
whose ``mac`` is over the others, as canonical JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lockgate.clients.common.payload import parse
from lockgate.clients.wire.envelope import ANSWER, authentication_code, digest
from lockgate.clients.wire.events import require_fields, text
from lockgate.clients.wire.messages import ContainerRequest, HostReply, is_id
from lockgate.core.errors import BadInputError
from lockgate.core.events import Context, ToolRequested
from lockgate.core.model import Subject, ToolCall, Verdict

TYPE = "security:bash_check"
SEED_SESSION = "commands"
"""The session of all requests of a group that are in this form."""
_CLIENT = "ipc"
_WAIT = 300.0


def is_short(message: bytes) -> bool:
    """Whether a message is in this form, as far as its first byte tells."""
    return message.lstrip()[:1] == b"{"


def read_short(message: bytes) -> tuple[str, ContainerRequest]:
    """The request's own id, and what it asks.

    Raises:
        BadInputError: It does not follow the schema.
    """
    said = parse(message)
    require_fields(said, {"type", "request_id", "command"}, "the request")
    name, command = (text(said["request_id"], "request_id"), text(said["command"], "command"))
    if said["type"] != TYPE:
        raise BadInputError(f"type must be {TYPE}")
    plain = name.replace("-", "").lower()
    if not is_id(plain):
        raise BadInputError("request_id must be a UUID, or 32 lower-case letters and digits")
    call = ToolCall("Bash", {"command": command})
    return name, ContainerRequest(
        plain, ToolRequested(Context(_CLIENT, Subject(SEED_SESSION)), call, askable=False), _WAIT
    )


def write_short(key: bytes, message: bytes, name: str, reply: HostReply) -> bytes:
    """Write an answer in the short form."""
    answer = reply.answer
    allowed = answer.verdict is Verdict.ALLOW and not reply.failed
    refusal = reply.failed or answer.to_agent or answer.to_person
    body: Mapping[str, Any] = {
        "decision": "allow" if allowed else "deny",
        "reason": "" if allowed else refusal,
        "request_id": name,
        "request_sha256": digest(message),
    }
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return json.dumps({**body, "mac": authentication_code(key, ANSWER, canonical.encode())}).encode()
