"""Finds what a command leaves behind, where the next one runs in the same shell.

Each command is looked at by itself, as if in a fresh shell in the project. Where the client's shell stays, that is only
right as long as none leaves behind what gives words another meaning: a function, an option, a folder. What does counts
as code that cannot be seen through. In parentheses, or without a function, a command leaves nothing.

Exported variables may stay: a command takes a variable that it did not set for one that holds anything
(:attr:`lockgate.shell.state.scope.ScopeHistory.stays`). So may a folder of the project: only paths that lead out of the
folder in which a command begins are then not known (:func:`lockgate.resources.path_spelling.somewhere`).
"""

from __future__ import annotations

from lockgate.core.model import EffectKind, Label
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.path_spelling import is_inside
from lockgate.resources.paths import read_effects, recursive_read_effects, recursive_write_effects
from lockgate.shell.effects.unlisted import record_exported
from lockgate.shell.knowledge.lookup import role_of
from lockgate.shell.state.abstract_text import is_known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.scope import Scope

_HINT = (
    "here a shell goes on after a command: leave no function, alias, option or folder behind; "
    "put the command in parentheses, or give the tool the folder"
)
_SPACES = " \t\n"
"""Where a shell splits words, unless it is told otherwise."""
_OWN = frozenset({"", "0", "1", "2", "63"})
"""Descriptors that every program is given, and the one that a shell makes for ``>(...)``."""
_ACTS = frozenset({EffectKind.PERSIST, EffectKind.TAMPER, EffectKind.EGRESS})


def record_left_state(machine: Machine, scope: Scope, began: Mapping[str, str]) -> None:
    """Record what the state in which a shell is left does to the commands that follow.

    Args:
        machine: The analysis.
        scope: The state at the end of the command.
        began: The variables with which it began.
    """
    for name, meanings in scope.functions.items():
        if any(meaning is not None for meaning in meanings):
            _note(machine, name, "function", f"from here on `{name}` is this function, in later commands too")
    for name, before in began.items():
        if scope.value(name) != before and not role_of(name):
            _note(machine, name, "variable", f"from here on `${name}` means something else, in later commands too")
    if "CDPATH" in scope.variables:
        _note(machine, "CDPATH", "variable", "from here on `cd` looks for folders elsewhere, in later commands too")
    if _splits_otherwise(scope) or scope.pinned or scope.ever.exporting or machine.flow.last_in_shell:
        _note(machine, "shell", "option", "from here on this shell reads or keeps variables in another way")
    if machine.flow.interrupts:
        _note(machine, "trap", "trap", "this also runs between the commands that follow")
    record_exported(machine, scope.ever)
    for folder in dict.fromkeys((*scope.cwds, *scope.before_cd)):
        _record_folder(machine, folder)


def _splits_otherwise(scope: Scope) -> bool:
    """Whether words are split in another way from here on; what stays of a loop's ``IFS= read`` is not known."""
    text = scope.value("IFS")
    return text != _SPACES if is_known(text) else "IFS" in scope.exported


def _record_folder(machine: Machine, folder: str) -> None:
    """Record what it means that names which later commands say are looked for in a folder."""
    around = machine.around
    path = folder.rstrip("/") or folder
    if path and path == around.workspace:
        return
    because = "later commands run in this folder, where their words mean other files"
    below = (*recursive_write_effects(path, path, around), *recursive_read_effects(path, path, around)) if path else ()
    # What is read there later is read under another name: the labels of all that it may be come now.
    read = [effect for effect in below if effect.gives is Label.SECRET]
    machine.findings.merge([*read, *read_effects(f"{path}/README.md", path, around)] if path else [], ())
    acts = not path or any(effect.kind in _ACTS for effect in below)
    if acts or around.is_git_folder(path) or (is_inside(path, around.workspace) and around.git_settings(path) != ""):
        _note(machine, path or "cd", "folder", because)


def check_descriptor(machine: Machine, number: str) -> None:
    """Record that a command writes to a descriptor. The client reads from some of them what the shell holds."""
    if number not in _OWN:
        _note(machine, f">&{number}", "descriptor", "this may be where the client reads what its shell holds")


def _note(machine: Machine, what: str, which: str, because: str) -> None:
    machine.findings.execute(what, f"shell:left/{which}", because)
    machine.findings.hints[_HINT] = None
