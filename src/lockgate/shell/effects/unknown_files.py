"""Finds which files a word may mean of which not all is known.

It may mean any file of a folder, a file that is looked for at any depth, or what the gate itself keeps there.
"""

from __future__ import annotations

from lockgate.core.model import Effect, EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.globs import is_wild, names_meet
from lockgate.resources.path_spelling import absolute, is_inside
from lockgate.resources.paths import (
    OWN_BELOW,
    OWN_STATE,
    read_effects,
    recursive_read_effects,
    recursive_write_effects,
    write_effects,
)
from lockgate.shell.effects.unlisted import TARGET, effect_of_unlisted
from lockgate.shell.state.abstract_text import ENVIRONMENT, NO_NAME, OPAQUE, PLAIN, as_pattern, is_known
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from lockgate.resources.host_view import HostView
    from lockgate.shell.state.machine import Machine

_ANY_NAMES = frozenset({OPAQUE, PLAIN, ENVIRONMENT})
_STATE_FILES = (
    *("key", "store.json", "lockgate.db", "lockgate.db-wal", "open-*.html"),
    *(f"lockgate.db.{'[0-9]' * digits}" for digits in (1, 2, 10)),
)
"""Names in the gate's state whose contents can answer for a person, or tell what does.

Copies of the database have the number of a version, or the seconds at which they were replaced.
"""
_OWN_NAMES = "the gate's own state lies below it, with files of such names"


def others_read(arg: Arg, machine: Machine, scope: Scope) -> list[Effect]:
    """Effects of reading what a word may mean, beside the files that it is spelt like."""
    found: list[Effect] = []
    if (folder := _folder_of_any_file(arg.text)) is not None:
        found += [effect for cwd in scope.cwds for effect in recursive_read_effects(folder, cwd, machine.around)]
    for cwd in scope.cwds:
        found += _state_meant(arg, cwd, machine)
        if (named := _find_looked_for(arg.text)) is not None:
            from lockgate.resources.unknown_folders import effects_of_named_read

            found += effects_of_named_read(*named, cwd, machine.around)
    return found


def others_written(text: str, machine: Machine, scope: Scope, *, there: bool) -> list[Effect]:
    """Effects of changing what a word may mean, beside the files that it is spelt like.

    With ``there`` nothing happens unless it is there already.
    """
    found: list[Effect] = []
    if (folder := _folder_of_any_file(text)) is not None:
        found += [effect for cwd in scope.cwds for effect in recursive_write_effects(folder, cwd, machine.around)]
    for cwd in scope.cwds:
        found += _effects_below(text, cwd, machine, there=there)
    return found


def perhaps(arg: Arg, meant: list[Effect], machine: Machine, scope: Scope) -> list[Effect]:
    """Effects of changing files by a pattern that may, but need not, stand for a file that is trusted later.

    Inside the project that can be left to a sandbox, in which such files are read-only. Some patterns mean such files
    whatever the stars stand for (``.github/workflows/*``). Those count in full, and so do patterns elsewhere.
    """
    around = machine.around
    path = as_pattern(arg.text)
    names = path.split("/")
    first = next((at for at, name in enumerate(names) if is_wild(name)), 0)
    folders = [absolute("/".join(names[:first]) or ".", cwd, around) for cwd in scope.cwds]
    if not is_wild(names[first]) or not all(folder and _is_in_project(folder, around) for folder in folders):
        return meant
    ordinary = "/".join("_" if is_wild(name) else name for name in names)
    certain = {
        effect.rule
        for cwd in scope.cwds
        for effect in recursive_write_effects(ordinary, cwd, around)
        if effect.kind is EffectKind.PERSIST
    }
    kept = [effect for effect in meant if effect.kind is not EffectKind.PERSIST or effect.rule in certain]
    maybe = [effect for effect in meant if effect not in kept]
    if not maybe or certain:
        return meant
    because = f"`{arg.shown}` may stand for a file of which this holds: {maybe[0].because}"
    return [*kept, effect_of_unlisted(arg.shown, TARGET, because)]


def _is_in_project(folder: str, around: HostView) -> bool:
    """Whether a folder lies in the project, with links resolved, and the project is no home folder."""
    root = around.workspace
    if not root or is_inside(around.home, root):
        return False
    return is_inside(folder, root) and is_inside(around.realpath(folder), around.realpath(root))


