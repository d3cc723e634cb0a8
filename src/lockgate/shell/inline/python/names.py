"""Resolves the names of a Python program: what each stands for, and which texts a value can be.

Scopes are not told apart: a name stands for all that it is bound to anywhere in the program.
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.inline.python.listing import Elements, bindings, find_changed
from lockgate.shell.state.abstract_text import OPAQUE, is_known

if TYPE_CHECKING:
    import ast

_MOST = 24
_DEEPEST = 12
_LONGEST = 2_000


class PythonNames:
    """What the names of one program stand for."""

    def __init__(self, nodes: list[ast.AST]) -> None:
        import ast

        self.ast = ast
        self.modules: dict[str, str] = {}
        """Name to the module, or to what of it was imported: ``p`` to ``os.path``."""
        self.imported: set[str] = set()
        """Top-level modules that are imported."""
        self.bound: set[str] = set()
        """Names that are bound other than by an import."""
        self.values: dict[str, list[ast.expr]] = {}
        """Name to the expressions of which it is one, where all are known."""
        self.unknown: set[str] = set()
        self.members: set[str] = set()
        """Members that the program's own classes and objects have."""
        self.bases: set[int] = set()
        """Nodes of which a member is taken."""
        self.plain_argv = True
        """Whether ``sys.argv`` is only read, by number."""
        since_3_12: type[ast.MatchStar] = getattr(ast, "type_param", ast.MatchStar)
        self.naming = (ast.ExceptHandler, ast.MatchAs, ast.MatchStar, since_3_12)
        """Kinds of nodes that bind their ``name``."""
        self._nodes = nodes
        self._changed: set[str] | None = None
        self._bind_all(nodes)
        self._bind_arguments(nodes)

    def is_changed(self, name: str) -> bool:
        """Whether the elements of a name may not be those that the program was seen to put in there."""
        if self._changed is None:
            self._changed = find_changed(self._nodes)
        return name in self._changed

    def _bind_all(self, nodes: list[ast.AST]) -> None:
        plain: dict[int, list[ast.expr]] = {}
        for node in nodes:
            self._bind(node, plain)
        for node in nodes:
            if isinstance(node, self.ast.Name) and not isinstance(node.ctx, self.ast.Load):
                self.bound.add(node.id)
                if id(node) in plain:
                    self.values.setdefault(node.id, []).extend(plain[id(node)])
                else:
                    self.unknown.add(node.id)

    def _bind_arguments(self, nodes: list[ast.AST]) -> None:
        if "sys" not in self.imported:
            return
        ast = self.ast
        read = {id(n.value) for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load)
                and isinstance(n.slice, (ast.Constant, ast.Slice))}  # fmt: skip
        read |= {id(n.iter) for n in nodes if isinstance(n, (ast.For, ast.comprehension))}
        uses = {id(n) for n in nodes if isinstance(n, (ast.Name, ast.Attribute)) and self.qualify(n) == "sys.argv"}
        self.plain_argv = uses <= read

    def _bind(self, node: ast.AST, plain: dict[int, list[ast.expr]]) -> None:
        ast = self.ast
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self._bind_imports(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._record_opaque(node.name)
            self.members.add(node.name)
            if isinstance(node, ast.ClassDef):
                self.members |= {n.id for item in node.body for n in ast.walk(item) if isinstance(n, ast.Name)
                                 and isinstance(n.ctx, ast.Store)}  # fmt: skip
        elif isinstance(node, ast.arg):
            self._record_opaque(node.arg)
        elif isinstance(node, self.naming):
            self._record_opaque(node.name)
        elif isinstance(node, ast.MatchMapping):
            self._record_opaque(node.rest)
        elif isinstance(node, ast.Attribute):
            self.bases.add(id(node.value))
            if isinstance(node.ctx, ast.Store):
                self.members.add(node.attr)
        elif isinstance(node, ast.Assign):
            plain.update({id(target): [node.value] for target in node.targets})
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            plain[id(node.target)] = [node.value]
        elif isinstance(node, (ast.For, ast.comprehension)):
            plain.update(bindings(node, self))

    def _record_opaque(self, name: str | None) -> None:
        if name:
            self.bound.add(name)
            self.unknown.add(name)

    def _bind_imports(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, self.ast.ImportFrom):
                name, full = alias.asname or alias.name, f"{node.module or ''}.{alias.name}"
                self.imported.add((node.module or "").partition(".")[0])
            else:
                top = alias.name.partition(".")[0]
                name, full = alias.asname or top, alias.name if alias.asname else top
                self.imported.add(top)
            if self.modules.setdefault(name, full) != full:
                self.bound.add(name)
            self.unknown.add(name)

    def is_builtin(self, name: str) -> bool:
        """Whether Python gives a meaning to a name that nobody has bound."""
        import builtins

        return hasattr(builtins, name)

    def qualify(self, node: ast.AST) -> str | None:
        """The full name of what a name or a chain of members stands for, where it begins with an import."""
        if isinstance(node, self.ast.Name):
            return self.modules.get(node.id)
        if isinstance(node, self.ast.Attribute):
            base = self.qualify(node.value)
            return None if base is None else f"{base}.{node.attr}"
        return None

    # ------------------------------------------------------------ texts

    def texts(self, node: ast.expr | None, home: str, argv: tuple[str, ...], depth: int = 0) -> list[str]:
        """The texts that a value can be; what is not known of one is a placeholder. ``Path`` objects are texts too."""
        return _Texts(self, home, argv).of(node, depth) if node is not None else [OPAQUE]


class _Texts:
    def __init__(self, names: PythonNames, home: str, argv: tuple[str, ...]) -> None:
        self.names, self.ast, self.home, self.argv = names, names.ast, home, argv

    def of(self, node: ast.expr, depth: int) -> list[str]:
        if depth > _DEEPEST:
            return [OPAQUE]
        found = list(dict.fromkeys(self._of(node, depth + 1)))
        return [text if len(text) <= _LONGEST else OPAQUE for text in found] if len(found) <= _MOST else [OPAQUE]

    def _of(self, node: ast.expr, depth: int) -> list[str]:
        ast, names = self.ast, self.names
        if isinstance(node, ast.Constant):
            text = str(node.value) if isinstance(node.value, (str, int)) else OPAQUE
            return [text if is_known(text) else OPAQUE]
        if isinstance(node, ast.Name):
            if node.id in names.unknown or node.id not in names.values:
                return [OPAQUE]
            return [text for value in names.values[node.id] for text in self.of(value, depth)]
        if isinstance(node, ast.Starred):
            return Elements(names, self.argv, self.of).of(node.value, depth)
        if isinstance(node, ast.JoinedStr):
            return self._join_texts([self._piece(value, depth) for value in node.values])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._join_texts([self.of(node.left, depth), self.of(node.right, depth)])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return self._below([self.of(node.left, depth), self.of(node.right, depth)])
        if isinstance(node, ast.IfExp):
            return self.of(node.body, depth) + self.of(node.orelse, depth)
        if isinstance(node, ast.Attribute) and node.attr == "parent":
            return [text.rpartition("/")[0] or "." for text in self.of(node.value, depth)]
        if isinstance(node, ast.Subscript) and names.qualify(node.value) == "sys.argv":
            index = node.slice.value if isinstance(node.slice, ast.Constant) else None
            return [self.argv[index] if isinstance(index, int) and 0 < index < len(self.argv) else OPAQUE]
        if isinstance(node, ast.Attribute) and names.qualify(node) == "sys.executable":
            return ["python3"]
        return self._list_called_names(node, depth) if isinstance(node, ast.Call) else [OPAQUE]

    def _piece(self, node: ast.expr, depth: int) -> list[str]:
        if isinstance(node, self.ast.FormattedValue):
            return [OPAQUE] if node.format_spec is not None or node.conversion > 0 else self.of(node.value, depth)
        return self.of(node, depth)

    def _list_called_names(self, node: ast.Call, depth: int) -> list[str]:
        ast, full = self.ast, self.names.qualify(node.func) or ""
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            return [OPAQUE]
        args = [self.of(argument, depth) for argument in node.args]
        if full in ("pathlib.Path", "pathlib.PurePath", "os.path.join"):
            return self._below(args) if args else ["."]
        if full in ("os.path.expanduser", "os.path.abspath", "os.path.realpath", "os.path.normpath", "os.fspath"):
            return args[0] if args else [OPAQUE]
        if full == "pathlib.Path.home":
            return [self.home]
        if full in ("pathlib.Path.cwd", "os.getcwd"):
            return ["."]
        if isinstance(node.func, ast.Name) and node.func.id == "str" and len(args) == 1:
            return args[0] if "str" not in self.names.bound else [OPAQUE]
        if full or not isinstance(node.func, ast.Attribute):
            return [OPAQUE]
        base = self.of(node.func.value, depth)
        if node.func.attr in ("resolve", "absolute", "expanduser", "as_posix"):
            return base
        if node.func.attr == "joinpath":
            return self._below([base, *args])
        return [OPAQUE]

    def _join_texts(self, pieces: list[list[str]]) -> list[str]:
        texts = [""]
        for piece in pieces:
            texts = [left + right for left in texts for right in piece]
            if len(texts) > _MOST:
                return [OPAQUE]
        return texts

    def _below(self, pieces: list[list[str]]) -> list[str]:
        """Names below each other; one that is absolute stands for all before it."""
        texts = pieces[0]
        for piece in pieces[1:]:
            texts = [_join(left, right) for left in texts for right in piece]
            if len(texts) > _MOST:
                return [OPAQUE]
        return texts


def _join(left: str, right: str) -> str:
    if right.startswith("/") or left in ("", "."):
        return right
    return f"{left.rstrip('/')}/{right}"
