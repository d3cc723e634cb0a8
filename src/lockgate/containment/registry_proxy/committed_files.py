"""Reads committed files by their forms. What is no such form is an error: then the install is asked about. No I/O."""

from __future__ import annotations

import json
import posixpath
import tomllib
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from lockgate.core.errors import LockgateError
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.libraries import library

if TYPE_CHECKING:
    from typing import Any

ReadFile = Callable[[str], bytes | None]
"""Reads a file as it was committed, by its path from the project's root; ``None`` where there is none."""


class UncoveredError(LockgateError):
    """Committed files do not say what an install asks for."""


def path_in(folder: str, name: str) -> str:
    """The path of a file of a folder, from the project's root."""
    return posixpath.normpath(posixpath.join(folder, name))


def check_committed(path: str, read: ReadFile) -> None:
    """Raise ``UncoveredError`` where a file was not committed."""
    if read(path) is None:
        raise UncoveredError(f"{quote_start(path)} was not committed")


def check_inside(path: str) -> str:
    """A path from the project's root. Raises ``UncoveredError`` where it leads out of the project."""
    if path.startswith(("/", "../")) or path == "..":
        raise UncoveredError(f"{quote_start(path)} lies outside of the project")
    return path


def file_address(address: str) -> str:
    """The address of a file. Raises ``UncoveredError`` where it is none of HTTPS."""
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme != "https" or "@" in parts.netloc or parts.query or not address.isascii():
        raise UncoveredError(f"{quote_start(address)} is no address of a file of an index")
    return address


def read_text(path: str, read: ReadFile) -> str:
    """The text of a file. Raises ``UncoveredError`` where it was not committed, or is none."""
    data = read(path)
    if data is None:
        raise UncoveredError(f"{quote_start(path)} was not committed")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UncoveredError(f"{quote_start(path)} is no text") from None


def read_toml(path: str, read: ReadFile) -> dict[str, Any]:
    """The table in a file. Raises ``UncoveredError`` where there is none."""
    try:
        return tomllib.loads(read_text(path, read))
    except (tomllib.TOMLDecodeError, RecursionError):
        raise UncoveredError(f"{quote_start(path)} is not TOML") from None


def read_json(path: str, read: ReadFile) -> dict[str, Any]:
    """The object in a file. Raises ``UncoveredError`` where there is none."""
    try:
        held = json.loads(read_text(path, read))
    except (ValueError, RecursionError):
        held = None
    if not isinstance(held, dict):
        raise UncoveredError(f"{quote_start(path)} is not a JSON object")
    return held


def read_yaml(path: str, read: ReadFile) -> dict[str, Any]:
    """The mapping in a file. Raises ``UncoveredError`` where there is none."""
    yaml = library("yaml")
    text = read_text(path, read)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        held = yaml.load(text, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        held = None
    if not isinstance(held, dict):
        raise UncoveredError(f"{quote_start(path)} is not a YAML mapping")
    return held


def table(held: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A table below a name; empty where there is none."""
    found = held.get(name)
    return found if isinstance(found, dict) else {}


def tables(held: object, path: str) -> list[dict[str, Any]]:
    """A list of tables. Raises ``UncoveredError`` where it is something else."""
    if held is None:
        return []
    if not isinstance(held, list) or not all(isinstance(each, dict) for each in held):
        raise UncoveredError(f"{path} is damaged")
    return held


def texts(held: object, path: str) -> list[str]:
    """A list of texts. Raises ``UncoveredError`` where it is something else."""
    if not isinstance(held, list) or not all(isinstance(each, str) for each in held):
        raise UncoveredError(f"{path} is damaged")
    return held


def quote_start(text: str) -> str:
    """The beginning of a text from a file, for a message."""
    return repr(text[:80])
