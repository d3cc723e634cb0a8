"""Finds the folders in which clients keep their own files."""

from __future__ import annotations

import os
from collections.abc import Mapping


def client_folder(moved_by: str, usual: str, environ: Mapping[str, str]) -> str:
    """A client's own folder.

    Args:
        moved_by: The variable that names another folder; empty where the client has none. Only an absolute path counts.
        usual: The folder where it does not.
        environ: The environment.
    """
    moved = environ.get(moved_by, "")
    return moved if os.path.isabs(moved) else usual
