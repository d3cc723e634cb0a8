"""Finds shells that a program connects to the network: ``nc -e``, ``socat EXEC:``, and inline code that does so.

What flows from a connection into a shell through a pipe or a redirection is followed instead (``code_sources.py``).
"""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Variant
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.state.abstract_text import show

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Mapping

    from lockgate.shell.knowledge.options import Option
    from lockgate.shell.state.scope import Arg

_RUNNING = frozenset({"command", "program"})
"""Roles of options that name what a client connects."""
_SOCAT = lazy_re(r"(?:exec|system|shell|pty)\b", re.IGNORECASE)
_LONGEST = 20_000
_CONNECTING = frozenset({"socket", "ssl", "telnetlib", "socketserver", "asyncio", "websockets", "websocket"})
_STREAMS = frozenset({"dup2", "fileno", "makefile"})
"""How Python puts a connection in the place of a program's input and output."""
_STARTED = """
    spawn run call check_output Popen system popen execv execve execl execlp execvp getoutput create_subprocess_shell
    create_subprocess_exec exec eval
"""
_STARTING = frozenset(_STARTED.split())
_OPENING = frozenset({"socket", "create_connection", "accept", "wrap_socket"})
_STREAM_KEYWORDS = frozenset({"stdin", "stdout", "stderr"})
_RECEIVING = frozenset({"recv", "recvfrom", "makefile", "read_until", "readline"})


def why_client_is_shell(what: str, given: Iterable[Option], operands: Iterable[Arg]) -> str:
    """Why a client that connects to any port runs a program that talks to the other end; empty where it runs none.

    Args:
        what: The client.
        given: All its options.
        operands: Its other words.
    """
    runs = [option.name for option in given if option.role in _RUNNING]
    if what == "socat":
        runs += [arg.shown for arg in operands if _SOCAT.match(arg.text)]
    return f"`{what}` connects the program of `{show(runs[0])}` to whoever is at the other end" if runs else ""


def why_code_is_shell(what: str, language: str, text: str) -> str:
    """Why inline code starts what it reads from the network, or what talks to there; empty where it does not.

    Args:
        what: The command that runs it.
        language: As in the role ``code-LANGUAGE``.
        text: The code, as far as it is known.
    """
    found = _is_python_shell(text) if language == "python" else _has_shell_words(text)
    return (
        f"this code of `{what}` opens a connection, and starts a program that somebody there controls" if found else ""
    )


def shell_effects(shells: Mapping[str, str]) -> list[Effect]:
    """The effects of the shells that were found."""
    return [
        Effect(EffectKind.EGRESS, what, "shell:network-shell", because, Variant.SHELL)
        for what, because in shells.items()
    ]


def _has_shell_words(text: str) -> bool:
    words = table("network_shells")
    return all(re.search(words[kind], text) is not None for kind in ("connects", "runs"))


def _is_python_shell(text: str) -> bool:
    """Whether Python hands a connection to a program, or starts what it has received."""
    if "import" not in text or len(text) > _LONGEST:
        return False
    import ast

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return all(re.search(word, text) for word in (r"\bsocket\b", r"\b(?:dup2|spawn|Popen|system)\b"))
    nodes = list(ast.walk(tree))
    imported = {name.split(".")[0] for node in nodes for name in _list_imported_modules(node)}
    if imported.isdisjoint(_CONNECTING):
        return False
    names = {name for node in nodes for name in _list_used_names(node)}
    if _is_connected_by_keyword(nodes):
        return True
    starts = not names.isdisjoint(_STARTING)
    return "dup2" in names or (starts and not names.isdisjoint(_STREAMS | _RECEIVING)) or {"pty", "spawn"} <= names


def _is_connected_by_keyword(nodes: Iterable[ast.AST]) -> bool:
    """Whether a program gets a connection as its input or output: ``subprocess.run(["sh"], stdin=s)``."""
    import ast

    nodes, connections, given = list(nodes), set[str](), set[str]()
    for node in nodes:
        if isinstance(node, ast.Assign) and not _OPENING.isdisjoint(_list_called_names(node.value)):
            connections |= {
                each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)
            }
        if isinstance(node, ast.Call) and not _STARTING.isdisjoint(_list_used_names(node.func)):
            values = [keyword.value for keyword in node.keywords if keyword.arg in _STREAM_KEYWORDS]
            if any(not _OPENING.isdisjoint(_list_called_names(value)) for value in values):
                return True
            given |= {value.id for value in values if isinstance(value, ast.Name)}
    return not connections.isdisjoint(given)


def _list_called_names(node: ast.AST) -> list[str]:
    """The names of what an expression calls."""
    import ast

    return [name for each in ast.walk(node) if isinstance(each, ast.Call) for name in _list_used_names(each.func)]


def _list_used_names(node: ast.AST) -> list[str]:
    """The names that a node uses, or takes of a module."""
    import ast

    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.ImportFrom):
        return [alias.name for alias in node.names]
    return [node.id] if isinstance(node, ast.Name) else []


def _list_imported_modules(node: ast.AST) -> list[str]:
    """The modules that a node imports, those behind ``__import__("socket")`` too."""
    import ast

    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    module = module_of_call(node) if isinstance(node, ast.Call) else ""
    return [module] if module else []


def module_of_call(node: ast.Call) -> str:
    """The module that a call such as ``__import__("socket")`` gives; empty where it gives none that is known."""
    import ast

    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    given = node.args[0] if node.args else None
    if name not in ("__import__", "import_module") or not isinstance(given, ast.Constant):
        return ""
    return given.value if isinstance(given.value, str) else ""
