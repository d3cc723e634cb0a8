"""Finds the effects of reading or writing a path.

The functions take a path as a tool or a shell word spells it: relative or absolute, with ``~``, ``..``, repeated
slashes, and marks that a shell still expands (``~/.s?h/id_*``). Each path is looked up twice, as written and with
symbolic links resolved (``HostView.realpath``); whatever either finds holds. Letters match in both cases, because
the file systems of macOS do.
"""

from __future__ import annotations

from functools import lru_cache

from lockgate.core.model import Effect, EffectKind, Label, Variant
from lockgate.resources.globs import Names, beginnings, path_matches, paths_meet
from lockgate.resources.host_view import HostView
from lockgate.resources.path_spelling import (
    absolute,
    below,
    folders,
    forms,
    has_state_below,
    is_in_project,
    is_inside,
    is_outside_workspace,
    may_begin_in,
    names_of,
)
from lockgate.resources.places import HOME, Path, Place, find, find_begun, find_below, split_pattern

__all__ = [
    "absolute",
    "is_outside_workspace",
    "read_effects",
    "read_of",
    "recursive_read_effects",
    "recursive_write_effects",
    "replace_effects",
    "unique",
    "write_effects",
    "write_of",
]

_READ_KINDS = {
    "secret": (EffectKind.READ_SECRET, Label.SECRET),
    "transcript": (EffectKind.INGEST, Label.UNTRUSTED),
    "vendored": (EffectKind.INGEST, Label.UNTRUSTED),
}
_WRITE_KINDS = {
    "tamper": EffectKind.TAMPER,
    "persist": EffectKind.PERSIST,
    "destroy": EffectKind.DESTROY,
    "shared": EffectKind.EGRESS,
}
_OWN_READABLE = (".py", ".pyi", ".yaml", ".yml", ".md", ".toml", ".txt")
"""What may be read of the gate's own: its code, its configuration and its manual. Not its state and keys."""
_OWN = "this belongs to the gate itself"
_BELOW = "the gate's own state lies below it, where links and passwords are that can approve for a person"
LABELLED = "file:stranger"
"""The rule of a file into which an agent wrote what strangers wrote."""
OWN_STATE, OWN_BELOW = "place:own/state", "place:own/state-below"


def read_effects(path: str, cwd: str, around: HostView) -> tuple[Effect, ...]:
    """Effects of reading one path into the context."""
    found: list[Effect] = []
    for form in forms(path, cwd, around):
        if _is_session_result(form, around):
            continue
        found += _own_read(form, path, around)
        found += [effect for place in find(form) if _is_meant(place, form) and (effect := read_of(place, path))]
        found += _effects_of_configured_place(
            form, path, around.rules.secret_paths, EffectKind.READ_SECRET, Label.SECRET
        )
        found += _effects_of_label(form, path, around)
    if (labelled := around.labelled_files()) and not any(effect.rule == LABELLED for effect in found):
        place = absolute(path, cwd, around)
        source = around.labelled_content(place) if labelled and place is not None else ""
        found += [_strangers_text(path, source)] if source else []
    return unique(found)


def recursive_read_effects(root: str, cwd: str, around: HostView) -> tuple[Effect, ...]:
    """Effects of reading everything below a folder, at most one of each kind.

    A home folder or ``/`` holds known secrets. A project is taken to hold none but what its own path says: a search
    in it stays local.
    """
    found: list[Effect] = []
    for form in folders(root, cwd, around):
        found += [effect for place in find_below(form) if (effect := read_of(place, root))]
        found += _effects_of_configured_place(
            below(form), root, around.rules.secret_paths, EffectKind.READ_SECRET, Label.SECRET
        )
        found += _own_read(form, root, around)
        found += _effects_of_label(below(form), root, around)
        if has_state_below(form, around):
            found.append(Effect(EffectKind.TAMPER, root, OWN_BELOW, _BELOW))
    return _first_of_each_kind(found)


def write_effects(path: str, cwd: str, around: HostView) -> tuple[Effect, ...]:
    """Effects of creating, changing or removing one path."""
    found: list[Effect] = []
    for form in forms(path, cwd, around):
        found += _own_write(form, path, around)
        here = is_in_project(form, around)
        found += [effect for place in find(form) if place.project or not here if (effect := write_of(place, path))]
        found += _effects_of_configured_write(form, path, around)
        found += _hook_folder(form, path, around)
        found += _program_folder(form, path, around)
    return unique(found)


