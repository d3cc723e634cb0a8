"""What the small adapters have in common: they know no forks and no rules, and rewrite no call."""

from __future__ import annotations

from collections.abc import Sequence

from lockgate.core.events import Answer, Context, Event, ToolFinished
from lockgate.core.model import ToolCall
from lockgate.core.questions import NO_DIALOG, Objection, RulesQuestion
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.system.folders import Folders

OBJECTS = False


def missed(event: Event) -> Sequence[Event]:
    """Nothing: no file of the client is read."""
    return ()


def objections(question: RulesQuestion) -> Sequence[Objection]:
    """Nothing: whatever runs can be watched."""
    return ()


def parents_of(context: Context) -> tuple[str, ...]:
    """Nothing: no file of the client is read."""
    return ()


def together(context: Context, home: str) -> None:
    """Nobody: no file of the client is known to tell it."""


def unattended(context: Context, call: ToolCall, folders: Folders) -> str:
    """Nothing is asked in it: whether its dialog shows a question whole, to the person alone, was not observed."""
    return NO_DIALOG


def has_history(context: Context) -> bool:
    """A session whose beginning was not seen counts as one that has read something."""
    return True


def is_fixed(context: Context, call: ToolCall, home: str) -> bool:
    """No call is rewritten: it is not known that the client holds its own rules against what was asked for."""
    return True


def is_permitted(context: Context, call: ToolCall, home: str) -> bool:
    """Nothing is said about permission."""
    return False


def said(answer: Answer) -> str:
    """Why something is refused."""
    return answer.to_agent or answer.to_person or "Lockgate blocked this"


def failure(message: str) -> str:
    """Why a gate that could not decide refuses."""
    from lockgate.core.display_text import visible

    return f"Lockgate could not decide and blocks to be safe: {visible(message) or 'unknown failure'}"


def new_text(answer: Answer, event: Event | None) -> str | None:
    """What the model reads instead of a result, ``None`` where it reads that."""
    if not isinstance(event, ToolFinished) or not (answer.withheld or answer.texts):
        return None
    return answer.withheld or "\n".join(answer.texts.get(path, text) for path, text in event.texts)
