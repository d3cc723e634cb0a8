"""Finds what Python on the command line does, where its own syntax tree proves it.

A program is local where each name it uses is its own or a harmless builtin, and each member is one that only computes.
Each module, and what it takes of it, must stand in ``languages/python.yaml``, and each file it touches must be known. A
command that it runs counts as that command. Anything else is ``execute``, with ``egress`` where it uses what talks to
others.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Label
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.inline.data import language
from lockgate.shell.inline.python.calls import ENVIRONMENT, PythonCalls
from lockgate.shell.inline.python.names import PythonNames

if TYPE_CHECKING:
    import ast

    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.state.run import Running

_LONGEST = 20_000
_OTHER = ("python2", "pypy2", "ipython")
"""Beginnings of names of programs that read another language than Python 3."""
_COOKIE = lazy_re(r"\A(?:[ \t\f]*(?:#[^\n\r]*)?(?:\r\n?|\n))?[ \t\f]*#[^\n\r]*?coding[:=][ \t]*([-\w.]+)")
_INTROSPECTION = lazy_re(
    r"_|(?:gi|cr|ag|tb|co|f)_|(?:mro|modules|builtins|globals|format|format_map|eval|exec|system)$"
)
_WITH_ONE_PATTERN = "bool bytearray bytes dict float frozenset int list set str tuple"
_CAPTURING = frozenset(_WITH_ONE_PATTERN.split())
"""Classes whose pattern captures the value itself; other patterns read members that a class or the pattern names."""
_SHOWS_TYPE = frozenset({"print", "str", "repr"})


def python_effects(call: ProgramCall, text: str) -> Running[None]:
    """Record the effects of a Python program."""
    tree = _tree(call, text)
    if tree is None:
        call.add_opaque("this Python cannot be read here")
    else:
        yield from _PythonProgram(call, tree).effects()


def _tree(call: ProgramCall, text: str) -> ast.Module | None:
    import ast
    import warnings

    program = call.args[0].text.rpartition("/")[2]
    # Text that is read as a file may say that it is written in another encoding, in which comments hold code.
    cookie = _COOKIE.match(text)
    if program.startswith(_OTHER) or len(text) > _LONGEST or (cookie and cookie.group(1).lower() != "utf-8"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return ast.parse(text)
            except IndentationError:
                from textwrap import dedent

                # Python 3.14 takes off what all lines of ``-c`` begin with; others run nothing of such a text.
                return ast.parse(dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _PythonProgram:
    """One program: what it names, what it calls, and what else in it is not known to be harmless."""

    def __init__(self, call: ProgramCall, tree: ast.Module) -> None:
        import ast

        self.ast, self.call = ast, call
        known = language("python")
        self.modules: dict[str, frozenset[str]] = {
            name: frozenset(words.split()) for name, words in known["modules"].items()
        }
        self.attributes = frozenset(known["attributes"].split())
        self.builtins = frozenset(known["builtins"].split())
        self.methods = frozenset(known["methods"].split())
        self.syntax = frozenset(known["syntax"].split())
        self.sinks: dict[str, str] = known["sinks"]
        self.nodes = list(ast.walk(tree))
        self.names = PythonNames(self.nodes)
        self.calls = PythonCalls(call, self.names, known)

    def effects(self) -> Running[None]:
        call = self.call
        for node in self.nodes:
            yield from self.calls.visit(node)
        self.calls.finish()
        self._pass_types()
        for node in self.nodes:
            self._record_sink(node)
        problem = self.calls.problem or next((why for node in self.nodes if (why := self._problem(node))), "")
        if not problem:
            from lockgate.shell.inline.python.shadowing import shadow

            problem = shadow(call.machine, call.scope, self.names.imported)
        if problem:
            call.add_opaque(problem)
        call.own[:] = dict.fromkeys(call.own)

    # ------------------------------------------------------------ what talks to other machines

    def _record_sink(self, node: ast.AST) -> None:
        ast = self.ast
        if not isinstance(node, (ast.Attribute, ast.Name)) or id(node) in self.calls.nearby:
            return
        full = self.names.qualify(node)
        module, _, name = (full or "").rpartition(".")
        sinks = self.sinks.get(module, "").split()
        if full is None and isinstance(node, ast.Attribute) and "socket" in self.names.imported:
            full, name, sinks = node.attr, node.attr, list(self.calls.connecting)
        if name in sinks or "*" in sinks:
            because = f"`{full}` can send data to another machine"
            effect = Effect(EffectKind.EGRESS, f"{full}", self.call.rule, because, gives=Label.UNTRUSTED)
            self.call.own.append(effect)

    # ------------------------------------------------------------ what is not local

    def _pass_types(self) -> None:
        """Let ``type(x)`` pass where only its name is shown or it is compared: called, it could make any class."""
        for value in (value for node in self.nodes for value in self._values_shown(node)):
            if isinstance(value, self.ast.Call) and isinstance(value.func, self.ast.Name) and value.func.id == "type":
                plain = not value.keywords and not isinstance(value.args[0] if value.args else None, self.ast.Starred)
                if plain and len(value.args) == 1:
                    self.calls.handled.add(id(value.func))

    def _values_shown(self, node: ast.AST) -> list[ast.expr]:
        """The values that a node compares, or of which it shows no more than the name."""
        if isinstance(node, self.ast.Attribute) and node.attr == "__name__":
            self.calls.handled.add(id(node))
            return [node.value]
        if isinstance(node, self.ast.Compare):
            return [node.left, *node.comparators]
        if isinstance(node, self.ast.FormattedValue):
            return [node.value]
        function = node.func if isinstance(node, self.ast.Call) else None
        if isinstance(function, self.ast.Name) and function.id in _SHOWS_TYPE - self.names.bound:
            return node.args if isinstance(node, self.ast.Call) else []
        return []

    def _problem(self, node: ast.AST) -> str:
        ast = self.ast
        if isinstance(node, ast.Import):
            return next((why for alias in node.names if (why := self._module(alias.name))), "")
        if isinstance(node, ast.ImportFrom):
            return self._import_from(node)
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return self._definition(node)
        if isinstance(node, ast.MatchClass):
            captures = isinstance(node.cls, ast.Name) and node.cls.id in _CAPTURING and len(node.patterns) < 2
            if node.kwd_attrs or not (captures or not node.patterns):
                return "a pattern reads members that it does not name"
        kind = type(node).__name__
        return "" if kind in self.syntax else f"what `{kind}` does in a newer Python is not known here"

    def _module(self, name: str) -> str:
        return "" if name in self.modules else f"the module `{name}` can do more than compute"

    def _import_from(self, node: ast.ImportFrom) -> str:
        module = node.module or ""
        if node.level:
            return "this imports the project's own code"
        for alias in node.names:
            full = f"{module}.{alias.name}"
            known = alias.name in self.modules.get(module, ()) or full in self.calls.table or full in self.modules
            if not known and full != ENVIRONMENT:
                return f"`from {module} import {alias.name}` can do more than compute"
        return ""

    def _name(self, node: ast.Name) -> str:
        name = node.id
        if id(node) in self.calls.handled:
            return ""
        if name.startswith("__") and not (name in self.builtins and isinstance(node.ctx, self.ast.Load)):
            return f"`{name}` can do more than compute"
        if not isinstance(node.ctx, self.ast.Load):
            return ""
        if name in self.names.modules:
            if name in self.names.bound:
                return f"`{name}` means two things"
            full = self.names.qualify(node) or ""
            if id(node) in self.names.bases and full not in self.calls.table and full != ENVIRONMENT:
                return ""
            return self._problem_of_name(full)
        # A name of one scope is no name in another: what Python itself gives for it counts too.
        if name in self.builtins or (name in self.names.bound and not self.names.is_builtin(name)):
            return ""
        return f"`{name}` can do more than compute"

    def _problem_of_name(self, full: str) -> str:
        """What is wrong with taking what a qualified name stands for, other than by calling it."""
        if full == ENVIRONMENT:
            self.call.add("read-secret")
        module, _, name = full.rpartition(".")
        if name in self.modules.get(module, ()) and full not in self.modules:
            return ""
        if full in self.modules:
            return f"the module `{full}` is handed around"
        return f"`{full}` can do more than compute, or is used other than by a plain call"

    def _attribute(self, node: ast.Attribute) -> str:
        if id(node) in self.calls.handled:
            return ""
        full = self.names.qualify(node)
        if full is not None and (full in self.modules or full.rpartition(".")[0] in self.modules):
            if not isinstance(node.ctx, self.ast.Load):
                return f"this changes `{full}`"
            if full in self.modules and id(node) in self.names.bases:
                return ""
            return self._problem_of_name(full)
        if node.attr == "__init__" and self._is_super(node.value):
            return ""
        if _INTROSPECTION.match(node.attr):
            return f"the attribute `{node.attr}` can do more than compute"
        if node.attr in self.calls.members:
            return f"`{node.attr}` is used other than by a plain call"
        if node.attr in self.attributes or node.attr in self.names.members:
            return ""
        return f"nothing is known about the attribute `{node.attr}`"

    def _is_super(self, node: ast.expr) -> bool:
        return isinstance(node, self.ast.Call) and isinstance(node.func, self.ast.Name) and node.func.id == "super"

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
        if isinstance(node, self.ast.ClassDef) and node.keywords:
            return f"how the class `{node.name}` is made is not known"
        if node.name.startswith("__") and node.name not in self.methods:
            return f"`{node.name}` changes how Python itself works"
        return ""
