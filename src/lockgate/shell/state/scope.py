"""Holds what is known about variables, functions and the working folder at one point of a script."""

from __future__ import annotations

from lockgate.core.record import Record
from lockgate.resources.path_spelling import is_somewhere
from lockgate.shell.grammar.tree import Function
from lockgate.shell.state.abstract_text import (
    ENVIRONMENT,
    OPAQUE,
    PLAIN,
    harmless,
    is_known,
    join_texts,
    make_unknown_text,
    marks_of,
    show,
    without_marks,
)

_SEVERAL = 6
_SHELLS_OWN = """
    _ RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME LINENO UID EUID PPID BASHPID GROUPS FUNCNAME DIRSTACK
    BASH_COMMAND BASH_ARGV BASH_ARGV0 BASH_SOURCE HISTCMD OPTARG OPTIND PIPESTATUS COMP_LINE
"""
_PINNED = frozenset(_SHELLS_OWN.split())
_COUNTS = "? # $ ! RANDOM SRANDOM SECONDS EPOCHSECONDS LINENO UID EUID PPID BASHPID HISTCMD OPTIND"
_NUMBERS = frozenset(_COUNTS.split())


class Arg(Record):
    """One word after expansion, as far as it is known."""

    text: str
    """The word; unknown parts are placeholders."""
    glob: bool = False
    """Whether it is a file name pattern that the shell expands."""
    loose: bool = False
    """Whether the shell splits what is not known of it: it may be several words, or none."""
    names: tuple[str, ...] | None = None
    """What a pattern stands for on the disk, where that is known; empty for nothing."""
    numbers: bool = False
    """Whether all that is not known of it are numbers of a service or the clock (:class:`Number`)."""

    @property
    def meanings(self) -> list[Arg]:
        """The word as it is, or each of the names that it stands for."""
        return [Arg(name) for name in self.names] if self.names else [self]

    @property
    def static(self) -> str | None:
        """The text where all of it is known and is one word, else ``None``."""
        return None if self.glob or not is_known(self.text) else self.text

    @property
    def but_numbers(self) -> str | None:
        """The same where numbers of a service or the clock are not known either, each written as ``0``."""
        return self.text.replace(PLAIN, "0") if self.numbers and not self.glob else self.static

    @property
    def shown(self) -> str:
        """The text for a person, unknown parts written as ``$...``."""
        return show(self.text)


class Input(str):
    """What a command finds in its input. Two that say the same are two inputs: what is read of one is in the other."""

    __slots__ = ()


def positional(args: list[Arg]) -> tuple[Arg, ...] | None:
    """The positional parameters, where it is known which is which."""
    return None if any(arg.loose for arg in args) else tuple(args)


def _unset(name: str, *, stays: bool) -> str:
    """The value of a variable that the script did not set."""
    if name == "IFS":
        # A shell sets it when it starts, whatever the environment says.
        return " \t\n"
    # What the shell sets follows from the script: ``$_`` is the last word of the command before.
    return OPAQUE if stays or name in _PINNED else ENVIRONMENT


def _few(*folders: str) -> tuple[str, ...]:
    unique = tuple(dict.fromkeys(folders))
    return unique if len(unique) <= _SEVERAL else ("",)


class SavedVariable(Record):
    """A variable as it was at one point."""

    name: str
    text: str | None
    items: tuple[Arg, ...] | None


