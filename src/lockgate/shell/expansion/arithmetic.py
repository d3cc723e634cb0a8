"""Records what arithmetic assigns, and the commands that a text in it could hold."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.state.abstract_text import ENVIRONMENT, PLAIN, harmless
from lockgate.shell.state.scope import Scope, ScopeHistory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockgate.shell.state.machine import Machine


_INDEX_WITH_COMMAND = lazy_re(r"\[.*(?:\$\(|\$\{|`)", re.DOTALL)
"""An index that holds a command, in text that arithmetic may come to evaluate."""
_NAME = r"[A-Za-z_]\w*"


def evaluate_index(text: str, machine: Machine, scope: Scope) -> None:
    """Record what evaluating the index of an array does."""
    if harmless(text):
        evaluate(text, machine, scope)
    else:
        because = "an array index is evaluated, and the text in it could hold a command"
        machine.findings.execute("array index", "shell:arithmetic", because)


def is_calculable(text: str, scope: Scope) -> bool:
    """Whether arithmetic can evaluate a text without running a command.

    A name in it stands for its value, which is evaluated in turn, and so on.
    """
    seen: set[str] = set()
    left = [text]
    while left:
        value = left.pop().lstrip("-")
        if not _runs_nothing(value):
            return False
        for name in set(re.findall(_NAME, value)) - seen:
            seen.add(name)
            if name in scope.ever.integers:
                # It holds a number. `check_integers` looks at what it was given.
                continue
            left += [item.text for item in scope.arrays.get(name, ())]
            if name in scope.variables:
                left.append(scope.value(name))
                if ENVIRONMENT in left[-1] and not _is_inert(scope):
                    # It holds one of several words, and nobody knows which variable that word names.
                    return False
    return True


def _is_inert(scope: Scope) -> bool:
    """Whether no variable holds what arithmetic could run."""
    return all(
        map(_runs_nothing, [*scope.variables.values(), *(item.text for a in scope.arrays.values() for item in a)])
    )


def _runs_nothing(text: str) -> bool:
    """Whether a text holds no command that arithmetic would run."""
    return harmless(text.lstrip("-")) and not _INDEX_WITH_COMMAND.search(text)


def check_integers(machine: Machine, ever: ScopeHistory) -> None:
    """Record what the shell evaluates where an integer variable gets a value (``read``, ``for``, an assignment)."""
    texts = [text for name in ever.integers for text in ever.given.get(name, ())]
    if any(re.search(r"[A-Za-z_]", text) for text in texts):
        texts = [text for given in ever.given.values() for text in given]
    if not all(map(_runs_nothing, texts)):
        note_unsafe(machine)


def evaluate(text: str, machine: Machine, scope: Scope) -> None:
    """Record what evaluating a text as arithmetic does. A name in it stands for its value, which is evaluated too."""
    if not harmless(text.lstrip("-")):
        note_unsafe(machine)
    evaluate_pieces([(text, True)], machine, scope)


def evaluate_pieces(pieces: Iterable[tuple[str, bool]], machine: Machine, scope: Scope) -> None:
    """Record what evaluating an expression does.

    Args:
        pieces: The texts of the expression, each with whether it stands so in the script. Text that comes from a
            variable is evaluated once more, also in an index.
        machine: The analysis.
        scope: The state of the shell.
    """
    text = ""
    for piece, literal in pieces:
        text += piece
        if not literal and not harmless(piece.lstrip("-")):
            note_unsafe(machine)
    if any(not is_calculable(name, scope) for name in set(re.findall(_NAME, text))):
        note_unsafe(machine)
    for match in re.finditer(rf"\b({_NAME})\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)", text):
        scope.assign(match.group(1), PLAIN)
    for match in re.finditer(rf"(?:\+\+|--)\s*({_NAME})", text):
        scope.assign(match.group(1), PLAIN)


def note_unsafe(machine: Machine) -> None:
    """Record that arithmetic evaluates a text that nobody knows."""
    machine.findings.execute(
        "arithmetic",
        "shell:arithmetic",
        "arithmetic evaluates text that is not known before it runs, and an array index in it could hold a command",
    )
