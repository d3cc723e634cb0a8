"""Restores what instructs agent and gate from the base commit, so that a change under review has no say.

Git is asked for objects alone: so no filter and no hook of the repository runs, and nothing is fetched. What the base
commit does not have is removed. A link in it becomes a copy of the file that it leads to in that commit: in the
checkout the file may be another one.
"""

from __future__ import annotations

import errno
import json
import os
import posixpath
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click

from lockgate.system.files import replace

_SECONDS = 120
_FILE, _PROGRAM, _LINK = "100644", "100755", "120000"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_LINKS = 8
_NO_FOLDER = (errno.ENOTDIR, errno.ELOOP)


class RestoredFiles(NamedTuple):
    """The changes to a checkout."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    left_out: tuple[str, ...]
    """Links of the base commit that lead to no file of it."""


def tells_agents(path: str) -> bool:
    """Whether a file of a checkout tells an agent or this gate what to do.

    Args:
        path: From the checkout's root, with slashes.
    """
    rows, names = _table(), path.casefold().split("/")
    if names[-1] in rows["files"] or not rows["folders"].isdisjoint(names):
        return True
    return any("/".join(names[:depth]) in rows["paths"] for depth in range(1, len(names) + 1))


@cache
def _table() -> Mapping[str, frozenset[str]]:
    rows = json.loads(Path(__file__).with_name("base_files.json").read_bytes())
    return {name: frozenset(row["names"]) for name, row in rows.items()}


def restore(root: str, commit: str) -> RestoredFiles:
    """Put those files of a checkout that tell agents what to do into the state that they have in a commit.

    Args:
        root: The checkout's root.
        commit: The commit, which must be in the checkout's repository.

    Raises:
        ClickException: It is not, or a file cannot be read or written.
    """
    tree = BaseTree(root, commit)
    wanted = {path: tree.content(path) for path in tree.entries if tells_agents(path)}
    kept = {path: data for path, data in wanted.items() if data is not None}
    try:
        removed = [path for path in sorted(_find_existing(root)) if path not in kept]
        for path in removed:
            os.unlink(os.path.join(root, path))
        changed = [path for path, data in sorted(kept.items()) if not _is_there(root, path, data)]
        for path in changed:
            _write(root, path, kept[path], 0o755 if tree.entries[path][0] == _PROGRAM else 0o644)
    except OSError as error:
        raise click.ClickException(f"the checkout cannot be changed: {error.strerror or error}") from None
    return RestoredFiles(tuple(changed), tuple(removed), tuple(sorted(wanted.keys() - kept.keys())))


class BaseTree:
    """The files of a commit."""

    def __init__(self, root: str, commit: str) -> None:
        """Read which files there are. Raises ``ClickException`` where the commit is not there."""
        self._root = root
        if _git(root, "cat-file", "-e", f"{commit}^{{tree}}") is None:
            raise click.ClickException(
                f"the base commit {commit} is not in this checkout: give actions/checkout `fetch-depth: 0`, or run"
                f" `git fetch --depth=1 origin {commit}` before"
            )
        listed = _git(root, "ls-tree", "-r", "-z", "--full-tree", commit)
        if listed is None:
            raise click.ClickException(f"git cannot list the files of the base commit {commit}")
        self.entries: dict[str, tuple[str, str]] = {}
        """Mode and object, by path."""
        for line in os.fsdecode(listed).split("\0"):
            facts, _, path = line.partition("\t")
            if path and not {"", ".", "..", ".git"} & set(path.casefold().split("/")):
                mode, _, sha = facts.split(" ")
                self.entries[path] = mode, sha

    def content(self, path: str) -> bytes | None:
        """What a file holds, and a link's file; ``None`` where there is none, as in a submodule.

        Raises:
            ClickException: The object is not in the checkout.
        """
        for _ in range(_MOST_LINKS):
            mode, sha = self.entries.get(path, ("", ""))
            if mode not in (_FILE, _PROGRAM, _LINK):
                return None
            data = _git(self._root, "cat-file", "blob", sha)
            if data is None:
                raise click.ClickException(
                    f"the file {path} of the base commit is not in this checkout: do not give actions/checkout a filter"
                )
            if mode != _LINK:
                return data
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), os.fsdecode(data)))
        return None


def _git(root: str, *words: str) -> bytes | None:
    """What git says; ``None`` where it fails. Nothing is fetched, and no object stands in for another one."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # Git before 2.44 knows only the list of protocols that it may speak; none has this name.
    environ |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_REPLACE_OBJECTS": "1"}
    command = ["git", "-c", f"safe.directory={root}", "-c", "core.fsmonitor=false", "-C", root, *words]
    try:
        done = subprocess.run(  # noqa: S603 - a commit is hexadecimal, and all else is fixed
            command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise click.ClickException(f"git does not run: {getattr(error, 'strerror', None) or error}") from None
    return done.stdout if done.returncode == 0 else None


def _find_existing(root: str) -> Iterator[str]:
    """The files of a checkout that tell agents what to do, and links of such names, by their paths from its root."""
    for folder, inside, files in os.walk(root, onerror=_raise):
        inside[:] = [name for name in inside if name.casefold() != ".git"]
        links = [name for name in inside if os.path.islink(os.path.join(folder, name))]
        for name in (*files, *links):
            path = os.path.relpath(os.path.join(folder, name), root)
            if tells_agents(path):
                yield path


def _raise(error: OSError) -> None:
    raise error


def _is_there(root: str, path: str, data: bytes) -> bool:
    """Whether a file stands there as it should, and by no link."""
    full = os.path.join(root, path)
    if os.path.realpath(full) != os.path.join(os.path.realpath(root), path) or not os.path.isfile(full):
        return False
    return Path(full).read_bytes() == data


def _write(root: str, path: str, data: bytes, mode: int) -> None:
    """Write a file, with folders of its own: what stands in its way, a link above all, is removed."""
    *folders, name = path.split("/")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for each in folders:
            inner = _enter(folder, each)
            os.close(folder)
            folder = inner
        try:
            replace(name, data, draft=f".lockgate-{secrets.token_hex(8)}", folder=folder, mode=mode)
        except IsADirectoryError:
            shutil.rmtree(name, dir_fd=folder)
            replace(name, data, draft=f".lockgate-{secrets.token_hex(8)}", folder=folder, mode=mode)
    finally:
        os.close(folder)


def _enter(folder: int, name: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in _NO_FOLDER:
            raise
        os.unlink(name, dir_fd=folder)
    os.mkdir(name, 0o755, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)
