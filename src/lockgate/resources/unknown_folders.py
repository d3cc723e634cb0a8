"""Finds what a name alone can mean at any depth of a folder: ``find ~ -name id_rsa``."""

from __future__ import annotations

from functools import lru_cache

from lockgate.core.model import Effect, EffectKind
from lockgate.resources.globs import Names, is_wild, names_meet, paths_meet
from lockgate.resources.host_view import HostView
from lockgate.resources.path_spelling import forms, is_in_project, names_of
from lockgate.resources.paths import read_of, unique, write_of
from lockgate.resources.places import Path, Place, floats, places, view_of

_AROUND_HOMES = frozenset({("",), ("", "home"), ("", "users")})
"""Folders that home folders lie in."""


def effects_of_named_write(root: str, name: str, cwd: str, around: HostView) -> tuple[Effect, ...]:
    """Effects of changing whatever has a name at some depth of a folder, as ``find`` looks for it.

    In the project only what tampers counts, and names that nothing else there has: much has an ordinary name, and what
    belongs to nobody's project is looked for elsewhere.
    """
    found: list[Effect] = []
    for form in forms(root, cwd, around):
        here = is_in_project(form, around)
        for place in _find_named(form, name, around):
            effect = write_of(place, root)
            if effect and (effect.kind is EffectKind.TAMPER or not here or name.casefold() in place.named):
                found.append(effect)
    return unique(found)


def effects_of_named_read(root: str, name: str, cwd: str, around: HostView) -> tuple[Effect, ...]:
    """Effects of reading whatever has a name at some depth of a folder: ``~/.kube/config`` where that is ``config``.

    What has such a name in the project is read by that name alone.
    """
    found: list[Effect] = []
    for form in forms(root, cwd, around):
        if not is_in_project(form, around):
            hits = (read_of(place, root) for place in _find_named(form, name, around))
            found += [effect for effect in hits if effect and effect.kind is EffectKind.READ_SECRET]
    return unique(found)


def _find_named(folder: Path, name: str, around: HostView) -> tuple[Place, ...]:
    """Places that have a name at some depth of a folder."""
    homes_below = names_of(around.home)[: len(folder.names)] == folder.names or folder.names in _AROUND_HOMES
    return _find(folder, name, homes_below=homes_below, here=is_in_project(folder, around))


@lru_cache(maxsize=256)
def _find(folder: Path, name: str, *, homes_below: bool, here: bool) -> tuple[Place, ...]:
    """All places that files of a name can be at some depth of a folder, where it is their own name that makes them one.

    Of those that are looked for in any folder only what tampers counts, but around home folders: many others have
    ordinary names.

    Args:
        folder: The folder.
        name: The name.
        homes_below: Whether home folders lie below the folder.
        here: Whether the folder is the project's.
    """
    return tuple(
        place
        for place in places()
        if ((here or homes_below) and name.casefold() in place.named)
        or any(_spells(place, each, folder, name, homes_below) for each in place.match)
    )


def _spells(place: Place, pattern: Names, folder: Path, name: str, homes_below: bool) -> bool:
    last = pattern[-1]
    if last[:1] in {"*", "?", "["}:
        return False
    # Two names with stars meet in one that hardly anybody has.
    if (is_wild(name) and is_wild(last)) or not names_meet(last, name.casefold()):
        return False
    if floats(pattern):
        return place.kind == "tamper" or homes_below
    view = view_of(pattern, folder)
    return homes_below if view is None else paths_meet(pattern, (*view, "**"))