def _state_meant(arg: Arg, cwd: str, machine: Machine) -> list[Effect]:
    """Effects of reading the gate's own state, where it can be among the files that an unknown name stands for."""
    if arg.static is None and not as_pattern(arg.text).strip(NO_NAME):
        return [effect for effect in read_effects(arg.text, cwd, machine.around) if effect.rule == OWN_STATE]
    parts = arg.text.split("/")
    at = next((at for at, part in enumerate(parts) if part in _ANY_NAMES or part[:1] == PLAIN or part == "**"), -1)
    name = parts[-1].replace(OPAQUE, "*").replace(ENVIRONMENT, "*").replace(PLAIN, "*").casefold()
    if at < 0 or not _is_of_state(name):
        return []
    folder = "/".join(parts[:at]).replace(PLAIN, "*") or ("/" if arg.text.startswith("/") else ".")
    return [effect for effect in recursive_read_effects(folder, cwd, machine.around) if effect.rule == OWN_BELOW]


def _folder_of_any_file(text: str) -> str | None:
    """The folder of which a word may name any file, where that is all that is known of it."""
    folder, slash, name = text.rpartition("/")
    return (folder or "/") if slash and name == PLAIN and is_known(folder) else None


def _find_looked_for(text: str) -> tuple[str, str] | None:
    """The folder and the name where a word says what is looked for at any depth of a folder."""
    if OPAQUE in text or (PLAIN not in text and ENVIRONMENT not in text):
        return None
    *folders, name = text.split("/")
    name = name.replace(PLAIN, "*").replace(ENVIRONMENT, "*")
    at = next((at for at, part in enumerate(folders) if not is_known(part)), len(folders))
    return ("/".join(folders[:at]) or ("/" if text.startswith("/") else "."), name) if name.strip("*") else None


def _effects_below(text: str, cwd: str, machine: Machine, *, there: bool) -> list[Effect]:
    """Effects of changing what is found under a name at any depth of a folder."""
    folder, slash, name = text.rpartition("/")
    around = machine.around
    if PLAIN in name and name.strip(PLAIN):
        # What is unknown of the name can hold folders, too.
        name = name.replace(PLAIN, "*")
        above = absolute(folder or slash or ".", cwd, around) if is_known(folder + name) else None
        return _swept(above, name, cwd, around) if above is not None else []
    if not folder.endswith((PLAIN, ENVIRONMENT)) or not is_known(name) or not name.strip(PLAIN + "*"):
        return []
    above = absolute(folder[:-1].rstrip("/") or ("." if folder == PLAIN else "/"), cwd, around)
    if above is None:
        return []
    if is_wild(name):
        return _swept(above, name, cwd, around)
    from lockgate.resources.unknown_folders import effects_of_named_write

    found = [*effects_of_named_write(above, name, cwd, around)]
    if found and there:
        from lockgate.shell.effects.glob_matches import is_disk_unchanged

        # What is there tells, as long as nothing on the line can have changed that.
        paths = around.find_below(above, name) if is_disk_unchanged(machine) else None
        found = found if paths is None else [effect for path in paths for effect in write_effects(path, "", around)]
    for own in around.own_paths:
        is_named = name.casefold() in own.casefold().split("/") or _is_of_state(name)
        if is_inside(own, above) and is_named:
            found += write_effects(own, "", around)
    return found


def _is_of_state(name: str) -> bool:
    """Whether a name, which may have stars, can be that of a file in the gate's state."""
    return any(names_meet(file, name.casefold()) for file in _STATE_FILES)


def _swept(above: str, name: str, cwd: str, around: HostView) -> list[Effect]:
    """Effects of changing what a pattern finds in a folder with the gate's state below it.

    In other folders, above all in a project, a pattern is the ordinary way to say which files are meant.
    """
    if not any(is_inside(state, above) for state in around.state_paths):
        return []
    from lockgate.resources.unknown_folders import effects_of_named_write

    found = [effect for effect in effects_of_named_write(above, name, cwd, around) if effect.kind is EffectKind.TAMPER]
    if _is_of_state(name):
        found.append(Effect(EffectKind.TAMPER, f"{above.rstrip('/')}/**/{name}", OWN_BELOW, _OWN_NAMES))
    return found
