"""What ``lockgate doctor`` finds of the rights of others: on the state, and on all that a hook loads or starts."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import stat
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence

from lockgate.clients.install import claude
from lockgate.clients.install.claude_settings_view import CheckContext, DoctorCheck
from lockgate.core.display_text import visible
from lockgate.core.record import Record
from lockgate.core.version import PACKAGE_FOLDER
from lockgate.system.ownership import user_name

_LIBRARIES = ("purelib", "platlib")


def check_mode(name: str, path: str, forbidden: int) -> DoctorCheck:
    """Whether others have rights to a place that they must not have.

    Args:
        name: The check's name.
        path: The place.
        forbidden: The rights that only the owner may have, as bits of a mode.
    """
    try:
        found = os.lstat(path)
    except OSError:
        return DoctorCheck(name, "ok", f"{path} is not there yet")
    if found.st_uid not in (os.geteuid(), 0):
        whose = user_name(found.st_uid)
        return DoctorCheck(name, "fail", f"{path} belongs to user {whose}", f"run this, and your agents, as {whose}")
    if stat.S_ISLNK(found.st_mode):
        return DoctorCheck(name, "warn", f"{path} is a link", "make sure that only you can change what it points to")
    others = forbidden & ~stat.S_IRWXG if _is_own_group(found.st_gid) else forbidden
    if stat.S_IMODE(found.st_mode) & others:
        tighter = f"{stat.S_IMODE(found.st_mode) & ~forbidden:o}"
        return DoctorCheck(name, "fail", f"others can get at {path}", f"run: chmod {tighter} {shlex.quote(path)}")
    return DoctorCheck(name, "ok", f"{path} is safe from others")


class Exposed(Record):
    """What others may write to."""

    above: tuple[str, ...]
    """Folders in which they could put something else in the place of what is in them."""
    below: tuple[str, ...]
    """Folders and files, each given to be looked at, in which there is something that they could change."""
    first: str
    """The first place of all."""
    many: int
    """How many there are."""


def check_program(seen: CheckContext) -> DoctorCheck:
    """Whether others could change what hooks load, what starts them, or the settings that name them."""
    name = "program"
    if os.stat(PACKAGE_FOLDER).st_uid not in (os.geteuid(), 0):
        return check_mode(name, PACKAGE_FOLDER, 0)
    found = find_exposed([*_trees(seen.folders.home), *_files(seen)])
    if not found.many:
        return DoctorCheck(name, "ok", f"{PACKAGE_FOLDER}, and all that starts or loads it, is safe from others")
    more = f", and {found.many - 1} more" if found.many > 1 else ""
    return DoctorCheck(name, "fail", f"others can change {visible(found.first, 200)}{more}", f"run: {_chmod(found)}")


def find_exposed(places: Sequence[str]) -> Exposed:
    """What others may change of some places, of all that is in them, and of the folders above them.

    A folder that others cannot enter hides what is below it. What is root's is the administrator's, and so is its
    group: there only what everybody may write counts.

    Args:
        places: Absolute paths of files and folders. What a link leads to is looked at, too.
    """
    above: dict[str, None] = {}
    below: dict[str, None] = {}
    seen: list[str] = []
    for place in dict.fromkeys((*places, *map(os.path.realpath, places))):
        open_folders, is_hidden = _look_above(place)
        above.update(dict.fromkeys(open_folders))
        found = [] if is_hidden else list(_look_below(place))
        if found:
            below[place] = None
        seen += found
    every = list(dict.fromkeys((*above, *seen)))
    return Exposed(tuple(above), tuple(below), next(iter(every), ""), len(every))


def _trees(home: str) -> list[str]:
    """Folders of which hooks load everything: the package, its environment, and the Python of a person's own home."""
    found = [sys.prefix] if sys.prefix != sys.base_prefix else [sysconfig.get_path(name) for name in _LIBRARIES]
    if os.path.realpath(sys.base_prefix).startswith(os.path.join(os.path.realpath(home), "")):
        found.append(sys.base_prefix)
    trees = [os.path.realpath(each) for each in (PACKAGE_FOLDER, *found)]
    return [each for each in dict.fromkeys(trees) if not any(each.startswith(f"{other}/") for other in trees)]


def _files(seen: CheckContext) -> list[str]:
    """Files that start hooks, or name them, and the command that a person types."""
    launch = claude.this_launch(seen.folders)
    settings = [layer.file for layer in seen.layers if layer.scope in ("user", claude.MANAGED)]
    command = shutil.which("lockgate", path=seen.environ.get("PATH")) or ""
    files = (launch.python, launch.hook, launch.native, command, *settings)
    return [os.path.abspath(each) for each in files if each]


def _look_above(place: str) -> tuple[list[str], bool]:
    """The folders above a place that others can write to, and whether one of them keeps others out."""
    found: list[str] = []
    folder = "/"
    for name in place.split("/")[1:]:
        try:
            about = os.stat(folder)
        except OSError:
            return found, True
        # Where the sticky bit is set, others can neither rename nor remove what is not theirs.
        if _is_open(about) and not about.st_mode & stat.S_ISVTX:
            found.append(folder)
        if not _may_enter(about):
            return found, True
        folder = os.path.join(folder, name)
    return found, False


def _look_below(place: str) -> Iterator[str]:
    """What others can write to, of a place and all that is in it."""
    if _is_open_at(place):
        yield place
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if _may_enter_at(os.path.join(folder, name))]
        yield from (path for path in (os.path.join(folder, name) for name in (*folders, *names)) if _is_open_at(path))


def _is_open_at(path: str) -> bool:
    about = _lstat(path)
    return about is not None and not stat.S_ISLNK(about.st_mode) and _is_open(about)


def _may_enter_at(path: str) -> bool:
    about = _lstat(path)
    return about is not None and _may_enter(about)


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _is_open(about: os.stat_result) -> bool:
    by_group = about.st_mode & stat.S_IWGRP and about.st_uid != 0 and not _is_own_group(about.st_gid)
    return bool(about.st_mode & stat.S_IWOTH or by_group)


def _may_enter(about: os.stat_result) -> bool:
    return bool(about.st_mode & (stat.S_IXOTH | stat.S_IXGRP))


def _chmod(found: Exposed) -> str:
    """The line that takes the rights away."""
    trees = [each for each in found.below if os.path.isdir(each)]
    single = [each for each in (*found.above, *found.below) if not _is_in(each, trees)]
    parts = [("chmod go-w", single), ("chmod -R go-w", trees)]
    lines = [shlex.join([*how.split(), *which]) for how, which in parts if which]
    own = all(os.lstat(each).st_uid == os.geteuid() for each in (*single, *trees))
    return " && ".join(line if own else f"sudo {line}" for line in lines)


def _is_in(path: str, trees: Iterable[str]) -> bool:
    return any(path == tree or path.startswith(os.path.join(tree, "")) for tree in trees)


@functools.cache
def _is_own_group(group: int) -> bool:
    """Whether nobody but this user is in a group: many systems give each user one, and let it write (umask 002)."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    if group != user.pw_gid or found.gr_name != user.pw_name or not set(found.gr_mem) <= {user.pw_name}:
        return False
    # Whoever has it as their primary group is in it too, and stands in no list of its members.
    return all(other.pw_gid != group for other in pwd.getpwall() if other.pw_uid != user.pw_uid)
