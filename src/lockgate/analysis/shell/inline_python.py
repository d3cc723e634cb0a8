"""Python on the command line: what a program does, where its own syntax tree proves it.

A program is local where each name it uses is its own or a harmless builtin, each module is in the table
``python_modules`` and each attribute of a module is listed there, and each file it names is known. Anything else is
``execute``, with ``egress`` where it imports something that is made for networks.
"""

from __future__ import annotations

from lockgate.analysis.shell import files
from lockgate.analysis.shell.knowledge import table
from lockgate.analysis.shell.scope import Arg, Scope
from lockgate.model import Effect, EffectKind, Label
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

    from lockgate.analysis.shell.commands import Machine

_LONGEST = 20_000
_WRITING = """
    write_text write_bytes unlink rmdir rename replace symlink_to hardlink_to link_to chmod touch lchmod mkdir
"""
_WRITERS = frozenset(_WRITING.split())
_READERS = frozenset({"read_text", "read_bytes"})
_REACHING = """
    system popen modules os sys subprocess importlib builtins socket codecs ctypes shutil loader f_globals f_builtins
    gi_frame cr_frame tb_frame gi_code format_map
"""
_FORBIDDEN = frozenset(_REACHING.split())


def python_effects(text: str, machine: Machine, scope: Scope, rule: str) -> list[Effect]:
    """Effects of a Python program."""
    import ast

    try:
        tree = ast.parse(text) if len(text) <= _LONGEST else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None:
        return [_execute("python", rule, "this Python cannot be read here")]
    reader = _Reader(tree, machine, scope, rule)
    return reader.run()


def _execute(what: str, rule: str, because: str) -> Effect:
    return Effect(EffectKind.EXECUTE, what, rule, because)


