"""Runs builtins that declare variables: local ones, exported, read-only, integers, references to others."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.shell.effects.variables import variable_effects
from lockgate.shell.expansion.arithmetic import is_calculable, note_unsafe
from lockgate.shell.interpreter.builtins import variables
from lockgate.shell.state.abstract_text import OPAQUE, is_known
from lockgate.shell.state.findings import effects_for_keyword
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.run import Builtin, Running


class DeclareOptions(Record):
    """The options of ``declare``."""

    letters: frozenset[str]
    takes_away: bool
    """Whether they take attributes away: ``declare +x``."""

    def has(self, letters: str) -> bool:
        """Whether one of these letters is given."""
        return not self.letters.isdisjoint(letters)


_OPTIONS = lazy_re(r"[-+][A-Za-z]*")
_CHANGES_VALUE = "inulc"
"""Attributes with which a variable holds another text than it is given."""


def _parse_options(args: list[Arg]) -> DeclareOptions:
    given = [arg.text for arg in args if _OPTIONS.fullmatch(arg.text) and len(arg.text) > 1]
    letters = "".join(text[1:] for text in given)
    return DeclareOptions(frozenset(letters), f"+{letters}" in given)


def declare(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None, *, local: bool = True) -> Running[str]:
    """``declare`` and ``typeset``; outside of them ``local`` says whether the variables are local to a function."""
    options = _parse_options(args)
    words = [arg for arg in args if not _OPTIONS.fullmatch(arg.text)]
    if not words:
        if not options.has("fF"):
            machine.findings.merge(list(effects_for_keyword("read-secret", "declare", "shell:list-variables")), ())
        return OPAQUE
    if options.has("n"):
        _refer(machine, scope, words)
    for word in words:
        name = word.text.partition("=")[0].removesuffix("+")
        if name.isidentifier():
            if local and not options.has("g"):
                _hide(machine, scope, name, inherits=options.has("I"))
            yield from _declare_one(machine, scope, word.text, options)
            if options.has("x"):
                scope.ever.exported[name] = word.text.partition("=")[2]
                scope.ever.exporting |= options.has("f")
                scope.exported = scope.exported - {name} if options.takes_away else scope.exported | {name}
        else:
            variables.take_names(machine, scope, [Arg(name)])
            scope.ever.gives(name, OPAQUE)
            if not is_known(name):
                scope.forget(set(scope.variables))
    return ""


def _declare_one(machine: Machine, scope: Scope, text: str, options: DeclareOptions) -> Running[None]:
    """Give a variable its value and its kind."""
    name, equals, value = text.partition("=")
    append = name.endswith("+")
    name = name.removesuffix("+")
    if options.has("i"):
        scope.ever.integers.add(name)
    if equals:
        yield from variable_effects(name, value, machine, scope)
        scope.assign(name, scope.value(name) + value if append and name not in scope.ever.integers else value)
    if options.has("i") and not is_calculable(value, scope):
        note_unsafe(machine)
    if options.has("n"):
        variables.reference(machine, scope, value)
    if options.has(_CHANGES_VALUE):
        _pin(scope, name, read_only=False)
    elif options.has("r"):
        _pin(scope, name, read_only=True)


def _hide(machine: Machine, scope: Scope, name: str, *, inherits: bool) -> None:
    """Make a variable local to the function. It is empty unless it ``inherits`` the value of the outer one."""
    if not machine.flow.frames:
        return
    again = any(kept.name == name for kept in machine.flow.frames[-1])
    kept = machine.flow.hide(name, scope)
    if not inherits and not (again and name in scope.arrays):
        scope.assign(name, "")
        if again:
            scope.give_back(kept)


def local(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> Running[str]:
    """``local``: outside a function it fails in bash, and assigns in zsh."""
    kept = [] if machine.flow.frames else [scope.save(arg.text.partition("=")[0].removesuffix("+")) for arg in args]
    shape = yield from declare(machine, scope, args, stdin)
    for item in kept:
        if item.name.isidentifier():
            scope.give_back(item)
    return shape


def _refer(machine: Machine, scope: Scope, words: list[Arg]) -> None:
    """Let names stand for other variables: from here on an assignment to the one changes the other."""
    for word in words:
        target = word.text.partition("=")[2]
        if target.isidentifier():
            _pin(scope, target, read_only=False)
        else:
            because = "from here on this name may stand for any variable"
            machine.findings.execute(word.shown, "shell:nameref", because, unknown=True)


def _pin(scope: Scope, name: str, *, read_only: bool) -> None:
    """Keep what is known of a variable from changing. Unless it is read-only, nothing is known of its value."""
    value = scope.value(name)
    scope.pinned.add(name)
    if not read_only:
        scope.variables[name] = OPAQUE
    elif name not in scope.variables:
        scope.variables[name] = value


def readonly(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> Running[str]:
    """``readonly``."""
    if not args:
        return OPAQUE
    return (yield from declare(machine, scope, [Arg("-r"), *args], stdin, local=False))


def export(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> Running[str]:
    """``export``: programs see these variables, and shells that are started see their values."""
    if any(arg.text == "-n" for arg in args):
        scope.exported -= {arg.text.partition("=")[0] for arg in args}
        return ""
    # Without a name it prints.
    flag = [Arg("-x")] if any(not arg.text.startswith("-") for arg in args) else []
    return (yield from declare(machine, scope, [*flag, *args], stdin, local=False))


FUNCTIONS: dict[str, Builtin] = {
    "declare": declare,
    "typeset": declare,
    "local": local,
    "integer": declare,
    "export": export,
    "readonly": readonly,
}
"""The function that runs each builtin."""
