"""Finds files that hold secrets, notices when one has changed, and reads the values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from lockgate.configuration.known_secrets.selection import encode, says_secret, secrets_in, table
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.known_values.values import Named
from lockgate.system.digests import blake2b

if TYPE_CHECKING:
    from typing import Any

_DEEPEST = 3
"""Levels of sub-folders of a workspace that are looked through."""
_MOST_FOLDERS = 300
_MOST_VALUES = 200
"""Values of one file that are looked for."""
_MOST_PLACES = 4
"""Places of one value that are named."""
_ENVIRONMENT = "environment"
"""The place of what is in no file."""
_AND = "; "
"""Between the places of one value."""
_NOT_LOOKED_INTO = frozenset(
    {"node_modules", "__pycache__", "venv", "site-packages", "target", "dist", "build", "vendor", "coverage"}
)
"""Folders that hold what others made. Folders whose name begins with a dot are passed by too."""


class SearchScope(Record):
    """The folders and names that are searched."""

    home: str
    """Absolute."""
    workspace: str
    """Absolute; empty where there is none."""
    environ: Mapping[str, str]


class SecretFile(Record):
    """A file that may hold secrets."""

    path: str
    row: int
    """In the table of sources."""


def sources(where: SearchScope, deep: Sequence[str]) -> list[SecretFile]:
    """The files to read: the user's, those at the top of the workspace, and those that were found below it.

    Args:
        where: Where to look.
        deep: What ``look_deep`` gave.
    """
    found: dict[str, SecretFile] = {}
    listed: dict[str, list[str]] = {}
    for number, row in enumerate(table()["files"]):
        if row["path"].startswith("~/"):
            folder, _, pattern = os.path.join(where.home, row["path"][2:]).rpartition("/")
            for name in _list_of(folder, listed) if "*" in pattern else (pattern,):
                if _is_named(name, pattern, row):
                    found.setdefault(f"{folder}/{name}", SecretFile(f"{folder}/{name}", number))
    if where.workspace:
        names = [os.path.join(where.workspace, name) for name in _list_of(where.workspace, listed)]
        for path in (*names, *deep):
            number = _row_of(os.path.basename(path))
            if number >= 0:
                found.setdefault(path, SecretFile(path, number))
    return list(found.values())


def look_deep(workspace: str) -> list[str]:
    """The files below the top of a workspace that may hold secrets: bounded in depth and in number of folders."""
    found: list[str] = []
    folders = [workspace] if workspace else []
    looked_at = 0
    for _ in range(_DEEPEST + 1):
        below: list[str] = []
        for folder in folders:
            if looked_at >= _MOST_FOLDERS:
                return found
            looked_at += 1
            inside, files = _entries(folder)
            below += inside
            if folder != workspace:
                found += [path for path in files if _row_of(os.path.basename(path)) >= 0]
        folders = below
    return found


def _entries(folder: str) -> tuple[list[str], list[str]]:
    """The folders in a folder that are looked into, and the files whose name begins with a dot."""
    folders, files = [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    files.append(entry.path)
                elif entry.name not in _NOT_LOOKED_INTO and entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    except OSError:
        pass  # a folder that cannot be read holds nothing that this user's agent could read
    return sorted(folders), sorted(files)


def _list_of(folder: str, known: dict[str, list[str]]) -> list[str]:
    if folder not in known:
        try:
            known[folder] = sorted(os.listdir(folder))
        except OSError:
            known[folder] = []
    return known[folder]


def _row_of(name: str) -> int:
    """The row of the table that a file of a workspace has by its name; -1 for none."""
    if not name.startswith("."):
        return -1
    rows = enumerate(table()["files"])
    return next((number for number, row in rows if row["path"][0] == "." and _is_named(name, row["path"], row)), -1)


def _is_named(name: str, pattern: str, row: Mapping[str, Any]) -> bool:
    return _matches(name, pattern) and not any(_matches(name, other) for other in row.get("except", ()))


def _matches(name: str, pattern: str) -> bool:
    """A glob with at most one asterisk."""
    before, wild, after = pattern.partition("*")
    if not wild:
        return name == pattern
    return len(name) >= len(before) + len(after) and name.startswith(before) and name.endswith(after)


# ---------------------------------------------------------------- whether something changed


def stamp(where: SearchScope, found: Sequence[SecretFile], salt: bytes, more: bytes = b"") -> bytes:
    """32 bytes that change when a source does: its size, time or inode, a value of the environment, the table itself.

    Args:
        where: Where to look.
        found: The sources.
        salt: The installation's, so that nobody can test guesses of the environment's values against the stamp.
        more: What else must not have changed.
    """
    hasher = blake2b(key=salt, person=b"known stamp", digest_size=32)
    hasher.update(repr(_facts(os.path.join(os.path.dirname(__file__), "sources.json"))).encode())
    for source in found:
        hasher.update(repr((source, _facts(source.path))).encode("utf-8", "surrogateescape"))
    hasher.update(repr(sorted(_find_in_environment(where.environ))).encode("utf-8", "surrogateescape"))
    hasher.update(more)
    return hasher.digest()


def _facts(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return ()
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _find_in_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Variables that may hold a secret. Decided by the name or by what an address looks like: every hook asks."""
    for name, value in environ.items():
        if len(value) >= 8 and (("://" in value and "@" in value) or says_secret(name)):
            yield name, value


