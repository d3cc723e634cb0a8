"""Running make: which makefile, which goals, and what their recipes do."""

from __future__ import annotations

import re

from lockgate.analysis.shell.make_files import Makefile, Source
from lockgate.analysis.shell.make_words import UNKNOWN
from lockgate.analysis.shell.recipes import run_line
from lockgate.analysis.shell.scope import Arg
from lockgate.analysis.shell.script_files import Script, followed, opened
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.analysis.shell.invoke import Invocation

_NAMES = ("GNUmakefile", "makefile", "Makefile")
_ONLY_TOLD = frozenset({"-n", "--just-print", "--dry-run", "--recon", "-q", "--question", "-t", "--touch"})
"""Options with which recipes are printed or left out. What the makefile itself runs is run all the same."""
_SHELLS = {"sh": "sh", "dash": "sh", "bash": "bash", "zsh": "zsh"}


def run_make(call: Invocation) -> bool:
    """Follow what a makefile runs for the goals of a command; whether one was read."""
    goals, given = _words(call)
    texts = [value.text for option in call.matched.options if option.name in ("--eval", "-E") for value in option.value]
    if texts or any("$" in value for _, value in given):
        _typed(call, given, texts)
    script = _makefile(call)
    if script is None:
        return False

    def body() -> None:
        made = _new(call, given)
        made.read(Source(script.text, script.base))
        for text in texts:
            made.read(Source(text))
        _run(call, made, goals)

    call.own += followed(call.machine, script, f"`{call.what}` runs recipes of the file `{script.name}`", body)
    return True


def _words(call: Invocation) -> tuple[list[str], list[tuple[str, str]]]:
    """The goals, and the variables that are given a value."""
    goals: list[str] = []
    given: list[tuple[str, str]] = []
    for word in call.matched.operands:
        match = re.fullmatch(r"([^:=?+!\s]+)\s*(?::{0,3}|\?|\+|!)=(.*)", word.text, re.DOTALL)
        if match:
            given.append((match[1], match[2] if word.static is not None else UNKNOWN))
        elif word.static is not None:
            goals.append(word.text)
    return goals, given


def _makefile(call: Invocation) -> Script | None:
    named = [v for o in call.matched.options if o.name in ("-f", "--file", "--makefile") for v in o.value]
    if named:
        return opened(call.machine, call.scope, named[0].text) if named[0].static is not None else None
    found = (opened(call.machine, call.scope, name) for name in _NAMES)
    return next((script for script in found if script is not None), None)


def _new(call: Invocation, given: list[tuple[str, str]]) -> Makefile:
    machine, scope = call.machine, call.scope

    def shell(text: str) -> str:
        shape = run_line(machine, scope, text)
        return shape.rstrip("\n").replace("\n", " ")

    def include(name: str) -> Source | None:
        script = opened(machine, scope, name)
        return None if script is None else Source(script.text, script.base)

    def at(place: int) -> None:
        if machine.scripts is not None:
            machine.scripts.at(place)

    made = Makefile(shell, include, at)
    cwd = scope.cwds[0] if len(scope.cwds) == 1 and scope.cwds[0] else UNKNOWN
    made.give("CURDIR", cwd.replace("$", "$$"))
    for name, value in given:
        made.give(name, value)
    return made


def _typed(call: Invocation, given: list[tuple[str, str]], texts: list[str]) -> None:
    """Follow what the command line itself brings: these words are no file's."""
    made = _new(call, given)
    for _, value in given:
        made.words.expand(value)
    for text in texts:
        made.read(Source(text))
    _run(call, made, made.targets())


def _run(call: Invocation, made: Makefile, goals: list[str]) -> None:
    """Run the recipes that some goals lead to."""
    machine = call.machine
    if made.problem:
        machine.findings.execute(call.what, "script:make", made.problem)
    if _ONLY_TOLD & call.matched.given:
        return
    shell, flags = made.words.expand("$(SHELL)"), made.words.expand("$(.SHELLFLAGS)").split()
    name = shell.rpartition("/")[2]
    plain = name in _SHELLS and all(re.fullmatch(r"-[ceuxo]+|pipefail", flag) for flag in flags)
    for step in made.steps(goals):
        if machine.scripts is not None:
            machine.scripts.at(step.place)
        if machine.left <= 0:
            break
        if plain:
            run_line(machine, call.scope, step.text, _SHELLS[name])
        else:
            _by_program(call, [shell, *flags, step.text])


def _by_program(call: Invocation, words: list[str]) -> None:
    """Run a line with what stands for a shell."""
    from lockgate.analysis.shell.invoke import invoke

    invoke(call.machine, call.scope.copy(), [Arg(word) for word in words], None, functions=False)
