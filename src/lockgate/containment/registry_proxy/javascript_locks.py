"""Reads lock files of JavaScript for the packages that they name. No I/O: the caller passes a function that reads.

Formats: docs.npmjs.com (``package-lock.json``, versions 2 and 3), pnpm.io (``pnpm-lock.yaml``, versions 6 and 9),
classic.yarnpkg.com (``yarn.lock``, version 1), yarnpkg.com (``yarn.lock``, with ``__metadata``). A form that is not
known here is an error: then the install is asked about.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs

from lockgate.containment.registry_proxy.committed_files import (
    ReadFile,
    UncoveredError,
    check_committed,
    check_inside,
    path_in,
    quote_start,
    read_json,
    read_text,
    read_yaml,
    table,
)
from lockgate.containment.registry_proxy.indexes import PackageIndex
from lockgate.containment.registry_proxy.wanted import Wanted

_NAME = re.compile(r"(@[a-z0-9][a-z0-9._~-]*/)?[a-zA-Z0-9_][a-zA-Z0-9._~-]*", re.ASCII)
_VERSION = re.compile(r"\d[A-Za-z0-9.+-]*", re.ASCII)
_PNPM_KEY = re.compile(r"/?(?P<name>@?[^@]+)@(?P<version>[^(]+)(?:\(.*)?")
_PNPM_VERSIONS = re.compile(r"[69]\.\d+")
_BERRY = re.compile(r"(?P<name>@?[^@]+)@(?P<protocol>[a-z]+):(?P<reference>.*)", re.DOTALL)
_BERRY_LOCAL = frozenset(("workspace", "link", "portal", "file", "exec", "patch"))
"""What lies in the project. What is patched has an entry of its own beside."""
_CLASSIC_ADDRESS = re.compile(r'  resolved "(?P<address>[^"\s#]+)(?:#[0-9a-z]*)?"')
_CLASSIC_LINE = re.compile(r'(?:#.*)?|["@\w].*:|  [a-zA-Z]+(?: \S.*|:)|    \S.*')
_PATH = re.compile(r"[A-Za-z0-9@._~+%/-]+", re.ASCII)
_MANAGER = re.compile(r"(?P<name>pnpm|yarn)@(?P<version>\d+\.\d+\.\d+[a-z0-9.-]*)(?:\+\S*)?", re.ASCII)
_MANAGER_PACKAGES = {
    "pnpm": ("pnpm", "@pnpm/exe", "@pnpm/linux-x64", "@pnpm/linux-arm64"),
    "yarn": ("yarn", "@yarnpkg/cli-dist"),
}
"""Packages that a manager, or corepack, fetches where a project pins a version of it (pnpm.io, ``packageManager``)."""


# ---------------------------------------------------------------- npm
def package_lock(folder: str, read: ReadFile, index: PackageIndex) -> Wanted:
    """What a ``package-lock.json`` or ``npm-shrinkwrap.json`` names.

    Args:
        folder: Where it lies, from the project's root.
        read: Reads a committed file.
        index: The registry.

    Raises:
        UncoveredError: A package comes from elsewhere, or the file is of another version.
    """
    path = npm_lock_of(folder, read)
    held = read_json(path, read)
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
        if entry.get("resolved") is not None:
            files.add(_check_registry_file(str(entry["resolved"]), name, index, path))
        elif not _NAME.fullmatch(name):
            raise UncoveredError(f"{path} holds {quote_start(name)}, which is no name")
        names.add(name)
    return Wanted({}, frozenset(names), frozenset(files))


def npm_lock_of(folder: str, read: ReadFile) -> str:
    """The lock file that npm reads in a folder.

    Raises:
        UncoveredError: There is none.
    """
    for name in ("npm-shrinkwrap.json", "package-lock.json"):
        path = path_in(folder, name)
        if read(path) is not None:
            return path
    raise UncoveredError("no package-lock.json was committed")


def npm_workspaces(folder: str, read: ReadFile) -> list[str]:
    """The folders of a project's workspaces, as its lock file lists them.

    Raises:
        UncoveredError: There is no lock file, or it is damaged.
    """
    packages = read_json(npm_lock_of(folder, read), read).get("packages")
    places = packages if isinstance(packages, dict) else {}
    below = [place for place in places if place and "node_modules" not in place.split("/")]
    return [check_inside(path_in(folder, place)) for place in below]


def npm_package(spec: str, folder: str, read: ReadFile, index: PackageIndex) -> Wanted:
    """One package by its name, with or without a version, where a committed lock file or manifest of a folder names it.

    Raises:
        UncoveredError: None does.
    """
    name = spec[: spec.find("@", 1)] if spec.find("@", 1) > 0 else spec
    try:
        found = set(package_lock(folder, read, index).packages)
    except UncoveredError:
        found = set()  # the manifest may name it all the same
    path = path_in(folder, "package.json")
    held = read_json(path, read) if name not in found else {}
    for kind in ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"):
        # Whatever is no plain range of versions says that the package comes from elsewhere.
        found.update(key for key, told in table(held, kind).items() if not set("/:") & set(str(told)))
    if name not in found or not _NAME.fullmatch(name):
        raise UncoveredError(f"{quote_start(name)} is not among the committed packages")
    return Wanted(packages=frozenset((name,)))


# ---------------------------------------------------------------- pnpm
def pnpm_lock(folder: str, read: ReadFile, index: PackageIndex) -> Wanted:
    """What a ``pnpm-lock.yaml`` names, whose manifests are committed too.

    Args:
        folder: Where it lies, from the project's root.
        read: Reads a committed file.
        index: The registry.

    Raises:
        UncoveredError: A package comes from elsewhere, or the file is of another version.
    """
    path = path_in(folder, "pnpm-lock.yaml")
    held = read_yaml(path, read)
    if not _PNPM_VERSIONS.fullmatch(str(held.get("lockfileVersion"))):
        raise UncoveredError(f"{path} is not of version 6 or 9")
    names, files = set(), set()
    for key, entry in table(held, "packages").items():
        resolution = table(entry, "resolution") if isinstance(entry, dict) else {}
        if resolution.get("type") == "directory":
            continue  # it lies in the project
        found = _PNPM_KEY.fullmatch(str(key))
        name, version = (found["name"], found["version"]) if found is not None else ("", "")
        address = str(resolution.get("tarball") or _tarball(index, name, version))
        known = {"integrity"} <= set(resolution) <= {"integrity", "tarball"}
        files.add(_check_registry_file(address if known else "", name, index, path))
        names.add(name)
    for place in table(held, "importers") or (".",):
        check_committed(path_in(check_inside(path_in(folder, str(place))), "package.json"), read)
    locked = Wanted({}, frozenset(names), frozenset(files), has_store=True)
    return locked.join(find_manager_version(folder, read, index))


# ---------------------------------------------------------------- yarn
def yarn_lock(folder: str, read: ReadFile, index: PackageIndex) -> Wanted:
    """What a ``yarn.lock`` names, whose manifests are committed too: of yarn 1, or of a later one.

    Args:
        folder: Where it lies, from the project's root.
        read: Reads a committed file.
        index: The registry.

    Raises:
        UncoveredError: A package comes from elsewhere, or the file is of another form.
    """
    path = path_in(folder, "yarn.lock")
    is_classic = "# yarn lockfile v1" in read_text(path, read).splitlines()[:3]
    return _classic(path, folder, read, index) if is_classic else _berry(path, folder, read, index)


def _classic(path: str, folder: str, read: ReadFile, index: PackageIndex) -> Wanted:
    names, files = set(), set()
    for line in read_text(path, read).splitlines():
        found = _CLASSIC_ADDRESS.fullmatch(line)
        if found is not None:
            address = index.spell(found["address"])
            name = address.removeprefix(f"{index.base}/").partition("/-/")[0]
            files.add(_check_registry_file(address, name, index, path))
            names.add(name)
        elif line.startswith("  resolved") or not _CLASSIC_LINE.fullmatch(line):
            raise UncoveredError(f"{path} holds {quote_start(line.strip())}, which is not known")
    check_committed(path_in(folder, "package.json"), read)
    return Wanted({}, frozenset(names), frozenset(files)).join(find_manager_version(folder, read, index))


def _berry(path: str, folder: str, read: ReadFile, index: PackageIndex) -> Wanted:
    names, files = set(), set()
    for key, entry in read_yaml(path, read).items():
        if key == "__metadata":
            continue
        found = _BERRY.fullmatch(str(entry.get("resolution"))) if isinstance(entry, dict) else None
        if found is None:
            raise UncoveredError(f"{path} is damaged")
        if found["protocol"] == "workspace":
            check_committed(path_in(check_inside(path_in(folder, found["reference"])), "package.json"), read)
        if found["protocol"] in _BERRY_LOCAL:
            continue
        version, _, binding = found["reference"].partition("::")
        said = parse_qs(binding).get("__archiveUrl", [_tarball(index, found["name"], version)])
        address = said[0] if found["protocol"] == "npm" and len(said) == 1 else ""
        files.add(_check_registry_file(address, found["name"], index, path))
        names.add(found["name"])
    check_committed(path_in(folder, "package.json"), read)
    return Wanted({}, frozenset(names), frozenset(files)).join(find_manager_version(folder, read, index))


# ---------------------------------------------------------------- all
def find_manager_version(folder: str, read: ReadFile, index: PackageIndex) -> Wanted:
    """The version of a manager that a committed ``package.json`` pins, which that manager fetches."""
    said = read_json(path_in(folder, "package.json"), read).get("packageManager")
    found = _MANAGER.fullmatch(said) if isinstance(said, str) else None
    if found is None:
        return Wanted()
    names = _MANAGER_PACKAGES[found["name"]]
    return Wanted({}, frozenset(names), frozenset(_tarball(index, name, found["version"]) for name in names))


def _check_registry_file(address: str, name: str, index: PackageIndex, path: str) -> str:
    """A file of the registry's. A lock file may name anything that its manager can install from.

    Raises:
        UncoveredError: It is none, or the package's name is none.
    """
    spelt = index.spell(address)
    below = spelt.removeprefix(f"{index.base}/") if spelt.startswith(f"{index.base}/") else ""
    if not _NAME.fullmatch(name) or not _PATH.fullmatch(below) or ".." in below.split("/"):
        raise UncoveredError(f"{path} takes {quote_start(name)} from another place than the registry")
    return spelt


def _tarball(index: PackageIndex, name: str, version: str) -> str:
    """Where a registry has a version, if its lock file does not say so; empty where that is no version."""
    return f"{index.base}/{name}/-/{name.rpartition('/')[2]}-{version}.tgz" if _VERSION.fullmatch(version) else ""
