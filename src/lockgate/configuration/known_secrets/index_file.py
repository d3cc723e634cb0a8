"""The index file of known secrets: every hook reads it, and it is rebuilt when a source changes.

It lies in the state folder, which no agent may touch, one for each workspace. It is sealed with the installation's key:
a damaged one is made anew, and that is said.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Mapping, Sequence

from lockgate.configuration.known_secrets.collect import SearchScope, gather, look_deep, sources, stamp
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.engine.known_index import MOST_ENTRIES, Index, build
from lockgate.patterns.known_values.values import DamagedIndex, KnownKind, KnownValue, Marker
from lockgate.system.digests import blake2b
from lockgate.system.files import open_regular, read_open, replace

if TYPE_CHECKING:
    from typing import Any

FOLDER = "known"
"""In the state folder."""
LOOK_AGAIN = 60.0
"""Seconds after which the folders below the top of a workspace are looked through again."""
REMEMBERED = 7 * 86400.0
"""Seconds that a value is looked for after its source has lost it: what was read before is still known to an agent."""
_STAMP = 32
_MOST_FILES = 50
"""Workspaces whose index is kept."""
_MOST_BYTES = 64 * 1024 * 1024
"""A larger file is none of ours: an index of a thousand values has about one megabyte."""
_STALE_DRAFT = 3600.0
_DRAFT = ".draft"


class OpenedIndex(Record):
    """An index that is up to date."""

    known: Index
    notes: tuple[str, ...] = ()
    """What a person should be told: that the file was damaged, or cannot be written."""
    data: bytes = b""
    """The file that it was loaded from; empty where it has just been made."""


def open_index(
    where: SearchScope,
    state: str,
    salt: bytes,
    hyperscan: Any,
    now: Callable[[], float],
    canaries: Mapping[str, str] | None = None,
    before: OpenedIndex | None = None,
) -> OpenedIndex:
    """The index of all known values and canaries, made anew where a source has changed.

    Args:
        where: Where values are looked for.
        state: The state folder.
        salt: The installation's key.
        hyperscan: The module of that name.
        now: Seconds since the epoch.
        canaries: The store's settings of canaries.
        before: What was opened before. Its index is loaded already, where the file is still the same.

    Raises:
        StoreError: The state folder is not this user's alone.
    """
    from lockgate.store.files import own_folder

    folder = os.path.join(state, FOLDER)
    own_folder(state, create=True)
    own_folder(folder, create=True)
    path = os.path.join(folder, _name_of(where))
    data, written = _read(path)
    old, notes = _load(data, salt, hyperscan, before)
    told = json.dumps(sorted((canaries or {}).items())).encode()
    deep = _deep_of(old) if old is not None else []
    look = old is None or not 0 <= now() - written <= LOOK_AGAIN
    if look:
        deep = look_deep(where.workspace)
    found = sources(where, deep)
    wanted = stamp(where, found, salt, told) + json.dumps(deep).encode()
    if old is not None and old.stamp == wanted:
        if look:
            _touch(path, now())
        return OpenedIndex(old, notes, data or b"")
    entries, more = _entries(where, found, salt, old, now(), canaries or {})
    made = build(entries, salt, hyperscan, wanted)
    notes += more + _write(path, made, now())
    return OpenedIndex(Index(made, salt, hyperscan), notes)


def _name_of(where: SearchScope) -> str:
    place = "\0".join((where.home, where.workspace)).encode("utf-8", "surrogateescape")
    return blake2b(place, digest_size=12).hexdigest() + ".index"


def _load(
    data: bytes | None, salt: bytes, hyperscan: Any, before: OpenedIndex | None
) -> tuple[Index | None, tuple[str, ...]]:
    if data is None:
        return None, ()
    if before is not None and data and data == before.data:
        return before.known, ()
    try:
        return Index(data, salt, hyperscan), ()
    except DamagedIndex as error:
        return None, (f"{error}: it was made anew",)


def _deep_of(index: Index) -> list[str]:
    paths: list[str] = json.loads(index.stamp[_STAMP:])
    return paths


def _entries(
    where: SearchScope, found: Sequence[Any], salt: bytes, old: Index | None, now: float, canaries: Mapping[str, str]
) -> tuple[list[KnownValue], tuple[str, ...]]:
    """What the new index is made of: canaries, the values there are now, and those that were there lately."""
    from lockgate.configuration.known_secrets.canaries import entries_of

    marker = Marker(salt)
    entries = entries_of(canaries)
    there = {entry.marks: entry for entry in (marker.entry(named) for named in gather(where, found))}
    # First those that were known before: nobody can make room by writing many new ones.
    for entry in old.entries() if old is not None else ():
        since = entry.since or now
        if entry.marks in there:
            entries.append(there.pop(entry.marks))
        elif entry.kind is KnownKind.SECRET and 0 <= now - since <= REMEMBERED:
            entries.append(entry._replace(since=since))
    entries += there.values()
    if len(entries) <= MOST_ENTRIES:
        return entries, ()
    return entries[:MOST_ENTRIES], (f"only {MOST_ENTRIES} of {len(entries)} known secrets are looked for",)


# ---------------------------------------------------------------- the file


def _read(path: str) -> tuple[bytes | None, float]:
    """The file's content and when it was written; ``None`` where there is none. What cannot be read is damaged."""
    try:
        handle = open_regular(path, follow=False)
    except FileNotFoundError:
        return None, 0.0
    except OSError:
        return b"", 0.0
    try:
        return read_open(handle, _MOST_BYTES), os.fstat(handle).st_mtime
    except OSError:
        return b"", 0.0
    finally:
        os.close(handle)


def _write(path: str, data: bytes, now: float) -> tuple[str, ...]:
    """Put the file in its place at once. Where that is not possible, the next process makes an index of its own."""
    draft = f"{path}.{os.getpid()}.{os.urandom(4).hex()}{_DRAFT}"
    try:
        replace(path, data, draft=draft, at=now)
    except OSError as error:
        return (f"the index of known secrets cannot be written: {os.strerror(error.errno or errno.EIO)}",)
    _tidy(os.path.dirname(path), now)
    return ()


def _touch(path: str, now: float) -> None:
    """Say that the file is up to date, whatever became of it since it was read."""
    from contextlib import suppress

    with suppress(OSError):  # where it cannot be said, the next process looks again
        os.utime(path, (now, now))


def _tidy(folder: str, now: float) -> None:
    """Remove drafts of processes that were killed, and the indexes that were not used for longest."""
    from contextlib import suppress

    with suppress(OSError), os.scandir(folder) as entries:
        ages = sorted(((now - entry.stat().st_mtime, entry.path) for entry in entries), reverse=True)
        drafts = [path for age, path in ages if path.endswith(_DRAFT) and age > _STALE_DRAFT]
        indexes = [path for _, path in ages if not path.endswith(_DRAFT)]
        for path in (*drafts, *indexes[: max(len(indexes) - _MOST_FILES, 0)]):
            os.unlink(path)
