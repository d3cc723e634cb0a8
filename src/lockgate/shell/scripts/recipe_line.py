"""Runs one line of a recipe in a shell of its own."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.tree import Unparsed
from lockgate.shell.scripts.follow import note_swallowed, process
from lockgate.shell.state.abstract_text import is_known
from lockgate.shell.state.run import RunScript
from lockgate.shell.state.scope import Scope

if TYPE_CHECKING:
    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.run import Running

UNKNOWN = "\x00"
"""Stands in a recipe for text that is only known when it runs."""
_STAND_IN = "${_made}"
"""A variable that nobody sets: a word of the environment, as far as the reader is concerned."""


def run_line(machine: Machine, scope: Scope, text: str, dialect: str = "sh") -> Running[str]:
    """Run one text of a recipe in a shell of its own. Returns the shape of what it prints."""
    from lockgate.shell.grammar.reader import read

    inner = process(scope)
    tree = read(text.replace(UNKNOWN, _STAND_IN), machine.enter(dialect))
    if isinstance(tree, Unparsed):
        return machine.findings.not_read(text, tree)
    note_swallowed(machine, tree)
    shape = yield RunScript(tree, inner)
    return shape if is_known(shape) else UNKNOWN
