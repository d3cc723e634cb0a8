"""One module per client: its payloads to events, and answers in its dialect. A hook imports that of its own client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Protocol

    from lockgate.clients.common.hook_command import Launch
    from lockgate.core.events import Answer, Context, Event
    from lockgate.core.model import ToolCall
    from lockgate.core.questions import Objection, RulesQuestion, TurnQuestion
    from lockgate.system.folders import Folders

    class Adapter(Protocol):
        """What the hook asks of a client's module."""

        @property
        def EVENTS(self) -> tuple[str, ...]:  # noqa: N802 - a constant of the module
            """The events that the gate is registered for, as the client names them."""

        @property
        def OBJECTS(self) -> bool:  # noqa: N802 - a constant of the module
            """Whether :meth:`objections` has any."""

        @property
        def UNNAMED(self) -> bool:  # noqa: N802 - a constant of the module
            """Whether a payload does not say its event, so that the command line must."""

        def decode(
            self, payload: Mapping[str, Any], environ: Mapping[str, str], launch: Launch | None = None
        ) -> Event | None:
            """Translate a payload; ``None`` where it needs nothing. Raises ``BadInputError``."""

        def encode(self, event_name: str, answer: Answer, event: Event | None = None) -> tuple[str, int]:
            """Spell an answer: what to write to stdout, and the exit code."""

        def encode_failure(
            self, event_name: str | None, message: str, payload: Mapping[str, Any] | None = None
        ) -> tuple[str, str, int]:
            """Spell "the gate could not decide", so that the client blocks: stdout, stderr and the exit code."""

        def missed(self, event: Event) -> Sequence[Event]:
            """What came into the context without an event of its own, as far as the client's files tell."""

        def objections(self, question: RulesQuestion) -> Sequence[Objection]:
            """What must never run in this client, because it could not be watched."""

        def parents_of(self, context: Context) -> tuple[str, ...]:
            """The sessions that a forked one came from."""

        def together(self, context: Context, home: str) -> Callable[[TurnQuestion], frozenset[str]] | None:
            """Who tells which calls the model made in the same message, where the client's files can prove it.

            Neither raises.
            """

        def unattended(self, context: Context, call: ToolCall, folders: Folders) -> str:
            """Why a question about a call in the client's own dialog may be answered by somebody else than the person.

            Empty where it is put whole before that person alone. A client of which that was not observed says so.
            """

        def has_history(self, context: Context) -> bool:
            """Whether a session has read something already."""

        def is_fixed(self, context: Context, call: ToolCall, home: str) -> bool:
            """Whether a call must not be rewritten: the client may have a rule about it, or would not run it."""

        def is_permitted(self, context: Context, call: ToolCall, home: str) -> bool:
            """Whether the client's own rules let a call run unasked."""


_MODULES = {
    "claude-code": "claude",
    "codex": "codex",
    "gemini-cli": "gemini",
    "copilot-cli": "copilot",
    "opencode": "opencode",
    "cursor": "cursor",
}
_LOADED: dict[str, Adapter] = {}
CLIENTS = tuple(_MODULES)
"""The names of the clients, as a command line spells them."""


def adapter(client: str) -> Adapter:
    """The module of a client.

    Raises:
        BadInputError: There is none.
    """
    loaded = _LOADED.get(client)
    if loaded is not None:
        return loaded
    module = _MODULES.get(client)
    if module is None:
        from lockgate.core.errors import BadInputError

        raise BadInputError(f"unknown client {client!r}; known: {', '.join(CLIENTS)}")
    _LOADED[client] = found = __import__(f"lockgate.clients.{module}.events", fromlist=["EVENTS"])
    return found
