"""What an install may ask package indexes for, as the files that a project has committed say it. Values only."""

from __future__ import annotations

import json
from collections.abc import Mapping

from lockgate.core.record import Record


class PackageFolder(Record):
    """Where an install puts packages."""

    folder: str
    """Absolute: where it runs."""
    environment: str = ""
    """The folder that holds the environment of Python which it fills; empty where it fills none."""
    root: str = ""
    """Of the repository."""
    files: Mapping[str, str] = {}
    """The committed files that say what is installed, where they name each file of a package: by their paths from that
    root, with the SHA-256 of what they hold."""
    exact: bool = False
    """Whether it removes what these files do not name."""


class Wanted(Record):
    """The packages of one install."""

    projects: Mapping[str, frozenset[str]] = {}
    """Projects of Python by their normalised names, each with the SHA-256 digests of its files; none: any file."""
    packages: frozenset[str] = frozenset()
    """Packages of npm, by their names."""
    files: frozenset[str] = frozenset()
    """Whole addresses of files that a lock file names."""
    releases: frozenset[str] = frozenset()
    """Whole addresses of pages of PyPI about one version, from which poetry learns where its files lie."""
    has_store: bool = False
    """Whether pnpm installs them. It notes the path of its store in the project, so that must be the person's own."""
    folders: tuple[PackageFolder, ...] = ()
    """What is filled by it. It is nothing that the relay has to know, so it is not in the text."""

    @property
    def is_pinned(self) -> bool:
        """Whether each package has digests, or an address in a lock file."""
        return all(self.projects.values()) and (bool(self.files) or not self.packages)

    def join(self, other: Wanted) -> Wanted:
        """What both may ask for. A project of which one may have any file is so in both."""
        projects = dict(self.projects)
        for name, digests in other.projects.items():
            known = projects.get(name)
            projects[name] = digests if known is None else known | digests if known and digests else frozenset()
        folders = (*self.folders, *other.folders)
        packages, files = self.packages | other.packages, self.files | other.files
        releases, has_store = self.releases | other.releases, self.has_store or other.has_store
        return Wanted(projects, packages, files, releases, has_store, folders)

    def to_json(self) -> str:
        """A text that :meth:`from_json` reads back: the same for the same packages."""
        told = {
            "projects": {name: sorted(digests) for name, digests in sorted(self.projects.items())},
            "packages": sorted(self.packages),
            "files": sorted(self.files),
            "releases": sorted(self.releases),
            "has_store": self.has_store,
        }
        return json.dumps(told, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Wanted:
        """Read what :meth:`to_json` made."""
        told = json.loads(text)
        projects = {name: frozenset(digests) for name, digests in told["projects"].items()}
        packages, files, releases = (frozenset(told[name]) for name in ("packages", "files", "releases"))
        return cls(projects, packages, files, releases, told["has_store"])
