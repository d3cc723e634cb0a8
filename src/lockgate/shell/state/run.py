"""Defines what a part of the analysis can ask to be run.

Builtins, roles of words, readers of code and what follows files run nothing by themselves. Where one of them finds that
something runs, it is a generator that yields a request: the interpreter runs it and sends back what it prints. So they
need no interpreter, and a test can answer in its place.

A function that only sometimes runs something is a generator always. To call one without ``yield from`` would do nothing
at all: a test finds such calls.
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.shell.state.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import TypeVar

    from lockgate.shell.grammar.tree import Command, Function, Script
    from lockgate.shell.state.scope import Arg, Scope


class RunText(Record):
    """Text that a shell gets to read."""

    text: str
    scope: Scope
    dialect: str = "bash"
    stdin: str | None = None


class RunWords(Record):
    """A command given by its words."""

    words: list[Arg]
    scope: Scope
    stdin: str | None = None
    functions: bool = False
    """Whether functions of the shell count: a program that starts another one knows none."""


class RunScript(Record):
    """Commands that were read already, and that may be left before their end."""

    script: Script
    scope: Scope
    stdin: str | None = None


class RunFile(Record):
    """A file that this shell runs (``source``), with the words behind its name."""

    words: list[Arg]
    scope: Scope
    stdin: str | None = None


class RunInside(Record):
    """What reads a file and has to run something in the midst of that, as ``$(shell ...)`` of make.

    It is called with a function that runs a request. What it gives itself is no text.
    """

    body: Callable[[Run], None]


if TYPE_CHECKING:
    T = TypeVar("T")
    Request = RunText | RunWords | RunScript | RunFile | RunInside
    Running = Generator[Request, str, T]
    """Gives a ``T`` in the end, and asks for what has to be run on the way."""
    Run = Callable[[Request], str]
    """Runs what one request is for; gives the shape of what it prints."""
    Builtin = Callable[[Machine, Scope, list[Arg], str | None], str | Running[str]]
    """What plays a builtin: the machine, the state, the words behind the name, the standard input.

    It gives the shape of what is printed, or is a generator that asks for what has to be run before it does.
    """


def drive(running: Running[T], run: Run) -> T:
    """Answer each request of a generator with what `run` gives for it. Returns what the generator gives in the end."""
    try:
        request = next(running)
        while True:
            try:
                shape = run(request)
            except Exception as error:  # noqa: BLE001 - it comes up where the request was made
                request = running.throw(error)
            else:
                request = running.send(shape)
    except StopIteration as done:
        result: T = done.value
        return result


class Interpreter(Machine):
    """A machine that runs commands. What it is asked for here is done by the class that extends it."""

    def run(self, script: Script, scope: Scope, stdin: str | None = None) -> str:
        """Run commands one after the other. Returns the shape of what they print, as all of these do."""
        raise NotImplementedError

    def command(self, node: Command, scope: Scope, stdin: str | None = None) -> str:
        """Run one command of any kind."""
        raise NotImplementedError

    def capture(self, script: Script, scope: Scope, *, writing: bool = False) -> str:
        """Run a script in a subshell of its own."""
        raise NotImplementedError

    def run_text(self, text: str, scope: Scope, dialect: str = "bash", stdin: str | None = None) -> str:
        """Run text that a shell gets to read."""
        raise NotImplementedError

    def invoke(self, scope: Scope, args: list[Arg], stdin: str | None, *, functions: bool = True) -> str:
        """Run a command given by its words; ``functions`` is whether functions of the shell are looked at."""
        raise NotImplementedError

    def call(self, function: Function, args: list[Arg], scope: Scope, stdin: str | None) -> str:
        """Run a function's body with its arguments."""
        raise NotImplementedError

    def until_left(self, scope: Scope, once: Callable[[], str]) -> str:
        """Run a body that may be left early; what holds afterwards is what may hold in each of these places."""
        raise NotImplementedError

    def run_traps(self) -> None:
        """Run what was said to run later."""
        raise NotImplementedError

    def drive(self, running: Running[T]) -> T:
        """Run what a generator asks for until it is done. Returns what it gives."""
        raise NotImplementedError