# ---------------------------------------------------------------- reading


def gather(where: SearchScope, found: Sequence[SecretFile]) -> list[Named]:
    """All values to look for, each once, under the names of the first places that have it."""
    places: dict[bytes, dict[str, None]] = {}
    for name, text in _all_values(where, found):
        names = places.setdefault(encode(text), {})
        if len(names) < _MOST_PLACES:
            names[name] = None
    return [Named(_AND.join(names), data) for data, names in places.items()]


def comes_from(name: str, file: str, where: SearchScope) -> bool:
    """Whether a value with this name was found in a file.

    Args:
        name: As ``gather`` gave it.
        file: Absolute.
        where: Where values were looked for.
    """
    shown = _short_path(file, where)
    return shown != _ENVIRONMENT and any(each == shown or each.startswith(f"{shown}: ") for each in name.split(_AND))


def _all_values(where: SearchScope, found: Sequence[SecretFile]) -> Iterator[tuple[str, str]]:
    for source in found:
        text = _read(source.path)
        if text:
            yield from _values_of(where, source, text)
    for name, value in _find_in_environment(where.environ):
        for text in secrets_in(name, value):
            yield f"{_ENVIRONMENT}: {name}", text


def _values_of(where: SearchScope, source: SecretFile, text: str) -> Iterator[tuple[str, str]]:
    from lockgate.configuration.known_secrets.formats import READERS

    row = table()["files"][source.row]
    shown = _short_path(source.path, where)
    public = _read(f"{source.path}.pub") if row["format"] == "pem" else ""
    count = 0
    for name, value in READERS[row["format"]](text):
        keys = row.get("keys")
        if keys and not any(_matches(last_key(name), key) for key in keys):
            continue
        for secret in secrets_in(name, value, certain=bool(keys)):
            if secret not in public and count < _MOST_VALUES:
                count += 1
                yield f"{shown}: {name}" if name else shown, secret


def last_key(name: str) -> str:
    """The last key of a name, in lower case: of ``tokens.refresh_token``, and of ``[default] password``."""
    return name.rpartition(" ")[2].rpartition(".")[2].lower()


def _short_path(path: str, where: SearchScope) -> str:
    """A path as a person knows it: in the workspace, or from the home folder."""
    for root, sign in ((where.workspace, ""), (where.home, "~/")):
        if root and path.startswith(root.rstrip("/") + "/"):
            return sign + path[len(root.rstrip("/")) + 1 :]
    return path


def _read(path: str) -> str:
    """A file's text; empty where there is none that can be read."""
    from lockgate.configuration.layers.files import read_file

    try:
        return (read_file(path) or b"").decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ""
