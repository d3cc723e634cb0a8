"""Tells without running a body of commands what it assigns, and whether it may be left early."""

from __future__ import annotations

from collections.abc import Iterator

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.tree import Assignment, Command, For, Pipeline, Redirect, Simple, While, Word
from lockgate.shell.state.abstract_text import PLAIN, is_known, join_texts
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from typing import Any

_WILDCARD = lazy_re(r"[*?]|\[[^\]]*\]?")
_LEAVING = frozenset({"break", "continue", "return"})
_BUILTINS = "read declare typeset local export readonly printf mapfile readarray getopts unset let"
_ASSIGNING = frozenset(_BUILTINS.split())
_MOST_LINES = 13
_LOCAL = "echo printf mkdir touch rm cp mv ls wc test [ cd pwd true false : export basename dirname chmod stat"
_NOT_READING = frozenset(_LOCAL.split())
"""Programs that leave standard input alone, as they are mostly used in a loop that reads it."""


def file_name(value: Arg) -> str:
    """The names of files that a word stands for: each wildcard of a pattern is text that is not known."""
    if not value.glob:
        return value.text
    return _WILDCARD.sub(PLAIN, value.text)


def drop_order(shape: str) -> str:
    """The shape where any of the lines may be missing, or come in another order: none is known, then."""
    lines = shape.splitlines()
    # What is found at any depth of a folder is found in the folder itself, too.
    deep = {line.replace(f"/{PLAIN}/", "/") for line in lines if f"/{PLAIN}/" in line}
    kept = [line for line in lines if line not in deep] if deep else lines
    return f"{join_texts('', *kept)}\n" if any(map(is_known, kept)) else "".join(f"{line}\n" for line in kept)


def nodes(node: Any) -> Iterator[tuple[Any, ...]]:
    """Every node below a node, itself included."""
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            yield item
            stack.extend(item)


def leaves_early(node: Any) -> bool:
    """Whether a body may be left before its end."""
    return any(isinstance(item, Simple) and item.words and item.words[0].literal in _LEAVING for item in nodes(node))


def find_known_lines(node: While, stdin: str | None) -> list[str] | None:
    """The lines that ``while read x`` finds one after the other, where all is known and nothing else reads them."""
    if not stdin or not is_known(stdin) or node.until or len(lines := stdin.split("\n")) > _MOST_LINES:
        return None
    [*whole, last] = lines
    first = node.condition.commands[0] if len(node.condition.commands) == 1 else None
    words = [word.literal for word in first.words] if isinstance(first, Simple) else []
    plain = words[:1] == ["read"] and all(word is not None and (word == "-r" or word.isidentifier()) for word in words)
    if not plain or last or not all(whole) or (isinstance(first, Simple) and first.redirects):
        return None
    commands = [item.words[0].literal for item in nodes(node.body) if isinstance(item, Simple) and item.words]
    return whole if all(command in _NOT_READING for command in commands) else None


def find_assigned(node: Any) -> set[str]:
    """Names of all variables that a body could assign."""
    names: set[str] = set()
    for item in nodes(node):
        if isinstance(item, (Assignment, For)):
            names.add(item.name)
        elif isinstance(item, Simple) and item.words and item.words[0].literal in _ASSIGNING:
            names |= {_name(word) for word in item.words[1:]}
    return names - {""}


def _name(word: Word) -> str:
    name = (word.literal or "").partition("=")[0]
    return name if name.isidentifier() else ""


def changes_folder(node: Command) -> bool:
    """Whether a command is a plain ``cd``."""
    simple = node.commands[0] if isinstance(node, Pipeline) and len(node.commands) == 1 else node
    return isinstance(simple, Simple) and bool(simple.words) and simple.words[0].literal == "cd"


def takes_output(redirect: Redirect) -> bool:
    """Whether a redirection takes away what a command prints."""
    return redirect.fd in ("", "1") and redirect.operator[0] in ">&"
