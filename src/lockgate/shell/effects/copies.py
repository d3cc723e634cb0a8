"""Finds the effects of copying or moving a folder's content: ``cp -r x/. .``, ``mv x/* .``, ``cp -r x y``.

What lies in the folder is looked at. In the project that tells: a name that matters cannot be made there unnoticed
meanwhile. What comes from elsewhere was made where nobody watches the names, and counts as any name.
"""

from __future__ import annotations

from lockgate.core.model import Effect, EffectKind
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.globs import name_matches
from lockgate.resources.path_spelling import absolute, is_inside
from lockgate.resources.paths import write_effects
from lockgate.resources.protected_paths import PathGuard
from lockgate.shell.effects.unlisted import TARGET, effect_of_unlisted
from lockgate.shell.state.abstract_text import ENVIRONMENT, OPAQUE, PLAIN, is_known

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockgate.resources.host_view import HostView
    from lockgate.shell.state.machine import Moves
    from lockgate.shell.state.scope import Arg, Scope

_MARKS = "*?." + OPAQUE + PLAIN + ENVIRONMENT
_MOST = 3
"""How many names are told to a person."""
_BECAUSE = "this writes what lies in `{source}`, under names that no word of the command says"
_MANY = "so much is copied and moved before that it cannot be told where this writes"
_STAYS = "`{source}` lies outside of the project, where a contained command can move nothing away"


class CopyMode(Record):
    """How something is copied."""

    whole: bool = True
    """Whether a folder is taken with all that lies in it."""
    moves: bool = False
    """Whether it is gone afterwards."""
    links: bool = False
    """Whether links to it are made: what a link to a folder shows is no copy."""


class CopiedFiles(Record):
    """What was copied, moved or linked on the way, and what the disk says."""

    around: HostView
    moved: Moves
    into_folder: bool = False
    """Whether the target is sure to be a folder, which takes each source under its name."""


def copy_effects(source: Arg, target: Arg, how: CopyMode, before: CopiedFiles, scope: Scope) -> list[Effect]:
    """Effects of what is written under names that the words do not say."""
    return [effect for cwd in scope.cwds for effect in _copy_effects(source, target, how, before, cwd)]


def through_copies(words: Iterable[tuple[str, str]], around: HostView, moved: Moves) -> list[Effect]:
    """Effects of writing where a link was copied to on the way: it leads where it led before.

    Args:
        words: Each word that is written, with the folder that it counts from.
        around: The machine.
        moved: What was copied or moved on the way.
    """
    found: list[Effect] = []
    for word, cwd in words:
        path = absolute(word, cwd, around) if is_known(word) else None
        places = moved.originals(path) if path else []
        if places is None:
            found.append(Effect(EffectKind.EXECUTE, word, "shell:unknown-write", _MANY))
        for before in places or ():
            if (real := around.realpath(before)) != before:
                found += write_effects(real, "", around)
    return found


def _copy_effects(source: Arg, target: Arg, how: CopyMode, before: CopiedFiles, cwd: str) -> list[Effect]:
    folder, _, name = source.text.rstrip("/").rpartition("/")
    folder = folder or ("/" if source.text.startswith("/") else ".")
    any_name, wild = not name.strip(_MARKS), source.glob or not is_known(name)
    parts = name in ("", ".", "..")
    place = source.text if parts or not wild else folder
    there = absolute(place, cwd, before.around) if is_known(place) else None
    into = absolute(target.text, cwd, before.around) if is_known(target.text) and not target.glob else None
    if into is None:
        return []  # it counts as a place that nobody knows
    if there is not None:
        keeps_name = not (parts or wild)
        if keeps_name:
            before.moved.note(there, f"{into}/{name}")
        if not (keeps_name and before.into_folder):
            before.moved.note(there, into)
    if (how.links and not how.whole) or not (how.whole or wild or parts) or not is_in_project(into, before.around):
        return []
    star = _effects_of_unnamed(source, how, there, before.around)
    if before.around.copied is None:
        return star if any_name and (parts or there is None or _is_outside_project(there, before.around)) else []
    below = None if there is None else _names_below(there, before)
    if below is None:
        return star
    paths = [path for path in below if not wild or _is_meant(path, name)]
    if paths and not how.moves and there and _is_outside_project(there, before.around):
        return star
    return _effects_of_named(paths, into, "" if parts or wild else name, before.around)


def _effects_of_unnamed(source: Arg, how: CopyMode, there: str | None, around: HostView) -> list[Effect]:
    effect = effect_of_unlisted(source.shown, TARGET, _BECAUSE.format(source=source.shown))
    if how.moves and there is not None and _is_outside_project(there, around):
        effect = effect._replace(uncontainable=_STAYS.format(source=source.shown))
    return [effect]


def is_in_project(folder: str, around: HostView) -> bool:
    """Whether a folder is the project's, or one around it."""
    root = around.workspace or around.home
    real = around.realpath(folder)
    return any(is_inside(path, root) or is_inside(root, path) for path in (folder, real))


def _is_outside_project(folder: str, around: HostView) -> bool:
    root = around.workspace or around.home
    return not (is_inside(folder, root) and is_inside(around.realpath(folder), around.realpath(root)))


def _names_below(folder: str, before: CopiedFiles) -> tuple[str, ...] | None:
    """What lies below a folder, or lay below the one that it was made of."""
    look = before.around.copied
    found: list[str] = []
    places = before.moved.originals(folder)
    if places is None:
        return None
    for place in (folder, *places):
        names = look(place) if look else None
        if names is None:
            return None
        found += names
    return tuple(dict.fromkeys(found))


def _is_meant(path: str, pattern: str) -> bool:
    wild = pattern.replace(OPAQUE, "*").replace(PLAIN, "*").replace(ENVIRONMENT, "*")
    return name_matches(wild.casefold(), path.partition("/")[0].casefold())


def _effects_of_named(paths: list[str], into: str, name: str, around: HostView) -> list[Effect]:
    """What it means that these names are written into a folder; or below a name in it, where it is there already."""
    guard = PathGuard(around)
    found: dict[str, None] = {}
    for place in dict.fromkeys((into, f"{into}/{name}" if name else into)):
        found |= dict.fromkeys(f"{place}/{path}" for path in guard.filter_protected(place, paths))
    effects = [effect for path in [*found][:_MOST] for effect in write_effects(path, "", around)]
    if found and not effects:
        because = "this lies in a folder of settings that are trusted later"
        effects = [Effect(EffectKind.PERSIST, path, TARGET, because) for path in [*found][:_MOST]]
    return effects
