"""Holds a command of a program as data: its words, what the knowledge says of them, and what it was found to do."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.state.findings import ReceiptCommand, effects_for_keyword

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lockgate.shell.knowledge.lookup import ProgramEntry
    from lockgate.shell.knowledge.options import Matched, Option
    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.run import Running
    from lockgate.shell.state.scope import Arg, Scope

    Role = Callable[["ProgramCall", list[Arg], str], "Running[None] | None"]
    """What plays a role: the command, the words that have the role, and the option's name (empty for operands)."""

_PLAIN = frozenset({"local", "cwd", "read", "repository"})
"""Roles of options with which no other program, server or file of settings is named."""

_RUNS = lazy_re(r"run|exec|ssh|shell|console|dlx")
"""What a subcommand is named like that gives its words to another program."""
_SUBCOMMAND = lazy_re(r"[a-z][a-z0-9:_-]{0,40}")


class NetworkTargets:
    """What is known of a command's dealings with other machines."""

    __slots__ = ("here", "rerouted", "sends", "targets")

    def __init__(self) -> None:
        self.targets: list[tuple[str, Arg]] = []
        """What kind of name (url, host, lookup), and the word."""
        self.sends = ""
        """Why more than the address is sent, empty where it is not."""
        self.rerouted = False
        """Whether an option can send the request elsewhere than the address says."""
        self.here = False
        """Whether an option sends all requests to a program of this machine."""


class ProgramCall:
    """One command of a program: what is known of it, and what it was found to do so far."""

    def __init__(
        self, machine: Machine, scope: Scope, entry: ProgramEntry, args: list[Arg], stdin: str | None, own: list[Effect]
    ) -> None:
        self.machine, self.scope, self.entry, self.args, self.stdin = machine, scope, entry, args, stdin
        self.own = own
        self.started = scope
        """The state of the shell before an option names another folder."""
        self.before = len(machine.findings.programs)
        """How many programs were met up to this one."""
        self.made = machine.disk.made  # before this runs
        self.contact = NetworkTargets()
        self.recursive = False
        self.ran = False
        self.descended = 0
        """How many subcommands were gone down."""
        self.named: list[Arg] = []
        """Words in the place of a subcommand that no table names in full."""
        self.read_words: list[Arg] = []
        self.placeholder = ""
        self.shapes: list[str] = []
        self.found: dict[frozenset[str], list[str]] = {}
        """What was worked out of the names that some actions of ``find`` are for: each asks."""
        self.matched: Matched
        self.given: list[Option] = []
        """All options, those before a subcommand too."""
        self.not_listed: list[Arg] = []
        """Options that neither the entry nor one above it lists."""

    @property
    def what(self) -> str:
        """The command in short, for a person."""
        return self.entry.name.replace("/", " ")

    @property
    def rule(self) -> str:
        """The rule's name."""
        return f"program:{self.entry.name}"

    def add(self, word: str) -> None:
        """Add the effects that a word of the vocabulary stands for."""
        self.own += effects_for_keyword(word, self.what, self.rule)

    def act(self, own: Sequence[Effect]) -> ReceiptCommand | None:
        """What tells whether the answer is a receipt, after it was run; ``None`` where a word is not understood."""
        entry, matched = self.entry, self.matched
        if matched.unknown or matched.surprises or self.not_listed or self.named:
            return None
        if any(option.role not in _PLAIN or option.name in entry.answers["unless"] for option in self.given):
            return None
        named = [word for option in self.given if option.role == "repository" for word in option.value]
        program, folders = self.args[0].text, self.scope.cwds
        return ReceiptCommand(program, entry.name, entry.effects, entry.answers, matched.operands, named, folders, own)

    def add_opaque(self, because: str) -> None:
        """Add that something runs that cannot be seen through."""
        self.own.append(Effect(EffectKind.EXECUTE, self.what, self.rule, because))
        for role in find_answering_roles(" ".join(arg.text for arg in self.args)):
            self.add(role)

    def find_effects(self) -> Running[str]:
        """Find all effects. Returns the shape of what is printed. What knows all roles does so."""
        raise NotImplementedError


def find_answering_roles(text: str) -> set[str]:
    """The roles of what a text shows that answers the gate for a person; most often none."""
    return {role for word, role in table("answering_words").items() if re.search(word, text, re.IGNORECASE)}


def is_about_subcommand(call: ProgramCall) -> bool:
    """Whether the whole command is ``PROGRAM SUBCOMMAND... --help``, or how else this program is asked for help."""
    *names, last = [arg.static for arg in call.args[1:]] or [None]
    listed = call.descended
    if last == "--help" and listed == len(names) > 0:
        return True
    program = call.entry.name.partition("/")[0]
    asking = table("subcommand_help")
    if last is None or last not in asking.get(program, "").split():
        return False
    below = len(names) if call.named else listed
    # What is no subcommand that is listed can be an alias, which runs anything.
    aliased = listed < len(names) and program in asking["aliasing"].split()
    return below == len(names) and not aliased and all(map(_is_name, names[listed:]))


def _is_name(word: str | None) -> bool:
    """Whether a word is a subcommand's name, of one that gives no words to another program."""
    return word is not None and _SUBCOMMAND.fullmatch(word) is not None and not _RUNS.search(word)
