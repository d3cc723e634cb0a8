"""Reads the file that ``docker compose ps`` reads first, and tells whether it takes in anything from elsewhere.

Such a file can include others out of a repository or a registry (``include``, ``extends``), whose names it puts
together from variables and from ``.env``; it can name what runs before a container stops. A file that says none of
this is only read. What Compose looks for, and where, is in docs.docker.com/compose (how-tos: ``include``, ``extends``,
"Merge", "Interpolation", ``COMPOSE_FILE`` in an ``.env`` file).
"""

from __future__ import annotations

import posixpath

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.path_spelling import absolute, is_inside
from lockgate.shell.effects.glob_matches import is_disk_unchanged
from lockgate.shell.knowledge.lookup import role_of

if TYPE_CHECKING:
    from lockgate.resources.host_view import HostView
    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.knowledge.options import Option

_NAMES = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
_OVERRIDES = ("compose.override.yaml", "compose.override.yml", "docker-compose.override.yaml",
              "docker-compose.override.yml")  # fmt: skip
_ELSEWHERE = frozenset({"include", "extends", "pre_stop", "post_start", "provider"})
"""Words of the file that take in another, or have something run. They count wherever they stand."""
_FILES = frozenset({"-f", "--file"})
_MOVING = frozenset({"--env-file", "--project-directory"})
_VARIABLE = lazy_re(
    r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*[=:]\s*"
    r"(?:\"[^\"\n\\]*\"\s*(?:#.*)?|'[^'\n\\]*'\s*(?:#.*)?|(?!\s*[\"'])[^\n\\]*)"
)
"""A line with one variable. Behind a quoted value another can begin on the same line."""
_NOTHING = lazy_re(r"\s*(?:#.*)?")


def takes_in_nothing(call: ProgramCall, options: list[Option]) -> bool:
    """Whether all that a command reads of its project's files is known, and none of it leads elsewhere."""
    around, cwds = call.machine.around, call.scope.cwds
    moved = not _MOVING.isdisjoint(option.name for option in options)
    as_ever = is_disk_unchanged(call.machine, call.before) and not call.machine.disk.changed
    if moved or not as_ever or len(cwds) > 1 or not cwds[0]:
        return False
    named = [_find_file(_name(option), cwds[0], around) for option in options if option.name in _FILES]
    files = named or _nearest(cwds[0], around)
    if not files or not all(files):
        return False
    if not named:
        files += [path for name in _OVERRIDES if (path := _find_file(name, posixpath.dirname(files[0]), around))]
    folders = {cwds[0], *map(posixpath.dirname, files)}
    return all(_is_plain(path, around) for path in files) and all(_sets_nothing(folder, around) for folder in folders)


def _nearest(folder: str, around: HostView) -> list[str]:
    """The files that Compose finds from a folder upwards; none where it has to look outside of the project."""
    root = around.workspace
    # What lies above a link is another folder than its name says.
    linked = around.realpath(folder) != around.realpath(root) + folder[len(root) :]
    while is_inside(folder, root):
        if found := [path for name in _NAMES if (path := _find_file(name, folder, around))]:
            return found
        if linked:
            break
        folder = posixpath.dirname(folder)
    return []


def _name(option: Option) -> str:
    """The file that an option names, empty for one that is not known or lies elsewhere."""
    name = option.value[0].static if option.value else None
    return name if name and ":" not in name and name != "-" else ""


def _find_file(name: str, cwd: str, around: HostView) -> str:
    """The file of a name, empty where there is none in the project."""
    path = absolute(name, cwd, around) if name else None
    return path if path and is_inside(path, around.workspace) and around.is_there(path) else ""


def _is_plain(path: str, around: HostView) -> bool:
    """Whether a file of Compose only describes containers."""
    from lockgate.system.libraries import library

    script = around.read_script(path)
    if script is None:
        return False
    try:
        yaml = library("yaml")
    except ImportError:
        return False
    try:
        for event in yaml.parse(script.text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            # A tag says that a text means something else.
            if getattr(event, "tag", None) is not None or getattr(event, "value", "") in _ELSEWHERE:
                return False
    except (ValueError, RecursionError, yaml.YAMLError):
        return False
    return True


def _sets_nothing(folder: str, around: HostView) -> bool:
    """Whether the variables in a folder's ``.env`` only fill in the file: they reach the client as well."""
    path = f"{folder}/.env"
    if not around.is_there(path):
        return True
    script = around.read_script(path)
    if script is None:
        return False
    for line in script.text.splitlines():
        match = _VARIABLE.fullmatch(line)
        if match is None and not _NOTHING.fullmatch(line):
            return False
        if match and (match[1].upper().startswith(("COMPOSE_", "DOCKER_")) or role_of(match[1])):
            return False
    return True
