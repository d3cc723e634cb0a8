"""What a contained command may not see outside its project: secrets, records of agents, sockets."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from lockgate.analysis.globs import Names, is_wild, name_matches
from lockgate.analysis.paths import read_effects
from lockgate.analysis.places import HOME, pattern_names, places
from lockgate.analysis.surroundings import Surroundings
from lockgate.errors import ContainmentError
from lockgate.escape.containment.guarded import Entry, Guard, survey
from lockgate.files import real_path
from lockgate.model import EffectKind

_KINDS = frozenset({"secret", "transcript"})
NEAR_ENTRIES = 20_000
NEAR_LEVELS = 3
_BOUND_SOCKETS = "/proc/net/unix"
_MOST_SOCKETS = 2000


def secrets(home: str, around: Surroundings) -> Iterator[str]:
    """Paths of secrets and records that exist and have a known place. A folder stands for all that is in it."""
    anchored = [names for place in places() if place.kind in _KINDS for names in place.match]
    anchored += map(pattern_names, around.rules.secret_paths)
    real_home = real_path(home)
    yield from _existing(real_home, [names[1:] for names in anchored if names[0] == HOME])
    yield from _existing("/", [names[1:] for names in anchored if names[0] == "" and names[1] not in ("proc", "dev")])
    yield from around.client_paths[:1]


def _existing(folder: str, patterns: list[Names]) -> Iterator[str]:
    """The topmost existing paths that patterns below a folder match."""
    if any(names[0] == "**" for names in patterns):
        yield folder
        return
    plain: dict[str, list[Names]] = {}
    wild: list[Names] = []
    for pattern in patterns:
        if is_wild(pattern[0]):
            wild.append(pattern)
        else:
            plain.setdefault(pattern[0], []).append(pattern[1:])
    for name in _names(folder):
        folded = name.casefold()
        rest = [*plain.get(folded, ()), *(names[1:] for names in wild if name_matches(names[0], folded))]
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


def near(home: str, guard: Guard, workspace: str) -> Iterator[str]:
    """Secrets in the other projects of the person.

    Where names are looked for in any folder (``.env``) only the folders of the home folder that a person works in are
    looked through, and not without limit.
    """

    def into(path: str) -> bool:
        return path != workspace and not os.path.basename(path).startswith(".")

    try:
        found = survey(real_path(home), guard, deep=NEAR_LEVELS, most=NEAR_ENTRIES, anchored=False, into=into)
        yield from hidden_files(found, workspace)
    except ContainmentError:  # there are more: what is near was looked at first
        return


def hidden_files(found: Iterable[Entry], workspace: str) -> Iterator[str]:
    """Of what a survey of the home folder yields, the files that are hidden from the commands of a project."""
    for entry in found:
        if entry.hidden and not entry.folder and not entry.path.startswith(f"{workspace}/"):
            yield entry.path


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
