"""Walking a script as a shell would, in every way that it could go, and visiting each command that could run.

Control flow is followed in the abstract: what may or may not have happened is joined, loops over known words are run
word by word, other loops until nothing new is learnt. Each ``run`` returns the *shape* of what is printed: text in
which unknown parts are placeholders.
"""

from __future__ import annotations

from collections.abc import Callable

from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.host_view import Surroundings
from lockgate.shell.grammar.tree import AndOr, Command, Function, Pipeline, Redirect, Script, Simple, Unparsed
from lockgate.shell.interpreter.lookahead import changes_folder, in_parts, takes_output
from lockgate.shell.interpreter.simple import run_simple
from lockgate.shell.state.abstract_text import ENVIRONMENT, LONGEST, OPAQUE, PLAIN, blur, unknown
from lockgate.shell.state.findings import Findings
from lockgate.shell.state.scope import Arg, Input, Kept, Scope

if TYPE_CHECKING:
    from typing import Any

    from lockgate.core.model import Effect
    from lockgate.shell.effects.copies import Moved
    from lockgate.shell.programs.invoke import Invocation
    from lockgate.shell.scripts.follow import Scripts

_MOST_COMMANDS = 1500
_DEEPEST = 16


class Machine:
    """One analysis: what it may look at, what it has found, and how much it may still do."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around
        self.findings = Findings()
        self.left = _MOST_COMMANDS
        self.depth = 0
        self.texts: list[str] = []
        """What was read as shell so far."""
        self.faithful = False
        """Whether the last command printed only what it fetched."""
        self.written: set[str] = set()
        """Paths that were written on the way, as far as they are known."""
        self.moved: list[Moved] = []
        """What was copied, moved or linked on the way."""
        self.unpacked = False
        """Whether files were written whose names are not known."""
        self.prints_to_file = False
        """Whether what something prints goes to a file."""
        self.may_save = False
        """Whether something ran that reaches others, and may write what it gets from them to files."""
        self.made = False
        """Whether a name may be on the disk that was not there at first."""
        self.changed = False
        """Whether a file that was there was changed or removed."""
        self.beside: list[Pipeline] = []
        """The pipelines around, whose commands run at the same time."""
        self.levels: list[list[Scope]] = []
        """For each loop and function around: the states in which it was left before its end."""
        self.traps: list[tuple[str, Scope]] = []
        """Text that runs later, and the state in which that was said."""
        self.frames: list[list[Kept]] = []
        """For each function around: what its local variables hide."""
        self.cuts = 0
        """How many commands were met after which those that follow may not run."""
        self.interrupts: list[str] = []
        """Text that a trap may run between any two commands."""
        self.scripts: Scripts | None = None
        """The files that were followed so far, ``None`` where there is none."""
        self.taken: dict[int, tuple[str, bool]] = {}
        """Standard inputs of which something was read, by identity, and whether that was only whole lines."""
        self.heeded: set[tuple[str, str]] = set()
        """Variables of which it is kept already what a value of theirs does."""
        self.stores_secret = False
        """Whether a file with a secret was taken into a repository."""
        self.chosen = False
        """Whether a word may hold a name that anybody could choose, as that of a branch."""
        self.chosen_paths = False
        """Whether such a name may have slashes."""
        self.connected: dict[str, str] = {}
        """Descriptors of the shell that are connections, each with the name of it."""
        self.shells: dict[str, str] = {}
        """Shells that are connected to the network by the program that runs them: whom to, and why."""
        self.downloads: dict[tuple[str, str], None] = {}
        """Addresses of code that other code downloads and runs by itself, and what runs that."""
        self.last_in_shell = False
        """Whether the last command of a pipeline may run in the shell itself (``shopt -s lastpipe``)."""

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
            return self.not_read(text, script)
        return self.run(script, scope, stdin)

    def enter(self, dialect: str) -> str:
        """Note that a shell of this dialect begins to run text; return the reader's dialect for it."""
        if dialect == "zsh":
            # For good: what it leaves for later, a trap for example, runs in zsh too.
            self.around = self.around._replace(may_be_zsh=True)
        return reader_for(dialect)

    def run_traps(self) -> None:
        """Run what was said to run later, with all that the script may have changed until then."""
        if self.traps:
            from lockgate.shell.interpreter.traps import run_later

            run_later(self)

    def hide(self, name: str, scope: Scope) -> Kept:
        """Note that a variable becomes local to the function that runs."""
        kept = scope.kept(name)
        if self.frames:
            self.frames[-1].append(kept)
            scope.exported -= {name}
            scope.ever.locals.add(name)
        return kept

    def leave(self, scope: Scope) -> None:
        """Note that a loop or a function may be left here: which one is not always known."""
        for level in self.levels:
            level.append(scope.copy())

    def until_left(self, scope: Scope, once: Callable[[], str]) -> str:
        """Run a body that may be left early; what holds afterwards is what may hold in each of these places."""
        self.levels.append([])
        try:
            shape = once()
        finally:
            left = self.levels.pop()
        scope.join(*left)
        return shape

    # ------------------------------------------------------------ what a run may want to follow (dataflow.py)

    def perform(self, call: Invocation) -> str:
        """Run one program; give the shape of what it prints."""
        return call.run()

    def unknown(self, args: list[Arg], stdin: str | None) -> str:
        """The shape of what a program prints of which nothing is known."""
        return OPAQUE

    def said(self, word: str, args: list[Arg], stdin: str | None, shape: str) -> str:
        """The shape of what a builtin prints."""
        return shape

    def note_read(self, text: str, scope: Scope, found: list[Effect]) -> None:
        """A file is read."""

    def note_code(self, text: str, program: str, *, in_shell: bool) -> None:
        """Code runs."""

    def note_script(self, path: str, scope: Scope, program: str) -> None:
        """A file is run as a program."""

    def from_socket(self, name: str) -> str | None:
        """What is read from a connection that the shell has opened; ``None`` where nothing is known of it."""
        return None

    def content(self) -> str:
        """The shape of the file that was just read."""
        return OPAQUE

    def substituted(self, shape: str) -> str:
        """The name of the file that a process substitution becomes."""
        return "/dev/fd/63"

    def redirected(self, redirects: tuple[Redirect, ...], scope: Scope, shape: str, *, stays: bool) -> None:
        """A command that has redirections was run; with ``stays`` they hold from here on."""

    # ------------------------------------------------------------ inputs

    def take(self, stdin: str | None, *, lines: bool = False) -> None:
        """Note that a command reads from an input that others may read on from: whole ``lines``, or any part."""
        if stdin:
            before = self.taken.get(id(stdin))
            self.taken[id(stdin)] = (stdin, lines and (before is None or before[1]))

    def rest(self, stdin: str | None) -> str | None:
        """What the next command finds in an input: where something was taken of it, it could be any part."""
        return Input(unknown(stdin)) if stdin and id(stdin) in self.taken else stdin

    def not_read(self, text: str, why: Unparsed) -> str:
        """Keep that a text was not read."""
        because = f"this is not read exactly ({why.reason} at {why.position})"
        self.findings.execute(text, "shell:unparsed", because, unknown=True)
        if why.hint:
            self.findings.hints[why.hint] = None
        return OPAQUE

    def capture(self, script: Script, scope: Scope, *, writing: bool = False) -> str:
        """Run a script in a subshell of its own and give the shape of what it prints."""
        cuts, traps = self.cuts, len(self.traps)
        shape = self.run(script, scope.copy(), OPAQUE if writing else None)
        if len(self.traps) > traps:
            return OPAQUE
        # Where it may be left early, only a part may have been printed.
        return shape if self.cuts == cuts else blur(shape, "")

    def run(self, script: Script, scope: Scope, stdin: str | None = None) -> str:
        """Run commands one after the other."""
        if self.depth >= _DEEPEST:
            return self.too_much("it is nested too deeply")
        self.depth += 1
        try:
            shape = ""
            beside = any(script.background)
            self.made |= beside
            self.findings.mixed |= beside  # it may go on when the call is over
            for index, command in enumerate(script.commands):
                background = beside and index < len(script.background) and script.background[index]
                shape += self.command(command, scope.copy() if background else scope, self.rest(stdin))
                scope.settle()
        finally:
            self.depth -= 1
        if beside:
            # What runs at the same time prints in any order.
            shape = in_parts(shape)
        return shape if len(shape) <= LONGEST else unknown(shape)

    def too_much(self, why: str) -> str:
        """Keep that the script is more than what is followed."""
        self.findings.execute("script", "shell:too-complex", f"this cannot be followed: {why}", unknown=True)
        return OPAQUE

    # ------------------------------------------------------------ commands

    def command(self, node: Command, scope: Scope, stdin: str | None = None) -> str:
        """Run one command of any kind."""
        self.left -= 1
        if self.left < 0:
            return self.too_much("it has too many commands") if self.left == -1 else OPAQUE
        if isinstance(node, Simple):
            if self.scripts is None:
                return run_simple(node, self, scope, stdin)
            outer = self.scripts.enter(node)
            shape = run_simple(node, self, scope, stdin)
            self.scripts.leave(outer)
            return shape
        if isinstance(node, Pipeline):
            return self._pipeline(node, scope, stdin)
        if isinstance(node, AndOr):
            return self._and_or(node, scope, stdin)
        if isinstance(node, Function):
            from lockgate.shell.interpreter.functions import define

            return define(node, self, scope)
        return self._compound(node, scope, stdin)

    def _pipeline(self, node: Pipeline, scope: Scope, stdin: str | None) -> str:
        if len(node.commands) == 1:
            return self.command(node.commands[0], scope, stdin)
        last = node.commands[-1]
        self.beside.append(node)
        for command in node.commands:
            inner = scope.copy()
            stdin = self.command(command, inner, stdin)
            if command is not last and any(map(takes_output, getattr(command, "redirects", ()))):
                # zsh writes both to the file and into the pipe.
                stdin = unknown(stdin)
        self.beside.pop()
        if self.last_in_shell:
            scope.join(inner)
        return stdin or ""

    def _and_or(self, node: AndOr, scope: Scope, stdin: str | None) -> str:
        shape = self.command(node.commands[0], scope, stdin)
        skipped: list[Scope] = []
        for operator, command in zip(node.operators, node.commands[1:], strict=True):
            skipped.append(scope.copy())
            if operator == "||":
                scope.settle()
            more = self.command(command, scope, self.rest(stdin))
            if operator == "&&":
                # That ``cd`` works is what who writes ``$(cd DIR && pwd)`` counts on.
                shape = shape + more if changes_folder(node.commands[0]) else blur(shape, shape + more)
            else:
                shape = blur(shape, more, shape + more)
        scope.join(*skipped)
        return shape

    def _compound(self, node: Any, scope: Scope, stdin: str | None) -> str:
        """Run what may carry redirections of its own."""
        from lockgate.shell.interpreter.compound import run_compound
        from lockgate.shell.interpreter.redirects import apply_redirects

        redirects: tuple[Redirect, ...] = getattr(node, "redirects", ())
        stdin, output = apply_redirects(redirects, self, scope, stdin)
        shape = run_compound(node, self, scope, stdin)
        if redirects:
            self.redirected(redirects, scope, shape, stays=False)
        return output.of(shape)

    def call(self, function: Function, args: list[Arg], scope: Scope, stdin: str | None) -> str:
        """Run a function's body with its arguments."""
        from lockgate.shell.interpreter.functions import call

        return (
            call(function, args, self, scope, stdin)
            if self.depth < _DEEPEST
            else self.too_much("functions call each other too deeply")
        )


_READERS = {"zsh": "bash", "dash": "sh"}


def reader_for(dialect: str) -> str:
    """The reader's dialect for a shell. What zsh reads differently from bash is refused by the reader for bash."""
    return _READERS.get(dialect, dialect)
