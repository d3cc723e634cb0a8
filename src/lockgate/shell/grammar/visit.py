"""Finding commands in a syntax tree, wherever they hide."""

from __future__ import annotations

from collections.abc import Iterator

from lockgate.core.record import Record
from lockgate.shell.grammar.tree import Simple


class FoundCommand(Record):
    """A simple command, and what it stands in."""

    command: Simple
    inside: tuple[str, ...]
    """Names of the syntax tree's types around it, outermost first: ``("Script", "Pipeline")``."""


def walk(tree: tuple[object, ...]) -> Iterator[Simple]:
    """Give every simple command of a tree (or of any part of one) in the order of the text.

    Also those inside words, here-documents, arithmetic, conditions and function bodies. A command comes before those
    in its own words.
    """
    stack: list[tuple[object, ...]] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, Simple):
            yield node
        stack += [child for child in reversed(node) if isinstance(child, tuple)]


def commands(tree: tuple[object, ...]) -> Iterator[FoundCommand]:
    """Give every simple command of a tree with the kinds of nodes around it."""
    stack: list[tuple[tuple[object, ...], tuple[str, ...]]] = [(tree, ())]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, Simple):
            yield FoundCommand(node, inside)
        around = inside if type(node) is tuple else (*inside, type(node).__name__)
        stack += [(child, around) for child in reversed(node) if isinstance(child, tuple)]
