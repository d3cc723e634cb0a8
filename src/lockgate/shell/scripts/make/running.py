"""Runs make: finds the makefile and the goals, and follows their recipes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.scripts.follow import follow_script, open_script
from lockgate.shell.scripts.make.files import Makefile, MakeText
from lockgate.shell.scripts.make.words import UNKNOWN
from lockgate.shell.scripts.recipe_line import run_line
from lockgate.shell.state.abstract_text import is_known
from lockgate.shell.state.run import RunInside, RunWords, drive
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.state.followed_files import FollowedFile
    from lockgate.shell.state.run import Run, Running

_NAMES = ("GNUmakefile", "makefile", "Makefile")
_ONLY_TOLD = frozenset({"-n", "--just-print", "--dry-run", "--recon", "-q", "--question", "-t", "--touch"})
"""Options with which recipes are printed or left out. What the makefile itself runs is run all the same."""
_SHELLS = {"sh": "sh", "dash": "sh", "bash": "bash", "zsh": "zsh"}


def run_make(call: ProgramCall) -> Running[bool]:
    """Follow what a makefile runs for the goals of a command. Returns whether one was read."""
    goals, given = _words(call)
    texts = [*_values(call, "--eval", "-E"), *_makefiles_on_stdin(call)]
    if texts or any("$" in value for _, value in given):
        yield RunInside(lambda run: _follow_typed(call, given, texts, run))
    script = _makefile(call)
    if script is None:
        return False

    def follow(run: Run) -> None:
        made = _new(call, given, run)
        made.read(MakeText(script.text, script.base))
        for text in texts:
            made.read(MakeText(text))
        _run(call, made, goals, run)

    def body() -> Running[None]:
        yield RunInside(follow)

    call.own += yield from follow_script(
        call.machine, script, f"`{call.what}` runs recipes of the file `{script.name}`", body
    )
    return True


def _words(call: ProgramCall) -> tuple[list[str], list[tuple[str, str]]]:
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


def _values(call: ProgramCall, *names: str) -> list[str]:
    """The values of an option."""
    return [value.text for option in call.matched.options if option.name in names for value in option.value]


def _makefiles_on_stdin(call: ProgramCall) -> list[str]:
    """A makefile that the command line hands in."""
    named = _values(call, "-f", "--file", "--makefile")
    return [call.stdin] if call.stdin is not None and {"-", "/dev/stdin"} & set(named) else []


def _makefile(call: ProgramCall) -> FollowedFile | None:
    named = _values(call, "-f", "--file", "--makefile")
    if named:
        return open_script(call.machine, call.scope, named[0]) if is_known(named[0]) else None
    found = (open_script(call.machine, call.scope, name) for name in _NAMES)
    return next((script for script in found if script is not None), None)


def _new(call: ProgramCall, given: list[tuple[str, str]], run: Run) -> Makefile:
    machine, scope = call.machine, call.scope

    def shell(text: str) -> str:
        shape = drive(run_line(machine, scope, text), run)
        return shape.rstrip("\n").replace("\n", " ")

    def include(name: str) -> MakeText | None:
        script = open_script(machine, scope, name)
        return None if script is None else MakeText(script.text, script.base)

    def at(place: int) -> None:
        machine.go_to(place)

    made = Makefile(shell, include, at)
    cwd = scope.cwds[0] if len(scope.cwds) == 1 and scope.cwds[0] else UNKNOWN
    made.give("CURDIR", cwd.replace("$", "$$"))
    for name, value in given:
        made.give(name, value)
    return made


def _follow_typed(call: ProgramCall, given: list[tuple[str, str]], texts: list[str], run: Run) -> None:
    """Follow what the command line itself brings: these words are no file's."""
    made = _new(call, given, run)
    for _, value in given:
        made.words.expand(value)
    for text in texts:
        made.read(MakeText(text))
    _run(call, made, made.rules.targets(), run)


def _run(call: ProgramCall, made: Makefile, goals: list[str], run: Run) -> None:
    """Run the recipes that some goals lead to."""
    machine = call.machine
    if made.problem:
        machine.findings.execute(call.what, "script:make", made.problem)
    if _ONLY_TOLD & call.matched.given:
        return
    shell, flags = made.words.expand("$(SHELL)"), made.words.expand("$(.SHELLFLAGS)").split()
    name = shell.rpartition("/")[2]
    plain = name in _SHELLS and all(re.fullmatch(r"-[ceuxo]+|pipefail", flag) for flag in flags)
    for step in made.rules.steps(goals or made.goals(), _is_there(call)):
        machine.go_to(step.place)
        if machine.budget.left <= 0:
            break
        if plain:
            drive(run_line(machine, call.scope, step.text, _SHELLS[name]), run)
        else:
            run(RunWords([Arg(word) for word in (shell, *flags, step.text)], call.scope.copy()))


def _is_there(call: ProgramCall) -> Callable[[str], bool]:
    """Whether there is a file, as make looks for it; never where all is to be made anew."""
    cwds = call.scope.cwds
    if {"-B", "--always-make"} & call.matched.given or len(cwds) != 1 or not cwds[0]:
        return lambda _: False
    return lambda name: call.machine.around.is_there(posixpath.normpath(posixpath.join(cwds[0], name)))
