"""Reads and writes ``fleet.json``: the machine's fleet, and the keys whose signatures count.

The administrator's file, in the managed folder, counts alone where it is there. Else that of the user counts, which
lies in the state folder, where no agent can write.
"""

from __future__ import annotations

import json
import os
import stat

from lockgate.configuration.bundles.envelope import read_json
from lockgate.configuration.bundles.keys import PublicKey, parse
from lockgate.configuration.bundles.manifest import is_fleet
from lockgate.configuration.layers.files import FLEET, FLEET_FOLDER, digest_of
from lockgate.core.display_text import visible
from lockgate.core.errors import BundleError
from lockgate.core.record import Record
from lockgate.system.files import open_regular, read_open
from lockgate.system.folders import find_managed_folder

MOST_KEYS = 16
MOST_BYTES = 20_000
BUNDLE = "policy.bundle"
"""The name of the bundle in a folder that is watched."""


class Pins(Record):
    """The fleet and the keys by which a machine accepts a bundle."""

    path: str
    managed: bool
    """Whether it is the administrator's."""
    fleet: str = ""
    keys: tuple[PublicKey, ...] = ()
    source: str = ""
    """The bundle's file, or a folder with a ``policy.bundle``, which is looked at for newer ones; empty for none."""
    digest: str = ""
    """SHA-256 of the file's content, hexadecimal."""
    problem: str = ""
    """Why the file cannot be used; nothing else is known then."""


def pins_of(state: str) -> Pins | None:
    """What is pinned on this machine, ``None`` where nothing is. What cannot be used says so in ``problem``.

    Args:
        state: The state folder.
    """
    managed = _read(os.path.join(find_managed_folder(), FLEET), managed=True)
    return managed or _read(own_path(state), managed=False)


def own_path(state: str) -> str:
    """The user's file."""
    return os.path.join(state, FLEET_FOLDER, FLEET)


def encode(fleet: str, keys: tuple[PublicKey, ...], source: str) -> bytes:
    """The content of a file of pins."""
    value = {"fleet": fleet, "keys": [key.line for key in keys], **({"source": source} if source else {})}
    return json.dumps(value, indent=1).encode() + b"\n"


def _read(path: str, *, managed: bool) -> Pins | None:
    empty = Pins(path, managed)
    try:
        descriptor = open_regular(path, follow=managed)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return empty._replace(problem=f"cannot be read: {error.strerror}")
    try:
        about = os.fstat(descriptor)
        if about.st_uid not in (0, os.geteuid()) or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return empty._replace(problem="others can write it: nothing that it pins is believed")
        data = read_open(descriptor, MOST_BYTES)
    except OSError as error:
        return empty._replace(problem=f"cannot be read: {error.strerror}")
    finally:
        os.close(descriptor)
    try:
        return decode(data, empty)
    except BundleError as error:
        return empty._replace(problem=str(error))


def decode(data: bytes, empty: Pins) -> Pins:
    """Read the content of a file of pins.

    Raises:
        BundleError: It is not valid.
    """
    value = read_json(data)
    if not {"fleet", "keys"} <= value.keys() <= {"fleet", "keys", "source"}:
        raise BundleError("it must have `fleet` and `keys`, may have `source`, and nothing else")
    fleet, lines, source = value["fleet"], value["keys"], value.get("source", "")
    if not isinstance(fleet, str) or not is_fleet(fleet):
        raise BundleError(f"{visible(str(fleet), 60)!r} is no name of a fleet: small letters, digits, dots and dashes")
    if not isinstance(lines, list) or not 1 <= len(lines) <= MOST_KEYS or not all(isinstance(x, str) for x in lines):
        raise BundleError(f"`keys` must be a list of 1 to {MOST_KEYS} public keys")
    if not isinstance(source, str) or (source and not os.path.isabs(source)) or "\0" in source:
        raise BundleError("`source` must be an absolute path")
    if not source and empty.managed:
        source = os.path.join(find_managed_folder(), BUNDLE)
    keys = {key.raw: key for key in map(parse, lines)}
    return empty._replace(fleet=fleet, keys=tuple(keys.values()), source=source, digest=digest_of(data))
