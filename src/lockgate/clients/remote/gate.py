"""The gate as a container's hook sees it: sends an event to the host, and reads the answer.

What provably does nothing but look at the container's own files needs no answer: it is let run at once and reported, so
that the host can look at it too. Everything else waits for the host, and where the host does not answer as it must,
:class:`lockgate.core.errors.RemoteError` is raised, on which the hook refuses. Nothing is ever decided here instead.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from lockgate.clients.wire.keys import VARIABLE, read_key
from lockgate.clients.wire.messages import CONTAIN, LONGEST_WAIT, ContainerRequest, HostReply, read_reply, write_request
from lockgate.clients.wire.request_ids import new_id
from lockgate.core.errors import RemoteError
from lockgate.core.events import Answer, Context, Event, ToolFailed, ToolFinished, ToolRefused, ToolRequested
from lockgate.core.lazy import lazy_re
from lockgate.core.model import Analysis, ToolCall, Verdict
from lockgate.core.questions import Objection, RulesQuestion
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.folders import Folders

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from lockgate.clients.wire.mailbox import Mailbox

LOCAL_TOOLS = frozenset({"Bash", "Glob", "Grep", "Read"})
"""Tools whose calls can be provably local. Of others the host has to know more than their effects."""
_MARK = "[REDACTED:"
"""Stands where a value was taken out. Whoever writes it somewhere may destroy the value there: the host decides."""
_PLAIN_MOST = 2000
"""Characters of a call that may run unanswered."""
_CREDENTIAL = lazy_re(r"(?=[A-Za-z_+-]*[0-9])(?=[0-9_+-]*[A-Za-z])[A-Za-z0-9_+-]{20}|-----BEGIN |://[^/@\s]*@")
"""What most credentials have and few honest words do: twenty characters with letters and digits among them."""
_MARGIN = 0.25
"""Seconds that are left for the refusal when the host does not answer."""
_RESULTS = (ToolFinished, ToolFailed, ToolRefused)


class HostAddress(Record):
    """The host's address."""

    place: str
    """``ipc:FOLDER``, ``unix:PATH`` or ``https://HOST:PORT``."""
    key_file: str
    folders: Folders
    """Those inside the container."""
    ca_file: str = ""
    """Certificates to trust instead of the system's, for HTTPS."""


class HookServices(Record):
    """The services that the process of a hook offers."""

    prolong: Callable[[float], float] = float
    """Receives the seconds that somebody is about to be waited for; gives how many that may be."""
    has_rule: Callable[[Context, ToolCall], bool] = lambda *_: False
    """Tells whether the client may have a rule about a call, which it would not know again rewritten."""
    objections: Callable[[RulesQuestion], Sequence[Objection]] | None = None
    """What must never run in this client, because it could not be watched."""


