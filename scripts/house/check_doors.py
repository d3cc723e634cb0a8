#!/usr/bin/env python3
"""Holds the doors of the rooms: another room imports only what ``__all__`` of a package names.

Usage: check_doors.py SRC [--ceiling ceiling.json] [--write] [--list ROOM]

A room is a folder of the package. ``__all__`` in its ``__init__.py`` names the modules and folders that other rooms may
import; a folder has an ``__all__`` of its own. A door imports nothing, so a hook pays nothing for it.
--ceiling   for each room: how many modules are behind its door, and how many names others take; they may only fall
--write     mend each ``__all__`` by what is imported today
--list      print what other rooms take from one room, and who does
"""

import argparse
import ast
import collections
import json
import os
import re
import sys

from check_house import ROOMS, imports_of, modules_of

PUBLIC = ("lockgate.clients.sdk", "lockgate.configuration.plugins")
"""What programs and plugins of others import: their ``__all__`` is documented, and not made from our imports."""
Taken = collections.namedtuple("Taken", "module name room where")


def taken_by_others(src, modules):
    """Each name that a room takes from a module of another one. A whole module has the name ``*``."""
    found = []
    for module, path in modules.items():
        room = room_of(module)
        for one in imports_of(module, path, src, modules):
            other = room_of(one.target)
            if other and other != room:
                whole = one.kind == "table" or one.name == "*" or f"{one.target}.{one.name}" in modules
                is_module = whole or one.target.rpartition(".")[2] == one.name
                found.append(Taken(one.target, "*" if is_module else one.name, room or "root", f"{path}:{one.line}"))
    return found


def room_of(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS.split() else ""


def wanted(taken, modules):
    """What each package has to name so that everything that is taken stands behind a door."""
    names = collections.defaultdict(set)
    for one in taken:
        parts = one.module.split(".")
        for depth in range(2, len(parts)):
            names[".".join(parts[:depth])].add(parts[depth])
        if modules[one.module].endswith("__init__.py") and one.name != "*":
            names[one.module].add(one.name)
    return names


def named(path):
    """``__all__`` of a file, and which of its names it imports: those are for its own room, too."""
    with open(path, encoding="utf-8") as file:
        body = ast.parse(file.read()).body
    imported = {alias.asname or alias.name for one in body if isinstance(one, ast.ImportFrom) for alias in one.names}
    for one in body:
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "__all__":
            says = set(ast.literal_eval(one.value))
            return says, says & imported
    return set(), set()


def write(path, names):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    told = "".join(f"    {json.dumps(name)},\n" for name in sorted(names))
    told = f"__all__ = [\n{told}]\n" if names else ""
    if re.search(r"^__all__ = \[[^\]]*\]\n", text, re.MULTILINE):
        text = re.sub(r"\n*^__all__ = \[[^\]]*\]\n", "\n\n" + told if told else "\n", text, count=1, flags=re.MULTILINE)
    elif told:
        lines = text.splitlines(keepends=True)
        tree = ast.parse(text)
        head = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom) or n is tree.body[0]]
        while len(head) < len(tree.body) and "TYPE_CHECKING" in ast.unparse(tree.body[len(head)]).split("\n")[0]:
            head.append(tree.body[len(head)])
        at = head[-1].end_lineno
        text = "".join(lines[:at]) + "\n" + told + "".join(lines[at:])
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("src")
    parser.add_argument("--ceiling")
    parser.add_argument("--list")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    modules = modules_of(given.src)
    taken = taken_by_others(given.src, modules)
    doors = wanted(taken, modules)
    wrong = []
    for package, path in sorted(modules.items()):
        if not path.endswith("__init__.py") or not room_of(package) or package in PUBLIC:
            continue
        file = os.path.join(given.src, path)
        says, passed_on = named(file)
        want = doors[package] | passed_on
        if given.write and says != want:
            write(file, want)
        elif says != want:
            wrong += [f"{path}: `{name}` is behind no door, and another room imports it" for name in want - says]
            wrong += [f"{path}: `__all__` names `{name}`, which no other room imports" for name in says - want]
    wrong += [
        f"{one.where}: {one.room} imports the private name {one.name}" for one in taken if re.match("_[^_]", one.name)
    ]
    if given.list:
        for module, name in sorted({(one.module, one.name) for one in taken if room_of(one.module) == given.list}):
            rooms = {one.room for one in taken if (one.module, one.name) == (module, name)}
            print(f"{module} {name}: {' '.join(sorted(rooms))}")
    widths = {
        room: [
            len({one.module for one in taken if room_of(one.module) == room}),
            len({(one.module, one.name) for one in taken if room_of(one.module) == room}),
        ]
        for room in ROOMS.split()
    }
    print("doors (modules, names):", ", ".join(f"{room} {one} {two}" for room, (one, two) in widths.items()))
    if given.ceiling:
        with open(given.ceiling, encoding="utf-8") as file:
            most = json.load(file)["doors"]
        for room, width in widths.items():
            if any(found > allowed for found, allowed in zip(width, most[room], strict=True)):
                wrong.append(f"the door of {room} has {width} modules and names, and at most {most[room]} are allowed")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))


main()
