"""Puts the plan of a sandbox together from where things are on this machine."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping

from lockgate.containment import hidden_files
from lockgate.containment.environment import TEMPORARY, make_contained_environment, npm_folders
from lockgate.containment.host import workspace_problem
from lockgate.containment.leftovers import OPEN_TO_ALL, empty_file_in, prepare_own_folder, prepare_temporary_folder
from lockgate.containment.plan import DEVICES, EMPTY, PROCESSES, QUEUES, READ_ONLY, SHARED, WRITABLE, Mount, Plan
from lockgate.containment.protected_files import survey
from lockgate.core.errors import ContainmentError
from lockgate.core.record import Record
from lockgate.core.version import PACKAGE_FOLDER
from lockgate.resources.host_view import HostView
from lockgate.resources.paths import read_effects
from lockgate.resources.protected_paths import PathGuard, ProtectedPath
from lockgate.system.files import real_path

_VOLATILE = ("/run", "/var/run", "/run/lock", "/tmp", "/var/tmp", "/dev/shm", "/var/folders")  # noqa: S108 - hidden
"""Where the sockets of a machine's services lie, and on macOS everybody's temporary files."""
_SYSTEM = ("/run/current-system", "/run/booted-system", "/run/opengl-driver", "/run/wrappers", "/run/host")
"""Parts of ``/run`` that hold programs, on systems that keep them there."""
_OWN = (sys.base_prefix, PACKAGE_FOLDER)
"""What runs inside before the command does."""


class ContainedRun(Record):
    """One contained run, as it is asked for."""

    state: str
    """The gate's state folder."""
    home: str
    workspace: str
    cwd: str
    command: tuple[str, ...]
    environ: Mapping[str, str]
    around: HostView
    named: tuple[str, ...] = ()
    """Paths that the command names: of temporary files, only these are seen."""
    git: bool = True
    """Whether git's records may change (and never its hooks and configuration)."""
    room: str = ""
    """The name of the session's room; empty for a command that stands alone."""
    registries: str = ""
    """Under which name it is noted what the command may ask package indexes for; empty for nothing."""
    offline: bool = False
    """Whether its packages are to come from a cache that the person has filled."""


class Layout(Record):
    """A plan, and what is needed to look after it."""

    plan: Plan
    guard: PathGuard
    roots: tuple[str, ...]
    """Folders that the command may write to and that outlast it."""
    before: Mapping[str, ProtectedPath]
    """What mattered in them at the start, by path."""
    folder: str
    """Where what the command leaves in its own folders is kept."""


class FileLookup:
    """How the files of a machine are looked at for a plan: by walking through the folders, here and now."""

    def __init__(self, guard: PathGuard) -> None:
        """Look with a guard."""
        self.guard = guard

    def project(self, root: str) -> Iterable[ProtectedPath]:
        """What matters below a folder that may be written to. Raises ``ContainmentError`` where that is too much."""
        return survey(root, self.guard)

    def near(self, home: str, workspace: str) -> Iterable[str]:
        """Files with secrets in the other projects of the person."""
        return hidden_files.find_nearby_secrets(home, self.guard, workspace)


def roots_of(run: ContainedRun) -> tuple[str, ...]:
    """Folders that a run may write to and that outlast it.

    Raises:
        ContainmentError: The project is none that a contained command may write to.
    """
    workspace = real_path(run.workspace)
    why = workspace_problem(workspace, run.home)
    if why:
        raise ContainmentError(why)
    return (workspace, *(_git_folders(workspace, real_path(run.cwd)) if run.git else ()))


def lay_out(run: ContainedRun, look: FileLookup | None = None) -> Layout:
    """Make the plan of a sandbox.

    Args:
        run: What is to run.
        look: How files are looked at; by default by walking through the folders.

    Raises:
        ContainmentError: The command cannot be contained here.
    """
    roots = roots_of(run)
    look = look or FileLookup(PathGuard(run.around))
    guard = look.guard
    folder = prepare_own_folder(run.state, roots[0])
    before = {entry.path: entry for root in roots for entry in look.project(root)}
    volatile = _volatile(run)
    back = _brought_back(run, volatile)
    own = _list_own_paths(run, roots)
    mounts = [
        Mount(READ_ONLY, "/", "/"),
        Mount(PROCESSES, "/proc"),
        Mount(DEVICES, "/dev"),
        *_queues(),
        *_private(run, volatile, back, folder),
        *_outside(run, look, volatile, back),
        *(Mount(WRITABLE, root, root) for root in roots),
        *_pin_parents(own, roots),
        *_inside(before.values(), run, roots),
        *(Mount(READ_ONLY, path, path) for path in own),
    ]
    cached = run.offline and os.path.isdir(os.path.join(run.home, ".npm", "_cacache"))
    environment = {**npm_folders(run.home, cached=cached), **make_contained_environment(run.environ, run.home)}
    plan = Plan(tuple(mounts), _folder_inside(run, roots), environment, run.command, guard.list_protected())
    return Layout(_with_registries(run, plan, folder) if run.registries else plan, guard, roots, before, folder)


