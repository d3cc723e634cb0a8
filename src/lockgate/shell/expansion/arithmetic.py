"""Arithmetic: what its evaluation assigns, and the commands that a text in it could hold."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.state.abstract_text import ENVIRONMENT, PLAIN, harmless
from lockgate.shell.state.scope import Ever, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockgate.shell.state.machine import Machine


def index(text: str, machine: Machine, scope: Scope) -> None:
    """Keep what the evaluation of an array's index does."""
    if not harmless(text):
        machine.findings.execute(
            "array index", "shell:arithmetic", "an array index is evaluated, and the text in it could hold a command"
        )
    else:
        evaluated(text, machine, scope)


_INDEX_WITH_COMMAND = lazy_re(r"\[.*(?:\$\(|\$\{|`)", re.DOTALL)
"""An index that holds a command, in text that arithmetic may come to evaluate."""


def calculable(text: str, scope: Scope) -> bool:
    """Whether arithmetic can evaluate a text without running a command.

    A name in it stands for its value, which is evaluated in turn, and so on.
    """
    seen: set[str] = set()
    left = [text]
    while left:
        value = left.pop().lstrip("-")
        if not _inert(value):
            return False
        for name in set(re.findall(r"[A-Za-z_]\w*", value)) - seen:
            seen.add(name)
            if name in scope.ever.integers:
                # It holds a number; what it was given is looked at of its own.
                continue
            left += [item.text for item in scope.arrays.get(name, ())]
            if name in scope.variables:
                left.append(scope.value(name))
                if ENVIRONMENT in left[-1] and not _nothing_runs(scope):
                    # One of several words that the script gave it: which variable that names is not known.
                    return False
    return True


def _nothing_runs(scope: Scope) -> bool:
    """Whether no variable holds what arithmetic could run."""
    return all(map(_inert, [*scope.variables.values(), *(item.text for a in scope.arrays.values() for item in a)]))


def _inert(text: str) -> bool:
    return harmless(text.lstrip("-")) and not _INDEX_WITH_COMMAND.search(text)


def heed_integers(machine: Machine, ever: Ever) -> None:
    """Keep what variables evaluate that are integers, in whichever way they got their values (``read``, ``for``)."""
    texts = [text for name in ever.integers for text in ever.given.get(name, ())]
    if any(re.search(r"[A-Za-z_]", text) for text in texts):
        texts = [text for given in ever.given.values() for text in given]
    if not all(map(_inert, texts)):
        unsafe_arithmetic(machine)


def evaluated(text: str, machine: Machine, scope: Scope) -> None:
    """Keep that a text is evaluated as arithmetic, in which a name stands for its value, which is evaluated too."""
    if not harmless(text.lstrip("-")):
        unsafe_arithmetic(machine)
    evaluate_pieces([(text, True)], machine, scope)


def evaluate_pieces(pieces: Iterable[tuple[str, bool]], machine: Machine, scope: Scope) -> None:
    """Keep what the evaluation of an expression does, whose pieces are each a text and whether it is written so.

    It evaluates the text of variables again, also what stands in an index.
    """
    text = ""
    for piece, literal in pieces:
        text += piece
        if not literal and not harmless(piece.lstrip("-")):
            unsafe_arithmetic(machine)
    if any(not calculable(name, scope) for name in set(re.findall(r"[A-Za-z_]\w*", text))):
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
