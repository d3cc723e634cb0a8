"""What the gate asks about installs: which commands are some, and what they may ask package indexes for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from lockgate.containment.registry_proxy.commands import RULES, Install, find_wanted, install_of
from lockgate.containment.registry_proxy.committed_files import ReadFile, UncoveredError
from lockgate.containment.registry_proxy.opening import note, why_not
from lockgate.containment.registry_proxy.settings import indexes_of
from lockgate.containment.registry_proxy.wanted import PackageFolder, Wanted
from lockgate.core.model import Command, Effect, EffectKind
from lockgate.system.digests import sha256

__all__ = ["RULES", "UncoveredError", "Wanted", "asks_an_index", "find_wanted_of", "note", "why_not"]

_MARKS = "\0\1\2"
"""What stands for text that the analysis does not know."""


def asks_an_index(effect: Effect) -> bool:
    """Whether an effect is the download of a command that installs."""
    return effect.kind is EffectKind.FETCH and effect.rule in RULES


def find_wanted_of(
    commands: Sequence[Command], root: str, workspace: str, read: ReadFile, home: str, environ: Mapping[str, str]
) -> Wanted:
    """What the installs among some commands may ask for.

    Args:
        commands: Every simple command that could run.
        root: The root folder of the repository.
        workspace: The project's root folder.
        read: Reads a committed file, by its path from that root.
        home: The person's home folder.
        environ: The environment of the person's client.

    Raises:
        UncoveredError: Committed files do not say it.
        ContainmentError: A setting of the person's names no index that can be asked.
    """
    indexes = indexes_of(home, environ)
    workspace, found = os.path.realpath(workspace), Wanted()
    # The analysis tells of ``python -m pip`` twice: as it stands, and as ``pip``.
    modules = {command.words[2:] for command in commands if command.words[1:3] == ("-m", "pip")}
    if not any(install_of(command.words) for command in commands):
        raise UncoveredError("this form of the command is not known")
    for command in dict.fromkeys(commands):
        if command.words in modules:
            continue
        install = install_of(command.words)
        if install is None:
            continue
        folder = _folder(command)
        if not (_is_below(folder, root) and _is_below(folder, workspace)):
            raise UncoveredError("it is not known what it installs where")
        environment = _environment_of(install, folder, commands, workspace, environ)
        place = os.path.relpath(folder, root)
        files: dict[str, str] = {}
        wanted = find_wanted(install, "" if place == "." else place, _remember_reads(read, files), indexes)
        found = found.join(wanted)
        if wanted != Wanted() and not install.asks_only:
            named = files if wanted.is_pinned else {}
            beside = os.path.dirname(environment)
            filled = PackageFolder(folder, beside, os.path.realpath(root), named, exact=install.is_exact)
            found = found._replace(folders=(*found.folders, filled))
    return found


def _remember_reads(read: ReadFile, files: dict[str, str]) -> ReadFile:
    """Read committed files, and note what each of them holds."""

    def read_and_note(path: str) -> bytes | None:
        data = read(path)
        if data is not None:
            files[path] = sha256(data).hexdigest()
        return data

    return read_and_note


def _folder(command: Command) -> str:
    """The folder in which a command runs; empty where that, or a word of it, is not known."""
    whole = all(mark not in word for word in command.words for mark in _MARKS)
    known = whole and len(command.folders) == 1 and command.folders[0]
    return os.path.realpath(command.folders[0]) if known else ""


def _environment_of(
    install: Install, folder: str, commands: Iterable[Command], workspace: str, environ: Mapping[str, str]
) -> str:
    """Python's environment that an install fills, below the workspace: all else is read-only for a contained command.

    Raises:
        UncoveredError: It fills one elsewhere, or nobody knows which.
    """
    if not install.writes_packages:
        return ""
    active = environ.get("VIRTUAL_ENV", "")
    if install.manager == "poetry" and not active:
        # It takes the folder's own, or one below ``~/.cache``, which is the sandbox's own.
        beside = os.path.join(folder, ".venv")
        return beside if os.path.isdir(beside) else ""
    if "/" in install.program:
        places = [os.path.dirname(os.path.dirname(os.path.normpath(os.path.join(folder, install.program))))]
    elif install.program == "uv" and not active:
        places = [os.path.join(folder, ".venv")]  # it takes the folder's own
    else:
        every = [active, *(_find_activated_environment(command) for command in commands)]
        places = [os.path.realpath(place) for place in every if place]
    inside = next((place for place in places if _is_below(place, workspace)), "")
    if not inside:
        raise UncoveredError("it installs outside of the project")
    return inside


def _find_activated_environment(command: Command) -> str:
    """The environment that a command activates; empty where it does not."""
    words = command.words
    if words[:1] not in (("source",), (".",)) or len(words) < 2 or not words[1].endswith("/bin/activate"):
        return ""
    folder = command.folders[0] if command.folders else ""
    return os.path.dirname(os.path.dirname(os.path.normpath(os.path.join(folder, words[1]))))


def _is_below(path: str, folder: str) -> bool:
    return bool(path) and f"{path}/".startswith(f"{folder.rstrip('/')}/")
