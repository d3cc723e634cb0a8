"""Runs one simple command: assignments, redirections, the invocation itself."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.expansion.words import expand, expand_all, expand_one
from lockgate.shell.grammar.tree import Assignment, CommandSub, Literal, Param, Pipeline, Simple, Word
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.state.abstract_text import ENVIRONMENT, OPAQUE, is_known, join_texts
from lockgate.shell.state.findings import effects_for_keyword
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from lockgate.shell.state.run import Interpreter

_DECLARING = frozenset({"declare", "typeset", "local", "export", "readonly", "integer"})
_ASSIGNMENT = lazy_re(r"[A-Za-z_]\w*\+?=")
_SPECIAL = ": . source eval command builtin export readonly set shift trap unset return cd pushd chdir"
_EVALUATING = frozenset(_SPECIAL.split())
"""Builtins that heed the assignments before them (``cd`` does ``CDPATH``), or keep these in a shell's POSIX mode."""
_STARTING = frozenset({".", "builtin", "command", "eval", "exec", "source"})
"""Builtins that start programs, which get the variables before them."""
_PRINTERS = frozenset({"echo", "printf", "print"})


def run_simple(node: Simple, machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    """Run a simple command and give the shape of what it prints."""
    args = _arguments(node.words, machine, scope)
    output = None
    printed = machine.output.to_file
    if node.redirects:
        from lockgate.shell.interpreter.redirects import apply_redirects

        streams = apply_redirects(node.redirects, machine, scope, stdin)
        stdin, output = streams.stdin, streams.output
    if not args:
        for assignment in node.assignments:
            _assign(assignment, machine, scope)
        # ``$(<file)`` is what the file holds, and zsh copies its input wherever there are redirections alone.
        return "" if output is None else output.of(join_texts("", stdin or ""))
    name = args[0].text
    if name in _PRINTERS:
        _show_secrets(node, args, machine, scope)
    if name == "eval" and len(args) < 4 and args[-1].text == OPAQUE:
        args = [args[0], Arg(ENVIRONMENT)] if _sets_up(node.words) else args
    shape = (
        _run_with_assignments(node, args, machine, scope, stdin)
        if node.assignments
        else machine.invoke(scope, args, stdin)
    )
    if output is None:
        return shape
    if name in _PRINTERS and name not in scope.functions and is_known(shape):
        # A text that stands in the command brings nothing into the file.
        machine.output.to_file = printed
    machine.redirect(node.redirects, scope, shape, stays=name == "exec")
    return output.of(shape)


def _run_with_assignments(node: Simple, args: list[Arg], machine: Interpreter, scope: Scope, stdin: str | None) -> str:
    """Run a command with the assignments before it; they reach a function too, and a program as its environment."""
    from lockgate.shell.interpreter.builtins import BUILTINS

    reaches = args[0].text in scope.functions or args[0].text in _EVALUATING
    target = scope if reaches else scope.copy()
    kept = [scope.save(item.name) for item in node.assignments if reaches and item.elements is None]
    _assign_before(node.assignments, args, machine, scope, target)
    if target is not scope:
        target.exported |= {item.name for item in node.assignments}
    if args[0].text not in BUILTINS or args[0].text in _STARTING:
        from lockgate.shell.effects.unlisted import record_variable

        for item in node.assignments:
            record_variable(item.name, target.value(item.name), machine)
    changed, split = scope.ifs_changed, scope.variables.get("IFS")
    if args[0].text in BUILTINS:
        # A builtin changes this shell, where they do not last. It may split by them.
        scope.ifs_changed |= target.ifs_changed
        target = scope
    shape = machine.invoke(target, args, stdin)
    if not reaches and scope.variables.get("IFS") == split:
        scope.ifs_changed = changed
    for before in reversed(kept):
        # Whether the value stays depends on the shell and its mode.
        scope.give_back(before)
    return shape


def _assign_before(
    assignments: tuple[Assignment, ...], args: list[Arg], machine: Interpreter, scope: Scope, target: Scope
) -> None:
    """Make the assignments before a command, in the state ``target``; a list becomes one of its words."""
    for assignment in assignments:
        if assignment.elements is None:
            _assign(assignment, machine, target)
        else:
            # A list is no environment: it is one of the words of ``declare`` and the like.
            machine.flow.hide(assignment.name, scope)
            _assign(assignment, machine, scope)
            args.append(Arg(assignment.name))


def _assign(assignment: Assignment, machine: Interpreter, scope: Scope) -> None:
    from lockgate.shell.interpreter.assignments import assign

    assign(assignment, machine, scope)


def _arguments(words: tuple[Word, ...], machine: Interpreter, scope: Scope) -> list[Arg]:
    """The words that a command gets. The assignments of ``export`` and the like are not split."""
    name: str | None = None
    for word in words:
        name = word.literal
        if name not in ("command", "builtin"):
            break
    if name not in _DECLARING:
        return _resolve(words, expand_all(words, machine, scope), machine, scope)
    args: list[Arg] = []
    for word in words:
        args += [Arg(expand_one(word, machine, scope))] if _assigns(word) else expand(word, machine, scope)
    return args


def _resolve(words: tuple[Word, ...], args: list[Arg], machine: Interpreter, scope: Scope) -> list[Arg]:
    """The words, those with stars together with what they stand for."""
    for arg in args:
        if arg.glob:
            from lockgate.shell.effects.glob_matches import with_glob_matches

            return with_glob_matches(words, args, machine, scope)
    return args


def _assigns(word: Word) -> bool:
    first = word.parts[0] if word.parts else None
    return isinstance(first, Literal) and _ASSIGNMENT.match(first.text) is not None


def _show_secrets(node: Simple, args: list[Arg], machine: Interpreter, scope: Scope) -> None:
    """Printing a variable of the environment that is named like a secret shows it."""
    from lockgate.shell.effects.variables import is_secret_name

    for word in node.words:
        for part in word.parts:
            if isinstance(part, Param) and part.operator in ("", ":-", "-", "!indirect") and is_secret_name(part.name):
                if part.name in scope.variables:
                    continue
                rule = f"variable:secret/{part.name}"
                machine.findings.merge(
                    list(effects_for_keyword("read-secret", f"{args[0].text} ${part.name}", rule)), ()
                )


def _sets_up(words: tuple[Word, ...]) -> bool:
    """Whether the words of ``eval`` are nothing but what one tool of the table ``shell_setups`` prints (``fnm env``).

    What it prints is the tool's own, or the settings of the project: it runs unseen, and was written by nobody else.
    """
    rest = words[2:] if len(words) > 1 and words[1].literal == "--" else words[1:]
    parts = [part for word in rest for part in word.parts]
    if len(parts) != 1 or not isinstance(parts[0], CommandSub) or len(parts[0].script.commands) != 1:
        return False
    command = parts[0].script.commands[0]
    if isinstance(command, Pipeline) and len(command.commands) == 1:
        command = command.commands[0]
    if not isinstance(command, Simple) or command.assignments:
        return False
    texts = [word.literal for word in command.words]
    if not texts or None in texts:
        return False
    name, *given = (str(text) for text in texts)
    wanted = table("shell_setups").get(name.rpartition("/")[2])
    return wanted is not None and any(given[: len(start)] == start if start else not given for start in wanted)
