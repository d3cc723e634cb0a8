"""Reads a repository's current branch and settings from its files. It runs nothing."""

from __future__ import annotations

import os

from lockgate.core.lazy import lazy_re
from lockgate.core.record import Record
from lockgate.policy.git.commands import lower_setting
from lockgate.system.files import read_regular

_MOST_BYTES = 256 * 1024
_DEEPEST = 40
_SECTION = lazy_re(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?\][ \t]*')
_SETTING = lazy_re(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?")


class RepositoryFacts(Record):
    """The facts of a repository that rules about git need."""

    branch: str | None = None
    """The branch that is checked out; empty where none is, ``None`` where it is not known."""
    settings: tuple[tuple[str, str], ...] = ()
    """Names and values, the user's before the repository's own."""


def repository(folder: str, home: str) -> RepositoryFacts:
    """The repository that git finds from a folder upwards.

    Args:
        folder: Absolute; empty where it is not known.
        home: The user's home folder, for the user's own settings.
    """
    users = _settings(os.path.join(home, ".config", "git", "config")) + _settings(os.path.join(home, ".gitconfig"))
    place = _git_folder(folder) if folder else ""
    if not place:
        return RepositoryFacts(settings=users)
    common = _text(os.path.join(place, "commondir")).strip()
    settings = _settings(os.path.join(place, common, "config")) + _settings(os.path.join(place, "config.worktree"))
    return RepositoryFacts(_branch(place), users + settings)


def _git_folder(folder: str) -> str:
    for _ in range(_DEEPEST):
        place = os.path.join(folder, ".git")
        if os.path.isdir(place):
            return place
        linked = _text(place)
        if linked.startswith("gitdir: "):
            return os.path.join(folder, linked[8:].strip())
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return ""


def _branch(place: str) -> str | None:
    head = _text(os.path.join(place, "HEAD")).strip()
    if head.startswith("ref: refs/heads/"):
        return head.removeprefix("ref: refs/heads/")
    return "" if head and not head.startswith("ref:") else None


def _settings(path: str) -> tuple[tuple[str, str], ...]:
    return tuple(settings_in(_text(path)))


def settings_in(text: str) -> list[tuple[str, str]]:
    """The settings in the text of a file of git's, as far as they stand on lines of their own; no file is included."""
    found, section = [], ""
    for line in text.split("\n"):
        line = line.strip(" \t\r")
        if header := _SECTION.match(line):
            section = ".".join(part for part in header.groups() if part)
            line = line[header.end() :]
        setting = _SETTING.fullmatch(line)
        if setting is not None and section:
            name, value = setting.groups()
            found.append((lower_setting(f"{section}.{name}"), _plain(value)))
    return found


def _plain(value: str | None) -> str:
    """A value without quotes; a name alone means true."""
    if value is None:
        return "true"
    return value.strip().replace('\\"', "\0").replace('"', "").replace("\0", '"').replace("\\\\", "\\")


def _text(path: str) -> str:
    try:
        return read_regular(path, _MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
