"""Looks up what is known about programs. It is compiled from ``data/*.yaml``, and loaded one family at a time.

``docs/knowledge.md`` describes how it is written. The compiled form is trusted: the compiler has checked it.
"""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.globs import name_matches

if TYPE_CHECKING:
    from typing import Any

_FOLDER = os.path.join(os.path.dirname(__file__), "data")
_entries: dict[str, Any] = {}
"""The entries that were looked up so far, ``None`` where there is none."""

NO_VALUE, VALUE, OPTIONAL, COMMAND, TWO, DIGITS = 0, 1, 2, 3, 4, 5
"""How many words an option takes: none, one, one if attached, all up to ``;`` or ``+``, two, digits if attached."""

SUFFIXES = {"": NO_VALUE, "=": VALUE, "=~": OPTIONAL, "==": TWO, "=#": DIGITS}
"""What is written behind an option's name, and how many words it takes then."""

SAME = "."
"""What stands for a subcommand that is a group: after it come the subcommands of the same table."""


class ProgramEntry(Record):
    """One program or one of its subcommands."""

    name: str
    """Where it stands: ``git/push``."""
    about: str = ""
    effects: Sequence[str] = ()
    options: Mapping[str, tuple[str, int]] = {}
    """Name to role and number of words."""
    operands: Sequence[str] = ()
    """Roles by position; the one that ends in ``...`` takes what is left."""
    commands: Mapping[str, Any] = {}
    """Subcommands, not yet made into entries. A name with ``*`` stands for all that fit and have no entry."""
    any_case: bool = False
    """Whether subcommands may be written in capitals."""
    otherwise: Sequence[str] = ("execute-unknown",)
    """Effects of a subcommand that is not listed."""
    bare: Sequence[str] = ()
    """Effects where no subcommand is given."""
    style: str = "gnu"
    before_only: bool = False
    """Whether this program's options stand before the subcommand only."""
    stops: bool = False
    """Whether options end at the first operand."""
    ends: Sequence[str] = ()
    """Options after which each word is an operand, whatever it looks like (``python -c CODE --word``)."""
    bundle: bool = False
    """Whether the first operand is a bundle of options without a dash (``tar xf``)."""
    replaces_first: Sequence[str] = ()
    """Options that stand for the first operand."""
    replaces_last: Sequence[str] = ()
    """Options that stand for the last operand."""
    when: Sequence[Mapping[str, Any]] = ()
    """Changes to this entry where one of some options is given."""
    stdin: str = ""
    """The language of the code that it reads from standard input where it has no operand."""
    runtime: bool = False
    """Whether it runs code of a language that can do anything. It says so of itself and not of its subcommands."""
    needs: str = ""
    """What of this machine it cannot do anything without, and no contained command has: a word of ``NEEDS``."""
    stdin_after: int = 0
    """How many operands it may have that are no code, so that it still reads standard input."""
    default: Sequence[str] = ()
    """The words that a wrapper runs where it is given none."""
    here: str = ""
    """Whether its last operands are the folder that it is run in where it is given none: ``always`` or ``unfed``."""
    recipes: str = ""
    """Whose file of the project says what it runs: ``make``, ``just``, ``npm`` (``package.json``)."""
    help: Sequence[str] = ()
    """Options with which it only prints help, wherever they stand."""
    quiet: Sequence[str] = ()
    """Full-line patterns of what it prints by itself."""
    answers: Mapping[str, Any] = {}
    """Where its answer is a receipt: how it is told who answers (``to``), options with which it is none (``unless``),
    and patterns of lines that undo it (``fails``)."""
    prints: str = ""
    """What it prints, where that is known well enough: a word of ``KINDS`` in ``programs/output.py``."""
    faithful: bool = False
    """Whether it prints what it fetched and nothing that the agent could shape."""
    keeps: bool = False
    """Whether what it fetches lies in files afterwards, whatever it prints."""
    saves: Sequence[str] = ()
    """Options with which what it fetches goes to a file and is not printed."""
    hint: str = ""
    """What could be written instead, where it does something: told with a refusal or a question."""
    feeds: bool = False
    """Whether what it reads from standard input becomes operands of the command it runs."""
    composes: Sequence[str] = ()
    """Options with which the agent shapes what is printed."""


_READING = "local text name read read-but read-below read-below-but look source source-below url"
_ONLY_READ = frozenset(_READING.split())
"""Roles of operands that are neither changed nor run."""


def lookup(program: str) -> ProgramEntry | None:
    """The entry of a program, also of one named with its version (``python3.14t``, ``clang-format-18``)."""
    if program in _entries:
        entry: ProgramEntry | None = _entries[program]
        return entry
    file = _row("index", program)
    name = program
    if file is None:
        name = re.sub(r"(?<![\d.])-?\d++(?:(?:\.\d++)++t?+)?+$", "", program)
        file = _row("index", name) if name != program else None
    if file is None:
        return None
    raw = _row(file, name)
    # Some programs share an entry. Messages and rules name the one that was meant.
    _entries[program] = entry = ProgramEntry(**_unpack(_row(file, raw) if isinstance(raw, str) else raw))._replace(
        name=name
    )
    return entry


