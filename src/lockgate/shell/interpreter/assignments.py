"""Runs assignments: records what a variable holds from here on, and what giving it that does."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.effects.variables import variable_effects
from lockgate.shell.expansion.arithmetic import evaluate, evaluate_index, is_calculable, note_unsafe
from lockgate.shell.expansion.words import expand_all, expand_one
from lockgate.shell.grammar.tree import Assignment
from lockgate.shell.state.abstract_text import OPAQUE, harmless, join_texts, marks_of
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from lockgate.shell.state.run import Interpreter


def assign(assignment: Assignment, machine: Interpreter, scope: Scope) -> None:
    """Assign one variable and keep what that does."""
    name = assignment.name
    if assignment.subscript is not None:
        evaluate_index(expand_one(assignment.subscript, machine, scope), machine, scope)
    if assignment.elements is not None:
        _assign_elements(name, assignment, machine, scope)
        return
    text = expand_one(assignment.value, machine, scope)
    if assignment.subscript is not None:
        scope.forget({name})
        scope.ever.gives(name, text)
        return
    if name in scope.pinned and not is_calculable(text, scope):
        # An integer, or a reference to another variable: its value is evaluated.
        note_unsafe(machine)
    machine.drive(variable_effects(name, text, machine, scope))
    if assignment.append and name in scope.arrays:
        scope.forget({name})
        return
    if assignment.append and name not in scope.ever.integers:
        text = (scope.value(name) if name in scope.variables else "") + text
    scope.assign(name, text)


def _assign_elements(name: str, assignment: Assignment, machine: Interpreter, scope: Scope) -> None:
    """``a=(x y)``."""
    items = tuple(expand_all(assignment.elements or (), machine, scope))
    for item in items or (Arg(""),):
        scope.ever.gives(name, item.text)
    if name in scope.ever.integers and not all(is_calculable(item.text, scope) for item in items):
        note_unsafe(machine)
    if any(item.text.startswith("[") for item in items):
        _assign_by_index(name, items, machine, scope)
    elif any(item.loose for item in items):
        # Which element is which is not known.
        texts = [item.text for item in (*(scope.arrays.get(name, ()) if assignment.append else ()), *items)]
        if all(map(harmless, texts)):
            scope.arrays[name] = (Arg(join_texts(*texts), loose=True),)
        else:
            scope.forget({name})
            scope.variables[name] = OPAQUE + marks_of("".join(texts))
    elif name in scope.pinned or (assignment.append and name not in scope.arrays and name in scope.variables):
        scope.forget({name})
    else:
        scope.arrays[name] = (*scope.arrays.get(name, ()), *items) if assignment.append else items


def _assign_by_index(name: str, items: tuple[Arg, ...], machine: Interpreter, scope: Scope) -> None:
    """``a=([1]=x)``: indices are evaluated, and say where the elements go."""
    for item in items:
        evaluate(item.text.partition("]=")[0].removeprefix("["), machine, scope)
    scope.forget({name})