def _with_registries(run: ContainedRun, plan: Plan, folder: str) -> Plan:
    """A plan with the way to package indexes."""
    from lockgate.containment.registry_proxy.opening import INSIDE, open_proxy

    proxy = open_proxy(run.state, run.registries, run.room, run.home, run.environ)
    stores = [mount for place in proxy.stores for mount in _own_store(place, run.home, folder)]
    return plan._replace(
        mounts=(*plan.mounts, *stores, Mount(READ_ONLY, INSIDE, proxy.folder)),
        environment={**plan.environment, **proxy.environment},
        command=(*proxy.wrapper, *plan.command),
    )


def _own_store(place: str, home: str, folder: str) -> Iterator[Mount]:
    """A folder of the command's own at the place where a person's package manager keeps packages, below their home."""
    from lockgate.system.ownership import make_folders

    own = os.path.join(folder, "store")
    try:
        make_folders(own)
        make_folders(place)
    except OSError:
        return
    if real_path(place) == place and _is_below(place, (real_path(home),)):
        yield Mount(WRITABLE, place, own)


# ---------------------------------------------------------------- the command's own
def _volatile(run: ContainedRun) -> tuple[str, ...]:
    paths = (*_VOLATILE, run.environ.get("XDG_RUNTIME_DIR") or _VOLATILE[0])
    real = dict.fromkeys(real_path(path) for path in paths if path.startswith("/"))
    return tuple(path for path in real if path != "/" and os.path.isdir(path))


def _brought_back(run: ContainedRun, volatile: tuple[str, ...]) -> tuple[str, ...]:
    """What is needed of the folders that are hidden: the home folder, programs, the folder that the command runs in."""
    # With ``-S``, ``sys.prefix`` is not the virtual environment whose interpreter runs this.
    programs = [*run.environ.get("PATH", "").split(":"), os.path.dirname(sys.executable)]
    environments = [os.path.dirname(path) for path in programs if os.path.exists(os.path.join(path, "../pyvenv.cfg"))]
    wanted = [run.home, *programs, *environments, sys.prefix, *_OWN, *_SYSTEM, run.cwd]
    real = {real_path(path) for path in wanted if path.startswith("/") and os.path.isdir(path)}
    real |= {real_path(path) for path in run.named if _is_own_file(path, run.around)}
    return tuple(path for path in sorted(real) if path not in volatile and _is_below(path, volatile))


def _is_own_file(path: str, around: HostView) -> bool:
    """Whether a path is a plain file or folder of the person's own that holds no secret and no record."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    plain = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    return plain and found.st_uid == os.getuid() and not read_effects(path, "", around)


def _private(run: ContainedRun, volatile: tuple[str, ...], back: tuple[str, ...], folder: str) -> Iterator[Mount]:
    """Folders of services hidden, temporary ones and the cache replaced by the command's own."""
    temporary = real_path(TEMPORARY)
    for path in volatile:
        # Nothing may lie below a folder that an earlier command could prepare: it would choose where that is mounted.
        if path == temporary and not any(_is_below(other, (path,)) for other in (*back, real_path(run.workspace))):
            yield Mount(WRITABLE, path, prepare_temporary_folder(folder, run.room))
        else:
            yield Mount(SHARED if os.stat(path).st_mode & OPEN_TO_ALL == OPEN_TO_ALL else EMPTY, path)
    yield from (Mount(READ_ONLY, path, path) for path in back)
    cache = os.path.join(real_path(run.home), ".cache")
    if not os.path.isdir(cache):
        from lockgate.system.ownership import make_folders

        try:
            make_folders(cache)
        except OSError:
            return
    yield Mount(WRITABLE, real_path(cache), os.path.join(folder, "cache"))


def _queues() -> Iterator[Mount]:
    """The command's own message queues: without the mount, Landlock refuses all of them."""
    try:
        with open("/proc/filesystems", encoding="ascii") as file:
            known = file.read()
    except OSError:
        return  # not Linux
    if "\tmqueue\n" in known:
        yield Mount(QUEUES, "/dev/mqueue")


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def _shows(path: str, back: Iterable[str]) -> bool:
    """Whether a path, or a part of it, is among what was brought back: a project's ``PATH`` can name any folder."""
    return any(_is_below(f"{path}/", (other,)) or _is_below(other, (path,)) for other in back)


