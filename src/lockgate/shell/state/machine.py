"""Holds what one analysis knows, in parts with one job each.

:class:`Machine` holds the parts and runs nothing. What also runs commands is an
:class:`~lockgate.shell.state.run.Interpreter`.
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.host_view import HostView, no_category
from lockgate.shell.state.abstract_text import OPAQUE, make_unknown_text
from lockgate.shell.state.findings import Findings, ReceiptCommand
from lockgate.shell.state.scope import Arg, Input, SavedVariable, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lockgate.core.model import Effect
    from lockgate.shell.grammar.tree import Pipeline, Redirect
    from lockgate.shell.state.followed_files import FollowedFiles

_MOST_COMMANDS = 1500
_MOST_LOOKS = 50_000
"""How often all is looked at that was copied or moved. A command that copies 300 files by name comes to 45,000."""
_MAY_BE_DASH = ("sh", "dash")
_READERS = {"zsh": "bash", "dash": "sh"}


def reader_for(dialect: str) -> str:
    """The reader's dialect for a shell. What zsh reads differently from bash is refused by the reader for bash."""
    return _READERS.get(dialect, dialect)


class AnalysisBudget:
    """How much may still be done."""

    __slots__ = ("depth", "left")

    def __init__(self) -> None:
        self.left = _MOST_COMMANDS
        """How many commands may still be followed; below 0 one was refused."""
        self.depth = 0
        """How many scripts, functions and commands run each other just now."""

    def spend(self) -> bool:
        """Take one command from what is left. Returns whether it may be followed."""
        self.left -= 1
        return self.left >= 0

    def swap(self, left: int) -> int:
        """Go on with another number of commands. Returns the number that was left."""
        before, self.left = self.left, left
        return before


class Move(Record):
    """One of the moves to a place."""

    number: int
    source: str
    target_length: int


class Moves:
    """What was copied, moved or linked on the way, in its order."""

    __slots__ = ("_by_target", "_count", "_left")

    def __init__(self) -> None:
        self._by_target: dict[str, list[Move]] = {}
        self._count = 0
        self._left = _MOST_LOOKS

    def __bool__(self) -> bool:
        return self._count > 0

    def note(self, source: str, target: str) -> None:
        """Note that something is copied, moved or linked."""
        self._by_target.setdefault(target.rstrip("/"), []).append(Move(self._count, source, len(target)))
        self._count += 1

    def originals(self, path: str) -> list[str] | None:
        """The places where what lies at a path was before, the latest first; ``None`` where they are too many.

        Folders that are moved into each other have twice as many of them with each further move.
        """
        if not self._count:
            return []
        from heapq import heapify, heappop, heappush

        found: dict[str, int] = {}
        looked = list(self._look(path, self._count, 0))
        heapify(looked)
        while looked and self._left >= 0:
            when, _, before = heappop(looked)
            if before not in found:
                found[before] = len(found) + 1
                for each in self._look(before, -when, found[before]) if before != path else ():
                    heappush(looked, each)
        return list(found) if self._left >= 0 else None

    def _look(self, path: str, until: int, place: int) -> Iterator[tuple[int, int, str]]:
        """Yield the places from which something came to a path or around it, before a moment."""
        for end in (*(at for at, character in enumerate(path) if character == "/"), len(path)):
            for move in self._by_target.get(path[:end], ()):
                if move.number >= until:
                    break
                self._left -= 1
                if self._left < 0:
                    return
                yield -move.number, place, f"{move.source}{path[move.target_length :]}"


class DiskChanges:
    """What the commands so far may have changed on the disk."""

    __slots__ = ("changed", "made", "may_save", "moved", "stores_secret", "unpacked", "written")

    def __init__(self) -> None:
        self.written: set[str] = set()
        """Paths that were written, as far as they are known."""
        self.moved = Moves()
        self.unpacked = False
        """Whether files were written whose names are not known."""
        self.may_save = False
        """Whether something ran that reaches others, and may write what it gets from them to files."""
        self.made = False
        """Whether a name may be on the disk that was not there at first."""
        self.changed = False
        """Whether a file that was there was changed or removed."""
        self.stores_secret = False
        """Whether a file with a secret was taken into a repository."""

    def note_written(self, name: str) -> None:
        """Note that a file is written."""
        self.written.add(name)

    def note_unnamed(self) -> None:
        """Note that files are written whose names are not known."""
        self.unpacked = True

    def note_saving(self) -> None:
        """Note that something reaches others, and may write what it gets from them to files."""
        self.may_save = True

    def may_differ(self) -> bool:
        """Whether a file may be another one than before, as far as words name it."""
        known = self.written or self.moved or self.made or self.changed
        return bool(known or self.unpacked or self.may_save)

    def swap_written(self, names: set[str]) -> set[str]:
        """Go on with other paths. Returns those that were written so far."""
        before, self.written = self.written, names
        return before


