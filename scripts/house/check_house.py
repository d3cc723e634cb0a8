#!/usr/bin/env python3
"""Progress measure for the house: circles of imports, and imports that run against the direction of the rooms.

Usage: check_house.py SRC [--rooms rooms.tsv] [--no-typing] [--short] [--ceiling ceiling.json]

SRC         the folder of the package (src/lockgate)
--rooms     where each module is to go (old, new, why); a module without a row lies in the room that its folder says
--no-typing leave out imports under TYPE_CHECKING
--short     counts only
--ceiling   fail only where a number is above that of this file; it may only be lowered
Counted: imports at the top, in functions, under TYPE_CHECKING, and modules that a table names for a loader.
Also modules under 60 lines with a single importer: they belong into it, or into a neighbour.
Also modules beside a listed table that load others by strings, and calls of run* or invoke* through an object that
was passed to a program, a reader of inline code or a script.
Also imports that give a module, a class or a function of ours another name: a search for its own name misses them.
Also functions whose name begins with a participle: what acts is named by a verb, and a question by ``is_`` or ``has_``.
Also functions that answer a question ("Whether ..."), and whose name asks none: ``inside`` and not ``is_inside``.
Also functions whose body has more than 30 lines, without the docstring and without the functions inside it.
"""

import argparse
import ast
import collections
import csv
import json
import os
import re
import sys

ROOMS = "core system resources shell patterns analysis policy store configuration containment gate clients service cli"
SHELL = "grammar state knowledge expansion effects interpreter inline scripts programs secret_flow * report"
LEVEL = {room: number for number, room in enumerate(ROOMS.split())}
SHELL_LEVEL = {folder: number for number, folder in enumerate(SHELL.split())}
SMALL = 60
LONG = 30
ALONE = {
    "analysis/looking.py": "a cold hook asks it without loading all of analysis/tools.py",
    "configuration/plugins/hookspecs.py": "pluggy takes the module itself; those who write plugins import it",
    "gate/monitor/reported_calls.py": "only a server for containers loads it, and a hook does not",
    "shell/programs/roles/compilers.py": "a table of roles, loaded when the first one of them is applied",
    "shell/programs/roles/containers.py": "the same",
    "system/package_digest.py": "the build loads this file by itself, before the package is there",
}
"""Small modules with one importer that stay, and why; a module that a loader's table names needs no row."""
LOADERS = {"__import__", "import_module"}
LISTED = {"cli/main.py"}
"""Tables that may name modules by strings: the commands."""
ASKING = {"programs", "inline", "scripts"}
"""Folders of the shell's analysis that ask for what has to be run."""
NO_PARTICIPLES = {
    *("add", "bring", "embed", "exceed", "feed", "need", "ping", "proceed", "ring", "seed", "speed", "string"),
    *("mapping", "nothing", "sed", "setting"),
}
"""Words that end as a participle does and are none: verbs and nouns."""
ASKS = {"are", "can", "do", "does", "had", "has", "have", "is", "may", "was", "were", "will"}
"""Words of a name that asks a question; verbs in the third person (``knows``, ``matches``) end in an ``s``."""
IRREGULAR = {
    *("begun", "bound", "built", "chosen", "done", "found", "given", "gone", "held", "hidden", "kept", "known", "left"),
    *("lost", "made", "said", "seen", "sent", "shown", "spelt", "taken", "told", "unknown", "unread", "written"),
}
"""Participles that another ending hides."""
Import = collections.namedtuple("Import", "source target line kind name")


def modules_of(src):
    package, found = os.path.basename(os.path.abspath(src)), {}
    for folder, _, files in os.walk(src):
        for file in files:
            if file.endswith(".py"):
                path = os.path.relpath(os.path.join(folder, file), src)
                parts = [package, *path[:-3].split(os.sep)]
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(module, path, src, modules):
    tree = ast.parse(open(os.path.join(src, path), encoding="utf-8").read())
    package, here = module.split(".")[0], module if path.endswith("__init__.py") else module.rpartition(".")[0]
    found, texts, heads, loads = [], [], [], False

    def visit(node, kind):
        nonlocal loads
        for child in ast.iter_child_nodes(node):
            inner = kind
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and kind == "top":
                inner = "lazy"  # inside a function
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                visit(ast.Module(child.body, []), "typing")
                visit(ast.Module(child.orelse, []), kind)
                continue
            if isinstance(child, ast.Import):
                for alias in child.names:
                    if alias.name.split(".")[0] == package:
                        add(alias.name, child.lineno, inner, "*")
            elif isinstance(child, ast.ImportFrom):
                base = child.module or ""
                if child.level:
                    above = here.split(".")[: len(here.split(".")) - child.level + 1]
                    base = ".".join([*above, base] if base else above)
                for alias in child.names if base.split(".")[0] == package else ():
                    whole = f"{base}.{alias.name}"
                    add(whole if whole in modules else base, child.lineno, inner, alias.name)
            elif isinstance(child, ast.Constant) and isinstance(child.value, str):
                texts.append((child.value, child.lineno))
            elif isinstance(child, ast.JoinedStr) and isinstance(child.values[0], ast.Constant):
                heads.append(child.values[0].value)
            loads |= getattr(child, "id", getattr(child, "attr", "")) in LOADERS
            visit(child, inner)

    def add(target, line, kind, name):
        while target not in modules:
            target = target.rpartition(".")[0]
        if target != module:
            found.append(Import(module, target, line, kind, name))

    visit(tree, "top")
    if loads:
        heads += [f"{text}." for text, _ in texts if text in modules]
        for text, line in texts:
            for head in ("", *(head for head in heads if head.startswith(package))):
                name = head + re.split("[:.]" if head else ":", text)[0]
                if name in modules and "." in name:
                    add(name, line, "table", text)
    return found


