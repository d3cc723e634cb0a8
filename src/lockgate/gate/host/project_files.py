"""Reads project files that a command runs or depends on. Bounded, and regular files only."""

from __future__ import annotations

import os
import stat
from itertools import islice

from lockgate.resources.host_view import ScriptFile
from lockgate.system.files import open_regular, read_open, read_regular

MOST_BYTES = 64 * 1024
"""Longest script that is read. What a program has generated (``configure``) is longer."""

MOST_NAMES = 2000
"""Most names of a folder that are looked at."""

MOST_ENTRIES = 20_000
"""Most names that are looked at in all folders of a search."""

MOST_COPIED = 10_000
"""Most names below a folder that is copied."""

_MOST_SETTINGS = 256 * 1024
"""Longest file of git's settings that is read."""


def read_script(path: str, workspace: str) -> ScriptFile | None:
    """The file as it is now, or ``None`` where it is none that may be looked into.

    Args:
        path: Absolute. Symbolic links are followed as far as they stay in the workspace.
        workspace: The project's root folder, absolute; empty where it is not known.
    """
    if not workspace:
        return None
    try:
        real, root = os.path.realpath(path), os.path.realpath(workspace)
        if not real.startswith(root.rstrip("/") + "/"):
            return None
    except (OSError, ValueError):
        return None
    return _open(real)


def is_there(path: str, workspace: str) -> bool:
    """Whether something lies at an absolute path of the workspace."""
    return bool(workspace) and path.startswith(workspace.rstrip("/") + "/") and os.path.exists(path)


def names_in(folder: str, workspace: str) -> tuple[str, ...] | None:
    """All names in a folder of the workspace, with links resolved; none where there is no such folder.

    ``None`` for a folder elsewhere, for one that cannot be read, and for one with more than ``MOST_NAMES``.
    """
    if not workspace:
        return None
    try:
        real, root = os.path.realpath(folder), os.path.realpath(workspace)
        if not f"{real}/".startswith(root.rstrip("/") + "/"):
            return None
        with os.scandir(real) as entries:
            names = tuple(entry.name for entry in islice(entries, MOST_NAMES + 1))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, ValueError):
        return None
    return names if len(names) <= MOST_NAMES else None


def find_below(folder: str, name: str, workspace: str) -> tuple[str, ...] | None:
    """The absolute paths of all that has a name at any depth of a folder of the workspace, in whatever case.

    ``None`` for a folder elsewhere, and for one that cannot be read or holds more than ``MOST_ENTRIES``. Also where a
    link leads to a folder out of it: some searches follow links.
    """
    found: list[str] = []
    try:
        root = os.path.realpath(folder)
        if not workspace or not f"{root}/".startswith(os.path.realpath(workspace).rstrip("/") + "/"):
            return None
        left, folders = MOST_ENTRIES, [root]
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if entry.name.casefold() == name.casefold():
                        found.append(entry.path)
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    linked = entry.is_symlink() and entry.is_dir()
                    if left < 0 or (linked and not os.path.realpath(entry.path).startswith(f"{root}/")):
                        return None
    except (OSError, ValueError):
        return None
    return tuple(found)


def all_below(folder: str) -> tuple[str, ...] | None:
    """The paths of all that lies below a folder, told from there; none where it is no folder.

    ``None`` where it cannot be looked into, holds more than ``MOST_COPIED``, and where a link in it leads to
    another folder: what copies it may follow that.
    """
    found: list[str] = []
    folders = [""]
    try:
        if not os.path.isdir(folder):
            return ()
        while folders:
            above = folders.pop()
            with os.scandir(os.path.join(folder, above)) as entries:
                for entry in entries:
                    path = os.path.join(above, entry.name)
                    found.append(path)
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(path)
                    if len(found) > MOST_COPIED or (entry.is_symlink() and entry.is_dir()):
                        return None
    except (OSError, ValueError):
        return None
    return tuple(found)


def read_git_settings(folder: str, workspace: str) -> str | None:
    """The text of the settings of the repository whose work tree begins at a folder.

    Args:
        folder: Absolute.
        workspace: The project's root folder, absolute; empty where it is not known.

    Returns:
        Empty where no repository begins there, or one that lies in the project's ``.git`` (a submodule, a linked work
        tree). ``None`` where the settings cannot be read, or where the repository has hooks.
    """
    place = os.path.join(folder, ".git")
    try:
        mode = os.lstat(place).st_mode
        if stat.S_ISREG(mode):
            return "" if _leads_into(place, os.path.join(workspace, ".git")) else None
        names = frozenset(os.listdir(place)) if stat.S_ISDIR(mode) else frozenset({"commondir"})
        hooks = os.listdir(os.path.join(place, "hooks")) if "hooks" in names else []
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError):
        return None
    if names & {"commondir", "config.worktree"} or not all(name.endswith(".sample") for name in hooks):
        return None
    if "config" not in names:
        return ""
    found = _open(os.path.join(place, "config"))
    return found.text if found else None


def git_hook_folders(home: str, workspace: str) -> tuple[str, ...]:
    """The folders that ``core.hooksPath`` names, in the user's settings and in those of the project's repository.

    Args:
        home: The user's home folder.
        workspace: The project's root folder, absolute; empty where it is not known.

    Returns:
        Absolute paths. Settings that are included by others, or given by the environment, are not looked at.
    """
    files = [os.path.join(home, ".gitconfig"), os.path.join(home, ".config", "git", "config")]
    if workspace:
        files.append(os.path.join(workspace, ".git", "config"))
    found: dict[str, None] = {}
    for file in files:
        try:
            data = read_regular(file, _MOST_SETTINGS)
        except (OSError, ValueError):
            continue
        if b"hookspath" in data.lower():
            found |= dict.fromkeys(_hook_paths(data.decode("utf-8", "replace"), home, workspace))
    return tuple(found)


def _hook_paths(text: str, home: str, workspace: str) -> list[str]:
    """The values of ``hooksPath``; whatever section it stands in, which only protects more."""
    paths = []
    for line in text.split("\n"):
        name, equals, value = line.partition("=")
        # A section's header may stand before the name, on the same line.
        if not equals or name.rpartition("]")[2].strip().lower() != "hookspath":
            continue
        path = value.strip().replace('"', "").replace("\\\\", "\\")
        path = home + path[1:] if path.startswith("~/") else path
        if path and (workspace or path.startswith("/")):
            paths.append(os.path.normpath(os.path.join(workspace, path)))
    return paths


def _leads_into(file: str, folder: str) -> bool:
    """Whether a ``.git`` that is a file names a place in a folder."""
    found = _open(file)
    if found is None or not found.text.startswith("gitdir: "):
        return False
    named = os.path.join(os.path.dirname(file), found.text[8:].rstrip("\r\n"))
    return os.path.realpath(named).startswith(os.path.realpath(folder).rstrip("/") + "/")


def _open(path: str) -> ScriptFile | None:
    """What a regular file holds."""
    try:
        descriptor = open_regular(path, follow=False)  # a link may have been put there meanwhile
    except (OSError, ValueError):
        return None
    try:
        text = read_open(descriptor, MOST_BYTES).decode("utf-8")
        return ScriptFile(text, os.fstat(descriptor).st_ctime)
    except (OSError, UnicodeDecodeError):
        return None
    finally:
        os.close(descriptor)