class NameFacts:
    """What is known of who chose the words that variables hold."""

    __slots__ = ("chosen", "chosen_paths", "heeded")

    def __init__(self) -> None:
        self.chosen = False
        """Whether a word may hold a name that anybody could choose, as that of a branch."""
        self.chosen_paths = False
        """Whether such a name may have slashes."""
        self.heeded: set[tuple[str, str]] = set()
        """Variables of which it is kept already what a value of theirs does."""

    def note_chosen(self, *, paths: bool = False) -> None:
        """Note that a word may hold a name that anybody could choose; with `paths` it may have slashes."""
        self.chosen = True
        self.chosen_paths |= paths


class ControlFlow:
    """Where in loops, functions and pipelines a shell is, and what may end or interrupt it."""

    __slots__ = ("beside", "cuts", "frames", "interrupts", "last_in_shell", "levels", "traps")

    def __init__(self) -> None:
        self.beside: list[Pipeline] = []
        """The pipelines around, whose commands run at the same time."""
        self.levels: list[list[Scope]] = []
        """For each loop and function around: the states in which it was left before its end."""
        self.frames: list[list[SavedVariable]] = []
        """For each function around: what its local variables hide."""
        self.traps: list[tuple[str, Scope]] = []
        """Text that runs later, and the state in which that was said."""
        self.interrupts: list[str] = []
        """Text that a trap may run between any two commands."""
        self.cuts = 0
        """How many commands were met after which those that follow may not run."""
        self.last_in_shell = False
        """Whether the last command of a pipeline may run in the shell itself (``shopt -s lastpipe``)."""

    def cut(self) -> None:
        """Note that the commands that follow may not run."""
        self.cuts += 1

    def trap(self, text: str, scope: Scope, *, at_any_time: bool) -> None:
        """Note that text runs later: when the script ends, or ``at_any_time``."""
        self.traps.append((text, scope.copy()))
        if at_any_time:
            self.interrupts.append(text)

    def of_process(self) -> ControlFlow:
        """The same for a process that is started here: no loop or function of this shell is left in it.

        Its traps are kept with those of this shell, and it runs beside the same pipelines.
        """
        inner = ControlFlow()
        inner.beside, inner.traps, inner.cuts = self.beside, self.traps, self.cuts
        return inner

    def hide(self, name: str, scope: Scope) -> SavedVariable:
        """Note that a variable becomes local to the function that runs."""
        kept = scope.save(name)
        if self.frames:
            self.frames[-1].append(kept)
            scope.exported -= {name}
            scope.ever.locals.add(name)
        return kept

    def leave(self, scope: Scope) -> None:
        """Note that a loop or a function may be left here: which one is not always known."""
        for level in self.levels:
            level.append(scope.copy())


class TakenInput(Record):
    """An input of which something was read."""

    text: str
    lines_only: bool
    """Whether only whole lines were read."""


class Inputs:
    """Standard inputs that several commands read one after the other."""

    __slots__ = ("taken",)

    def __init__(self) -> None:
        self.taken: dict[int, TakenInput] = {}
        """Inputs of which something was read, by their identity."""

    def take(self, stdin: str | None, *, lines: bool = False) -> None:
        """Note that a command reads from an input that others may read on from: whole ``lines``, or any part."""
        if stdin:
            before = self.taken.get(id(stdin))
            self.taken[id(stdin)] = TakenInput(stdin, lines and (before is None or before.lines_only))

    def rest(self, stdin: str | None) -> str | None:
        """What the next command finds in an input: where something was taken of it, it could be any part."""
        return Input(make_unknown_text(stdin)) if stdin and id(stdin) in self.taken else stdin

    def next_round(self, given: str | None, left: str | None) -> None:
        """Note that a loop begins anew: where it took whole lines of its input, it finds the next line.

        Args:
            given: The input when the round began.
            left: What its body found in it.
        """
        taken = self.taken.get(id(given))
        if taken is not None and taken.lines_only and (left is given or id(left) not in self.taken):
            del self.taken[id(given)]


