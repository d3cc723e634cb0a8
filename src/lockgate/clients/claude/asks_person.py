"""Tells whether Claude Code is sure to put a hook's question before a person.

In some permission modes it is not. The client itself asks about a call that writes a file that it calls sensitive
(``.git/``, ``.claude/``, ``.idea/``, shell start files and more). Its own question takes the place of the hook's; in
``bypassPermissions`` that one is then answered by the mode, and in ``auto`` by a model. An agent that appends ``; echo
>> .idea/x`` to a command would so run it unasked (observed with 2.1.197 and 2.1.329).
"""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from lockgate.core.events import ToolRequested

_A_PERSON_DECIDES = frozenset({"", "default", "acceptEdits", "dontAsk"})
"""Modes in which the client's own question is answered by a person, or the call is refused."""

_KEPT_TOOLS = frozenset({"Agent", "Task", "WebFetch", "WebSearch", "Skill", "SendMessage"})
"""Tools that the client holds against no list of files: a question about them was kept in every mode."""

_PROGRAMS = frozenset({"sdk-cli", "sdk-py", "sdk-ts", "claude-code-github-action"})
_ASKING_OPTION = "--permission-prompt-tool"
"""Names the tool that is asked in a person's place; the agent SDK's ``can_use_tool`` is given this way too."""


def asks_a_person(tool: str, tool_input: Mapping[str, Any], mode: str) -> bool:
    """Whether a question about a call reaches a person, or the call is refused where there is none.

    Args:
        tool: The tool's name.
        tool_input: Its input.
        mode: The client's permission mode; empty where the payload has none.
    """
    if mode in _A_PERSON_DECIDES or tool in _KEPT_TOOLS or tool.startswith("mcp__"):
        return True
    command = tool_input.get("command")
    return tool == "Bash" and isinstance(command, str) and _names_no_hidden_file(command)


def mark_headless(event: ToolRequested, environ: Mapping[str, str]) -> ToolRequested:
    """An event that says whether nobody sits before the client."""
    headless = is_headless(environ.get("CLAUDE_CODE_ENTRYPOINT", "cli"), event.context.process)
    return event._replace(headless=True) if headless else event


def is_headless(entrypoint: str, process: str) -> bool:
    """Whether nobody can be asked by the client: it then refuses what a hook asks about.

    Both observed versions say ``sdk-cli`` where they run without a terminal (``-p``, a pipe), and other words where a
    program runs them. A program that can be asked says so on the command line.

    Args:
        entrypoint: What the client says of how it was started (``CLAUDE_CODE_ENTRYPOINT``).
        process: The client's process, as ``pid:start-time``.
    """
    if entrypoint not in _PROGRAMS:
        return False
    from lockgate.system.process_arguments import command_line

    started = command_line(process)
    if not any(started.words[:1]):
        return entrypoint == "sdk-cli"
    return not started.has(_ASKING_OPTION)


def _names_no_hidden_file(command: str) -> bool:
    """Whether a command is one plain program with plain words, none of which names a hidden file."""
    from lockgate.shell.grammar.reader import read
    from lockgate.shell.grammar.tree import Script, Simple

    script = read(command)
    if not isinstance(script, Script) or len(script.commands) != 1:
        return False
    simple = script.commands[0]
    if not isinstance(simple, Simple) or simple.redirects or simple.assignments:
        return False
    words = [word.literal for word in simple.words]
    return all(word is not None and _is_plain(word) for word in words)


def _is_plain(word: str) -> bool:
    # Options may have a path after their equals sign or, like -C.git, right after their letter.
    parts = word.replace("=", "/").replace(":", "/").replace(",", "/").split("/")
    hidden = any(part.startswith(".") and part.strip(".") for part in parts)
    glued = word.startswith("-") and "." in word.lstrip("-")[:3]
    return not hidden and not glued and not any(character in word for character in "`$\\\n'\"")
