"""Computes the digest of a package's files, to compare what was built with what is installed.

The build imports this file by itself, so it imports nothing of the package.
"""

from __future__ import annotations

import hashlib
import os

_MADE_HERE = frozenset({"build", "lockgate-hook", "lockgate-contain"})
"""Files that each build or each machine has its own of."""
_FOLDERS_MADE_HERE = frozenset({"__pycache__", "compiled"})


def digest_of(package: str) -> str:
    """SHA-256, hexadecimal, of all files below a package's folder, by their names and what is in them.

    Args:
        package: The folder.

    Raises:
        OSError: A file cannot be read.
    """
    found = hashlib.sha256()
    for path in sorted(_files(package)):
        with open(os.path.join(package, path), "rb") as file:
            inner = hashlib.sha256(file.read()).hexdigest()
        found.update(f"{path}\0{inner}\n".encode())
    return found.hexdigest()


def _files(package: str) -> list[str]:
    found: list[str] = []
    for folder, folders, names in os.walk(package):
        folders[:] = [name for name in folders if name not in _FOLDERS_MADE_HERE]
        inside = os.path.relpath(folder, package)
        found += [
            os.path.normpath(os.path.join(inside, name))
            for name in names
            if not (inside == "." and name in _MADE_HERE) and not name.endswith((".pyc", ".artefact"))
        ]
    return found