def _folder_inside(run: ContainedRun, roots: tuple[str, ...]) -> str:
    """Where the command starts: the folder that it would have started in."""
    return run.cwd if os.path.isdir(run.cwd) else roots[0]


# ---------------------------------------------------------------- the rest of the machine
def _outside(run: ContainedRun, look: FileLookup, volatile: tuple[str, ...], back: tuple[str, ...]) -> Iterator[Mount]:
    """What is hidden of the rest of the machine: secrets, records, the gate's state, sockets."""
    covered: list[str] = []
    # The cache is the command's own already; what lies below it there was its own choice.
    cache = (real_path(os.path.join(run.home, ".cache")),)
    nothing = empty_file_in(run.state)
    near = look.near(run.home, real_path(run.workspace))
    paths = [*hidden_files.secrets(run.home, run.around), *near, *hidden_files.sockets()]
    for path in [run.state, *paths]:
        real = real_path(path)
        unseen = _is_below(real, volatile) and not _shows(real, back)
        if (
            unseen
            or real in covered
            or _is_below(real, (*covered, *cache))
            or hidden_files.is_closed_to_contained(real)
        ):
            continue
        mount = _hide(real, nothing)
        if mount is not None:
            covered += [real] if mount.kind == EMPTY else []
            yield mount
    for path in hidden_files.harmless(covered[1:], run.around):
        yield Mount(READ_ONLY, path, path)


def _hide(path: str, nothing: str) -> Mount | None:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return None
    return Mount(EMPTY, path) if stat.S_ISDIR(mode) else Mount(READ_ONLY, path, nothing)


# ---------------------------------------------------------------- the project
def _inside(entries: Iterable[ProtectedPath], run: ContainedRun, roots: tuple[str, ...]) -> Iterator[Mount]:
    """What is read-only or hidden of the folders that may be written to."""
    nothing = empty_file_in(run.state)
    for entry in entries:
        path = entry.path
        if entry.link:
            path = real_path(path)
            if not os.path.exists(path) or not _is_below(f"{path}/", roots):
                continue
        if hidden_files.is_closed_to_contained(path):
            continue
        if entry.hidden:
            mount = _hide(path, nothing)
            if mount is not None:
                yield mount
        elif entry.pinned and run.git:
            yield Mount(WRITABLE, path, path)
        else:
            yield Mount(READ_ONLY, path, path)


def _list_own_paths(run: ContainedRun, roots: tuple[str, ...]) -> list[str]:
    """The gate's own code and configuration, where they lie in folders that may be written to."""
    paths = dict.fromkeys(map(real_path, run.around.own_paths))
    return [path for path in paths if _is_below(path, roots) and os.path.exists(path) and path != run.state]


def _pin_parents(paths: Iterable[str], roots: tuple[str, ...]) -> Iterator[Mount]:
    """Folders above some paths as mounts of their own: such a folder cannot be renamed."""
    above = {parent for path in paths for parent in _parents(path) if _is_below(parent, roots)}
    yield from (Mount(WRITABLE, path, path) for path in sorted(above))


def _parents(path: str) -> Iterator[str]:
    while (path := os.path.dirname(path)) != "/":
        yield path


def _git_folders(*folders: str) -> tuple[str, ...]:
    """The repositories that folders belong to, where they lie elsewhere: those of a work tree or a submodule."""
    found = []
    for folder in dict.fromkeys(folders):
        mark = os.path.join(folder, ".git")
        try:
            with open(mark, encoding="utf-8", errors="surrogateescape") as file:
                text = file.readline(4096)
        except OSError:
            continue
        name, _, target = text.strip().partition(" ")
        own = real_path(os.path.join(folder, target))
        common = _common(own)
        # Where a repository has another name, the table of places does not know its hooks.
        if name == "gitdir:" and os.path.exists(os.path.join(own, "HEAD")) and ".git" in common.split("/"):
            found.append(common)
    return tuple(dict.fromkeys(path for path in found if not any(path.startswith(f"{f}/") for f in folders)))


def _common(git: str) -> str:
    """The folder that a repository shares with its other work trees."""
    try:
        with open(os.path.join(git, "commondir"), encoding="utf-8", errors="surrogateescape") as file:
            return real_path(os.path.join(git, file.readline(4096).strip()))
    except OSError:
        return git
