"""Runs builtins that change the shell itself: folder, variables, functions, or that evaluate text."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.path_spelling import folder_after_cd
from lockgate.shell.effects.files import read, write
from lockgate.shell.interpreter.builtins import printing, variables
from lockgate.shell.state.abstract_text import OPAQUE, PLAIN, harmless, is_known, join_texts
from lockgate.shell.state.findings import effects_for_keyword
from lockgate.shell.state.run import RunFile, RunText, RunWords
from lockgate.shell.state.scope import Arg, Scope, positional

if TYPE_CHECKING:
    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.run import Builtin, Running

_SHORT_GLOB_DOTS = lazy_re(r"[-+][A-Za-z0-9]*4[A-Za-z0-9]*")
"""``-4`` among short options, which zsh takes for ``globdots`` (zshoptions(1), "SINGLE LETTER OPTIONS")."""


def cd(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``cd``: the folder, which may not be there."""
    words = [arg for arg in args if arg.text not in ("-L", "-P", "-e", "-@", "--")]
    before = scope.cwds
    if not words:
        scope.enter(scope.value("HOME") if is_known(scope.value("HOME")) else machine.around.home)
    elif words[0].text == "-":
        previous = scope.value("OLDPWD")
        scope.enter(previous if is_known(previous) else "")
    else:
        folder = words[0].static
        if folder is None or "CDPATH" in scope.variables:
            scope.enter("")
        else:
            scope.enter(*(folder_after_cd(cwd, folder) for cwd in before))
    scope.variables["OLDPWD"] = before[0] if len(before) == 1 and before[0] else PLAIN
    return OPAQUE if "CDPATH" in scope.variables or any(arg.text == "-" for arg in words) else ""


