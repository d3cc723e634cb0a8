"""Maps the builtins of the shell to the functions that run them.

Each module has a table of its own. It is loaded when one of its builtins is met: a hook pays for each module.
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockgate.shell.state.run import Builtin


def _state() -> dict[str, Builtin]:
    from lockgate.shell.interpreter.builtins.state import FUNCTIONS

    return FUNCTIONS


def _declare() -> dict[str, Builtin]:
    from lockgate.shell.interpreter.builtins.declare import FUNCTIONS

    return FUNCTIONS


def _variables() -> dict[str, Builtin]:
    from lockgate.shell.interpreter.builtins.variables import FUNCTIONS

    return FUNCTIONS


_FAMILIES: dict[Callable[[], dict[str, Builtin]], str] = {
    _state: """
        cd chdir pushd popd pwd echo print printf eval source . trap alias set shift hash enable history jobs
        shopt setopt unsetopt break continue return exit bind complete compgen fc : true false disown suspend
        logout unalias ulimit umask times bg fg dirs type caller help compopt whence
    """,
    _declare: "declare typeset local integer export readonly",
    _variables: "read mapfile readarray unset wait getopts test [ let",
}
BUILTINS = {name: family for family, names in _FAMILIES.items() for name in names.split()}
"""Name to what loads the table with its function."""


def builtin(word: str) -> Builtin | None:
    """The function that plays a builtin; ``None`` for a word that is none."""
    family = BUILTINS.get(word)
    return None if family is None else family()[word]
