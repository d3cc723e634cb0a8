"""Finds what JavaScript on the command line does, where its syntax tree proves it.

A program is local where each node of its tree is of a known kind, and each name is its own or known. It reads no member
from which code could be made: members have literal names or numbers, and ``constructor`` and its kin are none of them.
"""

from __future__ import annotations

from lockgate.core.model import Effect, EffectKind, Label
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.inline.data import language
from lockgate.shell.inline.javascript.calls import JavascriptCalls, environment_effects
from lockgate.shell.inline.javascript.names import FUNCTIONS, JavascriptNames, literal, text_of
from lockgate.shell.state.abstract_text import is_known
from lockgate.system.libraries import library

if TYPE_CHECKING:
    from typing import Any

    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.state.run import Running

_LONGEST = 20_000
_BEFORE_PATTERN = frozenset("(,=:[!&|?{;\n")
"""What may stand before a slash that begins a pattern; elsewhere it may divide."""


def javascript_effects(call: ProgramCall, text: str) -> Running[None]:
    """Record the effects of a JavaScript program."""
    tree = _tree(text)
    if tree is None:
        call.add_opaque("this JavaScript cannot be read here")
    else:
        yield from _JavascriptProgram(call, tree.root_node).effects()


def _tree(text: str) -> Any:
    """The syntax tree, ``None`` where it may not be what the engine would read."""
    # Other line ends and spaces, and comments as in HTML, hide code from a reader that does not know them.
    odd = any(not (mark.isprintable() or mark in "\n\t") or (mark.isspace() and mark not in " \n\t") for mark in text)
    if odd or len(text) > _LONGEST or "<!--" in text or "-->" in text:
        return None
    try:
        parsers, grammar = library("tree_sitter"), library("tree_sitter_javascript")
    except ImportError:
        return None
    tree = parsers.Parser(parsers.Language(grammar.language())).parse(text.encode())
    return None if tree.root_node.has_error else tree