class _Reader:
    def __init__(self, tree: ast.Module, machine: Machine, scope: Scope, rule: str) -> None:
        import ast

        self.ast, self.tree, self.machine, self.scope, self.rule = ast, tree, machine, scope, rule
        tables = table("python_modules")
        self.allowed: dict[str, str] = tables["local"]
        self.network: list[str] = tables["network"]
        self.builtins = frozenset(str(tables["builtins"]).split())
        self.modules: dict[str, str] = {}
        """Local name to module."""
        self.constants: dict[str, str | None] = {}
        self.own: set[str] = set()
        self.found: list[Effect] = []
        self.handled: set[int] = set()
        """Nodes that were judged with their call."""

    def run(self) -> list[Effect]:
        nodes = list(self.ast.walk(self.tree))
        for node in nodes:
            self._binds(node)
        for node in nodes:
            self._calls(node)
        for node in nodes:
            problem = self._problem(node)
            if problem:
                self.found.append(_execute("python", self.rule, problem))
                break
        if not self.found and any(isinstance(node, (self.ast.Import, self.ast.ImportFrom)) for node in nodes):
            self._shadowed()
        return list(dict.fromkeys(self.found))

    def _shadowed(self) -> None:
        from lockgate.analysis.shell.python_shadows import shadow

        problem = shadow(self.machine, self.scope)
        if problem:
            self.found.append(_execute("python", self.rule, problem))

    # ------------------------------------------------------------ names

    def _binds(self, node: ast.AST) -> None:
        ast = self.ast
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.modules[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            self.own |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.own.add(node.name)
        elif isinstance(node, ast.arg):
            self.own.add(node.arg)
            self.constants[node.arg] = None
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self.own.add(node.name)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._constant(node.targets[0].id, node.value)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self.own.add(node.id)
            self.constants.setdefault(node.id, "\x00")
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            self.own.add(node.name)
            self.constants[node.name] = None

    def _constant(self, name: str, value: ast.expr) -> None:
        self.own.add(name)
        text = self._path(value)
        # Twice assigned, or bound in another way before: not one known text.
        self.constants[name] = text if name not in self.constants else None

    # ------------------------------------------------------------ calls with files

    def _calls(self, node: ast.AST) -> None:
        ast = self.ast
        if not isinstance(node, ast.Call):
            return
        function = node.func
        if isinstance(function, ast.Name) and function.id == "open" and "open" not in self.own:
            self.handled.add(id(function))
            self._open(node.args[0] if node.args else None, self._mode(node, 1))
        elif isinstance(function, ast.Attribute):
            self._method(node, function)

    def _method(self, node: ast.Call, function: ast.Attribute) -> None:
        ast = self.ast
        base = function.value
        if isinstance(base, ast.Name) and base.id in self.modules:
            kind = self.allowed.get(f"{self.modules[base.id]}.{function.attr}", "")
            if kind in ("read", "write", "delete"):
                self.handled.add(id(function))
                for argument in node.args[:2]:
                    self._file(argument, kind)
        elif function.attr in _READERS or (function.attr == "open" and not isinstance(base, ast.Constant)):
            self.handled.add(id(function))
            self._open(base, self._mode(node, 0) if function.attr == "open" else "r")
        elif function.attr in _WRITERS and not (function.attr == "replace" and len(node.args) >= 2):
            self.handled.add(id(function))
            self._file(base, "write")
            if function.attr in ("rename", "replace", "symlink_to", "hardlink_to") and node.args:
                self._file(node.args[0], "write")

    def _mode(self, node: ast.Call, position: int) -> str | None:
        """The mode of an ``open``, ``None`` where it is not known."""
        ast = self.ast
        given = [word.value for word in node.keywords if word.arg == "mode"]
        if any(word.arg in (None, "opener") for word in node.keywords) or any(
            isinstance(a, ast.Starred) for a in node.args
        ):
            return None
        given += node.args[position : position + 1]
        if not given:
            return "r"
        value = given[0]
        return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None

    def _open(self, place: ast.expr | None, mode: str | None) -> None:
        if place is None or mode is None:
            self.found.append(
                _execute("python", self.rule, "this opens a file in a way that is only known when it runs")
            )
        else:
            self._file(place, "write" if set(mode) & set("wax+") else "read")

    def _file(self, place: ast.expr, kind: str) -> None:
        path = self._path(place)
        if path is None:
            if kind != "read":
                because = "this writes a file whose name is only known when it runs"
                self.found.append(_execute("python", self.rule, because))
            return
        look = files.read if kind == "read" else files.write
        self.found += look(Arg(path), self.machine, self.scope)

    def _path(self, node: ast.expr, depth: int = 0) -> str | None:
        """The text of a path: a constant, ``Path(...)`` and ``/`` of them, a name bound once to one."""
        ast = self.ast
        if depth > 8:
            return None
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            value = self.constants.get(node.id)
            return None if value is None or value == "\x00" else value
        if (
            isinstance(node, ast.Call)
            and len(node.args) == 1
            and _last_name(node.func) in ("Path", "PurePath", "str", "expanduser")
        ):
            return self._path(node.args[0], depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Add)):
            left, right = self._path(node.left, depth + 1), self._path(node.right, depth + 1)
            if left is None or right is None:
                return None
            return left + ("/" if isinstance(node.op, ast.Div) else "") + right
        return None

    # ------------------------------------------------------------ what is not local

    def _problem(self, node: ast.AST) -> str:
        ast = self.ast
        if isinstance(node, ast.Import):
            return next((why for alias in node.names if (why := self._module(alias.name))), "")
        if isinstance(node, ast.ImportFrom):
            return self._import_from(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            return self._name(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        return ""

    def _module(self, name: str) -> str:
        if name.partition(".")[0] in self.network or name in self.network:
            because = f"`import {name}` is made for talking to other machines"
            self.found.append(Effect(EffectKind.EGRESS, name, self.rule, because, gives=Label.UNTRUSTED))
            return because
        return "" if name in self.allowed else f"the module `{name}` can do more than compute"

    def _import_from(self, node: ast.ImportFrom) -> str:
        module = node.module or ""
        if node.level or (why := self._module(module)):
            return why if not node.level else "this imports the project's own code"
        names = self.allowed[module].split()
        for alias in node.names:
            if alias.name not in names or f"{module}.{alias.name}" in self.allowed:
                return f"`from {module} import {alias.name}` can do more than compute"
        return ""

    def _name(self, node: ast.Name) -> str:
        if node.id in self.own or node.id in self.builtins or id(node) in self.handled:
            return ""
        if node.id in self.modules:
            return "" if id(node) in self._bases() else f"the module `{node.id}` is handed around"
        return f"`{node.id}` can do more than compute"

    def _bases(self) -> set[int]:
        if not hasattr(self, "_base_ids"):
            ast = self.ast
            self._base_ids = {id(node.value) for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)}
        return self._base_ids

    def _attribute(self, node: ast.Attribute) -> str:
        ast = self.ast
        if id(node) in self.handled:
            return ""
        if (node.attr.startswith("_") and node.attr != "__name__") or node.attr in _FORBIDDEN:
            chain = isinstance(node.value, ast.Name) and node.value.id in self.modules
            if not (chain and node.attr == "path"):
                return f"the attribute `{node.attr}` can do more than compute"
        if isinstance(node.value, ast.Name) and node.value.id in self.modules:
            module = self.modules[node.value.id]
            if node.attr not in self.allowed.get(module, "").split() and f"{module}.{node.attr}" not in self.allowed:
                return f"`{module}.{node.attr}` can do more than compute"
            if self.allowed.get(f"{module}.{node.attr}", "") in ("read", "write", "delete"):
                return f"`{module}.{node.attr}` is used other than by a plain call"
            return ""
        if node.attr in _WRITERS and node.attr != "replace":
            return f"`{node.attr}` is used other than by a plain call"
        return ""


def _last_name(node: ast.expr) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "")
