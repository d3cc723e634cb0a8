"""Arithmetic: what its evaluation assigns, and the commands that a text in it could hold."""

from __future__ import annotations

import re

from lockgate.analysis.shell.scope import PLAIN, Scope, harmless
from lockgate.analysis.shell.syntax import Arith, Literal, Word
from lockgate.analysis.shell.words import expand_one, text_of
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.analysis.shell.commands import Machine


def index(word: Word, machine: Machine, scope: Scope) -> None:
    """Keep what the evaluation of an array's index does."""
    text = expand_one(word, machine, scope)
    if not harmless(text):
        machine.findings.execute(
            "array index", "shell:arithmetic", "an array index is evaluated, and the text in it could hold a command"
        )
    else:
        evaluated(text, machine, scope)


def evaluated(text: str, machine: Machine, scope: Scope) -> None:
    """Keep that a text is evaluated as arithmetic, in which a name stands for its value, which is evaluated too."""
    if not harmless(text.lstrip("-")):
        unsafe_arithmetic(machine)
    evaluate(Arith((Literal(text),)), machine, scope)


def evaluate(part: Arith, machine: Machine, scope: Scope) -> None:
    """Visit an arithmetic expression; it evaluates the text of variables again, also what stands in an index."""
    text = ""
    for inner in part.parts:
        piece = text_of(inner, machine, scope)
        text += piece
        if not isinstance(inner, Literal) and not harmless(piece.lstrip("-")):
            unsafe_arithmetic(machine)
    for name in re.findall(r"[A-Za-z_]\w*", text):
        if name in scope.variables and not harmless(scope.value(name).lstrip("-")):
            unsafe_arithmetic(machine)
    for match in re.finditer(r"\b([A-Za-z_]\w*)\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)", text):
        scope.assign(match.group(1), PLAIN)
    for match in re.finditer(r"(?:\+\+|--)\s*([A-Za-z_]\w*)", text):
        scope.assign(match.group(1), PLAIN)


def unsafe_arithmetic(machine: Machine) -> None:
    """Keep that arithmetic evaluates text that is not known."""
    machine.findings.execute(
        "arithmetic",
        "shell:arithmetic",
        "arithmetic evaluates text that is not known before it runs, and an array index in it could hold a command",
    )
