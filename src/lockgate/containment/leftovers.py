"""Makes the folders in which contained commands leave something, and removes those not used for a month."""

from __future__ import annotations

import os

from lockgate.containment.environment import TEMPORARY

OPEN_TO_ALL = 0o1777
"""The mode of a folder for everybody's temporary files."""
_TEMPORARY = "tmp"
_DAYS = 30.0
_MOST = 20
"""Folders that are dropped after one run: the rest has its turn."""


def prepare_own_folder(state: str, workspace: str) -> str:
    """The folder for a project's contained runs: cache, temporary files. Nothing in it is trusted."""
    folder = _folder(state, workspace)
    _make(os.path.join(folder, "cache"))
    _note_use(folder)
    nothing = empty_file_in(state)
    if not os.path.exists(nothing):
        os.close(os.open(nothing, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o400))
    return folder


def prepare_temporary_folder(folder: str, room: str) -> str:
    """The temporary files of a room, or of all commands of a project that stand alone; it is made where it is not.

    Args:
        folder: The project's own folder.
        room: The room's name; empty for those that stand alone.
    """
    path = os.path.join(folder, f"{_TEMPORARY}-{room}" if room else _TEMPORARY)
    _make(path)
    os.chmod(path, OPEN_TO_ALL)  # programs look at it; nobody else gets through the state folder
    _note_use(path)
    return path


def is_seen_by_contained_only(state: str, workspace: str, path: str) -> bool:
    """Whether there is a file at a path for a project's contained commands, and none for anybody else.

    Args:
        state: The gate's state folder.
        workspace: The project's root folder, with links resolved.
        path: Absolute, without ``..``.
    """
    if os.path.lexists(path) or not path.startswith(f"{TEMPORARY}/"):
        return False
    name = path[len(TEMPORARY) + 1 :]
    return any(os.path.lexists(os.path.join(folder, name)) for folder in _temporary_folders(_folder(state, workspace)))


def _temporary_folders(folder: str) -> list[str]:
    """The temporary files of each room of a project, and of the commands that stand alone."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name == _TEMPORARY or name.startswith(f"{_TEMPORARY}-")]


def _make(path: str) -> None:
    if not os.path.isdir(path):
        from lockgate.system.ownership import make_folders

        make_folders(path)


def _folder(state: str, workspace: str) -> str:
    from lockgate.system.digests import sha256

    name = sha256(workspace.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return os.path.join(state, "contained", name)


def empty_file_in(state: str) -> str:
    """The empty file that is seen in place of a hidden one."""
    return os.path.join(state, "contained", "nothing")


def _note_use(folder: str) -> None:
    """Note that a project's folder is used now."""
    os.utime(folder)


def drop_unused(folder: str, now: float) -> None:
    """Remove what no contained command has used for a month: the folders of other projects, and files of old rooms.

    Args:
        folder: The project's own, which stays.
        now: Seconds since the epoch.
    """
    with os.scandir(os.path.dirname(folder)) as entries:
        others = [entry for entry in entries if entry.path != folder and entry.is_dir(follow_symlinks=False)]
    rooms = [path for path in _temporary_folders(folder) if path != os.path.join(folder, _TEMPORARY)]
    found = [entry.path for entry in others] + rooms
    old = [path for path in found if os.lstat(path).st_mtime < now - _DAYS * 86_400]
    for path in old[:_MOST]:
        import shutil

        # It holds what untrusted commands wrote: links in it are removed and not followed.
        shutil.rmtree(path, ignore_errors=True)
