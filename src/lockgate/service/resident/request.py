"""One request of a hook in the resident gate: its caller, its time, and how far it has come."""

from __future__ import annotations

import time
from contextvars import ContextVar, copy_context

from lockgate.clients.hook import deadline
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.caller import Caller, leave_when, stand_in_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lockgate.clients.hook.answer import EventRequest
    from lockgate.clients.wire.resident import HookRequest
    from lockgate.core.questions import Deliberation, Need
    from lockgate.gate import Consultants

_PROLONG: ContextVar[Callable[[float], float]] = ContextVar("prolong", default=float)
"""Makes the hook wait longer whose request is decided in this context."""


class Waiting:
    """Tells a hook how long to wait. It holds no reference to the :class:`Work` in whose context it lives.

    So the work is freed as soon as it is answered, and its memory is reused while it is in the processor's cache.
    """

    def __init__(self, asked: EventRequest) -> None:
        """Count the hook's waiting from now on."""
        self._asked = asked
        self.began = time.monotonic()
        self.tell: Callable[[float], None] = lambda _: None
        """Sends the hook how many seconds it has to wait for somebody else. May be called in any thread."""

    def prolong(self, seconds: float) -> float:
        """Make the hook wait longer; gives the seconds that it will."""
        most = deadline.most(self._asked.name) - (time.monotonic() - self.began)
        lent = max(min(seconds, most), 0.0)
        self.tell(lent)
        return lent


class Work:
    """A request that is being decided on."""

    def __init__(self, asked: EventRequest, request: HookRequest, pid: int) -> None:
        """Begin the work on a request.

        Args:
            asked: The event, not yet read.
            request: The request.
            pid: The hook's process.
        """
        self.asked = asked
        self.waiting = Waiting(asked)
        self.allowed = asked.options.deadline
        """Seconds that the hook and the configuration give a decision."""
        self.spent = 0.0
        """Seconds that the steps took."""
        self.deliberation: Deliberation | None = None
        self.consultants: Consultants | None = None
        """Who is asked, among them the hook's client with objections of its own."""
        self.is_gone: Callable[[], bool] = lambda: False
        """Whether the hook has ended."""
        self._data = request.payload
        self.caller = Caller(request.environ, pid, request.parent, request.mark)
        """The process on whose behalf the decision is made."""
        self.context = copy_context()
        """The context in which all steps run."""

    def read(self) -> bool:
        """Read the payload, in its context; whether there is an event to decide on."""
        stand_in_for(self.caller)
        data, self._data = self._data, b""
        return self.asked.read(data, self.caller.environ) is not None

    def consult(self, need: Need) -> Any:
        """Ask the one that a question is for, and wait for the answer. In any thread, in a copy of the context."""
        assert self.consultants is not None, "a question comes of a decision that has begun"
        _PROLONG.set(self.waiting.prolong)
        leave_when(self.is_gone)
        return self.consultants.ask(need)

    def end(self) -> None:
        """Give the work up: nobody waits for the answer any more."""
        if self.deliberation is not None:
            self.context.run(self.deliberation.close)


def prolong(seconds: float) -> float:
    """Make the hook of this context wait longer; gives the seconds that it will."""
    return _PROLONG.get()(seconds)
