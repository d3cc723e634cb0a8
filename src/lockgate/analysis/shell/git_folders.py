"""Folders that git takes for a repository although they are none's work tree.

Git looks for a repository from the working folder upwards, and a folder that holds ``HEAD``, ``objects`` and ``refs``
itself counts as one: its ``config`` can name programs that git runs. Such a folder is made of ordinary files, which no
list of places can tell from others, so it is looked for when git is about to run there.
"""

from __future__ import annotations

import posixpath

from lockgate.analysis.spelling import inside
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.analysis.shell.commands import Machine
    from lockgate.analysis.shell.scope import Scope

_DEEPEST = 40


def disguised(machine: Machine, scope: Scope) -> str:
    """Why git may read settings of a repository that is not the project's; empty where nothing speaks for it."""
    workspace = machine.around.workspace
    for cwd in sorted(scope.cwds):
        if not cwd or cwd == workspace:
            continue
        made_here = machine.unpacked or any(posixpath.basename(path) == "HEAD" for path in machine.written)
        if made_here:
            return "a repository with settings of its own may have been made just before"
        if folder := _found(cwd, machine):
            return f"`{folder}` is a repository without a work tree, and its settings can run programs"
    return ""


def _found(cwd: str, machine: Machine) -> str:
    workspace = machine.around.workspace
    folder = cwd
    for _ in range(_DEEPEST):
        if folder in ("/", workspace) or ".git" in folder.split("/"):
            return ""
        if machine.around.is_git_folder(folder):
            return folder
        if workspace and inside(workspace, folder):
            return ""
        folder = posixpath.dirname(folder)
    return ""
