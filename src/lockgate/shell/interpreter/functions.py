"""Functions: their definition, and their bodies run with arguments and local variables."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.tree import Function
from lockgate.shell.interpreter.lookahead import assigned, leaves_early
from lockgate.shell.interpreter.redirects import apply_redirects
from lockgate.shell.state.abstract_text import OPAQUE
from lockgate.shell.state.scope import Arg, Scope, positional

if TYPE_CHECKING:
    from lockgate.shell.state.run import Interpreter

_CALLED = "command_not_found_handle command_not_found_handler chpwd precmd preexec periodic zshexit zshaddhistory"
_CALLED_BY_ITSELF = frozenset(_CALLED.split())
"""Names of functions that a shell calls by itself."""


def define(function: Function, machine: Interpreter, scope: Scope) -> str:
    """A function is defined: traps may run with it, and some names the shell calls by itself."""
    scope.define(function)
    if machine.flow.interrupts:
        from lockgate.shell.interpreter.traps import interrupt

        for text in machine.flow.interrupts:
            machine.drive(interrupt(text, machine, scope))
    if function.name in _CALLED_BY_ITSELF or function.name.startswith("TRAP"):
        machine.call(function, [Arg(OPAQUE)], scope.copy(), None)
    return ""


def call(function: Function, args: list[Arg], machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    """Run a function's body; what it prints."""
    machine.budget.depth += 1
    outer, scope.positional = scope.positional, positional(args)
    machine.flow.frames.append([])
    try:
        stdin, output = apply_redirects(function.redirects, machine, scope, stdin)
        before = scope.copy()
        shape = output.of(machine.until_left(scope, lambda: machine.command(function.body, scope, stdin)))
        if leaves_early(function.body):
            scope.forget(assigned(function.body))
            scope.join(before)
    finally:
        machine.budget.depth -= 1
        scope.positional = outer
        for kept in reversed(machine.flow.frames.pop()):
            scope.give_back(kept)
    return shape
