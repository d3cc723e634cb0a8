"""Finds the effects of removing files and folders."""

from __future__ import annotations

from lockgate.core.model import Effect, EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.path_spelling import absolute
from lockgate.shell.effects.files import OPTION_NAME, change
from lockgate.shell.knowledge import lookup
from lockgate.shell.state.abstract_text import ENVIRONMENT, OPAQUE, PLAIN, is_known
from lockgate.shell.state.scope import Arg, Scope

if TYPE_CHECKING:
    from lockgate.shell.state.machine import Machine

_OF_A_PROGRAM = "place:persist/home-configuration"
_SHARED = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders")  # noqa: S108


def delete(arg: Arg, machine: Machine, scope: Scope, *, below: bool) -> list[Effect]:
    """Effects of removing a file, or with ``below`` a whole folder."""
    # A name that a command takes for an option is a danger while it is there.
    found = [effect for effect in change(arg, machine, scope, below=below) if effect.rule != OPTION_NAME]
    if found and is_known(arg.text) and not arg.loose and all(_is_in_cache(arg, cwd, machine) for cwd in scope.cwds):
        found = [effect for effect in found if effect.rule != _OF_A_PROGRAM]
    if below and (reason := _destroys(arg, machine, scope)):
        found.append(Effect(EffectKind.DESTROY, arg.shown, "shell:remove-tree", reason))
    return found


def _destroys(arg: Arg, machine: Machine, scope: Scope) -> str:
    """Why removing a tree cannot be taken back, or an empty text."""
    text = arg.text
    if OPAQUE in text or ENVIRONMENT in text:
        # ``rm -r "$x/"*`` with an empty variable is the classic; a path below a folder that is set here is none.
        empty = text.strip("\x00\x02/*") == "" and "/" in text
        return "this removes everything where the variable is empty" if empty else ""
    for cwd in scope.cwds:
        path = absolute(text.replace(PLAIN, "*"), cwd, machine.around)
        if path is not None and (reason := _loses(path, machine, behind_link=text.endswith("/"))):
            return reason
    return ""


def _loses(path: str, machine: Machine, *, behind_link: bool) -> str:
    """Why removing the tree at a path cannot be taken back, or an empty text.

    Args:
        path: Absolute.
        machine: The analysis.
        behind_link: Whether a link at its end is followed, as BSD's ``rm`` does where a slash is written behind it.
    """
    folder = path.removesuffix("/*").removesuffix("/.*") or "/"
    workspace = machine.around.workspace
    if folder == "/" or (workspace and (workspace == folder or workspace.startswith(f"{folder}/"))):
        return "this removes the whole project or more"
    if path.rpartition("/")[2] == ".git":
        return "this removes the project's history"
    # A link is removed itself. What lies behind one that is named on the way, or with a slash, is elsewhere.
    above, _, name = f"{path}/".rpartition("/") if behind_link else path.rpartition("/")
    real = f"{machine.around.realpath(above or '/').rstrip('/')}/{name}"
    if all(_may_go(form, machine) for form in (path, real)):
        return ""
    if not workspace and not _is_of_system(folder, machine.around.home):
        return ""
    return "this removes a folder outside the project"


def _is_in_cache(arg: Arg, cwd: str, machine: Machine) -> bool:
    """Whether what is removed lies, by its name and by its links, in a program's cache in the home folder."""
    path = absolute(arg.text, cwd, machine.around)
    if path is None:
        return False
    above, _, name = path.rpartition("/")
    real = f"{machine.around.realpath(above or '/').rstrip('/')}/{name}"
    return _is_cache(path, machine) and _is_cache(real, machine)


def _is_cache(path: str, machine: Machine) -> bool:
    """Whether a path is a program's cache, or lies in one: ``~/.NAME/.../cache``."""
    wanted = lookup.table("caches")["below"].split()
    for home in {machine.around.home, machine.around.real_home or machine.around.home}:
        names = path[len(home) + 1 :].casefold().split("/") if path.startswith(f"{home}/.") else []
        if any(name in wanted for name in names[1:]):
            return True
    return False


def _may_go(path: str, machine: Machine) -> bool:
    """Whether a folder is the project's or temporary, or holds only what programs make or fetch anew."""
    around = machine.around
    places = [around.workspace, *_SHARED]
    temporary = around.variables.get("TMPDIR", "").rstrip("/")
    if not f"{around.home}/".startswith(f"{temporary}/"):
        places.append(temporary)
    places += [around.realpath(place) for place in places if place]
    if any(place and path.startswith(f"{place}/") for place in places):
        return True
    if _is_cache(path, machine):
        return True
    names = lookup.table("caches")["names"].split()
    return any(
        f"{path}/".startswith(f"{home}/{name}/")
        for home in {around.home, around.real_home or around.home}
        for name in names
    )


def _is_of_system(folder: str, home: str) -> bool:
    """Whether a folder is the home folder, or the system's."""
    return folder == home or folder.count("/") == 1 or folder.startswith(("/etc/", "/usr/", "/var/", "/bin/", "/lib/"))
