"""What contained commands left in folders of their own, dropped when a project was not worked on for long."""

from __future__ import annotations

import os

_DAYS = 30.0
_MOST = 20
"""Folders that are dropped after one run: the rest has its turn."""


def used(folder: str) -> None:
    """Note that a project's folder is used now."""
    os.utime(folder)


def drop_unused(folder: str, now: float) -> None:
    """Remove the folders beside a project's that no contained command has used for a month.

    Args:
        folder: The project's own, which stays.
        now: Seconds since the epoch.
    """
    with os.scandir(os.path.dirname(folder)) as entries:
        others = [entry for entry in entries if entry.path != folder and entry.is_dir(follow_symlinks=False)]
    old = [entry.path for entry in others if entry.stat(follow_symlinks=False).st_mtime < now - _DAYS * 86_400]
    for path in old[:_MOST]:
        import shutil

        # It holds what untrusted commands wrote: links in it are removed and not followed.
        shutil.rmtree(path, ignore_errors=True)