def pushd(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``pushd``."""
    folder = args[0].static if args else None
    if folder is None or folder[:1] in "+-":
        scope.enter("")
    else:
        scope.enter(*(folder_after_cd(cwd, folder) for cwd in scope.cwds))
    return f"{PLAIN}\n"


def popd(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``popd``: the folder from before, which is not known."""
    scope.enter("")
    return f"{PLAIN}\n"


def pwd(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``pwd``."""
    return f"{scope.value('PWD')}\n"


def print_(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``print`` of zsh; with ``-P`` it expands what stands in a prompt, commands too."""
    if any(re.match(r"-[A-Za-z]*[PS]", arg.text) for arg in args) and not all(
        harmless(arg.text.lstrip("-")) for arg in args
    ):
        machine.findings.execute("print -P", "shell:prompt-expansion", "`print -P` runs the commands in its text")
    return echo(machine, scope, args, stdin)


def echo(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``echo``."""
    shape = printing.echo(args, may_be_dash=machine.may_be_dash)
    if is_known(shape):
        # These are the agent's own words: they do not make a result that is otherwise a tool's own lines suspect.
        for line in shape.splitlines():
            machine.findings.quiet[re.escape(line)] = None
    return shape


def printf(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``printf``, also into a variable."""
    if args and args[0].text.startswith("-v"):
        attached = args[0].text[2:]
        targets, rest = ([Arg(attached)], args[1:]) if attached else (args[1:2], args[2:])
        variables.take_names(machine, scope, targets)
        for name in targets:
            shape = printing.printf(rest, may_be_zsh=machine.around.may_be_zsh)
            # Dash refuses `-v`, and leaves the variable as it is.
            scope.assign(name.text, join_texts(scope.value(name.text), shape) if machine.may_be_dash else shape)
        return ""
    words = [arg for index, arg in enumerate(args) if index or arg.text != "--"]
    return printing.printf(words, may_be_dash=machine.may_be_dash, may_be_zsh=machine.around.may_be_zsh)


def eval_(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> Running[str]:
    """``eval``: text that this shell runs."""
    words = args[1:] if args and args[0].text == "--" else args
    text = " ".join(arg.text for arg in words)
    if not is_known(text):
        # It could have assigned anything.
        yield RunText(text, scope)
        scope.forget(set(scope.variables))
        return OPAQUE
    return (yield RunText(text, scope, stdin=stdin))


def source(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> Running[str]:
    """``source``: a file that this shell runs."""
    return (yield RunFile(args[1:] if args and args[0].text == "--" else args, scope, stdin))


def trap(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> Running[str]:
    """``trap``: text that runs later, or between any two commands."""
    from lockgate.shell.interpreter.traps import interrupt

    words = [arg for arg in args if not re.fullmatch(r"-[lp-]+", arg.text)]
    if len(words) > 1 and words[0].text not in ("-", ""):
        yield RunText(words[0].text, scope.copy())
        at_any_time = any(word.text not in ("EXIT", "0") for word in words[1:])
        machine.flow.trap(words[0].text, scope, at_any_time=at_any_time)
        if at_any_time:
            yield from interrupt(words[0].text, machine, scope)
    return "" if words else OPAQUE


def leave(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``break``, ``continue``, ``return``: a loop or a function is left."""
    machine.flow.cut()
    machine.flow.leave(scope)
    return ""


def exit_(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``exit``: what follows may not run."""
    machine.flow.cut()
    return ""


def shopt(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``shopt``: how this shell works from here on."""
    if any(arg.static in (None, "localvar_inherit", "localvar_unset", "cdable_vars") for arg in args):
        machine.findings.execute("shopt", "shell:shopt", "from here on functions or `cd` take variables in another way")
    if any(arg.static == "dotglob" for arg in args):
        _match_hidden_names(machine, "shopt")
    machine.flow.last_in_shell |= any(arg.static in (None, "lastpipe") for arg in args)
    return "" if len(args) > 1 and args[0].text in ("-s", "-u", "-qs", "-qu") else OPAQUE


def setopt(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``setopt``: options of zsh, whose names may be written in capitals and with underscores."""
    if any(_means_hidden_too(arg) for arg in args):
        _match_hidden_names(machine, "setopt")
    return OPAQUE


def unsetopt(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``unsetopt``: the same the other way round; ``noglobdots`` switched off is ``globdots`` switched on."""
    if any(_means_hidden_too(arg, negated=True) for arg in args):
        _match_hidden_names(machine, "unsetopt")
    return OPAQUE


def record_start_options(machine: Machine, args: list[Arg]) -> None:
    """Record what the options say that zsh is started with, each spelt in one of many ways: ``-4``, ``--glob-dots``."""
    if any(_means_hidden_too(arg) or _means_hidden_too(arg, negated=True) for arg in args):
        _match_hidden_names(machine, "zsh")


def _means_hidden_too(arg: Arg, *, negated: bool = False) -> bool:
    name = arg.static
    if name is None or _SHORT_GLOB_DOTS.fullmatch(name):
        return True
    name = re.sub("[-+_]", "", name).casefold()
    if negated and not name.startswith("no"):
        return False
    return (name.removeprefix("no") if negated else name) in ("globdots", "dotglob")


def _match_hidden_names(machine: Machine, what: str) -> None:
    because = "from here on a star also stands for hidden names: `*/settings.json` can be `.claude/settings.json`"
    machine.findings.execute(what, "shell:option", because)


def alias(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> Running[str]:
    """``alias``: what a name may mean from here on."""
    for arg in args:
        name, equals, value = arg.text.partition("=")
        if equals:
            yield RunText(value, scope.copy())
            because = f"from here on `{name}` may mean something else"
            machine.findings.execute(arg.shown, "shell:alias", because)
    return "" if args and all("=" in arg.text for arg in args) else OPAQUE


def set_(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``set``: options and positional parameters."""
    if not args:
        machine.findings.merge(list(effects_for_keyword("read-secret", "set", "shell:list-variables")), ())
        return OPAQUE
    words = list(args)
    shape = OPAQUE if args[-1].text in ("-o", "+o") else ""
    if any(re.match(r"-[a-z]*e|errexit", arg.text) for arg in args):
        machine.flow.cut()
    scope.ever.exporting |= any(re.match(r"-[a-z]*a|allexport", arg.text) or not is_known(arg.text) for arg in args)
    if any(re.match(r"-[A-Za-z]*k|keyword", arg.text) for arg in args):
        because = "from here on `NAME=value` behind a command is a variable of that command"
        machine.findings.execute("set -k", "shell:option", because)
    if any(_means_hidden_too(arg) for arg in args if arg.static is not None and not _SHORT_GLOB_DOTS.match(arg.text)):
        _match_hidden_names(machine, "set")
    while words and re.match(r"[-+]", words[0].text):
        word = words.pop(0)
        if _SHORT_GLOB_DOTS.fullmatch(word.text):
            _match_hidden_names(machine, "set")
        if word.text in ("--", "-"):
            scope.positional = positional(words)
            return shape
        # Each ``o`` takes the name of an option, also in ``-euo pipefail``.
        words = words[word.text.count("o") :]
    if words:
        scope.positional = positional(words)
    return shape


def shift(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``shift``."""
    from lockgate.resources.digits import number

    count = number(args[0].static) if args else 1
    if count is None or len(args) > 1:
        scope.positional = None
    elif scope.positional is not None and count <= len(scope.positional):
        # Else it fails and changes nothing.
        scope.positional = scope.positional[count:]
    return ""


def hash_(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``hash``: which file a program's name means."""
    if any(re.match(r"-[a-z]*p", arg.text) or not is_known(arg.text) for arg in args):
        machine.findings.execute("hash -p", "shell:hash", "from here on a program's name may mean another file")
    return "" if args and not re.match(r"-[a-z]*[tl]", args[0].text) else OPAQUE


def enable(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``enable``: builtins, also loaded ones."""
    if any((arg.text.startswith("-") and "f" in arg.text) or not is_known(arg.text) for arg in args):
        machine.findings.execute("enable -f", "shell:enable", "this loads code into the shell")
    return OPAQUE


def completion(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``complete`` and its kin: text that the shell may evaluate."""
    if any(re.match(r"-[A-Za-z]*[CFWPSGxesf]", arg.text) or not is_known(arg.text) for arg in args):
        machine.findings.execute("completion", "shell:completion", "this lets the shell evaluate text that it is given")
    return OPAQUE


def history(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """``history -w FILE`` writes lines that ``history -s`` can have made."""
    flags = "".join(arg.text[1:] for arg in args if arg.text.startswith("-") or not is_known(arg.text))
    names = [arg for arg in args if not arg.text.startswith("-")]
    if set(flags) & set(f"wa{OPAQUE}"):
        machine.findings.merge(
            [effect for arg in names or [Arg(scope.value("HISTFILE"))] for effect in write(arg, machine, scope)], ()
        )
    elif set(flags) & set("rn"):
        machine.findings.merge([effect for arg in names for effect in read(arg, machine, scope)], ())
    return OPAQUE


def jobs(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> Running[str]:
    """``jobs -x``: a command, which may be a function, too."""
    if args and args[0].text != "-x" and not is_known(args[0].text):
        machine.findings.execute("jobs", "shell:dynamic-command", "which program this runs is only known when it runs")
    if args[:1] != [Arg("-x")]:
        return OPAQUE
    return (yield RunWords(args[1:], scope, stdin, functions=True))


def do_nothing(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """Builtins that neither change what is tracked here nor run or print anything."""
    return ""


def print_anything(machine: Machine, scope: Scope, args: list[Arg], stdin: str | None) -> str:
    """The same, but they print."""
    return OPAQUE


_QUIET = ": true false disown suspend logout unalias"
"""They neither change what is tracked here nor run or print anything."""
_TALKING = "ulimit umask times bg fg dirs type caller help compopt whence"
"""The same, but they print."""
FUNCTIONS: dict[str, Builtin] = {
    "cd": cd,
    "chdir": cd,
    "pushd": pushd,
    "popd": popd,
    "pwd": pwd,
    "echo": echo,
    "print": print_,
    "printf": printf,
    "eval": eval_,
    "source": source,
    ".": source,
    "trap": trap,
    "alias": alias,
    "set": set_,
    "shift": shift,
    "hash": hash_,
    "enable": enable,
    "history": history,
    "jobs": jobs,
    "shopt": shopt,
    "setopt": setopt,
    "unsetopt": unsetopt,
    "break": leave,
    "continue": leave,
    "return": leave,
    "exit": exit_,
    "bind": completion,
    "complete": completion,
    "compgen": completion,
    "fc": completion,
    **dict.fromkeys(_QUIET.split(), do_nothing),
    **dict.fromkeys(_TALKING.split(), print_anything),
}
"""The function that runs each builtin."""
