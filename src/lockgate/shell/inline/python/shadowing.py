"""Finds files that Python would import in place of a module of its own.

``python -c`` and ``python -m`` look for modules in the working folder first. So a ``json.py`` there runs where a
program imports ``json``, or imports something that does. One that imports nothing is no exception: since Python 3.13 an
interpreter imports ``linecache`` for the text of ``-c``, and ``traceback`` where a program fails.
"""

from __future__ import annotations

import posixpath
import sys

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.inline.data import language

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.scope import Scope

_ENDINGS = (".py", ".pyc", ".so", ".pyd")
_NEVER_IMPORTED = frozenset({"test", "tests", "site", "idlelib", "lib2to3", "turtledemo", "antigravity", "this"})
"""Modules of the library that no other module imports, or that are there before the folder is looked at."""


def shadow(machine: Machine, scope: Scope, imported: AbstractSet[str] = frozenset()) -> str:
    """The first file in a possible working folder that stands in for a module; empty where none does.

    Args:
        machine: What may be looked at, and what was written on the way.
        scope: Where the program runs.
        imported: Modules of other makers that it imports, beside those of the library.
    """
    for cwd in sorted(scope.cwds):
        if not cwd:
            return "the working folder is not known"
        written = [path for path in machine.disk.written if posixpath.dirname(path) in ("", ".", cwd)]
        for name in sorted({*machine.around.python_files(cwd), *map(posixpath.basename, written)}):
            if _stands_in(name, imported):
                return f"`{name}` in the working folder runs in place of Python's own module"
    return ""


def _stands_in(name: str, imported: AbstractSet[str]) -> bool:
    """Whether a file or folder of this name would be imported in place of a module."""
    stem = name.partition(".")[0]
    # A folder has no ending; one with the name of a module is a package.
    is_module = "." not in name or name.endswith(_ENDINGS)
    return is_module and (stem in imported or (_is_library(stem) and stem not in _NEVER_IMPORTED))


def _is_library(stem: str) -> bool:
    """Whether the library of some Python has the module: the one that runs it may not be this one."""
    return stem in sys.stdlib_module_names or stem in language("python")["elsewhere"].split()