class ScopeHistory:
    """What happened anywhere in a script, in whichever order: shared by all its scopes."""

    __slots__ = ("cwds", "exported", "exporting", "functions", "given", "integers", "letters", "locals", "stays",
                 "touched", "variables")  # fmt: skip

    def __init__(self) -> None:
        self.integers: set[str] = {"RANDOM", "SRANDOM", "SECONDS", "OPTIND", "HISTCMD"}
        """Variables whose values the shell evaluates as arithmetic when they are assigned."""
        self.exported: dict[str, str] = {}
        """Variables that were exported, with their values, and that no program got so far."""
        self.exporting = False
        """Whether variables may be exported without being named (``set -a``), or functions may be."""
        self.letters = False
        """Whether words may be split at letters or digits."""
        self.locals: set[str] = set()
        """Variables that were local to a function: without them, one of the same name outside is seen."""
        self.touched: set[str] = set()
        """Variables that were given a value since this was last emptied."""
        self.variables: dict[str, str] = {}
        self.given: dict[str, set[str]] = {}
        """All values that a variable got, in whichever way: some of them make other programs run something."""
        self.functions: dict[str, dict[Function, None]] = {}
        self.cwds: tuple[str, ...] = ()
        self.stays = False
        """Whether this shell ran other commands before, which may have set any variable."""

    def note_value(self, name: str, text: str) -> None:
        """Record a value beside earlier ones."""
        self.variables[name] = join_texts(self.variables.get(name, text), text)
        self.gives(name, text)
        self.letters |= name == "IFS" and any(mark.isalnum() or mark in OPAQUE + PLAIN for mark in text)

    def gives(self, name: str, text: str) -> None:
        """Record that a variable, or one of its elements, got a value."""
        self.touched.add(name)
        self.given.setdefault(name.partition("[")[0], set()).add(text)


