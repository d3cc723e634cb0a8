"""Walks a script in every way that a shell could go, and visits each command that could run.

Control flow is followed in the abstract: what may or may not have happened is joined, loops over known words are run
word by word, other loops until nothing new is learnt. Each ``run`` returns the *shape* of what is printed: text in
which unknown parts are placeholders.
"""

from __future__ import annotations

from collections.abc import Callable

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.shell.grammar.tree import AndOr, Command, Function, Pipeline, Redirect, Script, Simple, Unparsed
from lockgate.shell.interpreter.builtins import builtin
from lockgate.shell.interpreter.lookahead import changes_folder, drop_order, takes_output
from lockgate.shell.interpreter.simple import run_simple
from lockgate.shell.state.abstract_text import (
    ENVIRONMENT,
    LONGEST,
    OPAQUE,
    PLAIN,
    Number,
    join_texts,
    make_unknown_text,
)
from lockgate.shell.state.run import Interpreter, RunFile, RunInside, RunScript, RunText, drive
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from typing import Any

    from lockgate.resources.host_view import HostView
    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.run import Request, Running, T

_DEEPEST = 16
_DEEPEST_COMMAND = 40
_ZSH = """
    exit return logout shift break continue ulimit repeat read print integer float typeset declare local export readonly
    hash setopt unsetopt set
"""
_OTHER_IN_ZSH = frozenset(_ZSH.split())
"""Builtins whose words zsh evaluates as bash does not."""


class Programs(Record):
    """What lies above the interpreter and is run by it."""

    run: Callable[[Machine, Scope, str, list[Arg], str | None, Callable[[ProgramCall], str]], Running[str]]
    """A program: the state, its name without a folder, its words with itself first, its standard input.

    The last one performs a command whose entry is known, and gives the shape of what it prints.
    """
    source: Callable[[Machine, Scope, list[Arg], str | None], Running[str]]
    """A file that this shell runs: the state, its name with the words behind it, and the standard input."""


