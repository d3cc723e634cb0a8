"""Runs groups, branches, loops, conditions and functions.

What may happen is joined, and loops run until nothing new is learnt.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.expansion.words import evaluate, expand_all, expand_one
from lockgate.shell.grammar.tree import ArithCommand, ArithFor, Case, Condition, Coproc, For, Function, Group, If, While
from lockgate.shell.interpreter.lookahead import drop_order, file_name, find_assigned, find_known_lines, leaves_early
from lockgate.shell.interpreter.redirects import apply_redirects
from lockgate.shell.state.abstract_text import LONGEST, OPAQUE, PLAIN, join_texts
from lockgate.shell.state.scope import Arg, Scope, positional

if TYPE_CHECKING:
    from typing import Any

    from lockgate.shell.state.run import Interpreter

_CALLED = "command_not_found_handle command_not_found_handler chpwd precmd preexec periodic zshexit zshaddhistory"
_CALLED_BY_ITSELF = frozenset(_CALLED.split())
"""Names of functions that a shell calls by itself."""
_MOST_ROUNDS = 12
"""Rounds of a loop after which the analysis gives up."""
_MOST_WORDS = 30
"""Words that ``for`` runs one by one; of more, any may come in any round."""
_MOST_PATTERNS = 4
"""Words with unknown parts that are told apart; more are joined to one."""
_COMPARING = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"})
"""Operators of ``[[`` that evaluate the words beside them as arithmetic."""


def run_compound(node: Any, machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    """Run a compound command, its redirections already applied. Returns the shape of what it prints."""
    shape: str = _HANDLERS[type(node)](node, machine, scope, stdin)
    return shape if len(shape) <= LONGEST else OPAQUE


def _group(node: Group, machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    return machine.run(node.body, scope.copy() if node.subshell else scope, stdin)


def _if(node: If, machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    ends: list[Scope] = []
    shapes: list[str] = []
    asked = ""
    for condition, body in node.branches:
        asked += machine.run(condition, scope, machine.inputs.rest(stdin))
        branch = scope.copy()
        shapes.append(asked + machine.run(body, branch, machine.inputs.rest(stdin)))
        ends.append(branch)
    otherwise = "" if node.otherwise is None else machine.run(node.otherwise, scope, machine.inputs.rest(stdin))
    shapes.append(asked + otherwise)
    scope.join(*ends)
    return join_texts(*shapes)


# ---------------------------------------------------------------- loops
def _while(node: While, machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    def once() -> str:
        given = machine.inputs.rest(stdin)
        shape = machine.run(node.condition, scope, given)
        left = machine.inputs.rest(given)
        shape += machine.run(node.body, scope, left)
        machine.inputs.next_round(given, left)
        return shape

    lines = find_known_lines(node, machine.inputs.rest(stdin)) if not scope.functions else None
    shape = _until_known(machine, scope, once) if lines is None else _run_for_lines(node, lines, machine, scope)
    if lines is None:
        # A ``read`` that finds no more line leaves its variables empty.
        ended = scope.copy()
        for name in find_assigned(node.condition):
            ended.assign(name, "")
        scope.join(ended)
    machine.inputs.take(stdin)
    return shape


def _run_for_lines(node: While, lines: list[str], machine: Interpreter, scope: Scope) -> str:
    """``while read x``, where every line of the input is known."""
    shape = ""
    before = scope.copy()
    for line in (*lines, ""):
        machine.run(node.condition, scope, line and f"{line}\n")
        if line:
            # A body that reads from the same input takes lines away.
            shape += machine.until_left(scope, lambda: machine.run(node.body, scope, OPAQUE))
    return _if_left(node, shape, before, scope)


def _until_known(machine: Interpreter, scope: Scope, once: Callable[[], str]) -> str:
    """Run a loop's body until another round teaches nothing new; each value only ever gets less known."""
    shapes = []
    for _ in range(_MOST_ROUNDS):
        before = scope.copy()
        shapes.append(machine.until_left(scope, once))
        scope.join(before)
        if scope.is_same(before):
            return drop_order(shapes[-1])
    return machine.findings.too_much("a loop does not come to rest")


def _run_for(node: For, machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    if node.words is None:
        values = list(scope.positional) if scope.positional is not None else [Arg(OPAQUE, loose=True)]
    else:
        values = expand_all(node.words, machine, scope)
    texts = [file_name(value) for value in values]
    if node.select or len(texts) > _MOST_WORDS or any(value.static is None or value.loose for value in values):
        # How often it runs is not known, nor for what.
        machine.names.note_chosen()
        several = list(dict.fromkeys(texts))
        several = several if len(several) <= _MOST_PATTERNS else [join_texts(*texts)]
        return _until_known(machine, scope, partial(_run_any_of, node, several, machine, scope, stdin))
    before = scope.copy()
    shape = ""
    for text in texts:
        shape += machine.until_left(scope, partial(_round, node, text, machine, scope, stdin))
    return _if_left(node, shape, before, scope)


def _if_left(node: For | While, shape: str, before: Scope, scope: Scope) -> str:
    """The shape of a loop with known rounds. Where its body may end early, the scope forgets what it assigns."""
    if not leaves_early(node.body):
        return shape
    scope.forget(find_assigned(node))
    scope.join(before)
    return drop_order(shape)


def _round(node: For, text: str, machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    scope.assign(node.name, text)
    return machine.run(node.body, scope, machine.inputs.rest(stdin))


def _run_any_of(node: For, texts: list[str], machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    """One round for each of some texts, any of which may stand for no word at all."""
    shape = ""
    for text in texts:
        before = scope.copy()
        shape += _round(node, text, machine, scope, stdin)
        scope.join(before)
    return shape


def _arith_for(node: ArithFor, machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    def once() -> str:
        shape = machine.run(node.body, scope, machine.inputs.rest(stdin))
        evaluate(node.header, machine, scope)
        return shape

    evaluate(node.header, machine, scope)
    return _until_known(machine, scope, once)


# ---------------------------------------------------------------- conditions
def _case(node: Case, machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    expand_one(node.subject, machine, scope)
    ends: list[Scope] = []
    shapes = [""]
    for patterns, body in node.clauses:
        for pattern in patterns:
            expand_one(pattern, machine, scope)
        branch = scope.copy()
        shapes.append(machine.run(body, branch, machine.inputs.rest(stdin)))
        ends.append(branch)
        # A clause that ends in ``;&`` falls into the next one.
        scope.join(branch)
    scope.join(*ends)
    return join_texts(*shapes)


def _condition(node: Condition, machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    texts = [expand_one(word, machine, scope) for word in node.words]
    for index, word in enumerate(node.words):
        if word.literal in _COMPARING:
            around = texts[max(index - 1, 0) : index] + texts[index + 1 : index + 2]
            if not all(is_safe_number(text, scope) for text in around):
                from lockgate.shell.expansion.arithmetic import note_unsafe

                note_unsafe(machine)
    return ""


def is_safe_number(text: str, scope: Scope) -> bool:
    """Whether arithmetic can evaluate a text without running a command that it holds."""
    from lockgate.shell.expansion.arithmetic import is_calculable

    return is_calculable(text, scope)


def _arith_command(node: ArithCommand, machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    evaluate(node.expression, machine, scope)
    return ""


def _coproc(node: Coproc, machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    machine.command(node.body, scope.copy(), OPAQUE)
    scope.ever.gives(node.name or "COPROC", PLAIN)
    # In zsh the whole pipeline is the coprocess, and what this prints goes into it.
    return OPAQUE


_HANDLERS: dict[type, Any] = {
    Group: _group,
    If: _if,
    While: _while,
    For: _run_for,
    ArithFor: _arith_for,
    Case: _case,
    Condition: _condition,
    ArithCommand: _arith_command,
    Coproc: _coproc,
}


# ---------------------------------------------------------------- functions
def define(function: Function, machine: Interpreter, scope: Scope) -> str:
    """Define a function. Traps that are set already may call it, and the shell calls some names by itself."""
    scope.define(function)
    if machine.flow.interrupts:
        from lockgate.shell.interpreter.traps import interrupt

        for text in machine.flow.interrupts:
            machine.drive(interrupt(text, machine, scope))
    if function.name in _CALLED_BY_ITSELF or function.name.startswith("TRAP"):
        machine.call(function, [Arg(OPAQUE)], scope.copy(), None)
    return ""


def call(function: Function, args: list[Arg], machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    """Run a function's body. Returns the shape of what it prints."""
    machine.budget.depth += 1
    outer, scope.positional = scope.positional, positional(args)
    machine.flow.frames.append([])
    try:
        streams = apply_redirects(function.redirects, machine, scope, stdin)
        before = scope.copy()
        shape = machine.until_left(scope, lambda: machine.command(function.body, scope, streams.stdin))
        shape = streams.output.of(shape)
        if leaves_early(function.body):
            scope.forget(find_assigned(function.body))
            scope.join(before)
    finally:
        machine.budget.depth -= 1
        scope.positional = outer
        for kept in reversed(machine.flow.frames.pop()):
            scope.give_back(kept)
    return shape
