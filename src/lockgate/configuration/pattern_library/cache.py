"""Caches compiled pattern files, so that a hook only has to load them.

The *artefact* is a file in the folder ``patterns`` of the state folder, which no agent can write. The store holds which
artefact belongs to which contents of the files, and a *pin*: the artefact's hash, and size, inode and times of the file
that had it. The hash of megabytes costs a hook more than most decisions, so it is computed only where one of these has
changed: whoever can write there without changing the inode's time could write the store beside it as well. Where
nothing has changed, no YAML is read and nothing is compiled.

Compiling takes a few seconds. One process does it, under a lock; others wait for it. A hook has not so long: a process
that outlives it does it. Each build of Lockgate that uses a state keeps an artefact of its own there.
"""

from __future__ import annotations

import json
import os
import stat

from lockgate.configuration.layers.files import LayerState, find_trusted_files, good_digest, text_digest
from lockgate.configuration.pattern_library.layers import SHIPPED, looks_at
from lockgate.core.errors import ConfigError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.core.version import PACKAGE_FOLDER, __version__
from lockgate.system.digests import blake2b
from lockgate.system.folders import Folders

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lockgate.configuration.layers.files import LayerFile
    from lockgate.store.protocol import Store, Transaction

FOLDER = "patterns"
"""In the state folder."""
BESIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compiled")
"""Where set-up puts the artefact of the shipped library: beside the code, and trusted as the code is."""
COMPILERS = tuple(
    os.path.join(PACKAGE_FOLDER, "patterns", *name)
    for name in (
        ("engine", "anchors.py"),
        ("engine", "compiling.py"),
        ("decoding", "candidates.py"),
        ("engine", "pattern_parts.py"),
    )
)
"""The code that decides what an artefact holds."""
KEPT, PINNED = "patterns:kept:", "patterns:pinned:"
"""Settings: what the files of a workspace come to, of each build; the hash of an artefact."""
_FORMAT = 1


class Artefact(Record):
    """The compiled library that holds for a workspace."""

    head: bytes
    database: bytes
    """What ``Matcher`` takes."""
    digest: str
    """BLAKE2b of both, one behind the other, hexadecimal."""
    layers: tuple[LayerState, ...]
    problems: tuple[ConfigError, ...]
    """Files, or parts of them, that are not valid."""
    notes: tuple[str, ...]


def current(store: Store, where: Folders, workspace: str) -> str:
    """The hash of the artefact that holds for a workspace now; empty where it is not compiled yet."""
    _, pin = _read_cached_and_pin(store, workspace, looks_at(where, workspace))
    return "" if pin is None else pin.digest


def problems_of(store: Store, where: Folders, workspace: str) -> tuple[ConfigError, ...] | None:
    """What is wrong with the pattern files of a workspace; ``None`` where they are not compiled yet.

    The artefact has megabytes and is not read: its file must be the one that had the hash when it was read last.
    """
    kept, pin = _read_cached_and_pin(store, workspace, looks_at(where, workspace))
    if kept is None or pin is None or not any(_has_facts(path, pin) for path in _paths(where, kept["artefact"])):
        return None
    return tuple(ConfigError(*problem) for problem in kept["problems"])


def ready(store: Store, where: Folders, workspace: str, looks: Sequence[LayerFile] | None = None) -> Artefact | None:
    """The artefact of a workspace where it is there, fresh and undamaged.

    Args:
        store: Knows which artefact belongs to which files, and its hash.
        where: The folders.
        workspace: The project's root folder, absolute; empty where there is none.
        looks: What the files of the layers hold, where the caller has read them already.
    """
    kept, pin = _read_cached_and_pin(store, workspace, looks_at(where, workspace) if looks is None else looks)
    if kept is None or pin is None:
        return None
    data = read_pinned(where, kept["artefact"], pin)
    if data is None:
        return None
    if data.pin != pin:
        with store.transaction() as tx:
            tx.put_setting(PINNED + kept["artefact"], data.pin.text)
    return Artefact(
        data.head,
        data.database,
        pin.digest,
        tuple(LayerState(*layer) for layer in kept["layers"]),
        tuple(ConfigError(*problem) for problem in kept["problems"]),
        tuple(kept["notes"]),
    )


def _read_cached_and_pin(
    store: Store, workspace: str, looks: Sequence[LayerFile]
) -> tuple[dict[str, Any] | None, Pin | None]:
    """What the store knows of the files as they are now, and the pin of the artefact that they were compiled to."""
    with store.reading() as tx:
        kept = _read_cached(tx, workspace, freshness(tx, looks))
        return kept, Pin.of(tx.setting(PINNED + kept["artefact"])) if kept is not None else None


