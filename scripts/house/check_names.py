#!/usr/bin/env python3
"""Finds names of our modules that tests and evals use and that are not there: mypy reads only the package.

Usage: check_names.py FOLDER...

Looked at are imported names, attributes of imported modules, and what ``setattr`` of a test puts something in place of.
"""

import ast
import importlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "lockgate"


def find_missing(file: Path) -> Iterator[str]:
    """Each name that a file uses and that is not there."""
    tree = ast.parse(file.read_text("utf-8"))
    for_types = {id(node) for each in ast.walk(tree) if _is_for_types(each) for node in ast.walk(each)}
    modules: dict[str, types.ModuleType] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and _is_ours(node) and id(node) not in for_types:
            for alias in node.names:
                found = _import(node.module or "", alias.name)
                if isinstance(found, types.ModuleType):
                    modules[alias.asname or alias.name] = found
                elif found is None:
                    yield f"{file}:{node.lineno}: {node.module} has no {alias.name}"
    others = _given_names(tree)
    known = {name: module for name, module in modules.items() if name not in others}
    for node in ast.walk(tree):
        for module, name in _uses(node):
            if module in known and not hasattr(known[module], name):
                yield f"{file}:{node.lineno}: {known[module].__name__} has no {name}"


def _is_ours(node: ast.ImportFrom) -> bool:
    return not node.level and (node.module or "").split(".")[0] == PACKAGE


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _import(module: str, name: str) -> object | None:
    found = importlib.import_module(module)
    if hasattr(found, name):
        return getattr(found, name) or True
    try:
        return importlib.import_module(f"{module}.{name}")
    except ImportError:
        return None


def _given_names(tree: ast.AST) -> set[str]:
    """Names that a file gives to other things somewhere."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def _uses(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The attribute of a named thing that a node reads or replaces."""
    match node:
        case ast.Attribute(value=ast.Name(id=module), attr=name, ctx=ast.Load()):
            yield module, name
        case ast.Call(
            func=ast.Attribute(attr="setattr"), args=[ast.Name(id=module), ast.Constant(value=str(name)), *_]
        ):
            yield module, name


def main() -> None:
    """Print each missing name; exit with 1 where there is one."""
    files = [file for folder in sys.argv[1:] for file in sorted(Path(folder).rglob("*.py"))]
    sys.path[:0] = ["tests"]
    missing = [line for file in files for line in find_missing(file)]
    print("\n".join(missing) or f"the names of {len(files)} files are there")
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
