"""What a contained command may not see outside its project: secrets, records of agents, sockets."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from lockgate.analysis.globs import Names, name_matches
from lockgate.analysis.paths import read_effects
from lockgate.analysis.places import HOME, pattern_names, places
from lockgate.analysis.surroundings import Surroundings
from lockgate.errors import ContainmentError
from lockgate.escape.containment.guarded import Guard, survey
from lockgate.model import EffectKind

_KINDS = frozenset({"secret", "transcript"})
_NEAR_ENTRIES = 20_000
_NEAR_LEVELS = 3
_BOUND_SOCKETS = "/proc/net/unix"
_MOST_SOCKETS = 2000


def secrets(home: str, around: Surroundings, workspace: str) -> Iterator[str]:
    """Paths of secrets and records that exist: those with a known place, and those near the project.

    A folder stands for all that is in it. Where names are looked for in any folder (``.env``) only the folders of the
    home folder that a person works in are looked through, and not without limit.
    """
    anchored = [names for place in places() if place.kind in _KINDS for names in place.match]
    anchored += map(pattern_names, around.rules.secret_paths)
    real_home = os.path.realpath(home)
    yield from _existing(real_home, [names[1:] for names in anchored if names[0] == HOME])
    yield from _existing("/", [names[1:] for names in anchored if names[0] == "" and names[1] not in ("proc", "dev")])
    yield from around.client_paths[:1]
    yield from _near(real_home, around, workspace)


def _existing(folder: str, patterns: list[Names]) -> Iterator[str]:
    """The topmost existing paths that patterns below a folder match."""
    if any(names[0] == "**" for names in patterns):
        yield folder
        return
    for name in _names(folder):
        folded = name.casefold()
        rest = [names[1:] for names in patterns if name_matches(names[0], folded)]
        if not rest:
            continue
        path = os.path.join(folder, name)
        if any(not names or names[0] == "**" for names in rest):
            yield path
        elif os.path.isdir(path):
            yield from _existing(path, rest)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _near(home: str, around: Surroundings, workspace: str) -> Iterator[str]:
    """Secrets in the other projects of the person."""

    def into(path: str) -> bool:
        return path != workspace and not os.path.basename(path).startswith(".")

    guard = Guard(around)
    try:
        for entry in survey(home, guard, deep=_NEAR_LEVELS, most=_NEAR_ENTRIES, anchored=False, into=into):
            if entry.hidden and not entry.folder and not entry.path.startswith(f"{workspace}/"):
                yield entry.path
    except ContainmentError:  # there are more: what is near was looked at first
        return


def harmless(folders: Iterable[str], around: Surroundings) -> Iterator[str]:
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
