"""The bundle in force, and the highest serial ever accepted, which a gate that starts anew needs too.

It lies in ``policy/`` of the state folder. Bundles are files by their hash; ``accepted.json`` names the one in force.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from lockgate.configuration.bundles.manifest import FILES, LARGEST_SERIAL
from lockgate.configuration.layers.files import FLEET_FOLDER, MOST_BYTES
from lockgate.core.errors import BundleError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.files import read_regular

if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
FILE, BUNDLE = "accepted.json", ".bundle"


class Current(Record):
    """The bundle in force."""

    fleet: str
    serial: int
    digest: str
    """SHA-256 of its payload, hexadecimal."""
    created: float
    expires: float
    """0 for never."""
    files: Mapping[str, str]
    """Its policy files: name and SHA-256."""
    key: str
    """The fingerprint of the key that vouched for it."""
    pins: str
    """SHA-256 of the pins that this was one of."""
    at: float
    """When it was accepted."""
    source: str
    """Where it came from."""


class Looked(Record):
    """The outcome of the last look at a source."""

    facts: str
    """How the content is known again without being read."""
    problem: str
    """Why it was refused; empty where it was not."""
    again: float
    """When it is to be looked at again though nothing has changed; 0 for never."""


class Accepted(Record):
    """Everything that is stored about bundles."""

    current: Current | None = None
    highest: Mapping[str, tuple[int, str]] = {}
    """By fleet: the highest serial that was ever accepted, and its payload's SHA-256."""
    looked: Mapping[str, Looked] = {}
    """By source."""
    clock: float = 0.0
    """A time that has certainly come: a clock that tells an earlier one was put back."""


def bundle_folder(state: str) -> str:
    """The folder of all that is kept."""
    return os.path.join(state, FLEET_FOLDER)


def read_accepted(state: str) -> Accepted:
    """What is kept; nothing where nothing was accepted yet.

    Raises:
        BundleError: It is there and cannot be read. Then it is not known what was accepted.
    """
    path = os.path.join(bundle_folder(state), FILE)
    try:
        value = json.loads(read_regular(path, MOST_BYTES, follow=False))
        if value["format"] != FORMAT:
            raise ValueError("another version wrote it")
        return _decode(value)
    except (FileNotFoundError, NotADirectoryError):
        return Accepted()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is damaged"
        raise BundleError(f"{path} cannot be read: {reason}; install the newest bundle again") from None


def _decode(value: Mapping[str, Any]) -> Accepted:
    current = Current(**value["current"]) if value["current"] else None
    highest = {fleet: (int(serial), str(digest)) for fleet, (serial, digest) in value["highest"].items()}
    looked = {source: Looked(*each) for source, each in value["looked"].items()}
    if current is not None and (not current.files.keys() <= set(FILES) or not 1 <= current.serial <= LARGEST_SERIAL):
        raise ValueError("no such bundle can have been accepted")
    return Accepted(current, highest, looked, float(value["clock"]))


def bundle_path(state: str, digest: str) -> str:
    """The file of the bundle with a payload of this hash."""
    return os.path.join(bundle_folder(state), digest + BUNDLE)


def read_envelope(state: str, digest: str) -> bytes:
    """The bundle with a payload of this hash, as it was accepted. What it holds is for the caller to check.

    Raises:
        BundleError: It is not there any more.
    """
    path = bundle_path(state, digest)
    try:
        return read_regular(path, MOST_BYTES, follow=False)
    except OSError as error:
        raise BundleError(f"{path} cannot be read: {error.strerror}") from None
