"""Matches words with wildcards against the disk: ``rm -rf s*`` in a folder with ``src`` and ``setup.py``.

By its letters alone ``s*`` could be ``settings.json``. A shell lists the folder when it comes to the word, and so does
this module. A word that could name a guarded place then counts as the names that it matches.

That holds only in a folder of the project, and only where nothing before or beside the word can have made a name. So
only programs may have run that leave names as they are (table ``still``), and nothing may have been written.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.model import EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.globs import is_wild, name_matches
from lockgate.resources.path_spelling import absolute
from lockgate.shell.grammar.tree import Braces, CommandSub, Glob, Literal, Param, Tilde, walk
from lockgate.shell.knowledge import lookup
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from lockgate.core.model import Command
    from lockgate.resources.host_view import HostView
    from lockgate.shell.grammar.tree import Part, Word
    from lockgate.shell.state.machine import Machine

_MOST_NAMES = 64
"""A word that stands for more is not followed."""
_PLAIN = lazy_re(r"[A-Za-z0-9_./ ,@%+:=?*-]+")
"""Words whose marks mean the same in each shell and whatever its options are: stars within one name, and ``?``."""
_ENTERING = frozenset({"cd", "chdir", "pushd", "popd"})
READING = frozenset({EffectKind.READ_SECRET, EffectKind.INGEST})
"""Effects of commands that only read."""


def with_glob_matches(words: tuple[Word, ...], args: list[Arg], machine: Machine, scope: Scope) -> list[Arg]:
    """The words of a command, those with wildcards together with the names that they match.

    Args:
        words: As they are written.
        args: What all of them became: a command in the last one runs before the shell looks for the names of the first.
        machine: What was met before.
        scope: Where the shell is.
    """
    wild = [word for word in words if _has_glob(word.parts)]
    if not is_disk_unchanged(machine) or not all(_is_left_to_shell(word.parts) for word in wild):
        return args
    return [arg._replace(names=_names_of(arg.text, machine, scope)) if arg.glob else arg for arg in args]


def is_disk_unchanged(
    machine: Machine,
    programs: int | None = None,
    *,
    also: str = "",
    kinds: frozenset[EffectKind] = READING,
    made: bool | None = None,
) -> bool:
    """Whether the disk still is as it was: all that was met so far has only looked, or removed.

    Args:
        machine: What was met.
        programs: How many of the programs ran before; all of them by default.
        also: A program that counts as one that only looks: who asks knows what it did.
        kinds: What the commands may do that were met so far.
        made: Whether they made a name; by default what is known of all of them.
    """
    # A shell that is started inside looks for names in its own way; who asks for a program's sake does not mind.
    if (machine.disk.made if made is None else made) or (len(machine.texts) > 1 and not also):
        return False
    if machine.flow.levels or machine.flow.frames or machine.flow.interrupts:
        return False
    still = frozenset({*lookup.table("still")["programs"].split(), also})
    # What the last command of a pipeline makes may be there before the first one looks.
    beside = (command for pipeline in machine.flow.beside for command in walk(pipeline.commands) if command.words)
    found = machine.findings
    return (
        still.issuperset(found.programs[:programs])
        and all(effect.kind in kinds for effect in found.effects)
        and all(command.words[0].literal in still for command in beside)
        and not any(map(_may_lead_elsewhere, found.commands))
    )


def _may_lead_elsewhere(command: Command) -> bool:
    """Whether a shell may be in another folder than the names say: ``..`` behind a link, told to go where it leads."""
    name, *words = command.words
    return name in _ENTERING and any(word[:1] in ("-", "+") or ".." in word.split("/") for word in words)


def matches_behind_links(text: str, machine: Machine, scope: Scope) -> list[tuple[str, str]]:
    """The names that a pattern matches and that are behind symbolic links, each with the folder that it starts from."""
    if not _PLAIN.fullmatch(text) or "**" in text or not text.strip("*?./_-"):
        return []
    around = machine.around
    found = [
        (name, cwd)
        for cwd in scope.cwds
        for name in _matches_in(text, cwd, around) or ()
        if not _is_passed_over(name, text)
    ]
    return [
        (name, cwd) for name, cwd in found if (path := absolute(name, cwd, around)) and around.realpath(path) != path
    ]


def _is_passed_over(name: str, pattern: str) -> bool:
    """Whether a shell passes a path over: it has a hidden name where the pattern does not ask for one."""
    names = name.split("/")[-pattern.count("/") - 1 :]
    return any(a.startswith(".") and not b.startswith(".") for a, b in zip(names, pattern.split("/"), strict=False))


def _has_glob(parts: tuple[Part, ...]) -> bool:
    """Whether the shell looks for names to put in a word's place."""
    return any(
        isinstance(part, (Glob, Braces)) or (isinstance(part, (Param, CommandSub)) and not part.quoted)
        for part in parts
    )


def _is_left_to_shell(parts: tuple[Part, ...]) -> bool:
    """Whether the shell itself expands all wildcards of a word, and every other part of it is known."""
    for part in parts:
        if isinstance(part, Literal):
            if is_wild(part.text):
                return False
        elif isinstance(part, Braces):
            if not all(_is_left_to_shell(word.parts) for word in part.alternatives):
                return False
        elif not isinstance(part, (Glob, Tilde)):
            return False
    return True


def _names_of(text: str, machine: Machine, scope: Scope) -> tuple[str, ...] | None:
    """The names that a pattern matches in the folders that a shell may be in; ``None`` where they are not known."""
    if not _PLAIN.fullmatch(text) or "**" in text or ".." in text.split("/") or not text.strip("*?./_-"):
        return None
    found: dict[str, None] = {}
    here: list[tuple[str, ...] | None] = [_matches_in(text, cwd, machine.around) for cwd in scope.cwds]
    for each in here:
        if each is None or bool(each) != bool(here[0]):
            # In a folder where it stands for nothing it stays a pattern, which the program gets.
            return None
        found |= dict.fromkeys(each)
    return tuple(found) if len(found) <= _MOST_NAMES else None


def _matches_in(text: str, cwd: str, around: HostView) -> tuple[str, ...] | None:
    """The names that a pattern matches in one folder; ``None`` where there are too many.

    They are more than a shell would find: hidden names count, and upper and lower case are the same.
    """
    names = text.split("/")
    # A name that is found is no home folder, whatever it begins with.
    found = ["./" if is_wild(names[0]) else ""]
    for at, name in enumerate(names):
        ending = "/" if at < len(names) - 1 else ""
        if is_wild(name):
            found = _matches_of_name(found, name.casefold(), cwd, around)
            if not 0 < len(found) <= _MOST_NAMES:
                return None if found else ()
        found = [f"{path}{'' if is_wild(name) else name}{ending}" for path in found]
    return tuple(found)


def _matches_of_name(folders: list[str], pattern: str, cwd: str, around: HostView) -> list[str]:
    """The names in folders that one component of a pattern matches.

    Where a folder cannot be listed, the answer is longer than ``_MOST_NAMES``, as where there are too many.
    """
    found: list[str] = []
    for folder in folders:
        path = absolute(folder or ".", cwd, around)
        there = around.names_in(path) if path else None
        if there is None:
            return [""] * (_MOST_NAMES + 1)
        found += [folder + name for name in there if name_matches(pattern, name.casefold())]
    return found