class RemoteGate:
    """Stands in for a :class:`lockgate.gate.Monitor`. One object is for one event."""

    def __init__(self, where: HostAddress, seconds: float, hands: HookServices) -> None:
        """Read the key.

        Args:
            where: How the host is reached.
            seconds: How long the host has to answer, or to say that somebody is being asked.
            hands: What this process can do.

        Raises:
            RemoteError: There is no key.
        """
        self._where = where
        self._seconds = max(seconds - _MARGIN, 0.05)
        self._hands = hands
        self._key = read_key(where.key_file or os.environ.get(VARIABLE, ""))

    def handle(self, event: Event) -> Answer:
        """Answer one event.

        Raises:
            RemoteError: The host does not answer, or not as it must. The caller then refuses.
        """
        if isinstance(event, ToolRequested):
            return self._forward_request(event)
        if isinstance(event, _RESULTS):
            event = self._of_the_agent(event)
        if isinstance(event, ToolFinished) and event.kept:
            return self._finish_with_file(event)
        return self._ask(event).answer

    # ---------------------------------------------------------------- calls
    def _forward_request(self, event: ToolRequested) -> Answer:
        context, call = event.context, event.call
        analysis = self._analysis(context, call)
        if self._hands.objections is not None:
            objections = self._hands.objections(RulesQuestion(context, call, analysis))
            if objections:
                return _objection_answer(objections)
        found = analysis.effects
        if not found and self._may_report(call):
            self._report(event)
            return Answer()
        contained = self._contain(context, call)
        able = (CONTAIN,) if contained is not None else ()
        answer = self._ask(event, able=able, found=found).answer
        if answer.verdict is not Verdict.CONTAIN:
            return answer
        if contained is None:
            raise RemoteError("the host wants a call contained that cannot be")
        return answer._replace(new_input=contained)

    def _may_report(self, call: ToolCall) -> bool:
        """Whether a call without effects may run at once. Over a socket a report takes as long as an answer."""
        if not self._key.local or not self._place_is_files or call.tool not in LOCAL_TOOLS or not _is_plain(call):
            return False
        return self._mailbox().is_served()

    @property
    def _place_is_files(self) -> bool:
        return self._where.place.startswith("ipc:")

    def _analysis(self, context: Context, call: ToolCall) -> Analysis:
        from lockgate.analysis import analyse
        from lockgate.gate.host.host_view import host_view_of, with_client
        from lockgate.resources.host_view import AnalysisRules

        around = host_view_of(self._where.folders, context.workspace, context.transcript, AnalysisRules())
        around = with_client(around, context.client)
        return analyse(call, around._replace(own_paths=(*around.own_paths, *self._own())))

    def _own(self) -> tuple[str, ...]:
        kind, _, path = self._where.place.partition(":")
        return (self._where.key_file, *([path] if kind in ("ipc", "unix") else []))

    def _contain(self, context: Context, call: ToolCall) -> Mapping[str, Any] | None:
        from lockgate.gate.host.host_view import make_contain

        contain, _ = make_contain(self._where.folders, self._hands.has_rule)
        return contain(context, call, "")

    def _of_the_agent(self, event: ToolFinished | ToolFailed | ToolRefused) -> ToolFinished | ToolFailed | ToolRefused:
        """The event with the call that the agent made, where that was rewritten."""
        from lockgate.gate.host.host_view import make_contain

        _, original = make_contain(self._where.folders, self._hands.has_rule)
        return event._replace(call=original(event.context, event.call))

    # ---------------------------------------------------------------- results
    def _finish_with_file(self, event: ToolFinished) -> Answer:
        """A long result: the host looks at the whole, and the file is rewritten here."""
        from lockgate.gate.host.host_view import write_kept

        replies: list[HostReply] = []

        def change(text: str) -> str:
            replies.append(self._ask(event, kept=text))
            kept = replies[0].kept
            return text if kept is None else kept

        try:
            write_kept(event.context, event.kept, change)
        except OSError:
            # The host then cannot look at it either, and says so to agent and person.
            return self._ask(event).answer
        return replies[0].answer

    # ---------------------------------------------------------------- the way
    def _ask(self, event: Event, **more: Any) -> HostReply:
        request = self._request(event, **more)
        message = write_request(self._key.secret, request)
        until = time.monotonic() + self._seconds
        ask = self._through_files if self._place_is_files else self._through_http
        return ask(request.id, message, until)

    def _request(self, event: Event, **more: Any) -> ContainerRequest:
        folders = self._where.folders
        own = tuple(path for path in (folders.state, folders.config, *self._own()) if path)
        return ContainerRequest(new_id(), event, LONGEST_WAIT, home=folders.home, own=own, **more)

    def _report(self, event: Event) -> None:
        request = self._request(event, report=True)
        self._mailbox().send(request.id, write_request(self._key.secret, request), report=True)

    def _mailbox(self) -> Mailbox:
        from lockgate.clients.wire.mailbox import Mailbox

        return Mailbox(self._where.place.removeprefix("ipc:"))

    def _through_files(self, name: str, message: bytes, until: float) -> HostReply:
        box = self._mailbox()
        box.send(name, message)
        reply = self._read(message, name, box.receive(name, until))
        if reply.waiting:
            until = time.monotonic() + self._hands.prolong(min(reply.waiting, LONGEST_WAIT)) + self._seconds
            reply = self._read(message, name, box.receive(name, until, waiting=True))
        return _final(reply)

    def _through_http(self, name: str, message: bytes, until: float) -> HostReply:
        from lockgate.clients.remote.http import exchange

        prolonged = False
        while True:
            body = exchange(self._where.place, self._where.ca_file, "/v1/decide", self._key.token, message, until)
            reply = self._read(message, name, body)
            if not reply.waiting:
                return reply
            if not prolonged:
                prolonged = True
                until += self._hands.prolong(min(reply.waiting, LONGEST_WAIT))

    def _read(self, message: bytes, name: str, answer: bytes) -> HostReply:
        reply = read_reply(self._key.secret, message, name, answer)
        if reply.failed:
            raise RemoteError(f"the gate outside of this container could not decide: {reply.failed}")
        return reply


def _objection_answer(objections: Sequence[Objection]) -> Answer:
    from lockgate.core.display_text import visible

    text = f"Lockgate blocked this call: {'; '.join(visible(each.reason, 300) for each in objections)}"
    return Answer(Verdict.DENY, to_agent=text, to_person=text)


def _final(reply: HostReply) -> HostReply:
    if reply.waiting:
        raise RemoteError("the host says that it waits, in the place of its answer")
    return reply


def _is_plain(call: ToolCall) -> bool:
    """Whether no text of a call is one that the pattern library should see before it runs.

    This is no search for secrets: what is long, or has a long word of letters and digits, is asked about.
    """
    from lockgate.patterns.fields import fields_of

    texts = [field.text for field in fields_of(call.tool_input)]
    if sum(map(len, texts)) > _PLAIN_MOST:
        return False
    return not any(_MARK in text or _CREDENTIAL.search(text) for text in texts)
