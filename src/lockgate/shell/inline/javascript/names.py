"""Resolves the names of a JavaScript program: its own, those of modules, and the texts that a value can be."""

from __future__ import annotations

import json

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.state.abstract_text import OPAQUE, PLAIN, is_known

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

FUNCTIONS = frozenset({"arrow_function", "function_expression"})
"""Kinds of nodes that are functions written out."""
_COUNTS = frozenset({"number", "update_expression"})
_DEEPEST = 10
_MOST = 20
LISTED = "\0listed"
"""Stands among the values of a name for each of the files that a folder holds."""
_PART = frozenset({"filter", "sort", "slice", "reverse", "toSorted", "toReversed"})
_EACH = frozenset({"forEach", "map", "filter", "flatMap", "some", "every", "find"})
_GLOBAL = """
    Function eval globalThis global window self top process require module exports constructor Reflect Proxy WebAssembly
    Worker fetch WebSocket EventSource XMLHttpRequest Deno Bun import importScripts setTimeout setInterval setImmediate
    queueMicrotask arguments this console JSON Math Object Array String Number Boolean Date Promise Buffer Symbol RegExp
    Error Map Set async_hooks cluster crypto vm v8 repl inspector worker_threads wasi performance navigator
    document location alert prompt confirm structuredClone Function AsyncFunction undefined NaN Infinity
"""
_NEVER_BOUND = frozenset(_GLOBAL.split())
"""Names that mean something without a declaration: bound in one scope, they still mean that in another."""


def text_of(node: Any) -> str:
    """The source of a node."""
    return str(node.text.decode())


