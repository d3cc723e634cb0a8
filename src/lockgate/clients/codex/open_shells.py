"""Commands that stay open and run what is typed into them, for clients that type without asking a hook.

Which interpreters listen is what the analysis of the command says. Other programs stand in the client's table with the
most operands with which they take commands from whoever types: ``ssh host`` does, ``ssh host uptime`` does not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from lockgate.core.model import Analysis, ToolCall
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.reader import read
from lockgate.shell.grammar.tree import AndOr, Pipeline, Script, Simple
from lockgate.shell.knowledge import lookup
from lockgate.shell.knowledge.options import match
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from typing import Any

_MOST = 100_000
"""Characters of a command that are looked at here; what is longer is found opaque by its own analysis."""


def listening(call: ToolCall, analysis: Analysis, table: Mapping[str, Any]) -> str:
    """The program that would run what is typed into it, empty where none would.

    Args:
        call: A call of the shell.
        analysis: What it can do.
        table: The client's: ``stays_open`` has programs, and the most operands with which they listen, and
            ``closes_with`` the words with which they do not.
    """
    if analysis.listens:
        return analysis.listens[0]
    command = call.tool_input.get("command")
    if not isinstance(command, str) or len(command) > _MOST:
        return ""
    stays_open, closes = table["stays_open"], frozenset(table["closes_with"])
    for program, words in _typed_into(read(command)):
        most = stays_open.get(program, -1)
        if most >= 0 and not closes.intersection(words) and _operands(program, words) <= most:
            return program
    return ""


def _typed_into(node: Any) -> Iterator[tuple[str, list[str]]]:
    """Programs whose standard input is that of the whole command, with the words behind them."""
    if isinstance(node, Script | AndOr):
        for command in node.commands:
            yield from _typed_into(command)
    elif isinstance(node, Pipeline):
        yield from _typed_into(node.commands[0])
    elif isinstance(node, Simple) and node.words and not any(_feeds(redirect) for redirect in node.redirects):
        words = [word.literal or "" for word in node.words]
        yield os.path.basename(words[0]), words[1:]


def _operands(program: str, words: list[str]) -> int:
    """How many operands a program is given, by what is known of its options."""
    entry = lookup.lookup(program)
    if entry is None:
        return sum(not word.startswith("-") for word in words)
    return len(match(entry, [Arg(word) for word in words]).operands)


def _feeds(redirect: Any) -> bool:
    return redirect.operator.startswith("<") and redirect.fd in ("", "0")
