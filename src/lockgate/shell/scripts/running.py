"""Runs a file in each way in which a command can: with an interpreter, by its path, in the same shell."""

from __future__ import annotations

import re

from lockgate.core.model import Effect, EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.path_spelling import STANDARD_INPUT, absolute, is_inside
from lockgate.shell.effects.files import read
from lockgate.shell.scripts.follow import follow_script, is_written, open_script, run_process, run_shell
from lockgate.shell.state.abstract_text import OPAQUE
from lockgate.shell.state.run import RunWords
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.state.followed_files import FollowedFile
    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.run import Running

_INSTALLED = frozenset({"node_modules", ".venv", "venv", ".tox", "vendor", "Pods"})
_SHELLS = {"shell": "bash", "sh": "sh", "zsh": "zsh"}


def run_by_interpreter(call: ProgramCall, word: Arg, option: str) -> Running[list[Effect]]:
    """Effects of ``bash x.sh``, ``python x.py``, ``sed -f x.sed``."""
    call.machine.note_script(word.text, call.scope, call.what)
    what = f"`{call.what}` runs the file `{word.shown}`"
    language = call.entry.stdin or call.entry.name
    script = (
        open_script(call.machine, call.scope, word.text) if word.static is not None and _is_read(language) else None
    )
    if script is None:
        return [Effect(EffectKind.EXECUTE, word.shown, call.rule, what)]
    operands = call.matched.operands
    args = [] if option else operands[1:]

    def body() -> Running[None]:
        if language in _SHELLS:
            yield from run_process(call.machine, script, args, call.scope, _SHELLS[language])
        else:
            yield from _run_language(call, language, script.text)

    return (yield from follow_script(call.machine, script, what, body))


def _is_read(language: str) -> bool:
    from lockgate.shell.inline import LANGUAGES

    return language in _SHELLS or language in LANGUAGES


def _run_language(call: ProgramCall, language: str, text: str) -> Running[None]:
    """Follow a file in a language that is no shell's."""
    from lockgate.shell.inline.running import run_code

    outer, call.own = call.own, []
    try:
        yield from run_code(call, language, text)
        call.machine.findings.merge(call.own, ())
    finally:
        call.own = outer


def is_of_project(machine: Machine, scope: Scope, word: str) -> bool:
    """Whether a program that is started by its path lies in the project, or was built there just now.

    What was installed there by a manager of packages, or leads out of the project, is what its name says.
    """
    around = machine.around
    for cwd in scope.cwds:
        path = absolute(word, cwd, around)
        if (
            path is None
            or not is_inside(path, around.workspace)
            or not is_inside(around.realpath(path), around.workspace)
        ):
            return False
        if not _INSTALLED.isdisjoint(path.split("/")):
            return False
        built = path in {absolute(written, cwd, around) for written in machine.disk.written}
        if not built and not around.is_there(path):
            return False
    return bool(scope.cwds)


def is_script(machine: Machine, scope: Scope, word: str) -> bool:
    """Whether a program that is started by its path is text, which can be followed, wherever it is started."""
    for cwd in scope.cwds:
        path = absolute(word, cwd, machine.around)
        if path is None or is_written(machine, cwd, path):
            return False
        script = machine.around.read_script(path)
        if script is None or "\0" in script.text:
            return False
    return bool(scope.cwds)


def run_by_path(
    machine: Machine, scope: Scope, args: list[Arg], stdin: str | None, own: list[Effect]
) -> Running[list[Effect]]:
    """Effects of ``./x``: what its first line names runs it, or without such a line a shell.

    Args:
        machine: The analysis.
        scope: The state of the shell.
        args: The command's words, the file's path first.
        stdin: What is known of its standard input.
        own: What is known without looking into the file.
    """
    script = open_script(machine, scope, args[0].text)
    if script is None or "\0" in script.text:
        return own
    what = f"this runs the file `{script.name}`"

    def body() -> Running[None]:
        if not script.text.startswith("#!"):
            yield from run_process(machine, script, args[1:], scope, "sh")
        else:
            yield from _run_by_first_line(machine, scope, script, args, stdin)

    return (yield from follow_script(machine, script, what, body))


def _run_by_first_line(
    machine: Machine, scope: Scope, script: FollowedFile, args: list[Arg], stdin: str | None
) -> Running[None]:
    """Run ``#!PROGRAM ARGUMENT`` as the system does: all after the program is one word, and the file comes next."""
    match = re.match(r"#![ \t]*([^ \t\n]+)[ \t]*([^\n]*)", script.text)
    if match is None:
        machine.findings.execute(script.name, "script:first-line", "its first line names no program")
        return
    program, argument = match.groups()
    words = [Arg(program), *([Arg(argument.rstrip(" \t"))] if argument else []), *args]
    yield RunWords(words, scope.copy(), stdin)


def source(machine: Machine, scope: Scope, words: list[Arg], stdin: str | None) -> Running[str]:
    """Run a file in this shell. Returns the shape of what it prints."""
    shape = OPAQUE
    for word in words[:1]:
        machine.note_script(word.text, scope, "source")
        if word.text in STANDARD_INPUT:
            machine.note_code(stdin or "", "source", in_shell=True)
        because = f"`source` runs the file `{word.shown}` in this shell"
        script = open_script(machine, scope, word.text) if word.static is not None else None
        machine.findings.merge(read(word, machine, scope), ())
        if script is None:
            machine.findings.execute(word.shown, "shell:source", because)
        else:
            shape = yield from _source_here(machine, scope, script, words[1:], because, stdin)
    scope.forget(set(scope.variables) - {"HOME", "PWD"})
    return shape


def _source_here(
    machine: Machine, scope: Scope, script: FollowedFile, args: list[Arg], because: str, stdin: str | None
) -> Running[str]:
    inner = scope.copy()
    inner.positional = tuple(args) if args else scope.positional

    def body() -> Running[None]:
        yield from run_shell(machine, script, inner, "bash", stdin)

    machine.findings.merge((yield from follow_script(machine, script, because, body, apart=False)), ())
    for name, meanings in inner.functions.items():
        # The file may be another one by then: what a name meant before it can mean still.
        scope.functions[name] = tuple(dict.fromkeys((*meanings, *scope.functions.get(name, (None,)))))
    if inner.cwds != scope.cwds:
        scope.enter(*inner.cwds, *inner.before_cd)
    scope.pinned |= inner.pinned
    scope.ifs_changed |= inner.ifs_changed
    return OPAQUE


def run_recipes(call: ProgramCall) -> Running[bool]:
    """Follow the recipes of the project that a command runs (``recipes`` of its entry).

    Whether there were any: then an effect says already that it runs code of the project.
    """
    if call.entry.recipes == "make":
        from lockgate.shell.scripts.make.running import run_make

        return run_make(call)
    if call.entry.recipes == "just":
        from lockgate.shell.scripts.just import run_just

        return run_just(call)
    from lockgate.shell.scripts.npm import run_npm

    return run_npm(call)
