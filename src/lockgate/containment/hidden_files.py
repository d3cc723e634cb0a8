"""Finds what a contained command may not see outside its project: secrets, records of agents, sockets."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from lockgate.containment.protected_files import survey
from lockgate.core.errors import ContainmentError
from lockgate.core.model import EffectKind
from lockgate.resources.globs import Names, is_wild, name_matches
from lockgate.resources.host_view import HostView
from lockgate.resources.paths import read_effects
from lockgate.resources.places import HOME, places, split_pattern
from lockgate.resources.protected_paths import PathGuard, ProtectedPath
from lockgate.system.files import real_path

_KINDS = frozenset({"secret", "transcript"})
NEAR_ENTRIES = 20_000
NEAR_LEVELS = 3
_BOUND_SOCKETS = "/proc/net/unix"
_MOST_SOCKETS = 2000
_ACCESS_LIST = "system.posix_acl_access"
"""The extended attribute of a file whose rights are finer than its mode: acl(5). Then the mode has the mask."""


def secrets(home: str, around: HostView) -> Iterator[str]:
    """Paths of secrets and records that exist and have a known place. A folder stands for all that is in it."""
    anchored = [names for place in places() if place.kind in _KINDS for names in place.match]
    anchored += map(split_pattern, around.rules.secret_paths)
    real_home = real_path(home)
    in_home = tuple(names[1:] for names in anchored if names[0] == HOME)
    others = tuple(names[1:] for names in anchored if names[0] == "" and names[1] not in ("proc", "dev"))
    yield from _find_existing(real_home, [_tree(in_home)])
    yield from _find_existing("/", [_tree(others)])
    yield from around.client_paths[:1]


class _Node:
    """Patterns of paths below a folder, by their first names."""

    def __init__(self) -> None:
        self.plain: dict[str, _Node] = {}
        self.wild: dict[str, _Node] = {}
        self.ends = False
        """Whether a pattern matches here, or all that lies below."""

    def put(self, pattern: Names) -> None:
        """Add a pattern."""
        node = self
        for name in pattern:
            if name == "**":
                break
            node = (node.wild if is_wild(name) else node.plain).setdefault(name, _Node())
        node.ends = True

    def below(self, name: str) -> Iterator[_Node]:
        """What is left of the patterns that a name meets."""
        if name in self.plain:
            yield self.plain[name]
        yield from (node for wild, node in self.wild.items() if name_matches(wild, name))


@lru_cache(maxsize=32)
def _tree(patterns: tuple[Names, ...]) -> _Node:
    root = _Node()
    for pattern in patterns:
        root.put(pattern)
    return root


def _find_existing(folder: str, nodes: Sequence[_Node]) -> Iterator[str]:
    """The topmost existing paths that patterns below a folder match."""
    if any(node.ends for node in nodes):
        yield folder
        return
    for name in _names(folder):
        folded = name.casefold()
        rest = [below for node in nodes for below in node.below(folded)]
        if not rest:
            continue
        path = os.path.join(folder, name)
        if any(node.ends for node in rest) or os.path.isdir(path):
            yield from _find_existing(path, rest)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def find_nearby_secrets(home: str, guard: PathGuard, workspace: str) -> Iterator[str]:
    """Secrets in the other projects of the person.

    Names that may lie in any folder (``.env``) are looked for in the folders that a person works in, with a limit.
    """

    def into(path: str) -> bool:
        return path != workspace and not os.path.basename(path).startswith(".")

    try:
        found = survey(real_path(home), guard, deep=NEAR_LEVELS, most=NEAR_ENTRIES, anchored=False, into=into)
        yield from select_hidden(found, workspace)
    except ContainmentError:  # there are more: what is near was looked at first
        return


def select_hidden(found: Iterable[ProtectedPath], workspace: str) -> Iterator[str]:
    """Of what a survey of the home folder yields, the files that are hidden from the commands of a project."""
    for entry in found:
        if entry.hidden and not entry.folder and not entry.path.startswith(f"{workspace}/"):
            yield entry.path


def harmless(folders: Iterable[str], around: HostView) -> Iterator[str]:
    """Files directly in hidden folders that hold no secret (``~/.ssh/known_hosts``)."""
    for folder in folders:
        for name in _names(folder):
            path = os.path.join(folder, name)
            effects = read_effects(path, "", around)
            if os.path.isfile(path) and not any(effect.gives or effect.kind is EffectKind.TAMPER for effect in effects):
                yield path


def sockets() -> Iterator[str]:
    """Paths of the sockets that processes of this machine listen at, by proc_net_unix(5)."""
    try:
        with open(_BOUND_SOCKETS, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().split("\n")[1:]
    except OSError:
        return
    paths = {fields[7] for line in lines if len(fields := line.split(None, 7)) == 8}
    for path in sorted(paths)[:_MOST_SOCKETS]:
        if path.startswith("/") and _is_socket(path):
            yield path


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def is_closed_to_contained(path: str) -> bool:
    """Whether a folder above lets in nobody who is contained, though root gets in outside: another user's home folder.

    In a user namespace root has no rights over what belongs to others, by user_namespaces(7). So no command gets there,
    nor can the sandbox put anything there. Where access is finer than the mode tells, the answer is no.
    """
    if os.geteuid() != 0:
        return False
    groups = {os.getegid(), *os.getgroups()}
    folder = os.path.dirname(os.path.realpath(path))
    while folder != "/":
        try:
            found = os.stat(folder)
        except OSError:  # it has gone meanwhile
            return True
        shift = 6 if found.st_uid == 0 else 3 if found.st_gid in groups or _has_access_list(folder) else 0
        if not found.st_mode >> shift & stat.S_IXOTH:
            return True
        folder = os.path.dirname(folder)
    return False


def _has_access_list(path: str) -> bool:
    if sys.platform != "linux":
        return False
    try:
        return _ACCESS_LIST in os.listxattr(path)
    except OSError:  # its file system has none
        return False