class _JavascriptProgram:
    def __init__(self, call: ProgramCall, root: Any) -> None:
        self.call, self.root = call, root
        words = language("javascript")
        self.kinds = frozenset(words["nodes"].split())
        self.functions = frozenset(words["functions"].split())
        self.handed = frozenset(words["handed"].split())
        self.constructors = frozenset(words["constructors"].split())
        self.values = frozenset(words["values"].split())
        self.forbidden = frozenset(words["forbidden"].split())
        self.methods = frozenset(words["methods"].split())
        self.timers = frozenset(words["timers"].split())
        self.modules = {name: frozenset(listed.split()) for name, listed in words["modules"].items()}
        self.sinks = {name: frozenset(listed.split()) for name, listed in words["sinks"].items()}
        self.nodes = list(_walk(root))
        self.names = JavascriptNames(self.nodes, frozenset({*self.modules, *self.sinks, "child_process"}))
        self.calls = JavascriptCalls(call, self.names, words["calls"])

    def effects(self) -> Running[None]:
        call = self.call
        for node in self.nodes:
            if node.type == "call_expression":
                yield from self.calls.visit(node)
            self._record_sink(node)
        self.calls.finish()
        problem = self.calls.problem or next((why for node in self.nodes if (why := self._problem(node))), "")
        if problem:
            call.add_opaque(problem)
        call.own[:] = dict.fromkeys(call.own)

    def _record_sink(self, node: Any) -> None:
        full = self.names.qualify(node) if node.type in ("identifier", "member_expression") else None
        if full is None and node.type == "identifier" and text_of(node) not in self.names.bound:
            full = f".{text_of(node)}"
        module, _, name = (full or "").rpartition(".")
        if full and name in self.sinks.get(module, ()) and not self.calls.is_nearby(node):
            because = f"`{full.lstrip('.')}` can send data to another machine"
            effect = Effect(EffectKind.EGRESS, full.lstrip("."), self.call.rule, because, gives=Label.UNTRUSTED)
            self.call.own.append(effect)

    # ------------------------------------------------------------ what is not local

    def _problem(self, node: Any) -> str:
        if node.is_named and node.type not in self.kinds:
            return f"this has a construct that is not read ({node.type.replace('_', ' ')})"
        handler = None if node.id in self.calls.handled else _PROBLEMS.get(node.type)
        return handler(self, node) if handler else ""

    def _member_name(self, node: Any) -> str:
        """What is wrong with a name that a member is read by."""
        name = text_of(node) if node.type.endswith("identifier") or node.type.endswith("pattern") else literal(node)
        if name is None or name in self.forbidden or "\\" in name or not is_known(name):
            return "from this member code could be made of text"
        return self._identifier(node) if node.type == "shorthand_property_identifier" else ""

    def _identifier(self, node: Any) -> str:
        name = text_of(node)
        if "\\" in name or name in self.names.doubtful:
            return f"`{name}` means two things"
        if name in self.values or name in self.names.bound or name in self.handed or self.names.is_binding(node):
            return ""
        if (name in self.functions and _is_field(node, "function")) or self._is_timer(node):
            return ""
        if name in self.constructors and (_is_field(node, "constructor") or _is_right_of_instanceof(node)):
            return ""
        if name in self.names.aliases or name in self.modules:
            taken = self.names.aliases.get(name, "")
            module, _, member = taken.rpartition(".")
            plain = member in self.modules.get(module, ())
            named = node.parent.type == "variable_declarator" and _is_field(node, "value")
            return "" if plain or named or _is_field(node, "object") else f"`{name}` is handed around"
        return f"`{name}` can do more than compute"

    def _is_timer(self, node: Any) -> bool:
        """Whether a name is called with a function that is written out: a text may be evaluated."""
        if text_of(node) not in self.timers or not _is_field(node, "function"):
            return False
        arguments = node.parent.child_by_field_name("arguments")
        return bool(arguments.named_children) and arguments.named_child(0).type in FUNCTIONS

    def _member(self, node: Any) -> str:
        full = self.names.qualify(node)
        if full is None:
            return ""
        if full == "process.env" or full.startswith("process.env."):
            return self._environment(node, full)
        if node.parent.type.endswith("assignment_expression") and _is_field(node, "left"):
            return "" if full == "process.exitCode" else f"this changes `{full}`"
        return (
            "" if self._is_listed(full) else f"`{full}` can do more than compute, or is used other than by a plain call"
        )

    def _is_listed(self, full: str) -> bool:
        """Whether a member of a module is listed; members of that are plain values."""
        parts = full.split(".")
        for length in (2, 1):
            if ".".join(parts[:length]) in self.modules and len(parts) > length:
                return parts[length] in self.modules[".".join(parts[:length])]
        return False

    def _environment(self, node: Any, full: str) -> str:
        """``process.env``: one variable is read, or all are shown."""
        if _is_field(node, "left") or node.parent.type == "unary_expression":
            return "this changes the environment of what it runs"
        if full.count(".") == 1 and not _is_field(node, "object"):
            self.call.add("read-secret")
            return "this shows the whole environment"
        if full.count(".") == 2:
            environment_effects(self.call, full.rpartition(".")[2])
        return ""

    def _subscript(self, node: Any) -> str:
        base, index = node.child_by_field_name("object"), node.child_by_field_name("index")
        if self.names.qualify(base) not in (None, "process.argv") or _is_field(node, "function"):
            return "which member this is is only known when it runs"
        if index.type in ("string", "template_string"):
            return self._member_name(index)
        counts = index.type == "number" or (index.type == "identifier" and text_of(index) in self.names.numbers)
        less = index.type == "binary_expression" and text_of(index.child_by_field_name("operator")) in ("-", "%", "*")
        return "" if counts or less else "which member this reads is only known when it runs"

    def _key(self, node: Any) -> str:
        key = node.child_by_field_name("key")
        return "" if key is None or key.type in ("property_identifier", "number") else self._member_name(key)

    def _call(self, node: Any) -> str:
        """A call: of a function that is written out, or of a known name."""
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if arguments is None or arguments.type != "arguments":
            return "a template is handed to a function"
        while function.type == "parenthesized_expression" and function.named_child_count == 1:
            function = function.named_child(0)
        if function.id in self.calls.handled or function.type in FUNCTIONS:
            return ""
        name = text_of(function)
        if function.type == "identifier":
            own = name in self.names.functions
            return "" if own or name not in self.names.bound else f"what `{name}` does is only known when it runs"
        if function.type != "member_expression":
            return "which function this calls is only known when it runs"
        method, full = text_of(function.child_by_field_name("property")), self.names.qualify(function)
        listed = method in self.methods or (full is not None and full.rpartition(".")[0] in self.modules)
        return "" if listed else f"nothing is known about the method `{method}`"

    def _check_constructor(self, node: Any) -> str:
        constructor = node.child_by_field_name("constructor")
        known_name = text_of(constructor) in self.constructors and text_of(constructor) not in self.names.bound
        return "" if known_name else "what is made here is only known when it runs"

    def _pattern(self, node: Any) -> str:
        before = node
        while before is not None and before.prev_sibling is None:
            before = before.parent
        previous = text_of(before.prev_sibling) if before is not None and before.prev_sibling is not None else "\n"
        if previous.startswith(("//", "/*")):
            return "a slash here may begin a pattern or divide"
        plain = previous[-1:] in _BEFORE_PATTERN or previous in ("return", "typeof", "=>", "case")
        return "" if plain else "a slash here may begin a pattern or divide"


def _walk(node: Any) -> Any:
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def _is_field(node: Any, field: str) -> bool:
    """Whether a node has a place in its parent."""
    there = node.parent.child_by_field_name(field)
    return there is not None and there.id == node.id


def _is_right_of_instanceof(node: Any) -> bool:
    parent = node.parent
    return parent.type == "binary_expression" and parent.child(1).type == "instanceof" and _is_field(node, "right")


_PROBLEMS = {
    "identifier": _JavascriptProgram._identifier,
    "property_identifier": _JavascriptProgram._member_name,
    "shorthand_property_identifier": _JavascriptProgram._member_name,
    "shorthand_property_identifier_pattern": _JavascriptProgram._member_name,
    "member_expression": _JavascriptProgram._member,
    "subscript_expression": _JavascriptProgram._subscript,
    "pair": _JavascriptProgram._key,
    "pair_pattern": _JavascriptProgram._key,
    "call_expression": _JavascriptProgram._call,
    "new_expression": _JavascriptProgram._check_constructor,
    "regex": _JavascriptProgram._pattern,
}
