"""Programs that run commands out of a file of the project: make out of a makefile, npm out of ``package.json``.

Each is told in the knowledge (``recipes:``). What is found keeps to :mod:`lockgate.shell.scripts.follow`: the
call runs code of the project whatever is found; what is found is evidence, and gives its labels.
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.tree import Unparsed
from lockgate.shell.scripts.follow import process
from lockgate.shell.state.abstract_text import known
from lockgate.shell.state.scope import Scope

if TYPE_CHECKING:
    from lockgate.shell.interpreter.interpreter import Machine
    from lockgate.shell.programs.invoke import Invocation

UNKNOWN = "\x00"
"""Stands in a recipe for text that is only known when it runs."""
_STAND_IN = "${_made}"
"""A variable that nobody sets: a word of the environment, as far as the reader is concerned."""


def run_recipes(call: Invocation) -> bool:
    """Follow the recipes that a command runs; whether there were any. Then it is said already that it runs code."""
    if call.entry.recipes == "make":
        from lockgate.shell.scripts.make.running import run_make

        return run_make(call)
    if call.entry.recipes == "just":
        from lockgate.shell.scripts.just import run_just

        return run_just(call)
    from lockgate.shell.scripts.npm import run_npm

    return run_npm(call)


def run_line(machine: Machine, scope: Scope, text: str, dialect: str = "sh") -> str:
    """Run one text of a recipe in a shell of its own; give the shape of what it prints."""
    from lockgate.shell.grammar.reader import read

    inner = process(scope)
    tree = read(text.replace(UNKNOWN, _STAND_IN), machine.enter(dialect))
    if isinstance(tree, Unparsed):
        return machine.not_read(text, tree)
    if machine.scripts is not None:
        machine.scripts.read(tree)
    shape = machine.until_left(inner, lambda: machine.run(tree, inner))
    return shape if known(shape) else UNKNOWN
