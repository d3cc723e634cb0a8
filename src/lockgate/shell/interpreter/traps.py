"""Runs traps: text that runs when a script ends, or between any two of its commands."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.state.run import RunText
from lockgate.shell.state.scope import Scope

if TYPE_CHECKING:
    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.run import Running


def run_later(machine: Machine) -> Running[None]:
    """Run what was said to run later, with all that the script may have changed until then."""
    while machine.flow.traps:
        text, scope = machine.flow.traps.pop()
        yield RunText(text, scope.later())


def interrupt(text: str, machine: Machine, scope: Scope) -> Running[None]:
    """Run text that may run between any two commands from here on: what it assigns is never known again."""
    before, scope.ever.touched = scope.ever.touched, set()
    inner = scope.copy()
    yield RunText(text, inner)
    for name in scope.ever.touched:
        scope.pinned.add(name)
    scope.forget(scope.ever.touched.copy())
    scope.ever.touched |= before
    scope.ifs_changed |= inner.ifs_changed
    if inner.functions != scope.functions or inner.positional != scope.positional:
        machine.findings.execute(text, "shell:trap", "a trap changes what words stand for", unknown=True)
    if inner.cwds != scope.cwds:
        scope.enter("")
