"""Reading a file that a command runs, or that says what it runs: bounded, and never anything but a regular file."""

from __future__ import annotations

import os
import stat

from lockgate.analysis.surroundings import ScriptFile
from lockgate.files import open_regular, read_open

MOST_BYTES = 64 * 1024
"""Longest script that is read. What a program has generated (``configure``) is longer."""


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
    return _opened(real)


def is_there(path: str, workspace: str) -> bool:
    """Whether something lies at an absolute path of the workspace."""
    return bool(workspace) and path.startswith(workspace.rstrip("/") + "/") and os.path.exists(path)


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
    found = _opened(os.path.join(place, "config"))
    return found.text if found else None


def _leads_into(file: str, folder: str) -> bool:
    """Whether a ``.git`` that is a file names a place in a folder."""
    found = _opened(file)
    if found is None or not found.text.startswith("gitdir: "):
        return False
    named = os.path.join(os.path.dirname(file), found.text[8:].rstrip("\r\n"))
    return os.path.realpath(named).startswith(os.path.realpath(folder).rstrip("/") + "/")


def _opened(path: str) -> ScriptFile | None:
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
