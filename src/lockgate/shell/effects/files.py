"""Finds the effects of reading, writing and removing the files that words name."""

from __future__ import annotations

import posixpath

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Label, Variant
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.path_spelling import is_of_a_process, is_outside_workspace
from lockgate.resources.paths import (
    read_effects,
    recursive_read_effects,
    recursive_write_effects,
    replace_effects,
    write_effects,
)
from lockgate.shell.state.abstract_text import ENVIRONMENT, NO_NAME, OPAQUE, PLAIN, as_pattern, is_known
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from lockgate.shell.effects.copies import CopyMode
    from lockgate.shell.state.machine import Machine

_NOWHERE = frozenset({"-", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full", "NUL"})
_DISKS = "sd hd nvme vd xvd disk rdisk mmcblk dm- mapper/ mem kmem loop md"
_DEVICES = tuple(f"/dev/{name}" for name in _DISKS.split())
_NETWORK = ("/inet/", "/inet4/", "/inet6/")
OPTION_NAME = "place:persist/option-name"
CONTAINED_FILE = "shell:contained-file"
_DESCRIPTOR = lazy_re(r"/(?:dev|proc/self)/fd/[\d\x01]+")


def read(arg: Arg, machine: Machine, scope: Scope, *, below: bool = False) -> list[Effect]:
    """Effects of reading a file, or with ``below`` all that lies in a folder."""
    found = _read(arg, machine, scope, below=below)
    if found and arg.names:
        found = [effect for name in arg.meanings for effect in _read(name, machine, scope, below=below)]
    machine.note_read(arg.text, scope, found)
    return found


def _read(arg: Arg, machine: Machine, scope: Scope, *, below: bool) -> list[Effect]:
    if arg.text in _NOWHERE or _DESCRIPTOR.fullmatch(arg.text):
        return []
    if arg.text.startswith(_NETWORK):
        because = "awk opens a file of this name as a connection"
        return [Effect(EffectKind.EGRESS, arg.shown, "shell:network-file", because, gives=Label.UNTRUSTED)]
    look = recursive_read_effects if below else read_effects
    found = [effect for path, cwd in _paths(arg, machine, scope) for effect in look(path, cwd, machine.around)]
    if arg.static is None or "**" in arg.text:
        from lockgate.shell.effects.unknown_files import others_read

        found += others_read(arg, machine, scope)
    found += _only_contained_see(arg, machine, scope)
    if _may_be_any_file(arg.text, machine, scope):
        because = "it cannot be told before it runs which file this reads"
        found.append(Effect(EffectKind.EXECUTE, arg.shown, "shell:unknown-read", because))
    return found


def _only_contained_see(arg: Arg, machine: Machine, scope: Scope) -> list[Effect]:
    """The effect of naming a file that lies in the ``/tmp`` of contained commands: outside it would not be found."""
    paths = (posixpath.normpath(posixpath.join(cwd or "/", arg.text)) for cwd in scope.cwds if arg.static is not None)
    if not any(path.startswith("/tmp/") and machine.around.is_seen_by_contained_only(path) for path in paths):  # noqa: S108
        return []
    from lockgate.shell.effects.unlisted import effect_of_unlisted

    return [effect_of_unlisted(arg.shown, CONTAINED_FILE, "only contained commands of this project see this file")]


def _may_be_any_file(text: str, machine: Machine, scope: Scope) -> bool:
    """Whether a word may turn out to name a file that is nothing to read for everybody.

    What the environment says, and what a file is called that ``find`` meets by its path, lies where the word begins.
    """
    if OPAQUE in text:
        return True
    for cwd in scope.cwds:
        if is_of_a_process(text, cwd):
            return True
    at = text.find(ENVIRONMENT)
    if at <= 0:
        return at == 0 or ("" in scope.cwds and not text.startswith(("/", "~")))
    folder = text[:at].rpartition("/")[0] or ("/" if text.startswith("/") else ".")
    return any(recursive_read_effects(folder, cwd, machine.around) for cwd in scope.cwds)


def change(arg: Arg, machine: Machine, scope: Scope, *, below: bool = False) -> list[Effect]:
    """Effects of changing or removing a file that is there.

    Only here a star is taken for the names that there are: until it runs somebody may make a folder that it could mean,
    too, and what a copy puts into that folder is a new file. To be changed a file must have been made before.
    """
    made = machine.disk.made
    found = write(arg, machine, scope, below=below, there=True)
    found += _only_contained_see(arg, machine, scope)
    # The pattern by itself says nothing of hidden names, which some shells give.
    if arg.names and (found or any("/." in f"/{name}" for name in arg.names)):
        found = [effect for name in arg.meanings for effect in write(name, machine, scope, below=below, there=True)]
    machine.disk.made, machine.disk.changed = made, True
    return found


def write(
    arg: Arg, machine: Machine, scope: Scope, *, below: bool = False, replaced: bool = False, there: bool = False
) -> list[Effect]:
    """Effects of creating, changing or removing a file.

    With ``below`` all that lies below it is meant too; with ``replaced`` what is put there may be a folder or a link;
    with ``there`` nothing happens unless it is there already.
    """
    text = arg.text
    if text in _NOWHERE or _DESCRIPTOR.fullmatch(text):
        if machine.around.shell_stays and "/fd/" in text:
            from lockgate.shell.effects.persistent_shell import check_descriptor

            check_descriptor(machine, text.rpartition("/")[2])
        return []
    if text.startswith(_DEVICES):
        because = "writing to a device destroys what is on it"
        return [Effect(EffectKind.DESTROY, text, "shell:device", because)]
    found = _effects_of_unclear_write(arg, machine, scope, there=there)
    machine.disk.made = True
    look = recursive_write_effects if below else replace_effects if replaced else write_effects
    meant = [effect for path, cwd in _paths(arg, machine, scope) for effect in look(path, cwd, machine.around)]
    if arg.static is None and any(effect.kind is EffectKind.PERSIST for effect in meant):
        from lockgate.shell.effects.unknown_files import perhaps

        meant = perhaps(arg, meant, machine, scope)
    found += meant
    if machine.disk.moved:
        from lockgate.shell.effects.copies import through_copies

        found += through_copies(_paths(arg, machine, scope), machine.around, machine.disk.moved)
    return [effect for effect in found if effect.rule != OPTION_NAME] if _continues_a_name(text) else found


def _effects_of_unclear_write(arg: Arg, machine: Machine, scope: Scope, *, there: bool) -> list[Effect]:
    """Note that a file is written, and give the effects of a name that is not wholly known before it runs."""
    text = arg.text
    found: list[Effect] = []
    relative = not text.startswith(("/", "~"))
    machine.findings.relative_writes += relative
    linked = text.startswith("/dev/fd/") or any(is_of_a_process(text, cwd) for cwd in scope.cwds)
    if linked or OPAQUE in text or ENVIRONMENT in text or (relative and "" in scope.cwds):
        because = "it cannot be told before it runs where this writes"
        found.append(Effect(EffectKind.EXECUTE, arg.shown, "shell:unknown-write", because))
    path = as_pattern(_one_level(arg))
    machine.disk.note_written(path if path.strip(NO_NAME) else arg.static or "")
    if not is_known(text):
        from lockgate.shell.effects.unknown_files import others_written

        found += others_written(text, machine, scope, there=there)
    return found


def _continues_a_name(text: str) -> bool:
    """Whether a file's name begins as that of one that is there, and what is put behind it makes no option of it."""
    name = text.rpartition("/")[2]
    return name.startswith(PLAIN) and OPAQUE not in name and "$(" not in name and "`" not in name


def write_into(
    target: Arg, sources: list[Arg], machine: Machine, scope: Scope, how: CopyMode | None = None
) -> list[Effect]:
    """Effects of writing a file that may turn out to be a folder, in which the sources' names are then written."""
    from lockgate.shell.effects.copies import CopiedFiles, CopyMode, copy_effects

    # Two things cannot be copied to one file.
    into_folder = sum(source.static is not None for source in sources) > 1
    before = CopiedFiles(machine.around, machine.disk.moved, into_folder)
    # A slash at its end says that it is a folder already.
    found = write(target, machine, scope, replaced=not target.text.endswith("/"))
    for source in sources:
        if ".git" in source.text.split("/"):
            machine.disk.note_unnamed()
        inside = _effects_of_namesake(source, target, machine, scope)
        if inside and source.names and _matters_by_name_only(source, target, inside, machine, scope):
            inside = [
                effect for name in source.meanings for effect in _effects_of_namesake(name, target, machine, scope)
            ]
        found += inside
        unsaid = copy_effects(source, target, how or CopyMode(), before, scope)
        if any(effect.variant is Variant.UNLISTED for effect in unsaid):
            machine.disk.note_unnamed()
        found += unsaid
    return found


def _effects_of_namesake(source: Arg, target: Arg, machine: Machine, scope: Scope) -> list[Effect]:
    """Effects of writing into a folder under the name that something has elsewhere."""
    found: list[Effect] = []
    name = source.text.rstrip("/").rpartition("/")[2]
    any_name = name in ("", ".", "..", PLAIN) or (source.glob and name.startswith((".", "*", "?", "[")))
    if any_name or target.text.endswith("/."):
        # What nobody has named may take the place of anything in the folder.
        found += write(target, machine, scope, below=True)
    if name not in ("", ".", ".."):
        inside = Arg(f"{target.text.rstrip('/') or '/'}/{name}", target.glob or source.glob)
        found += write(inside, machine, scope, replaced=True)
    return found


def _matters_by_name_only(source: Arg, target: Arg, inside: list[Effect], machine: Machine, scope: Scope) -> bool:
    """Whether what a copy writes matters by its name alone, so that it mattered where it lies when it was made there.

    Nothing in the folder matters by where it is. Then a star stands for the names that there are: another one would
    have to be made meanwhile, and that counts by itself.
    """
    around = machine.around
    if any(recursive_write_effects(path, cwd, around) for path, cwd in _paths(target, machine, scope)):
        return False
    here = {e.rule for path, cwd in _paths(source, machine, scope) for e in replace_effects(path, cwd, around)}
    there = Arg(f"{target.text.rstrip('/') or '/'}/{source.text.rstrip('/').rpartition('/')[2]}", glob=True)
    by_name = {e.rule for path, cwd in _paths(there, machine, scope) for e in replace_effects(path, cwd, around)}
    return here.issuperset(by_name | {effect.rule for effect in inside if effect.variant is not Variant.UNLISTED})


def _one_level(arg: Arg) -> str:
    """The word, where ``**`` is for the shell what ``*`` is: below it are folders, and none that begins with a dot."""
    return arg.text.replace("**", "*") if arg.glob else arg.text


def _paths(arg: Arg, machine: Machine, scope: Scope) -> list[tuple[str, str]]:
    """The paths to look up, each with the folder that it starts from.

    Stars alone are taken for ordinary names in a project, and where nobody knows the folder.
    """
    if arg.static is not None:
        return [(arg.text, cwd) for cwd in scope.cwds if arg.text]
    path = as_pattern(_one_level(arg))
    if path.strip(NO_NAME):
        found = [(path, cwd) for cwd in scope.cwds]
        if arg.glob:
            from lockgate.shell.effects.glob_matches import matches_behind_links

            # By its letters a link says nothing of where it leads.
            found += matches_behind_links(arg.text, machine, scope)
        return found
    ordinary = "/".join(name if name.strip("*") else name and "_" for name in path.split("/"))
    away = [bool(cwd) and is_outside_workspace(cwd, cwd, machine.around) for cwd in scope.cwds]
    return [(path if far else ordinary, cwd) for cwd, far in zip(scope.cwds, away, strict=True)]
