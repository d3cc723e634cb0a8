"""Finds queries to the registry of npm about packages that the project itself names.

Such a name carries nothing out: it stood in ``package.json`` before. Who is asked can stand in an ``.npmrc`` of the
project (docs.npmjs.com: ``npmrc``), with a token to send along. So the answer says when the newest of these files was
changed. What the agent wrote after it had read strangers' text counts as typed.
"""

from __future__ import annotations

import json
import posixpath

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.path_spelling import is_inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from lockgate.resources.host_view import HostView, ScriptFile

_MANIFEST, _SETTINGS = "package.json", ".npmrc"
_DEPENDENCIES = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
_SPEC = lazy_re(r"(@[a-z0-9._~-]+/[a-z0-9._~-]+|[a-z0-9._~-]+)(?:@[\w.^~<>=*+-]{1,40})?")
"""A package with a version or a tag, neither of which travels: npm asks for the whole record of a package."""
_SCOPE = lazy_re(r"@[a-z0-9._~-]+")
_MOST_FOLDERS, _MOST_MANIFESTS = 12, 60
"""Folders upwards, and manifests of workspaces, that are looked at; beyond the first nothing is known."""
_FIELDS = frozenset({"npm/view"})
"""Commands of which only the first word is a package: the others pick fields of the answer."""
_FIRST = frozenset({"npm/access/list", "npm/access/get"})
"""Commands whose first word says what is listed."""


class ProjectPackages(Record):
    """The packages that the manifests of a project name."""

    names: frozenset[str]
    changed: float
    """When the newest file that counts was changed, in seconds since the epoch."""


def own_packages_changed_at(name: str, words: Sequence[str], folder: str, around: HostView) -> float | None:
    """The time of the last change to a file that makes the packages of a query the project's own.

    Args:
        name: The command, as its entry is called (``npm/view``).
        words: Its operands.
        folder: Where it runs, absolute.
        around: The view of this machine.

    Returns:
        Seconds since the epoch; ``None`` where one of the packages is not the project's, or nobody can tell.
    """
    words = words[1:] if name in _FIRST else words
    words = words[:1] if name in _FIELDS else words
    if not is_inside(folder, around.workspace):
        return None
    own = _project_packages(folder, around)
    return own.changed if own is not None and all(_is_of_project(word, own.names) for word in words) else None


def _is_of_project(word: str, names: frozenset[str]) -> bool:
    if _SCOPE.fullmatch(word):
        return any(name.startswith(f"{word}/") for name in names)
    spec = _SPEC.fullmatch(word)
    return spec is not None and spec.group(1) in names


def _project_packages(folder: str, around: HostView) -> ProjectPackages | None:
    """The packages of the manifests from a folder upwards; ``None`` where nobody can tell, or there are none."""
    names: set[str] = set()
    newest = 0.0
    for number, place in enumerate(_upwards(folder, around.workspace)):
        settings = f"{place}/{_SETTINGS}"
        if number >= _MOST_FOLDERS or (around.is_there(settings) and around.read_script(settings) is None):
            return None
        for path in (settings, f"{place}/{_MANIFEST}"):
            if (file := around.read_script(path)) is not None:
                newest = max(newest, file.changed)
        for file in _manifests(place, around):
            newest = max(newest, file.changed)
            names |= _packages_of(_parse(file))
    return ProjectPackages(frozenset(names), newest) if names else None


def _upwards(folder: str, root: str) -> Iterator[str]:
    while folder and root and is_inside(folder, root):
        yield folder
        if folder == root:
            return
        folder = posixpath.dirname(folder)


def _manifests(folder: str, around: HostView) -> Iterator[ScriptFile]:
    """The manifest of a folder, and those of its workspaces."""
    own = around.read_script(f"{folder}/{_MANIFEST}")
    if own is None:
        return
    yield own
    left = _MOST_MANIFESTS
    for place in _workspace_patterns(_parse(own)):
        above, _, last = place.rstrip("/").removeprefix("./").rpartition("/")
        if "*" in above or ".." in place or last not in ("*", last.replace("*", "")):
            continue
        base = f"{folder}/{above}".rstrip("/")
        for name in (around.names_in(base) or ()) if last == "*" else (last,):
            left -= 1
            file = around.read_script(f"{base}/{name}/{_MANIFEST}") if left >= 0 else None
            if file is not None:
                yield file


def _workspace_patterns(manifest: Mapping[str, Any]) -> list[str]:
    found = manifest.get("workspaces")
    found = found.get("packages") if isinstance(found, dict) else found
    return [place for place in found if isinstance(place, str)] if isinstance(found, list) else []


def _packages_of(manifest: Mapping[str, Any]) -> set[str]:
    names = {str(manifest.get("name") or "")} - {""}
    for kind in _DEPENDENCIES:
        if isinstance(listed := manifest.get(kind), dict):
            names |= listed.keys()
    return names


def _parse(file: ScriptFile) -> Mapping[str, Any]:
    try:
        found = json.loads(file.text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
