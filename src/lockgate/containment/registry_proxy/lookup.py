"""What the gate asks about installs: which commands are some, and what they may ask package indexes for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from lockgate.containment.registry_proxy.commands import RULES, Install, install_of, wanted_by
from lockgate.containment.registry_proxy.lock_files import ReadFile, UncoveredError
from lockgate.containment.registry_proxy.opening import note, why_not
from lockgate.containment.registry_proxy.settings import indexes_of
from lockgate.containment.registry_proxy.wanted import Wanted
from lockgate.core.model import Command, Effect, EffectKind

__all__ = ["RULES", "UncoveredError", "Wanted", "asks_an_index", "note", "wanted_of", "why_not"]

_MARKS = "\0\1\2"
"""What stands for text that the analysis does not know."""


def asks_an_index(effect: Effect) -> bool:
    """Whether an effect is the download of a command that installs."""
    return effect.kind is EffectKind.FETCH and effect.rule in RULES


def wanted_of(
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
    for command in dict.fromkeys(commands):
        if command.words in modules:
            continue
        install = install_of(command.words)
        if install is None:
            continue
        folder = _folder(command)
        if not (_is_below(folder, root) and _is_below(folder, workspace)):
            raise UncoveredError("it is not known what it installs where")
        if install.writes_packages and not _is_in_project(install, folder, commands, workspace, environ):
            raise UncoveredError("it installs outside of the project")
        place = os.path.relpath(folder, root)
        found = found.joined(wanted_by(install, "" if place == "." else place, read, indexes))
    return found


def _folder(command: Command) -> str:
    """The folder in which a command runs; empty where that, or a word of it, is not known."""
    whole = all(mark not in word for word in command.words for mark in _MARKS)
    known = whole and len(command.folders) == 1 and command.folders[0]
    return os.path.realpath(command.folders[0]) if known else ""


def _is_in_project(
    install: Install, folder: str, commands: Iterable[Command], workspace: str, environ: Mapping[str, str]
) -> bool:
    """Whether Python's packages are installed below the workspace: all else is read-only for a contained command."""
    if "/" in install.program:
        return _is_below(os.path.normpath(os.path.join(folder, install.program)), workspace)
    active = environ.get("VIRTUAL_ENV", "")
    if install.program == "uv" and not active:
        return True  # it takes the folder's own
    places = [active, *(_activated(command) for command in commands)]
    return any(_is_below(os.path.realpath(place), workspace) for place in places if place)


def _activated(command: Command) -> str:
    """The environment that a command activates; empty where it does not."""
    words = command.words
    if words[:1] not in (("source",), (".",)) or len(words) < 2 or not words[1].endswith("/bin/activate"):
        return ""
    folder = command.folders[0] if command.folders else ""
    return os.path.dirname(os.path.dirname(os.path.normpath(os.path.join(folder, words[1]))))


def _is_below(path: str, folder: str) -> bool:
    return bool(path) and f"{path}/".startswith(f"{folder.rstrip('/')}/")