def _read_cached(tx: Transaction, workspace: str, key: str) -> dict[str, Any] | None:
    try:
        value: dict[str, Any] = json.loads(tx.setting(name_setting(workspace)) or "null") or {}
    except ValueError:
        return None
    if value.get("key") != key:
        return None
    # The last good content of a broken file is shared by all workspaces, and another one may have seen a newer.
    if any(good_digest(tx, path) != good for path, good in value["good"].items()):
        return None
    return value


# ---------------------------------------------------------------- names


def freshness(tx: Transaction, looks: Sequence[LayerFile]) -> str:
    """Changes whenever what the files come to might."""
    facts = [
        _code(),
        [[look.place.name, look.place.path, look.digest, look.problem, look.place.bound] for look in looks],
        sorted(find_trusted_files(tx, looks)),
    ]
    return text_digest(json.dumps(facts))


def name_setting(workspace: str) -> str:
    """The store's setting about a workspace, for this build."""
    return f"{KEPT}{name_build()}:{text_digest(workspace)[:32]}"


def name_build() -> str:
    """A name for this build that no other has whose artefacts may hold something else."""
    return text_digest(json.dumps(_code()))[:12]


def _code() -> list[object]:
    code = [(found.st_mtime_ns, found.st_size) for found in map(os.stat, (SHIPPED, *COMPILERS))]
    return [_FORMAT, __version__, code]


def state_path(where: Folders, name: str) -> str:
    """The file of an artefact in the state folder."""
    return os.path.join(where.state, FOLDER, f"{name}.artefact")


def beside_path(name: str) -> str:
    """The file of an artefact beside the code."""
    return os.path.join(BESIDE, f"{name}.artefact")


# ---------------------------------------------------------------- the file
class Pin(Record):
    """The facts by which an artefact is recognised."""

    digest: str
    database: int
    """Bytes of its last part."""
    facts: str = ""
    """Size, inode and times of the file that had this hash."""

    @property
    def text(self) -> str:
        """What the store keeps."""
        return f"{self.digest} {self.database} {self.facts}"

    @classmethod
    def of(cls, text: str | None) -> Pin | None:
        """Read what the store keeps; ``None`` where that is nothing, or of another version."""
        parts = (text or "").split(" ", 2)
        return cls(parts[0], int(parts[1]), parts[2]) if len(parts) == 3 and parts[1].isdecimal() else None


class Stored(Record):
    """The content of an artefact's file."""

    head: bytes
    database: bytes
    pin: Pin


def digest(*parts: bytes) -> str:
    """The hash of an artefact. BLAKE2b: an artefact has megabytes, and the interpreter's own SHA-256 is slow."""
    hasher = blake2b(digest_size=32)
    for part in parts:
        hasher.update(part)
    return hasher.hexdigest()


def pin_of(data: bytes) -> Pin | None:
    """The pin of an artefact whose file was not looked at yet; ``None`` where it is none."""
    try:
        database = json.loads(data.partition(b"\n")[0])["database"]
    except (ValueError, KeyError, TypeError):
        return None
    return Pin(digest(data), database) if isinstance(database, int) else None


def read_pinned(where: Folders, name: str, pin: Pin | None) -> Stored | None:
    """An artefact with the hash that it must have, from the state folder or from beside the code."""
    if pin is None:
        return None
    state, beside = _paths(where, name)
    return _read(state, pin) or _read(beside, pin)


def _paths(where: Folders, name: str) -> tuple[str, str]:
    return state_path(where, name), beside_path(name)


def _facts(about: os.stat_result) -> str:
    return f"{about.st_size} {about.st_dev} {about.st_ino} {about.st_mtime_ns} {about.st_ctime_ns}"


def _has_facts(path: str, pin: Pin) -> bool:
    """Whether a file is the one that had the hash of a pin, by its size, inode and times."""
    try:
        about = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(about.st_mode) and _facts(about) == pin.facts


def _read(path: str, pin: Pin) -> Stored | None:
    """Read a file in two parts, so that none of the megabytes is copied once more."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_size <= pin.database:
            return None
        head = os.read(descriptor, about.st_size - pin.database)
        database = os.read(descriptor, pin.database)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    facts = _facts(about)
    # A file that was cut while it was read has other times as well.
    if len(head) + len(database) != about.st_size or (facts != pin.facts and digest(head, database) != pin.digest):
        return None
    return Stored(head, database, pin._replace(facts=facts))


def read_artefact(path: str) -> bytes | None:
    """The content of an artefact's file, whatever it is; ``None`` where there is none that can be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            return file.read()
    except OSError:
        return None