class NetworkFacts:
    """What is connected to the network, or loads code from there, beside the programs that say so in their effects."""

    __slots__ = ("connected", "downloads", "shells")

    def __init__(self) -> None:
        self.connected: dict[str, str] = {}
        """Descriptors of the shell that are connections, each with the name of it."""
        self.shells: dict[str, str] = {}
        """Shells that are connected to the network by the program that runs them: whom to, and why."""
        self.downloads: dict[tuple[str, str], None] = {}
        """Addresses of code that other code downloads and runs by itself, and what runs that."""

    def note_shell(self, program: str, because: str) -> None:
        """Note that a program connects a shell to the network."""
        self.shells[program] = because

    def note_downloads(self, addresses: Iterable[str], program: str) -> None:
        """Note that code which a program runs loads more code, and runs that."""
        for address in addresses:
            self.downloads[address, program] = None


class OutputFacts:
    """What is known of the lines that commands print."""

    __slots__ = ("faithful", "to_file")

    def __init__(self) -> None:
        self.faithful = False
        """Whether the last command printed only what it fetched."""
        self.to_file = False
        """Whether what something prints goes to a file."""


class Observer:
    """The points at which a second run looks on. This class follows nothing."""

    def shape_of_unknown(self, args: list[Arg], stdin: str | None) -> str:
        """The shape of what a program prints of which nothing is known."""
        return OPAQUE

    def builtin_output(self, word: str, args: list[Arg], stdin: str | None, shape: str) -> str:
        """The shape of what a builtin prints."""
        return shape

    def note_read(self, text: str, scope: Scope, found: list[Effect]) -> None:
        """Note that a file is read."""

    def note_code(self, text: str, program: str, *, in_shell: bool) -> None:
        """Note that code runs."""

    def note_script(self, path: str, scope: Scope, program: str) -> None:
        """Note that a file is run as a program."""

    def from_socket(self, name: str) -> str | None:
        """What is read from a connection that the shell has opened; ``None`` where nothing is known of it."""
        return None

    def content(self) -> str:
        """The shape of the file that was just read."""
        return OPAQUE

    def name_substitution(self, shape: str) -> str:
        """The name of the file that a process substitution becomes."""
        return "/dev/fd/63"

    def redirect(self, redirects: tuple[Redirect, ...], scope: Scope, shape: str, *, stays: bool) -> None:
        """Note that a command with redirections was run. With ``stays`` they hold from here on."""


class Machine(Observer):
    """One analysis: what it may look at, what it has found, and the parts that know what its commands did."""

    def __init__(self, around: HostView) -> None:
        self.around = around
        self.findings = Findings()
        self.budget = AnalysisBudget()
        self.disk = DiskChanges()
        self.names = NameFacts()
        self.flow = ControlFlow()
        self.inputs = Inputs()
        self.network = NetworkFacts()
        self.output = OutputFacts()
        self.texts: list[str] = []
        """What was read as shell so far."""
        self.scripts: FollowedFiles | None = None
        """The files that were followed so far, ``None`` where there is none."""
        self.may_be_dash = False
        """Whether ``sh`` has run something: it is dash on many systems, which prints other things than bash."""

    def enter(self, dialect: str) -> str:
        """Note that a shell of this dialect begins to run text. Returns the reader's dialect for it."""
        if dialect == "zsh":
            # For good: what it leaves for later, a trap for example, runs in zsh too.
            self.around = self.around._replace(may_be_zsh=True)
        self.may_be_dash |= dialect in _MAY_BE_DASH
        return reader_for(dialect)

    def is_in_file(self) -> bool:
        """Whether a file is followed just now."""
        return self.scripts is not None and self.scripts.depth > 0

    def go_to(self, place: int) -> None:
        """Go to a place in the files that are followed, where there are any."""
        if self.scripts is not None:
            self.scripts.go_to(place)

    def keep(
        self,
        scope: Scope,
        args: list[Arg],
        own: list[Effect],
        quiet: tuple[str, ...],
        act: ReceiptCommand | None = None,
        *,
        apart: bool = False,
    ) -> None:
        """Record a command's own effects, with what a person's configuration says of it."""
        self.findings.note(args, scope.cwds)
        category = self.around.rules.command_category
        if category is not no_category:  # few have such rules
            text = " ".join(arg.shown for arg in args)
            if (rule := category(text, tuple(arg.static for arg in args))) is not None:
                from lockgate.resources.categories import overrule

                own, act = [*overrule(own, rule, text)], None
        self.findings.merge(own, quiet, act, apart=apart)
