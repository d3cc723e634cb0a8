"""The payload of a bundle: its metadata and its policy files."""

from __future__ import annotations

import json
from collections.abc import Mapping

from lockgate.configuration.bundles.envelope import read_json
from lockgate.core.display_text import visible
from lockgate.core.errors import BundleError
from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.digests import sha256
from lockgate.system.timestamps import utc

if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
LOCKBOX, CONFIGURATION, PATTERNS = "lockbox.json", "lockgate.yaml", "patterns.yaml"
FILES = (LOCKBOX, CONFIGURATION, PATTERNS)
"""The files that a bundle may hold, from the lowest layer to the highest. No name is ever used as a path."""
LARGEST_SERIAL = 2**53 - 1
"""What every reader of JSON reads exactly."""
_REQUIRED = frozenset({"format", "fleet", "serial", "created", "files"})
_KEYS = _REQUIRED | {"expires"}
_FLEET = lazy_re(r"[a-z0-9][a-z0-9._-]{0,63}")
_TIME = lazy_re(r"2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


class Bundle(Record):
    """The content of a bundle. Only a signature makes it more than a claim."""

    fleet: str
    serial: int
    """Its version, which only grows."""
    created: float
    """When it was built, in seconds since the epoch."""
    expires: float
    """When a newer one should have come, in seconds since the epoch; 0 for never."""
    files: Mapping[str, bytes]
    """Policy files by name, all of them in ``FILES``."""


def is_fleet(name: str) -> bool:
    """Whether a text can be the name of a fleet: small letters, digits, dots, dashes; 64 characters at most."""
    return _FLEET.fullmatch(name) is not None


def digests(bundle: Bundle) -> dict[str, str]:
    """The SHA-256 of each file, hexadecimal, in the order of layers."""
    return {name: sha256(bundle.files[name]).hexdigest() for name in FILES if name in bundle.files}


def encode(bundle: Bundle) -> bytes:
    """The payload of a bundle. The same bundle always gives the same bytes.

    Raises:
        BundleError: No gate would read it.
    """
    hashes = digests(bundle)
    value = {
        "format": FORMAT,
        "fleet": bundle.fleet,
        "serial": bundle.serial,
        "created": format_time(bundle.created),
        **({"expires": format_time(bundle.expires)} if bundle.expires else {}),
        "files": [
            {"name": name, "sha256": digest, "content": bundle.files[name].decode("utf-8")}
            for name, digest in hashes.items()
        ],
    }
    payload = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    decode(payload)
    return payload


def decode(payload: bytes) -> Bundle:
    """Read a payload.

    Raises:
        BundleError: It is not one, or not of this version.
    """
    value = read_json(payload)
    if value.get("format") != FORMAT:
        raise BundleError(f"its format is not {FORMAT}: this version of Lockgate cannot read it")
    if not value.keys() >= _REQUIRED or not value.keys() <= _KEYS:
        wrong = ", ".join(sorted(_REQUIRED - value.keys()) or sorted(value.keys() - _KEYS))
        raise BundleError(f"its manifest lacks, or has beyond what is known: {visible(wrong, 200)}")
    fleet, serial = value["fleet"], value["serial"]
    if not isinstance(fleet, str) or not is_fleet(fleet):
        raise BundleError("its fleet is no name")
    if not isinstance(serial, int) or isinstance(serial, bool) or not 1 <= serial <= LARGEST_SERIAL:
        raise BundleError(f"its serial is no number from 1 to {LARGEST_SERIAL}")
    created = read_time(value["created"], "created")
    expires = read_time(value["expires"], "expires") if "expires" in value else 0.0
    if expires and expires <= created:
        raise BundleError("it expires before it was created")
    return Bundle(fleet, serial, created, expires, _files(value["files"]))


def files_of(payload: bytes) -> dict[str, bytes]:
    """The policy files of a payload that :func:`decode` has read before, and that is known by its hash: read faster."""
    return {each["name"]: each["content"].encode("utf-8") for each in json.loads(payload)["files"]}


def _files(value: Any) -> dict[str, bytes]:
    if not isinstance(value, list) or not value:
        raise BundleError("it holds no files")
    found: dict[str, bytes] = {}
    for each in value:
        if not isinstance(each, dict) or each.keys() != {"name", "sha256", "content"}:
            raise BundleError("a file in it has not exactly a name, a sha256 and a content")
        name, content = each["name"], each["content"]
        if name not in FILES:
            raise BundleError(f"it holds a file that no policy has: {visible(str(name), 100)!r}")
        if name in found:
            raise BundleError(f"it holds {name} twice")
        if not isinstance(content, str):
            raise BundleError(f"the content of {name} is no text")
        found[name] = content.encode("utf-8")
        if sha256(found[name]).hexdigest() != each["sha256"]:
            raise BundleError(f"{name} has another SHA-256 than the manifest says")
    return found


def format_time(at: float) -> str:
    """A time as a manifest has it: RFC 3339, UTC, whole seconds."""
    return utc(int(at))


def read_time(value: Any, name: str) -> float:
    """What :func:`format_time` wrote, in seconds since the epoch.

    Raises:
        BundleError: It is no time.
    """
    from datetime import datetime

    if isinstance(value, str) and _TIME.fullmatch(value):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            pass
    raise BundleError(f"its {name} is no time such as 2027-01-31T00:00:00Z")
