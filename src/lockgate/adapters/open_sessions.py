"""Commands that stay open and run what is typed into them, for clients that type without asking a hook.

Which interpreters listen is what the analysis of the command says. Other programs stand in the client's table with the
most operands with which they take commands from whoever types: ``ssh host`` does, ``ssh host uptime`` does not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from lockgate.analysis.shell.reader import read
from lockgate.analysis.shell.syntax import AndOr, Pipeline, Script, Simple
from lockgate.model import Analysis, ToolCall
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_MOST = 100_000
"""Characters of a command that are looked at here; what is longer is found opaque by its own analysis."""


def listening(call: ToolCall, analysis: Analysis, stays_open: Mapping[str, int]) -> str:
    """The program that would run what is typed into it, empty where none would.

    Args:
        call: A call of the shell.
        analysis: What it can do.
        stays_open: Programs, and the most operands with which they listen.
    """
    if analysis.listens:
        return analysis.listens[0]
    command = call.tool_input.get("command")
    if not isinstance(command, str) or len(command) > _MOST:
        return ""
    return next((name for name, operands in _typed_into(read(command)) if operands <= stays_open.get(name, -1)), "")


def _typed_into(node: Any) -> Iterator[tuple[str, int]]:
    """Programs whose standard input is that of the whole command, with how many operands they have."""
    if isinstance(node, Script | AndOr):
        for command in node.commands:
            yield from _typed_into(command)
    elif isinstance(node, Pipeline):
        yield from _typed_into(node.commands[0])
    elif isinstance(node, Simple) and node.words and not any(_feeds(redirect) for redirect in node.redirects):
        words = [word.literal or "" for word in node.words]
        yield os.path.basename(words[0]), sum(not word.startswith("-") for word in words[1:])


def _feeds(redirect: Any) -> bool:
    return redirect.operator.startswith("<") and redirect.fd in ("", "0")