class AbstractInterpreter(Interpreter):
    """Runs the commands of a script, of which it knows only what can be known before they run."""

    def __init__(self, around: HostView, programs: Programs) -> None:
        super().__init__(around)
        self._programs = programs

    # ------------------------------------------------------------ entry points

    def run_text(self, text: str, scope: Scope, dialect: str = "bash", stdin: str | None = None) -> str:
        """Run text that a shell gets to read: the whole command, ``sh -c``, ``eval``, a here-document for ``sh``."""
        from lockgate.shell.grammar.reader import read

        self.texts.append(text)
        if OPAQUE in text or PLAIN in text or ENVIRONMENT in text:
            self.findings.execute(
                "shell code", "shell:dynamic-code", "shell code is put together at run time", unknown=OPAQUE in text
            )
            return OPAQUE
        script = read(text, self.enter(dialect))
        if isinstance(script, Unparsed):
            return self.findings.not_read(text, script)
        return self.run(script, scope, stdin)

    def run_traps(self) -> None:
        """Run what was said to run later, with all that the script may have changed until then."""
        if self.flow.traps:
            from lockgate.shell.interpreter.traps import run_later

            self.drive(run_later(self))

    def drive(self, running: Running[T]) -> T:
        """Run what a generator asks for until it is done. Returns what it gives."""
        return drive(running, self._perform)

    def _perform(self, request: Request) -> str:
        """Run what one request is for. Returns the shape of what it prints."""
        if isinstance(request, RunText):
            return self.run_text(request.text, request.scope, request.dialect, request.stdin)
        if isinstance(request, RunScript):
            script, scope, stdin = request
            return self.until_left(scope, lambda: self.run(script, scope, stdin))
        if isinstance(request, RunFile):
            return self.drive(self._programs.source(self, request.scope, request.words, request.stdin))
        if isinstance(request, RunInside):
            request.body(self._perform)
            return ""
        return self.invoke(request.scope, request.words, request.stdin, functions=request.functions)

    def until_left(self, scope: Scope, once: Callable[[], str]) -> str:
        """Run a body that may be left early; what holds afterwards is what may hold in each of these places."""
        self.flow.levels.append([])
        try:
            shape = once()
        finally:
            left = self.flow.levels.pop()
        scope.join(*left)
        return shape

    def perform(self, call: ProgramCall) -> str:
        """Run one program. Returns the shape of what it prints."""
        return self.drive(call.find_effects())

    def capture(self, script: Script, scope: Scope, *, writing: bool = False) -> str:
        """Run a script in a subshell of its own and give the shape of what it prints."""
        cuts, traps = self.flow.cuts, len(self.flow.traps)
        shape = self.run(script, scope.copy(), OPAQUE if writing else None)
        if len(self.flow.traps) > traps:
            return OPAQUE
        # Where it may be left early, only a part may have been printed.
        return shape if self.flow.cuts == cuts else join_texts(shape, "")

    def run(self, script: Script, scope: Scope, stdin: str | None = None) -> str:
        """Run commands one after the other."""
        if self.budget.depth >= _DEEPEST:
            return self.findings.too_much("it is nested too deeply")
        self.budget.depth += 1
        try:
            shape = ""
            beside = any(script.background)
            self.disk.made |= beside
            self.findings.mixed |= beside  # it may go on when the call is over
            for index, command in enumerate(script.commands):
                background = beside and index < len(script.background) and script.background[index]
                more = self.command(command, scope.copy() if background else scope, self.inputs.rest(stdin))
                shape = more if isinstance(more, Number) and not shape else shape + more
                scope.settle()
        finally:
            self.budget.depth -= 1
        if beside:
            # What runs at the same time prints in any order.
            shape = drop_order(shape)
        return shape if len(shape) <= LONGEST else make_unknown_text(shape)

    # ------------------------------------------------------------ commands

    def command(self, node: Command, scope: Scope, stdin: str | None = None) -> str:
        """Run one command of any kind."""
        if not self.budget.spend():
            return self.findings.too_much("it has too many commands") if self.budget.left == -1 else OPAQUE
        if isinstance(node, Simple):
            if self.scripts is None:
                return run_simple(node, self, scope, stdin)
            outer = self.scripts.enter(node)
            try:
                return run_simple(node, self, scope, stdin)
            finally:
                self.scripts.leave(outer)
        if isinstance(node, Pipeline):
            return self._pipeline(node, scope, stdin)
        if isinstance(node, AndOr):
            return self._and_or(node, scope, stdin)
        if isinstance(node, Function):
            from lockgate.shell.interpreter.compound import define

            return define(node, self, scope)
        return self._run_compound(node, scope, stdin)

    def _pipeline(self, node: Pipeline, scope: Scope, stdin: str | None) -> str:
        if len(node.commands) == 1:
            return self.command(node.commands[0], scope, stdin)
        last = node.commands[-1]
        self.flow.beside.append(node)
        try:
            for command in node.commands:
                inner = scope.copy()
                stdin = self.command(command, inner, stdin)
                if command is not last and any(map(takes_output, getattr(command, "redirects", ()))):
                    # zsh writes both to the file and into the pipe.
                    stdin = make_unknown_text(stdin)
                elif isinstance(stdin, Number):
                    stdin = f"{PLAIN}\n"  # what the next command makes of it is another text
        finally:
            self.flow.beside.pop()
        if self.flow.last_in_shell:
            scope.join(inner)
        return stdin or ""

    def _and_or(self, node: AndOr, scope: Scope, stdin: str | None) -> str:
        shape = self.command(node.commands[0], scope, stdin)
        skipped: list[Scope] = []
        for operator, command in zip(node.operators, node.commands[1:], strict=True):
            skipped.append(scope.copy())
            if operator == "||":
                scope.settle()
            more = self.command(command, scope, self.inputs.rest(stdin))
            if operator == "&&":
                # That ``cd`` works is what who writes ``$(cd DIR && pwd)`` counts on.
                shape = shape + more if changes_folder(node.commands[0]) else join_texts(shape, shape + more)
            else:
                shape = join_texts(shape, more, shape + more)
        scope.join(*skipped)
        return shape

    def _run_compound(self, node: Any, scope: Scope, stdin: str | None) -> str:
        """Run what may carry redirections of its own."""
        from lockgate.shell.interpreter.compound import run_compound
        from lockgate.shell.interpreter.redirects import apply_redirects

        redirects: tuple[Redirect, ...] = getattr(node, "redirects", ())
        streams = apply_redirects(redirects, self, scope, stdin)
        shape = run_compound(node, self, scope, streams.stdin)
        if redirects:
            self.redirect(redirects, scope, shape, stays=False)
        return streams.output.of(shape)

    def call(self, function: Function, args: list[Arg], scope: Scope, stdin: str | None) -> str:
        """Run a function's body with its arguments."""
        from lockgate.shell.interpreter.compound import call

        return (
            call(function, args, self, scope, stdin)
            if self.budget.depth < _DEEPEST
            else self.findings.too_much("functions call each other too deeply")
        )

    # ------------------------------------------------------------ commands by their words

    def invoke(self, scope: Scope, args: list[Arg], stdin: str | None, *, functions: bool = True) -> str:
        """Run a command given by its words. Returns the shape of what it prints."""
        if not args:
            return ""
        self.output.faithful = False
        if not self.budget.spend() or self.budget.depth > _DEEPEST_COMMAND:
            self.findings.execute("script", "shell:too-complex", "this has too many commands to follow", unknown=True)
            return OPAQUE
        word = None if args[0].loose else args[0].static
        if word is None:
            because = "which program this runs is only known when it runs"
            self.findings.execute(args[0].shown, "shell:dynamic-command", because, unknown=True)
            self.note_code(args[0].text, "a shell", in_shell=True)
            self.findings.note(args, scope.cwds)
            return OPAQUE
        self.budget.depth += 1
        try:
            return self._by_meanings(scope, word, args, stdin, functions=functions)
        finally:
            self.budget.depth -= 1

    def _by_meanings(self, scope: Scope, word: str, args: list[Arg], stdin: str | None, *, functions: bool) -> str:
        if functions and word in _OTHER_IN_ZSH and self.around.may_be_zsh:
            from lockgate.shell.interpreter.zsh import record_builtin

            record_builtin(self, scope, word, args[1:])
        meanings = scope.functions.get(word, (None,)) if functions else (None,)
        if len(meanings) == 1:
            return self._run_meant(scope, meanings[0], args, stdin)
        # One of them runs, each in the state that there is now.
        ends = [scope.copy() for _ in meanings]
        shapes = [self._run_meant(end, each, args, stdin) for end, each in zip(ends, meanings, strict=True)]
        scope.join(*ends)
        return join_texts(*shapes)

    def _run_meant(self, scope: Scope, function: Function | None, args: list[Arg], stdin: str | None) -> str:
        """Run what a name means: a function, a builtin or a program."""
        if function is not None:
            return self.call(function, args[1:], scope, stdin)
        word = args[0].text
        name = word.rpartition("/")[2] or word
        self.findings.programs.append(name)
        handler = builtin(word)
        if handler is None:
            return self.drive(self._programs.run(self, scope, name, args, stdin, self.perform))
        # A builtin's own effects are the shell's, and no configuration takes them away; it can add to them.
        self.keep(scope, args, [], ())
        shape = handler(self, scope, args[1:], stdin)
        return self.builtin_output(word, args[1:], stdin, shape if isinstance(shape, str) else self.drive(shape))
