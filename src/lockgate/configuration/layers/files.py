"""Reads the files of layers, checks which of a project's are trusted, and keeps the last good contents."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.digests import sha256
from lockgate.system.files import read_regular
from lockgate.system.folders import find_managed_folder

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction

MOST_BYTES = 1_000_000
"""The largest file that is read."""
FLEET, FLEET_FOLDER = "fleet.json", "policy"
"""The file that says which fleet a machine belongs to, and the folder of what is kept about it in the state folder."""
LOCKED = "locked"
"""The state of the layer that stands in for a fleet's policy that is missing."""
_GOOD, _GOOD_DIGEST, _TRUST = "config:good:", "config:good-digest:", "trust:"


class LayerPlace(Record):
    """A place of a layer's file."""

    name: str
    """The layer's name in evidence: ``user lockbox.json``."""
    path: str
    project: bool = False
    """Whether it comes with a project, and so may not loosen until a person trusts its content."""
    bound: bool = False
    """Whether a fleet's policy lies below it that it may only tighten, whoever trusts it."""
    fleet: bool = False
    """Whether it is of that policy itself."""


class LayerState(Record):
    """A place, and what was found there."""

    name: str
    path: str
    state: str
    """``absent``, ``valid``, ``untrusted`` (may only tighten), ``bound`` (the same, because of a fleet's policy)
    or ``last good``; ``invalid`` (nothing stands in), or ``locked``, where a fleet's policy is missing and all effects
    are denied."""
    digest: str = ""
    """SHA-256 of the content that counts, hexadecimal."""


class LayerFile(Record):
    """A place and what is there now."""

    place: LayerPlace
    data: bytes | None
    """``None`` where there is nothing, or nothing that can be read."""
    problem: str
    """Why it cannot be read."""
    digest: str


def read_file(path: str) -> bytes | None:
    """The content of a regular file of at most a megabyte; ``None`` where there is none.

    Raises:
        OSError: it is something else, is larger, or cannot be read; ``strerror`` says why.
    """
    try:
        return read_regular(path, MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None


def digest_of(data: bytes) -> str:
    """SHA-256 of a file's content, hexadecimal: what a person trusts."""
    return sha256(data).hexdigest()


def look_at(place: LayerPlace) -> LayerFile:
    """What is at a place now."""
    try:
        data = read_file(place.path)
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or "the path cannot be opened"
        return LayerFile(place, None, f"cannot be read: {problem[:1].lower()}{problem[1:]}", "")
    return LayerFile(place, data, "", "" if data is None else digest_of(data))


def text_digest(text: str) -> str:
    """SHA-256 of a text, hexadecimal."""
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def may_be_in_fleet(state: str) -> bool:
    """Whether this machine may belong to a fleet, whose policy is then asked for. Two looks at the file system.

    Args:
        state: The state folder.
    """
    return _may_be_there(os.path.join(find_managed_folder(), FLEET)) or _may_be_there(os.path.join(state, FLEET_FOLDER))


def _may_be_there(path: str) -> bool:
    """Whether something is there; also where one may not look, or cannot."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass
    return True


# ---------------------------------------------------------------- trust


def trust_name(path: str) -> str:
    """The store's setting that holds the digest of the content of a path that a person trusts."""
    return _name_setting(_TRUST, path)


def _name_setting(prefix: str, path: str) -> str:
    """The name of a setting about a path. A path need not be text: bytes that are none are written as escapes."""
    return prefix + path.encode("utf-8", "backslashreplace").decode("utf-8")


def find_trusted_files(tx: Transaction, looks: Sequence[LayerFile]) -> frozenset[tuple[str, str]]:
    """Paths of project files with the digest that a person trusts."""
    found = ((look.place.path, tx.setting(trust_name(look.place.path))) for look in looks if look.place.project)
    return frozenset((path, digest) for path, digest in found if digest)


# ---------------------------------------------------------------- last good contents


def good_digest(tx: Transaction, path: str) -> str | None:
    """The digest of the last good content of a file; ``None`` where none is kept."""
    return tx.setting(_name_setting(_GOOD_DIGEST, path))


def last_good(tx: Transaction | None, path: str) -> bytes | None:
    """The last good content of a file; ``None`` where none is kept."""
    text = tx.setting(_name_setting(_GOOD, path)) if tx is not None else None
    return None if text is None else text.encode("utf-8")


def put_good(tx: Transaction, path: str, data: bytes | None) -> None:
    """Keep (or, with ``None``, forget) the last good content of a file."""
    tx.put_setting(_name_setting(_GOOD, path), None if data is None else data.decode("utf-8"))
    tx.put_setting(_name_setting(_GOOD_DIGEST, path), None if data is None else digest_of(data))