class JavascriptNames:
    """What the names of one program stand for. Scopes are not told apart."""

    def __init__(self, nodes: list[Any], modules: frozenset[str]) -> None:
        self.modules = modules
        self.bound: set[str] = set()
        """Names that the program binds to values."""
        self.aliases: dict[str, str] = {}
        """Names that stand for a module or a part of one."""
        self.functions: set[str] = set()
        """Names that only ever stand for functions that are written out."""
        self.numbers: set[str] = set()
        """Names that only ever stand for numbers."""
        self.doubtful: set[str] = set()
        """Names that are bound and have another meaning too."""
        self.values: dict[str, list[Any]] = {}
        self._bindings: set[int] = set()
        self._odd: set[str] = set()
        for node in nodes:
            self._note_declaration(node)
        for node in nodes:
            self._note_assignment(node)
        others = {name for name, values in self.values.items() if not all(_is_function(value) for value in values)}
        self.functions = self.values.keys() - others
        self.numbers = {
            name
            for name, values in self.values.items()
            if all(v not in (None, LISTED) and v.type in _COUNTS for v in values)
        }
        several = _NEVER_BOUND | modules | self.aliases.keys()
        self.doubtful = self._odd | (self.bound & several)

    def _note_declaration(self, node: Any) -> None:
        kind = node.type
        if kind == "variable_declarator":
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            module = self.find_required(value)
            if module is not None and name.type == "identifier":
                self._add_alias(name, module)
            elif module is not None and name.type == "object_pattern":
                self._take(name, module)
            elif name.type == "identifier":
                self._bind(name, value)
            else:
                self._bind_pattern(name)
        elif kind == "function_declaration" or (
            kind == "function_expression" and node.child_by_field_name("name") is not None
        ):
            self._bind(node.child_by_field_name("name"), node)
        elif kind in ("formal_parameters", "for_in_statement", "catch_clause", "arrow_function"):
            field = {"for_in_statement": "left", "catch_clause": "parameter", "arrow_function": "parameter"}.get(kind)
            place = node if field is None else node.child_by_field_name(field)
            if place is not None and (names := self._goes_through(node, place)) is not None:
                self._bind(names, LISTED)
            elif place is not None:
                self._bind_pattern(place)

    def _goes_through(self, node: Any, place: Any) -> Any:
        """The name that stands for what lies in a folder, one after the other; ``None`` where none does."""
        if node.type == "for_in_statement":
            return place if place.type == "identifier" and self._lists(node.child_by_field_name("right")) else None
        function = node if node.type == "arrow_function" else node.parent
        arguments = function.parent
        call = arguments.parent if arguments is not None and arguments.type == "arguments" else None
        member = call.child_by_field_name("function") if call is not None and call.type == "call_expression" else None
        if member is None or member.type != "member_expression" or arguments.named_child(0).id != function.id:
            return None
        name = place if place.type == "identifier" else place.named_child(0) if place.named_child_count == 1 else None
        through = text_of(member.child_by_field_name("property")) in _EACH
        listed = through and self._lists(member.child_by_field_name("object"))
        return name if listed and name is not None and name.type == "identifier" else None

    def _lists(self, node: Any) -> bool:
        """Whether a value is what a folder holds, or a part of that: only the names."""
        if node.type != "call_expression":
            return False
        function = node.child_by_field_name("function")
        if self.qualify(function) == "fs.readdirSync":
            return bool(node.child_by_field_name("arguments").named_child_count == 1)
        part = function.type == "member_expression" and text_of(function.child_by_field_name("property")) in _PART
        return part and self._lists(function.child_by_field_name("object"))

    def _bind_pattern(self, node: Any) -> None:
        """All names that a pattern binds. What is a default value in it counts as bound too, which is stricter."""
        if node.type in ("identifier", "shorthand_property_identifier_pattern"):
            self._bind(node, None)
        elif node.type in ("assignment_pattern", "object_assignment_pattern"):
            self._bind_pattern(node.child_by_field_name("left"))
        elif node.type == "pair_pattern":
            self._bind_pattern(node.child_by_field_name("value"))
        else:
            for child in node.named_children:
                self._bind_pattern(child)

    def _bind(self, node: Any, value: Any) -> None:
        name = text_of(node)
        self._bindings.add(node.id)
        self.bound.add(name)
        self.values.setdefault(name, []).append(value)

    def _add_alias(self, node: Any, full: str) -> None:
        name = text_of(node)
        self._bindings.add(node.id)
        if self.aliases.setdefault(name, full) != full or (name in _NEVER_BOUND | self.modules and name != full):
            self.bound.add(name)

    def _take(self, pattern: Any, module: str) -> None:
        """``const {a, b: c} = require('m')``."""
        for child in pattern.named_children:
            if child.type == "shorthand_property_identifier_pattern":
                self._add_alias(child, f"{module}.{text_of(child)}")
            elif child.type == "pair_pattern" and child.child_by_field_name("value").type == "identifier":
                self._add_alias(
                    child.child_by_field_name("value"), f"{module}.{text_of(child.child_by_field_name('key'))}"
                )
            else:
                # What it takes of the module is not followed.
                before = set(self.bound)
                self._bind_pattern(child)
                self._odd |= self.bound - before

    def _note_assignment(self, node: Any) -> None:
        if node.type in ("assignment_expression", "augmented_assignment_expression", "update_expression"):
            left = node.child_by_field_name("left") or node.child_by_field_name("argument")
            value = node.child_by_field_name("right") if node.type == "assignment_expression" else None
            value = node if node.type == "update_expression" else value
            if left.type == "identifier":
                self._bind(left, value)
            elif left.type in ("array_pattern", "object_pattern"):
                self._bind_pattern(left)

    def is_binding(self, node: Any) -> bool:
        """Whether a node is where a name is bound."""
        return node.id in self._bindings

    def find_required(self, node: Any) -> str | None:
        """The module that ``require('m')``, or a chain of members of one, stands for."""
        if node is None:
            return None
        if node.type == "call_expression":
            function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
            if text_of(function) == "require" and "require" not in self.bound and arguments.named_child_count == 1:
                name = literal(arguments.named_child(0)) or ""
                name = name.removeprefix("node:")
                return name if name in self.modules else None
            return None
        return self.qualify(node)

    def qualify(self, node: Any) -> str | None:
        """The full name of a module's member, ``None`` for other values."""
        if node is None:
            return None
        if node.type == "identifier":
            name = text_of(node)
            return self.aliases.get(name) or (name if name in self.modules and name not in self.bound else None)
        if node.type == "member_expression":
            base = self.qualify(node.child_by_field_name("object"))
            return None if base is None else f"{base}.{text_of(node.child_by_field_name('property'))}"
        return self.find_required(node) if node.type == "call_expression" else None

    # ------------------------------------------------------------ texts

    def texts(self, node: Any, depth: int = 0) -> list[str]:
        """The texts that a value can be, unknown parts as placeholders."""
        if depth > _DEEPEST or node is None:
            return [OPAQUE]
        if node == LISTED:
            return [PLAIN]
        if node.type in ("string", "template_string"):
            return [self._fill_in(node, depth)]
        if node.type == "number":
            return [text_of(node)]
        if node.type == "identifier" and (values := self.values.get(text_of(node))):
            return _few(dict.fromkeys(text for value in values for text in self.texts(value, depth + 1)))
        if node.type == "identifier" and text_of(node) == "__dirname":
            return ["."]
        if node.type == "binary_expression" and text_of(node.child_by_field_name("operator")) == "+":
            left, right = (self.texts(node.child_by_field_name(side), depth + 1) for side in ("left", "right"))
            return _few(a + b for a in left for b in right)
        if node.type == "parenthesized_expression" and node.named_child_count == 1:
            return self.texts(node.named_child(0), depth + 1)
        if node.type == "call_expression" and self.qualify(node.child_by_field_name("function")) in (
            "path.join",
            "path.resolve",
        ):
            parts = [self.texts(child, depth + 1) for child in node.child_by_field_name("arguments").named_children]
            return ["/".join(part[0] if len(part) == 1 else OPAQUE for part in parts)]
        return [OPAQUE]

    def _fill_in(self, node: Any, depth: int) -> str:
        whole = literal(node)
        if whole is not None:
            return whole if is_known(whole) else OPAQUE
        return "".join(
            text_of(child) if child.type == "string_fragment" else self._substitute(child, depth)
            for child in node.named_children
        )

    def _substitute(self, node: Any, depth: int) -> str:
        """What is filled into a text: known where it is one of the files that a folder holds."""
        plain = node.type == "template_substitution" and node.named_child_count == 1
        return PLAIN if plain and self.texts(node.named_child(0), depth + 1) == [PLAIN] else OPAQUE


def _few(texts: Iterable[str]) -> list[str]:
    found = list(texts)
    return found if len(found) <= _MOST else [OPAQUE]


def literal(node: Any) -> str | None:
    """The text of a string without anything filled in; ``None`` for all others."""
    if node.type not in ("string", "template_string") or any(
        c.type == "template_substitution" for c in node.named_children
    ):
        return None
    text = ""
    for child in node.named_children:
        piece = text_of(child)
        if child.type == "escape_sequence":
            try:
                piece = json.loads(f'"{piece}"') if piece not in ("\\'", "\\`") else piece[1:]
            except ValueError:
                piece = OPAQUE
        text += piece
    return text


def _is_function(node: Any) -> bool:
    return node not in (None, LISTED) and node.type in (*FUNCTIONS, "function_declaration")
