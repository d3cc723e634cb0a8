"""What a contained command made in places where it may make nothing, taken out of force.

A mount keeps what exists from being changed. What does not exist has nothing to mount on: so while a command runs, and
when it has ended, what is new in such a place gets another name, beside where it was. Nothing is removed.
"""

from __future__ import annotations

import os
import time

from lockgate.containment.layout import Layout
from lockgate.containment.protected_files import find_planted, survey
from lockgate.containment.unfinished_git import is_unfinished
from lockgate.core.errors import ContainmentError
from lockgate.core.record import Record
from lockgate.resources.protected_paths import ProtectedPath

SUFFIX = ".kept-by-lockgate"
_SHALLOW = 2
"""Levels of a project that are looked at while a command runs."""
_MOST_SHALLOW = 5_000
_MOST_MOVED = 20
_SAID = 5


class Location(Record):
    """Where the content of an entry lies: its file, or what its link leads to.

    A mount keeps a file from being changed or replaced, and not the folders above it from being renamed. Then another
    file can stand at the same path. It lies in another folder.
    """

    path: str
    device: int
    folder: int
    """The inode of the folder."""


class Sweep:
    """Looks after one run."""

    def __init__(self, layout: Layout) -> None:
        """Remember what is there; the command has not begun yet."""
        self._layout = layout
        protected = [entry for entry in layout.before.values() if entry.protected]
        protected += find_planted(layout.guard, layout.roots)
        self._before = {entry.path: (entry.link, _location(entry.path)) for entry in protected}
        self._moved: dict[str, str] = {}
        self._count = 0
        self._next = 0.0
        self._problem = ""

    def look(self) -> bool:
        """Look at what matters most, where it is time. Returns whether the command has to be ended."""
        began = time.monotonic()
        if began < self._next:
            return False
        # What git does takes its time: what it keeps of it is looked at when the command has ended.
        self._go(_SHALLOW, _MOST_SHALLOW, unfinished=False)
        self._next = began + max(0.1, 20 * (time.monotonic() - began))
        return self._count > _MOST_MOVED

    def finish(self) -> None:
        """Look at everything."""
        self._go(64, 1 << 30)

    def report_lines(self) -> list[str]:
        """What was found, for the agent and the person."""
        lines = [
            f"{path} is a place that later sessions or other programs act on; it is kept as {os.path.basename(kept)}"
            for path, kept in list(self._moved.items())[:_SAID]
        ]
        if len(self._moved) > _SAID:
            lines.append(f"and {len(self._moved) - _SAID} more")
        return lines + ([self._problem] if self._problem else [])

    def _go(self, deep: int, most: int, *, unfinished: bool = True) -> None:
        for root in self._layout.roots:
            try:
                for entry in survey(root, self._layout.guard, deep=deep, most=most):
                    if not unfinished and is_unfinished(entry.path):
                        continue
                    if entry.protected and self._is_new(entry):
                        self._rename(root, entry.path)
            except ContainmentError:
                continue

        for entry in find_planted(self._layout.guard, self._layout.roots):
            if self._is_new(entry):
                root = max((root for root in self._layout.roots if entry.path.startswith(f"{root}/")), key=len)
                self._rename(root, entry.path)

    def _is_new(self, entry: ProtectedPath) -> bool:
        # What was there cannot have been changed. A link can be, since nothing can be mounted on one.
        return self._before.get(entry.path) != (entry.link, _location(entry.path))

    def _rename(self, root: str, path: str) -> None:
        """Give an entry another name, in its own folder, which is reached without following a link."""
        self._count += 1
        try:
            folder = _open_folder(root, os.path.dirname(path))
        except OSError:
            return
        try:
            name = os.path.basename(path)
            kept = _free_name(folder, name)
            os.rename(name, kept, src_dir_fd=folder, dst_dir_fd=folder)
            self._moved[path] = os.path.join(os.path.dirname(path), kept)
        except OSError as error:
            self._problem = f"{path} could not be taken out of force: {error.strerror}"
        finally:
            os.close(folder)


def _location(path: str) -> Location | None:
    """Where the content of a path lies; ``None`` where there is none, or nobody can tell."""
    try:
        real = os.path.realpath(path, strict=True)
        folder = os.stat(os.path.dirname(real))
    except OSError:
        return None
    return Location(real, folder.st_dev, folder.st_ino)


def _open_folder(root: str, folder: str) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(root, flags)
    for name in os.path.relpath(folder, root).split("/"):
        if name == ".":
            continue
        try:
            below = os.open(name, flags, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


def _free_name(folder: int, name: str) -> str:
    for number in range(1000):
        kept = f"{name}{SUFFIX}" + (f".{number}" if number else "")
        try:
            os.lstat(kept, dir_fd=folder)
        except FileNotFoundError:
            return kept
    raise FileExistsError(17, "too many kept files", name)
