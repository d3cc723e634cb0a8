"""What the scripted model says: conversations of turns of tool calls, in Claude Code's vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Input = Mapping[str, Any]


@dataclass(frozen=True)
class Call:
    """One tool call. Its id, under which its result is found, is made from its place in the script."""

    name: str
    input: Input


@dataclass(frozen=True)
class Turn:
    """One answer of the model."""

    calls: Sequence[Call] = ()
    text: str = ""
    before: Callable[[], None] | None = None
    """Run by the server before it answers: what the world outside does meanwhile."""


@dataclass(frozen=True)
class Script:
    """Conversations by the marker that a conversation's own prompts hold. The first that fits is taken."""

    conversations: Mapping[str, Sequence[Turn]] = field(default_factory=dict)

    @classmethod
    def of(cls, *turns: Turn | Call | Sequence[Call], **others: Sequence[Turn | Call]) -> Script:
        """The main conversation, and others by marker."""
        named = {marker: [_turn(part) for part in parts] for marker, parts in others.items()}
        return cls({**named, "": [_turn(part) for part in turns]})


def _turn(part: Turn | Call | Sequence[Call]) -> Turn:
    if isinstance(part, Turn):
        return part
    return Turn([part] if isinstance(part, Call) else list(part))


def call_id(marker: str, turn: int, call: int = 0) -> str:
    """The id of a call, by its place in the script."""
    return f"toolu_{marker or 'main'}_{turn:03d}_{call:02d}"


def bash(command: str) -> Call:
    """Run a command."""
    return Call("Bash", {"command": command, "description": "step"})


def write(path: object, content: str) -> Call:
    """Write a file."""
    return Call("Write", {"file_path": str(path), "content": content})


def read(path: object) -> Call:
    """Read a file."""
    return Call("Read", {"file_path": str(path)})


def edit(path: object, old: str, new: str) -> Call:
    """Replace text in a file that was read."""
    return Call("Edit", {"file_path": str(path), "old_string": old, "new_string": new})


def fetch_issue(number: int = 7) -> Call:
    """Read an issue that a stranger wrote."""
    return Call("mcp__tracker__fetch_issue", {"number": number})


def send_mail(to: str, body: str) -> Call:
    """Send something out."""
    return Call("mcp__tracker__send_mail", {"to": to, "body": body})


def agent(prompt: str, kind: str = "general-purpose") -> Call:
    """Start a sub-agent in the foreground."""
    return Call("Agent", {"description": "step", "prompt": prompt, "subagent_type": kind, "run_in_background": False})