def _unpack(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A compiled entry with its harmless options, which stand in one text, beside the others."""
    result = dict(raw)
    if harmless := result.pop("local", ""):
        result["options"] = {**_harmless(harmless), **raw.get("options", {})}
    return result


@cache
def _harmless(text: str) -> Mapping[str, tuple[str, int]]:
    options = {}
    for written in text.split(" "):
        name, equals, kind = written.partition("=")
        options[name] = ("local", SUFFIXES[equals + kind])
    return options


def family(entry: ProgramEntry) -> str:
    """The family that a program's entry stands in: the name of its file."""
    name: str = _row("index", entry.name)
    return name


def subcommand(entry: ProgramEntry, word: str) -> ProgramEntry | None:
    """The entry of a subcommand, or ``None``.

    It has its parent's style, what that needs, and its options too unless they stand before it only.
    """
    if entry.any_case:
        word = word.lower()
    raw = entry.commands.get(word)
    if raw is None:
        raw = next((raw for name, raw in entry.commands.items() if "*" in name and name_matches(name, word)), None)
    if raw == SAME:
        return entry._replace(name=f"{entry.name}/{word}")
    if isinstance(raw, str):
        raw = entry.commands[raw]
    if raw is None:
        return None
    raw = _unpack(raw)
    if not entry.before_only and entry.options:
        raw = {**raw, "options": {**entry.options, **raw.get("options", {})}}
    return ProgramEntry(**{"style": entry.style, "needs": entry.needs, **raw, "name": f"{entry.name}/{word}"})


def entry_with(entry: ProgramEntry, given: set[str], may_be_undone: Callable[[Sequence[str]], bool]) -> ProgramEntry:
    """The entry as it is where some options are given.

    Args:
        entry: The entry.
        given: Their names, with and without their values.
        may_be_undone: Whether options of such names may mean nothing in the end, by what else is given. It is asked
            where they have the program do less.
    """
    for change in entry.when:
        names, then = change["options"], change["then"]
        if given.intersection(names) and not (_does_less(entry, then) and may_be_undone(names)):
            entry = entry._replace(**then)
    return entry


def _does_less(entry: ProgramEntry, then: Mapping[str, Any]) -> bool:
    """Whether a change leaves effects out, or only reads what would be changed or run."""
    if not set(entry.effects) <= set(then.get("effects", entry.effects)):
        return True
    before, after = (
        {role.removesuffix("...") for role in roles} for roles in (entry.operands, then.get("operands", ()))
    )
    return bool(after) and after <= _ONLY_READ and not before <= _ONLY_READ


def table(name: str) -> Mapping[str, Any]:
    """A table beside the programs: ``variables``, ``git_config``."""
    found: Mapping[str, Any] = _tables()[name]
    return found


@cache
def list_programs(way: str) -> frozenset[str]:
    """The programs, or commands, that the table of ways of a secret has for one of them (``ways_of_secrets``)."""
    return frozenset(table("ways_of_secrets")[way])


@cache
def senders() -> frozenset[str]:
    """Programs some of whose commands send files that no listed word names."""
    return frozenset(command.partition(" ")[0] for command in table("sent_files"))


def _row(name: str, key: str) -> Any:
    """The value of a key in a compiled file, ``None`` where it has none.

    INVARIANT: The compiler writes one key a line, escapes each newline in a value, and begins with a line of its own.
    So a key is found without parsing the file, which would take longer than the look-up of a few programs.
    """
    text = text_of(name)
    start = f"\n{json.dumps(key)}:"
    at = text.find(start)
    if at < 0:
        return None
    return json.loads(text[at + len(start) : text.index("\n", at + 1)].removesuffix(","))


@cache
def text_of(name: str) -> str:
    """The text of a compiled table."""
    with open(os.path.join(_FOLDER, f"{name}.json"), encoding="ascii") as file:
        return file.read()


@cache
def _tables() -> Any:
    return json.loads(text_of("tables"))


def role_of(name: str) -> str:
    """What kind of variable a name is, empty for one that runs nothing."""
    roles = table("variables")
    if name in roles:
        return str(roles[name])
    families = [key for key in _variable_families() if name.startswith(key[:-1])]
    return str(roles[max(families, key=len)]) if families else ""


def is_listed(name: str) -> bool:
    """Whether a table says what a variable does to the programs that get it, be it nothing."""
    names = table("variables")
    return (
        name in names or any(name.startswith(key[:-1]) for key in _variable_families()) or name in _harmless_variables()
    )


@cache
def _variable_families() -> tuple[str, ...]:
    """The keys that stand for all names which begin so."""
    return tuple(key for key in table("variables") if key.endswith("*"))


@cache
def _harmless_variables() -> frozenset[str]:
    """Names of variables that run nothing, reach nobody and name no file."""
    return frozenset(name for names in table("harmless_variables").values() for name in names.split())
