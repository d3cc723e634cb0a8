"""The records that a program reads and writes when it uses the gate."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lockgate.core.events import PERSON, PROGRAM, STRANGER, PromptPart
from lockgate.core.model import Label, ToolCall

Call = ToolCall
"""One request of an agent to run a tool: ``Call("Bash", {"command": "git push"}, cwd="/home/user/shop")``."""


def person(text: str) -> PromptPart:
    """A part of a prompt that the person wrote for whom the agent works."""
    return PromptPart(PERSON, text)


def stranger(text: str, *, source: str) -> PromptPart:
    """A part of a prompt that others can write: an issue, a mail, a page.

    It makes the conversation untrusted. Addresses in it are not known from then on.

    Args:
        text: What they wrote.
        source: Where it comes from, for a person: ``issue 7``.
    """
    return PromptPart(STRANGER, text, source)


def program(text: str) -> PromptPart:
    """A part of a prompt that is fixed text of the program: it gives no label and no known address."""
    return PromptPart(PROGRAM, text)


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on a call. ``ask`` is only given where the program said that it asks itself."""

    verdict: Literal["allow", "contain", "ask", "deny"]
    tool_input: Mapping[str, Any]
    """What the tool is to be run with: for ``contain`` another input than was asked about, else the same."""
    reason: str = ""
    """What the agent is to read where the call is not run. Safe to show."""
    for_person: str = ""
    """The same for a person."""
    notes: str = ""
    """What the agent is to read beside the result of a call that is run; most often empty."""
    tier: str = ""
    """Which step of the cascade decided: labels, local, table, containment, judge, person, patterns or rules."""
    profile: str = ""
    approval: str = ""
    """The id under which a person was asked, where one was."""

    @property
    def allowed(self) -> bool:
        """Whether the call is to be run, with :attr:`tool_input`."""
        return self.verdict in ("allow", "contain")


@dataclass(frozen=True, slots=True)
class Result:
    """The result that the agent is to read."""

    output: Any
    """The output in its own shape, without what must not be read."""
    changed: bool = False
    """Whether it is another than the tool gave."""
    notes: str = ""
    """What the agent is to read beside it; most often empty."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question that a person has to answer about one exact call."""

    approval: str
    tool: str
    tool_input: Mapping[str, Any]
    """The whole of it; values that the pattern library found are masked. Untrusted text: escape it to show it."""
    reasons: tuple[str, ...]
    """Why a person is asked. May hold untrusted text."""
    labels: frozenset[Label]
    provenance: tuple[str, ...]
    """Where the labels come from. Untrusted text."""
    expires_at: float
    """Seconds since the epoch."""
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The whole record, as the audit has it."""


Reply = bool | tuple[bool, str]
"""Whether the call may run, and with a refusal what the agent is told."""

Asker = Callable[[Question], Reply | Awaitable[Reply]]
"""Puts a question before a person. It is the program's, and must never be reachable by the agent."""

Ask = Literal["wait", "deny", "caller"] | Asker
"""The way in which a question is put before a person, where a table asks one.

``wait``: a person does, with ``lockgate approve``, and the call waits for it. ``deny``: nobody; the call is refused.
``caller``: whoever checks the call, who gets the verdict ``ask``. A function: it does, and what it says is recorded.
"""