class Scope:
    """The state of one shell process. Copied for subshells, joined where control flow meets again."""

    __slots__ = ("arrays", "before_cd", "cwds", "ever", "exported", "functions", "ifs_changed", "pinned",
                 "positional", "variables")  # fmt: skip

    def __init__(self, cwd: str, variables: dict[str, str]) -> None:
        self.ever = ScopeHistory()
        self.variables = variables
        self.arrays: dict[str, tuple[Arg, ...]] = {}
        self.functions: dict[str, tuple[Function | None, ...]] = {}
        """What a name may stand for; ``None`` is the program of that name."""
        self.cwds: tuple[str, ...] = (cwd,)
        """Every folder it could be in; empty text where that is not known."""
        self.before_cd: tuple[str, ...] = ()
        """Where it would still be if the last ``cd`` had failed."""
        self.positional: tuple[Arg, ...] | None = None
        self.exported = frozenset(variables)
        """Variables that programs get to see for certain."""
        self.pinned: set[str] = set()
        """Variables whose value is not what was assigned last (read-only, integer, reference)."""
        self.ifs_changed = False

    def copy(self) -> Scope:
        """A subshell's own copy."""
        other = Scope.__new__(Scope)  # what is made for a new one would all be replaced
        other.variables, other.ever = dict(self.variables), self.ever
        other.arrays, other.functions = dict(self.arrays), dict(self.functions)
        other.cwds, other.before_cd = self.cwds, self.before_cd
        other.positional, other.pinned = self.positional, set(self.pinned)
        other.ifs_changed, other.exported = self.ifs_changed, self.exported
        return other

    def new_shell(self) -> Scope:
        """What a shell that is started here knows: what is exported, and the folder."""
        other = Scope("", {})
        other.ever = self.ever
        other.cwds, other.before_cd = self.cwds, self.before_cd
        other.exported = self.exported
        for name in self.variables.keys() | self.arrays.keys():
            text = self.value(name)
            if name in self.exported and name not in self.arrays:
                other.variables[name] = text
            elif not harmless(text) or name in self.arrays:
                # It may have been in the environment before, and then it is exported.
                other.variables[name] = make_unknown_text(text)
        other.variables["0"] = OPAQUE
        for name, meanings in self.functions.items():
            other.functions[name] = tuple(dict.fromkeys((None, *meanings))) if self.ever.exporting else (None,)
        return other

    def value(self, name: str) -> str:
        """The value of a variable, with placeholders; opaque where nothing is known."""
        if name in _NUMBERS:
            return PLAIN
        if name == "PWD":
            if is_somewhere(self.cwds[0]):
                return ENVIRONMENT
            return self.cwds[0] if len(self.cwds) == 1 and self.cwds[0] else PLAIN
        if name in self.pinned:
            return OPAQUE
        return self.variables[name] if name in self.variables else _unset(name, stays=self.ever.stays)

    def assign(self, name: str, text: str) -> None:
        """Remember a value."""
        self.arrays.pop(name, None)
        self.variables[name] = OPAQUE if name in self.pinned or name in _PINNED else text
        self.ever.note_value(name, text)
        if name == "IFS":
            self.ifs_changed = True

    def forget(self, names: set[str]) -> None:
        """Let the values of some variables be unknown."""
        for name in names:
            items = self.arrays.pop(name, ())
            self.variables[name] = make_unknown_text(self.variables.get(name, ""), *(item.text for item in items))
            self.ever.variables[name] = OPAQUE
            self.ever.touched.add(name)

    def save(self, name: str) -> SavedVariable:
        """What a variable holds, for `give_back`."""
        return SavedVariable(name, self.variables.get(name), self.arrays.get(name))

    def give_back(self, kept: SavedVariable) -> None:
        """Let a variable have what it held before, where nothing else was done to it: else its value is not known."""
        name = kept.name
        text = join_texts(self.value(name), ENVIRONMENT if kept.text is None else kept.text)
        if not text.isascii():
            text = without_marks(text) + marks_of(kept.text or "")
        if self.arrays.get(name) != kept.items:
            self.forget({name})
        elif kept.text is None and text == ENVIRONMENT:
            self.variables.pop(name, None)
        else:
            self.variables[name] = text

    def define(self, function: Function) -> None:
        """Remember what a name stands for from here on."""
        self.functions[function.name] = (function,)
        self.ever.functions.setdefault(function.name, {})[function] = None

    def later(self) -> Scope:
        """The state at an unknown time from here on: what a trap finds when it runs."""
        other = self.copy()
        for name, text in self.ever.variables.items():
            other.variables[name] = OPAQUE if name in self.pinned or name in _PINNED else text
        other.forget(set(other.arrays))
        for name, functions in self.ever.functions.items():
            other.functions[name] = tuple(dict.fromkeys((*other.functions.get(name, (None,)), *functions)))
        other.positional = None
        other.cwds = _few(*other.cwds, *self.ever.cwds)
        return other

    def unset(self, name: str) -> None:
        """Remember that a variable is empty."""
        if name in self.ever.locals or not name.isidentifier():
            self.forget({name.partition("[")[0]})
        else:
            self.assign(name, "")

    def enter(self, *folders: str) -> None:
        """Remember a change of folder that may fail."""
        self.before_cd = _few(*self.before_cd, *self.cwds)
        self.cwds = _few(*folders)
        self.ever.cwds = _few(*self.ever.cwds, *folders)

    def settle(self) -> None:
        """A command begins that runs whether or not the last ``cd`` worked."""
        if self.before_cd:
            self.cwds = _few(*self.cwds, *self.before_cd)
            self.before_cd = ()

    def is_same(self, other: Scope) -> bool:
        """Whether two states hold the same."""
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def join(self, *others: Scope) -> None:
        """Become what holds in this state and in all others: control flow meets."""
        for other in others:
            # Mostly nothing differs, which is quickly told. A value depends on what is pinned and on the folder, too.
            if self.variables != other.variables or self.pinned != other.pinned or self.cwds != other.cwds:
                for name in self.variables.keys() | other.variables.keys():
                    mine, theirs = self.value(name), other.value(name)
                    if mine != theirs:
                        self.variables[name] = join_texts(mine, theirs)
            if self.arrays != other.arrays:
                for name in self.arrays.keys() | other.arrays.keys():
                    if self.arrays.get(name) != other.arrays.get(name):
                        self.arrays.pop(name, None)
                        self.variables[name] = OPAQUE
            if self.functions or other.functions:
                for name in self.functions.keys() | other.functions.keys():
                    meanings = (*self.functions.get(name, (None,)), *other.functions.get(name, (None,)))
                    self.functions[name] = tuple(dict.fromkeys(meanings))
            self.pinned |= other.pinned
            if self.positional != other.positional:
                self.positional = None
            self.ifs_changed |= other.ifs_changed
            self.exported &= other.exported
            self.cwds = _few(*self.cwds, *other.cwds)
            self.before_cd = _few(*self.before_cd, *other.before_cd)
