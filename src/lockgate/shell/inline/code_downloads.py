"""Finds code that downloads code and runs it: ``exec(urlopen(...).read())``, ``fetch(...).then(eval)``.

What flows from one command to another is followed instead (``code_sources.py``). Python is parsed; of other languages
only short texts are looked at, for words of both kinds (the table ``network_code``).
"""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.addresses import host_of, normalise
from lockgate.resources.hosts import find_trusted, is_here
from lockgate.shell.inline.network_shells import module_of_call
from lockgate.shell.knowledge.lookup import table

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable

    from lockgate.resources.host_view import HostView

_LONGEST, _LONGEST_OTHER = 20_000, 4_000
_MODULES = frozenset({"requests", "httpx", "urllib3", "aiohttp", "urllib.request"})
_IMPORTED = _MODULES | {"urllib"}
_COMPILING = frozenset({"exec", "eval", "compile", "execfile"})
_SHELLS = frozenset({"system", "popen", "getoutput", "getstatusoutput", "create_subprocess_shell"})
_STARTING = frozenset({"run", "call", "check_call", "check_output", "Popen"})
_INTERPRETERS = lazy_re(r"(?:.*/)?(?:(?:ba|da|z|k|a)?sh|python[\d.]*|perl|ruby|node|php)")
_ASKING = lazy_re(r"\b(?:requests|httpx|urllib3?|aiohttp)\b")
_RUNNING = lazy_re(r"exec|eval|compile|system|popen|getoutput|subprocess")
_ROUNDS = 5


def find_downloads(language: str, text: str, around: HostView) -> list[str]:
    """The addresses of what code downloads and runs, each normalised; an empty one where it is not known.

    Addresses of this machine and of hosts that a person has declared are left out.

    Args:
        language: As in the role ``code-LANGUAGE``.
        text: The code, as far as it is known.
        around: What a person has declared.
    """
    if language == "python":
        found = _find_python_downloads(text)
    else:
        words = table("network_code")
        short = len(text) <= _LONGEST_OTHER
        found = [""] if short and all(re.search(words[kind], text) for kind in ("fetches", "evaluates")) else []
    return find_undeclared(found, around)


def find_undeclared(urls: Iterable[str], around: HostView) -> list[str]:
    """Addresses from which code is run, each normalised, but for those of this machine and of declared hosts.

    Args:
        urls: The addresses; an empty one is not known.
        around: What a person has declared.
    """
    return [normalise(url) or "" for url in dict.fromkeys(urls) if not _is_declared(url, around)]


def _is_declared(url: str, around: HostView) -> bool:
    """Whether an address is of this machine, or of a host that a person has declared."""
    host = host_of(url) if url else None
    return host is not None and (is_here(host) or find_trusted(host, around) is not None)


def _find_python_downloads(text: str) -> list[str]:
    if len(text) > _LONGEST or not (_ASKING.search(text) and _RUNNING.search(text)):
        return []  # as nearly always, and it need not be parsed
    import ast

    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return _Python(nodes).addresses()


class _Python:
    """What a module downloads, and which of its names may hold that."""

    def __init__(self, nodes: list[ast.AST]) -> None:
        self._nodes = nodes
        self._clients = _clients(nodes)
        """Names of modules and functions that ask other machines."""
        self._held: set[str] = set()
        self._texts: dict[str, list[str | None]] = {}
        """What each name was set to: a text, or something else."""

    def addresses(self) -> list[str]:
        """Of what is run; an empty one where the address of any download is not known."""
        import ast

        asked = [node for node in self._nodes if isinstance(node, ast.Call) and self._is_client(node.func)]
        if not asked:
            return []
        self._follow()
        if not any(isinstance(node, ast.Call) and self._runs(node) for node in self._nodes):
            return []
        return [self._text(node.args[0] if node.args else None) for node in asked]

    def _follow(self) -> None:
        import ast

        for _ in range(_ROUNDS):
            before = len(self._held)
            for node in self._nodes:
                value, targets = _find_binding(node)
                if value is None:
                    continue
                names = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
                if self._is_held(value):
                    self._held |= names
                if not before:
                    constant = value.value if isinstance(value, ast.Constant) else None
                    for name in names:
                        self._texts.setdefault(name, []).append(constant if isinstance(constant, str) else None)
            if len(self._held) == before:
                return

    def _text(self, node: ast.expr | None) -> str:
        """A text that is known, else an empty one."""
        import ast

        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        values = self._texts.get(node.id, []) if isinstance(node, ast.Name) else []
        return values[0] or "" if len(values) == 1 else ""

    def _is_client(self, node: ast.AST) -> bool:
        """Whether an expression names what asks another machine."""
        import ast

        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Call):
            # What `__import__("urllib")` gives is the package, which stands for its parts.
            return module_of_call(node) in _IMPORTED
        if not isinstance(node, ast.Name):
            return False
        whole = ".".join((node.id, *reversed(parts)))
        return any(whole == name or whole.startswith(f"{name}.") for name in self._clients)

    def _is_held(self, value: ast.AST) -> bool:
        """Whether an expression may hold what was downloaded."""
        import ast

        for node in ast.walk(value):
            if isinstance(node, ast.Call) and self._is_client(node.func):
                return True
            if isinstance(node, ast.Name) and node.id in self._held:
                return True
        return False

    def _begins_held(self, node: ast.AST | None) -> bool:
        """Whether a text begins with it: then it is a command, and not only a word of one."""
        import ast

        while node is not None:
            if isinstance(node, ast.Name):
                return node.id in self._held
            if isinstance(node, ast.Call):
                if self._is_client(node.func):
                    return True
                node = node.func
            elif isinstance(node, (ast.Attribute, ast.Subscript, ast.Await, ast.FormattedValue)):
                node = node.value
            elif isinstance(node, ast.BinOp):
                node = node.left
            else:
                node = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else None
        return False

    def _runs(self, call: ast.Call) -> bool:
        import ast

        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        first = call.args[0] if call.args else None
        if name in _COMPILING and (isinstance(call.func, ast.Name) or getattr(call.func.value, "id", "") == "builtins"):  # type: ignore[attr-defined]
            return first is not None and self._is_held(first)
        if name in _SHELLS:
            return self._begins_held(first)
        if name not in _STARTING or first is None:
            return False
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        if "input" in given and self._is_held(given["input"]):
            words = (node.value for node in ast.walk(first) if isinstance(node, ast.Constant))
            return any(isinstance(word, str) and _INTERPRETERS.fullmatch(word) for word in words)
        return "shell" in given and self._begins_held(first)


def _find_binding(node: ast.AST) -> tuple[ast.expr | None, list[ast.expr]]:
    """The value that a node gives to names, and those."""
    import ast

    if isinstance(node, ast.Assign):
        return node.value, node.targets
    if isinstance(node, (ast.AnnAssign, ast.NamedExpr, ast.AugAssign)):
        return node.value, [node.target]
    if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        return node.iter, [node.target]
    if isinstance(node, ast.withitem) and node.optional_vars is not None:
        return node.context_expr, [node.optional_vars]
    return None, []


def _clients(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that modules which ask other machines have, and what is taken of them."""
    import ast

    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names = ((alias.name, alias.asname or alias.name) for alias in node.names)
            found |= {name for module, name in names if module in _MODULES}
        elif isinstance(node, ast.ImportFrom):
            taken = {(f"{node.module}.{alias.name}", alias.asname or alias.name) for alias in node.names}
            found |= {name for module, name in taken if module in _MODULES or node.module in _MODULES}
    return found