def replace_effects(path: str, cwd: str, around: HostView) -> tuple[Effect, ...]:
    """Effects of putting something else where a path is, by a move or a link: what is put there may be a folder.

    Unlike :func:`recursive_write_effects` a folder that merely contains such places is not meant: a file that is
    moved into the home folder replaces nothing there. A new ``.claude`` brings its own ``settings.json``.
    """
    found: list[Effect] = list(write_effects(path, cwd, around))
    for form in forms(path, cwd, around):
        found += [effect for place in find_begun(form) if (effect := _write_around(place, path))]
    return _first_of_each_kind(found)


def recursive_write_effects(root: str, cwd: str, around: HostView) -> tuple[Effect, ...]:
    """Effects of moving, replacing, linking over or removing a whole folder: also of what is known to lie below it.

    At most one effect of each kind.
    """
    found: list[Effect] = list(write_effects(root, cwd, around))
    for form in folders(root, cwd, around):
        found += _own_write(form, root, around, whole=True)
        found += [effect for place in find_below(form) if (effect := _write_around(place, root))]
        found += _effects_of_configured_write(below(form), root, around)
        found += _hook_folder(below(form), root, around)
    return _first_of_each_kind(found)


# -- effects ---------------------------------------------------------------------------------------------------------


def _is_meant(place: Place, form: Path) -> bool:
    """Whether a path means a place, and not only the folders that may be around it.

    ``packages/*/README.md`` may find a package's text in ``packages/node_modules``, as a search of ``packages`` may.
    Both are meant for the project's own files.
    """
    if place.around or not form.wild or "*" not in "".join(form.names[:-1]):
        return True
    names = tuple("_" if name.strip("*") == "" and name else name for name in form.names[:-1])
    return place in find(Path((*names, form.names[-1]), form.home, wild=True))


def read_of(place: Place, path: str) -> Effect | None:
    """What it means that a path is read which is a place."""
    kind = _READ_KINDS.get(place.kind)
    return Effect(kind[0], path, f"place:{place.name}", place.because, gives=kind[1]) if kind else None


def write_of(place: Place, path: str) -> Effect | None:
    """What it means that a path is changed which is a place."""
    kind = _WRITE_KINDS.get(place.kind)
    if kind is None:
        return None
    return Effect(kind, path, f"place:{place.name}", place.because, Variant.SELF if place.own else Variant.PLAIN)


def _write_around(place: Place, path: str) -> Effect | None:
    """What it means for a place that a folder around it is replaced or removed: that shares nothing with anybody."""
    return write_of(place, path) if place.kind != "shared" else None


def _meets(pattern: Names, form: Path) -> bool:
    view = form.home if pattern[0] == HOME else form.names
    return view is not None and (paths_meet(pattern, view) if form.wild else path_matches(pattern, view))


@lru_cache(maxsize=64)
def _inside(folders: tuple[str, ...]) -> tuple[tuple[Names, ...], tuple[str, ...], tuple[Names, ...]]:
    """For each folder the pattern of itself and of all that lies in it; and what ``beginnings`` tells of these."""
    patterns = tuple((*names_of(folder), "**") for folder in folders)
    return patterns, *beginnings(patterns)


def _lies_in(folders: tuple[str, ...], form: Path) -> bool:
    """Whether a path is one of some folders, or lies in one."""
    patterns, begins, marked = _inside(folders)
    if form.wild:
        return any(_meets(pattern, form) for pattern in patterns)
    if begins and f"{'/'.join(form.names)}/".startswith(begins):
        return True
    return bool(marked) and any(_meets(pattern, form) for pattern in marked)


def _is_own(form: Path, own_paths: tuple[str, ...], *, whole: bool = False) -> bool:
    if form.names[0] == "**":
        return any(may_begin_in(form.names[1:], own) for own in own_paths)
    above = whole and any(names_of(own)[: len(form.names)] == form.names for own in own_paths)
    return above or _lies_in(own_paths, form)


def _is_code(own: str) -> bool:
    """Whether one of the gate's own folders holds installed code, which anybody may read."""
    names = names_of(own)
    installed = "site-packages" in names or "dist-packages" in names or names[-2:] == ("src", "lockgate")
    return installed or names[-1] in {".venv", "venv", "env"}


