"""Finds repositories that are not the project's, and whose settings git heeds when it runs there.

Git looks for a repository from the working folder upwards. The settings of the project's own are guarded against
writing. Others can come out of an archive, or be made of ordinary files: a folder that holds ``HEAD``, ``objects`` and
``refs`` counts as a repository, too. No list of places can tell these files from others, so they are looked for when
git is about to run there.
"""

from __future__ import annotations

import posixpath
import re

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.path_spelling import is_inside

if TYPE_CHECKING:
    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.scope import Scope

_DEEPEST = 40
"""How many folders are looked at, from the working folder upwards."""
_SECTION = lazy_re(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?\][ \t]*')
_SETTING = lazy_re(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=.*)?", re.DOTALL)


def why_disguised(machine: Machine, scope: Scope) -> str:
    """Why git may read settings of a repository that is not the project's; empty where nothing speaks for it."""
    workspace = machine.around.workspace
    for cwd in sorted(scope.cwds):
        if cwd == workspace:
            continue
        if not cwd:
            return "in which folder this runs is only known when it runs: a repository there can run programs"
        if machine.disk.unpacked or any(posixpath.basename(path) == "HEAD" for path in machine.disk.written):
            return "a repository with settings of its own may have been made just before"
        before = machine.disk.moved.originals(cwd)
        if before is None:
            return "so much is copied and moved before that it cannot be told which repository this is"
        for folder in (cwd, *before):
            if problem := _problem(folder, machine):
                return problem
    return ""


def _problem(cwd: str, machine: Machine) -> str:
    """What speaks against the repository that git finds from a folder upwards; empty where nothing does."""
    around = machine.around
    # Inside ``.git`` it is the repository around it.
    folder = cwd.partition("/.git/")[0].removesuffix("/.git")
    for _ in range(_DEEPEST):
        if folder in ("", "/", around.workspace):
            return ""
        if around.is_git_folder(folder):
            return f"`{folder}` is a repository without a work tree, and its settings can run programs"
        if around.workspace and is_inside(around.workspace, folder):
            return ""
        settings = around.git_settings(folder)
        if settings is None:
            return f"the repository in `{folder}` has hooks, or settings that cannot be read"
        if settings:
            setting = find_running_setting(settings)
            return f"the repository in `{folder}` sets `{setting}`, which can run a program" if setting else ""
        folder = posixpath.dirname(folder)
    return f"`{cwd}` lies too deep to tell which repository git finds there"


def find_running_setting(text: str) -> str:
    """The first setting of a repository by which git runs something, or the first line that is not read.

    Args:
        text: What its ``config`` holds.
    """
    from lockgate.shell.programs.roles.git_settings import config_kind

    section = ""
    for line in text.split("\n"):
        line = line.strip(" \t\r")
        if header := _SECTION.match(line):
            section = ".".join(part for part in header.groups() if part)
            line = line[header.end() :]
        if not line or line[0] in "#;":
            continue
        setting = _SETTING.fullmatch(line)
        if setting is None or not section or line.endswith("\\"):
            return line
        key = f"{section}.{setting.group(1)}"
        if config_kind(key) not in ("", "address"):
            return key
    return ""
