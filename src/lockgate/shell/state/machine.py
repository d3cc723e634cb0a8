"""What one analysis knows, and what it needs of whoever runs commands.

:class:`Machine` holds facts: the machine around, what was found and written, how much may still be done. It runs
nothing. :class:`Interpreter` is a machine that also runs commands: what expands words sees it, and what makes it do so
stands above (:mod:`lockgate.shell.interpreter.interpreter`).
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.host_view import Surroundings, no_category
from lockgate.shell.state.abstract_text import OPAQUE, unknown
from lockgate.shell.state.findings import Act, Findings
from lockgate.shell.state.scope import Arg, Input, Kept, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockgate.core.model import Effect
    from lockgate.shell.grammar.tree import Command, Function, Pipeline, Redirect, Script, Unparsed
    from lockgate.shell.state.followed_files import FollowedFiles
    from lockgate.shell.state.run import Running, T

    Builtin = Callable[["Machine", Scope, list[Arg], "str | None"], "str | Running[str]"]
    """What plays a builtin: the machine, the state, the words behind the name, the standard input.

    It gives the shape of what is printed, or is a generator that asks for what has to be run before it does.
    """

_MOST_COMMANDS = 1500


class Moved(Record):
    """Something that was copied or moved on the way."""

    source: str
    target: str


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
        self.scripts: FollowedFiles | None = None
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
        self.may_be_dash = False
        """Whether ``sh`` has run something: it is dash on many systems, which prints other things than bash."""

    def enter(self, dialect: str) -> str:
        """Note that a shell of this dialect begins to run text; return the reader's dialect for it."""
        if dialect == "zsh":
            # For good: what it leaves for later, a trap for example, runs in zsh too.
            self.around = self.around._replace(may_be_zsh=True)
        self.may_be_dash |= dialect in _MAY_BE_DASH
        return reader_for(dialect)

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

    def keep(
        self,
        scope: Scope,
        args: list[Arg],
        own: list[Effect],
        quiet: tuple[str, ...],
        act: Act | None = None,
        *,
        apart: bool = False,
    ) -> None:
        """Keep a command's own effects, with what a person's configuration says of it."""
        self.findings.note(args, scope.cwds)
        category = self.around.rules.command_category
        if category is not no_category:  # few have such rules
            text = " ".join(arg.shown for arg in args)
            if (rule := category(text, tuple(arg.static for arg in args))) is not None:
                from lockgate.resources.categories import overrule

                own, act = [*overrule(own, rule, text)], None
        self.findings.merge(own, quiet, act, apart=apart)

    # ------------------------------------------------------------ what a second run may want to follow

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

    def too_much(self, why: str) -> str:
        """Keep that the script is more than what is followed."""
        self.findings.execute("script", "shell:too-complex", f"this cannot be followed: {why}", unknown=True)
        return OPAQUE


class Interpreter(Machine):
    """A machine that runs commands. What it is asked for here is done by the class that extends it."""

    def run(self, script: Script, scope: Scope, stdin: str | None = None) -> str:
        """Run commands one after the other; give the shape of what they print, as all of these do."""
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
        """Run what a generator asks for until it is done; give what it gives."""
        raise NotImplementedError


_MAY_BE_DASH = ("sh", "dash")
_READERS = {"zsh": "bash", "dash": "sh"}


def reader_for(dialect: str) -> str:
    """The reader's dialect for a shell. What zsh reads differently from bash is refused by the reader for bash."""
    return _READERS.get(dialect, dialect)