@lru_cache(maxsize=64)
def _not_code(own_paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(own for own in own_paths if not _is_code(own))


def _own_read(form: Path, path: str, around: HostView) -> list[Effect]:
    if not _is_own(form, _not_code(around.own_paths)):
        because = "an agent's records repeat what it was told by others"
        record = Effect(EffectKind.INGEST, path, "place:transcript/client", because, gives=Label.UNTRUSTED)
        return [record] if _is_record(form, around) else []
    if form.names[-1].endswith(_OWN_READABLE):
        return []
    return [Effect(EffectKind.TAMPER, path, OWN_STATE, _OWN, Variant.SELF)]


def _effects_of_label(form: Path, path: str, around: HostView) -> list[Effect]:
    """The effect of reading a file, or one of several, into which an earlier call has written a stranger's text."""
    files = around.labelled_files()
    source = files.get("/") or next(
        (source for file, source in files.items() if path_matches(form.names, names_of(file))), ""
    )
    return [_strangers_text(path, source)] if source else []


def _strangers_text(path: str, source: str) -> Effect:
    because = f"an agent has written text of others into it: {source}"
    return Effect(EffectKind.INGEST, path, LABELLED, because, gives=Label.UNTRUSTED)


def _is_session_result(form: Path, around: HostView) -> bool:
    """Whether a path is a stored result of this session, whose labels were given when the call ran."""
    return not form.wild and any(path_matches(each, form.names) for each in _patterns_of(around.session_results))


@lru_cache(maxsize=64)
def _patterns_of(paths: tuple[str, ...]) -> tuple[Names, ...]:
    return tuple(map(names_of, paths))


def _is_record(form: Path, around: HostView) -> bool:
    """Whether a path lies where this client keeps its records. An agent's memory lies there too, and is no record."""
    return "memory" not in form.names and _lies_in(around.client_paths, form)


def _own_write(form: Path, path: str, around: HostView, *, whole: bool = False) -> list[Effect]:
    if _is_own(form, around.own_paths, whole=whole):
        return [Effect(EffectKind.TAMPER, path, "place:own/write", _OWN, Variant.SELF)]
    if _is_record(form, around):
        because = "these records tell the gate who did what"
        return [Effect(EffectKind.TAMPER, path, "place:tamper/client", because, Variant.SELF)]
    return []


@lru_cache(maxsize=64)
def _compile(patterns: tuple[str, ...]) -> tuple[tuple[Names, str], ...]:
    """A person's patterns. One that names a folder means all that is in it."""
    out = []
    for pattern in patterns:
        names = split_pattern(pattern)
        out += [(names, pattern), ((*names, "**"), pattern)]
    return tuple(out)


def _effects_of_configured_place(
    form: Path, path: str, patterns: tuple[str, ...], kind: EffectKind, gives: Label | None
) -> list[Effect]:
    for names, pattern in _compile(patterns):
        if _meets(names, form):
            name = {EffectKind.READ_SECRET: "secret", EffectKind.TAMPER: "protected"}.get(kind, "persistent")
            because = f"the configuration lists {pattern} as {name}"
            return [Effect(kind, path, f"place:configured/{name}", because, gives=gives)]
    return []


def _effects_of_configured_write(form: Path, path: str, around: HostView) -> list[Effect]:
    return [
        *_effects_of_configured_place(form, path, around.rules.protected_paths, EffectKind.TAMPER, None),
        *_effects_of_configured_place(form, path, around.rules.persistent_paths, EffectKind.PERSIST, None),
    ]


def _hook_folder(form: Path, path: str, around: HostView) -> list[Effect]:
    """Writing into a folder of hooks, or in the place of one."""
    if not _lies_in(around.hook_folders(), form):
        return []
    because = "git runs what lies here as hooks (core.hooksPath)"
    return [Effect(EffectKind.PERSIST, path, "place:persist/git-hooks", because)]


def _program_folder(form: Path, path: str, around: HostView) -> list[Effect]:
    """Writing into a folder of ``PATH``; in one of the project's own, under the name of a program that is known."""
    folders = tuple(folder for folder in around.variables.get("PATH", "").split(":") if folder.startswith("/"))
    if not _lies_in(folders, form):
        return []
    others = tuple(folder for folder in folders if not is_inside(folder, around.workspace or "/nowhere"))
    if not (form.wild or _lies_in(others, form) or around.is_known_program(form.names[-1])):
        return []
    because = "programs that people start by name are looked for here"
    return [Effect(EffectKind.PERSIST, path, "place:persist/programs", because)]


def unique(effects: list[Effect]) -> tuple[Effect, ...]:
    """Effects, each of which is said once."""
    return tuple({(effect.rule, effect.what): effect for effect in effects}.values())


def _first_of_each_kind(effects: list[Effect]) -> tuple[Effect, ...]:
    """One effect for each kind, which says how many more kinds of places lie below: a home folder has a dozen."""
    rows: dict[str, dict[str, Effect]] = {}
    for effect in effects:
        rows.setdefault(effect.row, {}).setdefault(effect.rule, effect)
    return tuple(_with_count(list(found.values())) for found in rows.values())


def _with_count(effects: list[Effect]) -> Effect:
    first, more = effects[0], len(effects) - 1
    if not more:
        return first
    return first._replace(because=f"{first.because}, and {more} more of this kind lie{'s' * (more == 1)} below it")
