"""The version of this build, the package's folder and its tables.

A module of its own: who needs the version must not import the whole package.
"""

from __future__ import annotations

import os

from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

RELEASE = "0.1.0"
"""The version of a build of which nothing else is known. Others are named by the tag and the commit."""

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The absolute path of ``src/lockgate``, or of the installed package."""


class Build(Record):
    """The build of an installation, as ``hatch_build.py`` has written it down."""

    version: str = RELEASE
    commit: str = ""
    digest: str = ""
    """SHA-256 of the files that it was made with; empty where they may change, as in a source tree."""


def _build() -> Build:
    """Read the file ``build`` of the package, three lines; a source tree that was never installed has none."""
    try:
        with open(os.path.join(PACKAGE_FOLDER, "build"), encoding="ascii") as file:
            version, commit, digest = file.read(500).splitlines()
    except (OSError, ValueError):
        return Build()
    return Build(version, commit, digest)


BUILD = _build()
__version__ = BUILD.version


def resource_table(name: str) -> Any:
    """The rows of a table of ``resources/data``, as it was compiled. Who asks remembers them."""
    import json

    with open(os.path.join(PACKAGE_FOLDER, "resources", "data", f"{name}.json"), encoding="utf-8") as file:
        return json.load(file)
