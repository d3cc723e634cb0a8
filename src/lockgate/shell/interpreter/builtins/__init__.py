"""Which builtin is played by which function: a command needs one or two of them, and a hook pays for each module."""

from __future__ import annotations

from functools import cache

from lockgate.core.lazy import function_at
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.run import Running
    from lockgate.shell.state.scope import Arg, Scope

    Builtin = Callable[[Machine, Scope, list[Arg], "str | None"], "str | Running[str]"]

_QUIET = ": true false disown suspend logout unalias"
"""They neither change what is tracked here nor run or print anything."""
_TALKING = "ulimit umask times bg fg dirs type caller help compopt whence"
"""The same, but they print."""
BUILTINS = {
    "cd": "state.cd",
    "chdir": "state.cd",
    "pushd": "state.pushd",
    "popd": "state.popd",
    "pwd": "state.pwd",
    "echo": "state.echo",
    "print": "state.print_",
    "printf": "state.printf",
    "declare": "declare.declare",
    "typeset": "declare.declare",
    "local": "declare.local",
    "integer": "declare.declare",
    "export": "declare.export",
    "readonly": "declare.readonly",
    "read": "variables.read",
    "mapfile": "variables.mapfile",
    "readarray": "variables.mapfile",
    "unset": "variables.names",
    "wait": "variables.wait",
    "getopts": "variables.getopts",
    "test": "variables.test",
    "[": "variables.test",
    "let": "variables.let",
    "eval": "state.eval_",
    "source": "state.source",
    ".": "state.source",
    "trap": "state.trap",
    "alias": "state.alias",
    "set": "state.set_",
    "shift": "state.shift",
    "hash": "state.hash_",
    "enable": "state.enable",
    "history": "state.history",
    "jobs": "state.jobs",
    "shopt": "state.shopt",
    "setopt": "state.setopt",
    "unsetopt": "state.unsetopt",
    "break": "state.leave",
    "continue": "state.leave",
    "return": "state.leave",
    "exit": "state.exit_",
    **dict.fromkeys(("bind", "complete", "compgen", "fc"), "state.completion"),
    **dict.fromkeys(_QUIET.split(), "state.nothing"),
    **dict.fromkeys(_TALKING.split(), "state.anything"),
}
"""Name to the function that plays it, as ``state.cd`` for ``cd`` in ``state.py``.

It gives the shape of what is printed, or is a generator that asks for what has to be run before it does.
"""


def builtin(word: str) -> Builtin | None:
    """The function that plays a builtin; ``None`` for a word that is none."""
    place = BUILTINS.get(word)
    return None if place is None else _function(place)


@cache
def _function(place: str) -> Builtin:
    found: Builtin = function_at(f"lockgate.shell.interpreter.builtins.{place}")
    return found