def runs_of(path, src):
    """Calls of ``run*`` and ``invoke*`` on what is neither an imported module nor the object itself."""
    tree = ast.parse(open(os.path.join(src, path), encoding="utf-8").read())
    nodes = list(ast.walk(tree))
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    known = {"self", "cls", *((alias.asname or alias.name).split(".")[0] for node in imports for alias in node.names)}
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called = ast.unparse(node.func)
            if re.match(r"run|invoke", node.func.attr) and called not in {f"{name}.{node.func.attr}" for name in known}:
                yield f"{path}:{node.lineno}: {called}"


def circles(nodes, edges):
    graph, index, low, stack, result = collections.defaultdict(set), {}, {}, [], []
    for source, target in edges:
        graph[source].add(target)

    def walk(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                walk(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                result.append(sorted(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10_000)
    for node in sorted(nodes):
        if node not in index:
            walk(node)
    return sorted(result, key=len, reverse=True)


def small_alone(src, modules, every):
    importers, found = collections.defaultdict(set), []
    for one in every:
        importers[one.target].add(("table" if one.kind == "table" else "import", one.source))
    for module, path in sorted(modules.items()):
        if os.path.basename(path) == "__init__.py" or path in ALONE or len(importers[module]) != 1:
            continue
        kind, source = next(iter(importers[module]))
        with open(os.path.join(src, path), encoding="utf-8") as file:
            lines = sum(1 for _ in file)
        if kind != "table" and lines < SMALL:
            found.append(f"small {path}: {lines} lines, and only {modules[source]} imports it")
    return found


def classes_twice(src, modules):
    """Names of classes that stand for two things, each with its modules."""
    found = collections.defaultdict(set)
    for path in modules.values():
        with open(os.path.join(src, path), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].add(path)
    return {name: sorted(paths) for name, paths in sorted(found.items()) if len(paths) > 1}


def is_participle(name):
    word = name.lstrip("_").split("_")[0] if not name.startswith("__") else ""  # those names are Python's
    return word in IRREGULAR or (word.endswith(("ed", "ing")) and word not in NO_PARTICIPLES)


def functions(src, modules):
    """Each function and method that is no property, with its place."""
    for path in sorted(modules.values()):
        with open(os.path.join(src, path), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if not any("property" in ast.unparse(decorator) for decorator in node.decorator_list):
                yield node, f"{path}:{node.lineno} {node.name}"


def participles(src, modules):
    """Functions and methods whose name begins with a participle. A property may: it tells what is so."""
    return [place for node, place in functions(src, modules) if is_participle(node.name)]


def unasked(src, modules):
    """Functions that answer a question, and are not named by one. A property may: it tells what is so."""
    return [place for node, place in functions(src, modules) if is_question(node) and not asks(node.name)]


def is_question(node):
    says_bool = node.returns is not None and ast.unparse(node.returns) == "bool"
    return says_bool and (ast.get_docstring(node) or "").startswith("Whether")


def asks(name):
    words = name.strip("_").split("_")
    return not ASKS.isdisjoint(words) or any(word.endswith("s") for word in words)


def long_functions(src, modules):
    """Functions whose body has more than ``LONG`` lines of its own, without its docstring; the longest first."""

    def own_lines(node):
        before = node.body[0].end_lineno if ast.get_docstring(node) else node.body[0].lineno - 1
        lines = set(range(before + 1, node.end_lineno + 1))
        for inner in ast.walk(node):
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and inner is not node:
                lines -= set(
                    range(min([inner.lineno, *(one.lineno for one in inner.decorator_list)]), inner.end_lineno + 1)
                )
        return len(lines)

    found = []
    for path in modules.values():
        with open(os.path.join(src, path), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        found += [(own_lines(node), f"{path}:{node.lineno} {node.name}") for node in functions]
    return [f"{lines} lines: {where}" for lines, where in sorted(found, reverse=True) if lines > LONG]


def renamed_imports(src, modules):
    """Imports of ours that give what they import another name."""
    found = []
    for path in sorted(modules.values()):
        with open(os.path.join(src, path), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in ast.walk(tree):
            for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                of = alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
                if of.startswith("lockgate.") and alias.asname not in (None, of.rpartition(".")[2]):
                    found.append(f"{path}:{node.lineno} {of} as {alias.asname}")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("src")
    parser.add_argument("--rooms")
    parser.add_argument("--ceiling")
    for flag in ("--no-typing", "--short"):
        parser.add_argument(flag, action="store_true")
    given = parser.parse_args()
    modules, place = modules_of(given.src), {}
    if given.rooms:
        strip = re.compile(r"^.*?src/[^/]+/")
        rows = csv.DictReader(open(given.rooms, encoding="utf-8"), delimiter="\t")
        place = {strip.sub("", row["old"]): strip.sub("", row["new"]) for row in rows}
    place = {module: place.get(path, path).split("/") for module, path in modules.items()}
    every = [one for module, path in modules.items() for one in imports_of(module, path, given.src, modules)]
    every = [one for one in every if one.kind != "typing" or not given.no_typing]

    def level(module):
        room, *rest = place[module]
        inner = SHELL_LEVEL.get(rest[0] if len(rest) > 1 else "*", 99) if room == "shell" else 0
        return (LEVEL.get(room, 99) if rest else -1 if module.count(".") == 0 else 98, inner)

    back = []
    for one in every:
        source, target = level(one.source), level(one.target)
        if place[one.source][1:] and (target[0] == -1 or source < target):
            back.append(("/".join(place[one.source][:-1]), "/".join(place[one.target][:-1]) or "root", one))
    asking = [path for path in modules.values() if path.split(os.sep)[0] == "shell" and path.split(os.sep)[1] in ASKING]
    runs = [run for path in sorted(asking) for run in runs_of(path, given.src)]
    tables = sorted({modules[one.source] for one in every if one.kind == "table"} - LISTED)
    loops = circles(modules, {(one.source, one.target) for one in every})
    unknown = [path for module, path in modules.items() if place[module][1:] and place[module][0] not in LEVEL]
    told = [
        f"back  {source} -> {target}: {modules[one.source]}:{one.line} {one.kind} {one.target} {one.name}"
        for source, target, one in sorted(back)
    ]
    small = small_alone(given.src, modules, every)
    twice = classes_twice(given.src, modules)
    renamed = renamed_imports(given.src, modules)
    named = participles(given.src, modules)
    long = long_functions(given.src, modules)
    questions = unasked(given.src, modules)
    told += [
        *small,
        *(f"long  {each}" for each in long),
        *(f"question  {each}" for each in questions),
        *(f"renames  {each}" for each in renamed),
        *(f"participle  {each}" for each in named),
    ]
    told += [f"class {name} twice: {' '.join(paths)}" for name, paths in twice.items()]
    told += [*(f"runs  {run}" for run in runs), *(f"loads by a string: {path}" for path in tables)]
    told += [f"circle of {len(loop)}: {' '.join(modules[module] for module in loop)}" for loop in loops]
    print(*(() if given.short else [*told, *(f"no room: {path}" for path in unknown), ""]), sep="\n", end="")
    loose = sum(not place[module][1:] for module in modules)
    print(
        f"{len(modules)} modules, {loose} loose in the root, {len(unknown)} in no room; {len(back)} imports against "
        f"the direction; {len(loops)} circles, of {[len(loop) for loop in loops]} modules; {len(small)} under {SMALL} "
        f"lines with one importer; {len(runs)} runs through an object, {len(tables)} modules that load by strings; "
        f"{len(twice)} names of classes for two things, {len(renamed)} imports that rename; "
        f"{len(named)} functions named by a participle, {len(long)} of more than {LONG} lines; "
        f"{len(questions)} answer a question that their name does not ask"
    )
    if given.ceiling:
        with open(given.ceiling, encoding="utf-8") as file:
            most = json.load(file)
        found = {
            "against": len(back),
            "circles": [len(loop) for loop in loops],
            "loose": loose,
            "no_room": len(unknown),
            "small": len(small),
            "runs": len(runs),
            "strings": len(tables),
            "classes_twice": len(twice),
            "renamed": len(renamed),
            "participles": len(named),
            "long": len(long),
            "questions": len(questions),
        }
        worse = [name for name, number in found.items() if number > most[name]]
        for name in worse:
            print(f"{name}: {found[name]}, and at most {most[name]} is allowed: see docs/development.md")
        sys.exit(bool(worse))
    sys.exit(bool(back or loops))


if __name__ == "__main__":
    main()
