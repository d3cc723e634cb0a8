"""Expands parameters: elements, defaults, and texts that are cut out, replaced or respelled."""

from __future__ import annotations

import re

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.tree import Param, Word
from lockgate.shell.state.abstract_text import (
    ENVIRONMENT,
    MAY_BE_EMPTY,
    OPAQUE,
    PLAIN,
    harmless,
    is_known,
    join_texts,
    make_unknown_text,
    marks_of,
)
from lockgate.shell.state.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockgate.shell.state.run import Interpreter

    Expand = Callable[[Word, Interpreter, Scope], str]

_PASSING = frozenset({"#", "##", "%", "%%", "/", "//", "/#", "/%", ":", "^", "^^", ",", ",,", "@U", "@L", "@u", "@Q"})
_CUTTING = frozenset({":", "#", "##", "%", "%%", "/", "//", "/#", "/%"})
"""Operators that keep the part of a value that one wants."""
_FOLDERS = {
    "TMPDIR": "/tmp",  # noqa: S108 - the meaning of the variable, no file is made
    "TMP": "/tmp",  # noqa: S108
    "TEMP": "/tmp",  # noqa: S108
    "XDG_CONFIG_HOME": "~/.config",
    "XDG_CACHE_HOME": "~/.cache",
    "XDG_DATA_HOME": "~/.local/share",
    "XDG_STATE_HOME": "~/.local/state",
    "CARGO_HOME": "~/.cargo",
}
"""Variables that name folders: their usual default is a good reading where nothing else is known."""


def parameter(part: Param, machine: Interpreter, scope: Scope, expand: Expand) -> str:
    """The text that a parameter expansion becomes, where it is not split; ``expand`` reads the words in it."""
    operator = part.operator
    if part.subscript is not None and part.subscript.literal not in ("@", "*"):
        from lockgate.shell.expansion.arithmetic import evaluate_index

        evaluate_index(expand(part.subscript, machine, scope), machine, scope)
    arguments = [expand(word, machine, scope) for word in part.arguments]
    if operator == ":" or operator.startswith("!indirect"):
        _evaluate(part, arguments, machine, scope)
    if operator == "@P" and not harmless(scope.value(part.name)):
        machine.findings.execute(
            f"${{{part.name}@P}}", "shell:prompt-expansion", "`@P` runs the commands that the variable's text holds"
        )
    value = _element(part, scope)
    if part.name in scope.arrays and machine.around.may_be_zsh:
        value = _zsh_element(part, scope, value)
    if not operator:
        return value
    if operator == "#length":
        return PLAIN
    if operator in (":-", "-", ":=", "=", ":+", "+", ":?", "?"):
        return _default(part.name, operator, value, arguments, scope, machine)
    if operator == "!indirect" and not arguments and not machine.around.may_be_zsh:
        return _indirect(part, value, scope)
    from lockgate.shell.expansion.operators import respell

    if ENVIRONMENT in value and not part.quoted and operator in _CUTTING:
        # Any value has letters to choose from, and white space that makes one word two.
        return make_unknown_text(value, *arguments)
    exact = respell(part, value, arguments, scope) if is_known(value) else None
    return exact if exact is not None else _change(operator, value, arguments)


def _evaluate(part: Param, arguments: list[str], machine: Interpreter, scope: Scope) -> None:
    """Record what the evaluation of an offset, or of a name that stands in a variable, does."""
    from lockgate.shell.expansion.arithmetic import evaluate, is_calculable, note_unsafe

    if part.operator == ":":
        for text in arguments:
            evaluate(text, machine, scope)
        return
    name = scope.value(part.name)
    if not harmless(name) or not is_calculable(name.partition("[")[2], scope):
        note_unsafe(machine)


def _indirect(part: Param, name: str, scope: Scope) -> str:
    """``${!x}``: the value of the variable that another one names."""
    plain = part.subscript is None and part.name not in scope.arrays and part.name not in scope.pinned
    if not plain or not is_known(name) or not name.isidentifier() or name in scope.arrays:
        return make_unknown_text(name)
    return scope.value(name) if name in scope.variables else OPAQUE


def _element(part: Param, scope: Scope) -> str:
    if part.subscript is None:
        if part.name in scope.arrays:
            items = scope.arrays[part.name]
            return items[0].text if items else ""
        if part.name.isdigit() and part.name != "0":
            return _positional(part.name, scope)
        if part.name == "@" or part.name == "*":
            return " ".join(item.text for item in scope.positional) if scope.positional is not None else OPAQUE
        return scope.value(part.name)
    items = scope.arrays.get(part.name, ())
    index = part.subscript.literal
    if index in ("@", "*") and items:
        return " ".join(item.text for item in items)
    if index is not None and index[:1].isdigit():
        from lockgate.resources.digits import number

        place = number(index)
        if place is not None and place < len(items):
            return items[place].text
    if items and all(harmless(item.text) for item in items):
        return PLAIN
    return OPAQUE + marks_of(scope.variables.get(part.name, ""))


def _positional(digits: str, scope: Scope) -> str:
    from lockgate.resources.digits import number

    position = number(digits)
    if scope.positional is None or position == 0:
        return OPAQUE
    return scope.positional[position - 1].text if position and position <= len(scope.positional) else ""


def _zsh_element(part: Param, scope: Scope, value: str) -> str:
    """An element of an array where zsh may run: it counts them from 1, and the bare name is all of them."""
    if part.subscript is None:
        return value if len(scope.arrays[part.name]) < 2 else OPAQUE
    index = part.subscript.literal or ""
    return OPAQUE if index.isdigit() and any(item.text != value for item in scope.arrays[part.name]) else value


def _default(name: str, operator: str, value: str, arguments: list[str], scope: Scope, machine: Interpreter) -> str:
    word = arguments[0] if arguments else ""
    there = name in scope.variables or name.isdigit() or name in ("@", "*")
    kind = operator[-1]
    if kind in "-=" and not there and name in _FOLDERS:
        value = _FOLDERS[name].replace("~", machine.around.home)
    elif kind in "-=":
        # Without a colon it matters whether it is empty or unset, which is not known.
        unset = there and value == "" and operator[0] == ":"
        sure = there and OPAQUE not in value and value.strip(MAY_BE_EMPTY) != ""
        value = word if unset else (value if sure else join_texts(value, word))
    elif kind == "+":
        sure = there and OPAQUE not in value and value.strip(MAY_BE_EMPTY) != ""
        value = word if sure else ("" if there and not value and operator[0] == ":" else join_texts("", word))
    if kind == "=":
        scope.assign(name, value)
    return value


def _change(operator: str, value: str, arguments: list[str]) -> str:
    """``${x%y}`` and its kin."""
    if operator not in _PASSING or OPAQUE in value or any(OPAQUE in argument for argument in arguments):
        return make_unknown_text(value, *arguments)
    # The rest is a part or a respelling of the value: harmless where no part of the value is more than a name.
    parts = value + "".join(arguments)
    if not re.fullmatch(r"[\w./:@+,= \x01\x02*?~%-]*", parts) or re.search(r"(^|[/ ])-", parts):
        return OPAQUE
    return ENVIRONMENT if ENVIRONMENT in parts else PLAIN
