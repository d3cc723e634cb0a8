"""Runs builtins that take names of variables. An index in such a name is evaluated, and can hold a command."""

from __future__ import annotations

import re

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.state.abstract_text import (
    ENVIRONMENT,
    OPAQUE,
    PLAIN,
    harmless,
    is_known,
    join_texts,
    make_unknown_text,
)
from lockgate.shell.state.run import RunText
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.run import Builtin, Running

_COMPARING = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_MOST_LINES = 50
"""How many lines an array holds one by one."""


class _ReadWords:
    """What the words of ``read`` say."""

    def __init__(self, args: list[Arg]) -> None:
        self.names: list[Arg] = []
        self.is_array = self.is_raw = False
        self.is_cut = False
        """Whether it may end within a line, or go on behind one."""
        self.is_other = False
        """Whether it reads from another descriptor."""
        position = 0
        while position < len(args):
            text = args[position].text
            position += 1
            if re.match(r"-[A-Za-z]", text):
                self.is_raw |= "r" in text
                self.is_cut |= bool(set(text) & set("nN")) or (
                    "d" in text and args[position : position + 1] != [Arg("")]
                )
                self.is_other |= "u" in text
            if re.fullmatch(r"-[A-Za-z]*[dinNptua]", text):
                if text.endswith("a") and position < len(args):
                    self.is_array = True
                    self.names.append(args[position])
                position += 1
            elif not text.startswith("-") or not is_known(text):
                self.names.append(args[position - 1])


