"""Finds what names the files have that a Python program meets in folders that it lists.

A name that a loop binds stands for an element of what it goes through. What that is, is known for a list that is
written out, for what lists a folder, and for the words of the command line.
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.state.abstract_text import OPAQUE, PLAIN, is_known

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable
    from typing import Protocol

    class KnownNames(Protocol):
        """What is known of the names of a program: see ``inline_python_names``."""

        values: dict[str, list[ast.expr]]
        unknown: set[str]
        bound: set[str]
        members: set[str]

        def is_changed(self, name: str) -> bool:
            """Whether the elements of a name may be others than those that the program was seen to put in there."""

        def qualify(self, node: ast.AST) -> str | None:
            """The module's member that an expression stands for."""


_SAME = frozenset({"sorted", "list", "set", "tuple", "reversed", "iter"})
"""Builtins that give the elements of their first argument, in some order."""
_ONLY_LOOK = _SAME | {"len", "enumerate", "print", "min", "max", "sum", "any", "all"}
_PATTERNS = frozenset({"glob.glob", "glob.iglob"})
_FOLDERS = frozenset({"iterdir", "glob", "rglob"})


def bindings(node: ast.For | ast.AsyncFor | ast.comprehension, names: KnownNames) -> dict[int, list[ast.expr]]:
    """What the names that a loop binds stand for, by the nodes of these names; an element is said by a star."""
    import ast

    target, source = node.target, node.iter
    if isinstance(source, (ast.List, ast.Tuple)):
        return {id(target): source.elts}
    if isinstance(target, ast.Name):
        return {id(target): [_element(source)]}
    if not isinstance(target, ast.Tuple) or not isinstance(source, ast.Call) or not source.args:
        return {}
    if isinstance(source.func, ast.Name) and source.func.id == "enumerate" and len(target.elts) == 2:
        return {id(target.elts[1]): [_element(source.args[0])]}
    if names.qualify(source.func) == "os.walk" and len(target.elts) == 3:
        # The folder, and the lists of what lies in it.
        listed = [ast.List([_element(ast.Constant(None))], ast.Load())]
        return {id(target.elts[0]): [_element(source)], **{id(elt): [*listed] for elt in target.elts[1:]}}
    return {}


def _element(source: ast.expr) -> ast.expr:
    import ast

    return ast.Starred(source, ast.Load())


def find_changed(nodes: list[ast.AST]) -> set[str]:
    """Names that are used for more than to go through what they stand for: others may put something else in there."""
    import ast

    only: set[int] = set()
    for node in nodes:
        if isinstance(node, (ast.For, ast.comprehension)):
            only.add(id(node.iter))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ONLY_LOOK:
            only.update(map(id, node.args))
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and id(n) not in only}


def is_argv(node: ast.AST, names: KnownNames) -> bool:
    """Whether a value is the words of the command line, or a part of them."""
    import ast

    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and isinstance(node.ctx, ast.Load):
        node = node.value
    return names.qualify(node) == "sys.argv"


class Elements:
    """The texts that an element of a value can be."""

    def __init__(self, names: KnownNames, argv: tuple[str, ...], texts: Callable[[ast.expr, int], list[str]]) -> None:
        self.names, self.argv, self.texts = names, argv, texts

    def of(self, node: ast.expr, depth: int) -> list[str]:
        """The texts that an element of a value can be."""
        import ast

        names = self.names
        if isinstance(node, ast.Constant) and node.value is None:
            return [PLAIN]
        if is_argv(node, names):
            return [*self.argv[1:]] if self.argv else [OPAQUE]
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return [text for item in node.elts for text in self.texts(item, depth)]
        if isinstance(node, ast.Name):
            if node.id in names.unknown or names.is_changed(node.id):
                return [OPAQUE]
            values = names.values.get(node.id)
            return [text for value in values for text in self.of(value, depth)] if values else [OPAQUE]
        return self._list_called_names(node, depth) if isinstance(node, ast.Call) else [OPAQUE]

    def _list_called_names(self, node: ast.Call, depth: int) -> list[str]:
        import ast

        function = node.func
        full = self.names.qualify(function) or ""
        if not node.args or any(isinstance(argument, ast.Starred) for argument in node.args):
            if isinstance(function, ast.Attribute) and not node.args and self._lists(function):
                return self._below(function.value, [PLAIN], depth)
            return [OPAQUE]
        first = node.args[0]
        if isinstance(function, ast.Name) and function.id in _SAME - self.names.bound:
            return self.of(first, depth)
        if full in _PATTERNS and all(keyword.arg == "recursive" for keyword in node.keywords):
            return [_names(text) for text in self.texts(first, depth)]
        if full == "os.listdir":
            return [PLAIN]
        if full == "os.walk":
            return [end for text in self.texts(first, depth) for end in (text, f"{text}/{PLAIN}")]
        if isinstance(function, ast.Attribute) and len(node.args) == 1 and self._lists(function):
            found = [_names(text) for text in self.texts(first, depth)]
            if any(text.startswith("/") or ".." in text for text in found):
                return [OPAQUE]
            deep = [f"{PLAIN}/{text}" for text in found] if function.attr == "rglob" else []
            return self._below(function.value, found + deep, depth)
        return [OPAQUE]

    def _lists(self, function: ast.Attribute) -> bool:
        """Whether it is a path's own member that gives what a folder holds, and no class of the program has one."""
        own = function.attr in self.names.members or self.names.qualify(function)
        return function.attr in _FOLDERS and not own

    def _below(self, folder: ast.expr, names: list[str], depth: int) -> list[str]:
        return [f"{text.rstrip('/')}/{name}" for text in self.texts(folder, depth) for name in names]


def _names(pattern: str) -> str:
    """What the names look like that a pattern finds."""
    if not is_known(pattern) or "[" in pattern:
        return OPAQUE
    return pattern.replace("*", PLAIN).replace("?", PLAIN)