def read(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``read``: variables get what is on standard input."""
    words = _ReadWords(args)
    names = words.names
    take_names(machine, scope, names)
    machine.inputs.take(stdin, lines=not words.is_cut)
    value = OPAQUE if words.is_other else _line(stdin)
    pieces = value.split()
    split = len(names) > 1 or words.is_array
    if split and _is_exact(machine, scope, value, stdin, cut=words.is_cut or words.is_other):
        _give(scope, [name.text for name in names], value, array=words.is_array)
        return ""
    splits_oddly = split and not all(map(harmless, pieces))
    if words.is_cut or splits_oddly or ("\\" in value and not words.is_raw) or scope.ever.letters:
        value = join_texts(value, "") if not re.search(r"[-\\]", value) else make_unknown_text(value)
    for name in names or [Arg("REPLY")]:
        if not is_known(value):
            machine.names.note_chosen()
        scope.assign(name.text, join_texts(value, "") if split and value else value)
    return ""


def _is_exact(machine: Machine, scope: Scope, value: str, stdin: str | None, *, cut: bool) -> bool:
    """Whether it is known which words ``read`` finds: there is one line, split at white space."""
    one = stdin is not None and is_known(stdin) and stdin.count("\n") <= 1
    return one and not cut and not scope.ifs_changed and "\\" not in value and not machine.around.may_be_zsh


def _give(scope: Scope, names: list[str], value: str, *, array: bool) -> None:
    """Give variables the words of a line: the last one has what is left."""
    if array:
        scope.assign(names[0], "")
        scope.arrays[names[0]] = tuple(map(Arg, value.split()))
        return
    words = value.split(None, len(names) - 1)
    for name, word in zip(names, [*words, *[""] * len(names)], strict=False):
        scope.assign(name, word)


def _line(stdin: str | None) -> str:
    """What ``read`` finds: one of the lines."""
    if stdin is None:
        return OPAQUE
    lines = stdin.splitlines() or [""]
    return join_texts(*(line.strip() for line in lines))


def mapfile(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> Running[str]:
    """``mapfile``: an array gets the lines of standard input."""
    for index, arg in enumerate(args):
        if callback := re.match(r"-[A-Za-z0-9]*C(.*)", arg.text, re.DOTALL):
            following = args[index + 1].text if index + 1 < len(args) else OPAQUE
            yield RunText(callback.group(1) or following, scope.copy())
    names = [arg for arg in args[-1:] if not arg.text.startswith("-")] or [Arg("MAPFILE")]
    take_names(machine, scope, names)
    machine.inputs.take(stdin)
    if any(arg.text.startswith("-u") or not is_known(arg.text) for arg in args):
        stdin = OPAQUE
    for name in names:
        lines = (stdin if stdin is not None else OPAQUE).splitlines()
        if any(arg.text.startswith("-") and arg.text != "-t" for arg in args):
            # Lines may be left out, or end elsewhere.
            lines = [join_texts("", *lines)]
        if all(map(harmless, lines)) and len(lines) <= _MOST_LINES:
            scope.assign(name.text, lines[0] if lines else "")
            scope.arrays[name.text] = tuple(Arg(line) for line in lines)
        else:
            scope.forget({name.text})
            scope.variables[name.text] = make_unknown_text(*lines)
            scope.ever.gives(name.text, OPAQUE)
    return ""


def unset(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``unset``: variables or functions are taken away. An index in a name is evaluated."""
    functions = any(arg.text == "-f" for arg in args)
    words = [arg for arg in args if not re.fullmatch(r"-[a-zA-Z]+", arg.text)]
    take_names(machine, scope, words)
    for word in words:
        if functions:
            scope.functions.pop(word.text, None)
        elif is_known(word.text):
            scope.unset(word.text)
            if any(arg.text == "-n" for arg in args):
                # Only a reference is taken away, and a variable that is none stays.
                scope.forget({word.text})
            if word.text in scope.functions:
                scope.functions[word.text] = (*scope.functions[word.text], None)
        else:
            scope.forget(set(scope.variables))
    return ""


def getopts(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``getopts``: variables get options."""
    take_names(machine, scope, args[1:2])
    scope.forget({arg.text for arg in args[1:2]} | {"OPTARG", "OPTIND"})
    for arg in args[1:2]:
        scope.ever.gives(arg.text, PLAIN)
    return ""


def wait(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``wait -p NAME``: the name's index is evaluated."""
    if any(re.match(r"-[a-z]*p", arg.text) for arg in args):
        take_names(machine, scope, [Arg(arg.text.removeprefix("-p")) for arg in args])
        for name in {arg.text for arg in args if arg.text.isidentifier()}:
            scope.forget({name})
            scope.ever.gives(name, PLAIN)
    return ""


def reference(machine: Machine, scope: Scope, target: str) -> None:
    """``declare -n``: from here on another name stands for a variable, which may be one that executes."""
    from lockgate.shell.knowledge.lookup import role_of

    if not target.isidentifier() or role_of(target):
        because = "from here on another name stands for a variable that is not known, or that runs something"
        machine.findings.execute(f"declare -n {target}", "shell:subscript", because)
    else:
        scope.pinned.add(target)
        scope.forget({target})


def take_names(machine: Machine, scope: Scope, names: list[Arg]) -> None:
    """Record that words are taken for names of variables. An index in such a name is evaluated."""
    from lockgate.shell.expansion.arithmetic import is_calculable

    for name in names:
        # The name of a file or of a branch can be LD_PRELOAD.
        begins = name.text.startswith(PLAIN) or any(mark in name.text for mark in "*?")
        chosen = begins or (machine.names.chosen and (ENVIRONMENT in name.text or PLAIN in name.text))
        if (
            chosen
            or OPAQUE in name.text
            or ("[" in name.text and not is_calculable(name.text.partition("[")[2], scope))
        ):
            because = "this word is taken for a variable's name, and an index in it is evaluated and can hold a command"
            machine.findings.execute(name.shown, "shell:subscript", because)


def test(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``test -v``: a name whose index is evaluated."""
    from lockgate.shell.expansion.arithmetic import note_unsafe
    from lockgate.shell.interpreter.compound import is_safe_number

    for index, arg in enumerate(args):
        if arg.text in ("-v", "-R"):
            take_names(machine, scope, args[index + 1 : index + 2])
        elif arg.text in _COMPARING and not all(is_safe_number(a.text, scope) for a in args if a is not arg):
            # zsh evaluates both sides as arithmetic.
            note_unsafe(machine)
    return ""


def let(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``let``: arithmetic."""
    from lockgate.shell.expansion.arithmetic import evaluate

    for arg in args:
        evaluate(arg.text, machine, scope)
    return ""


FUNCTIONS: dict[str, Builtin] = {
    "read": read,
    "mapfile": mapfile,
    "readarray": mapfile,
    "unset": unset,
    "wait": wait,
    "getopts": getopts,
    "test": test,
    "[": test,
    "let": let,
}
"""The function that runs each builtin."""
