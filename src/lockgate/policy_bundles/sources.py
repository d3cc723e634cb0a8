"""A file, or a folder that configuration management fills, as the place of bundles."""

from __future__ import annotations

import os
import stat

from lockgate.errors import BundleError
from lockgate.files import read_regular
from lockgate.layers import MOST_BYTES
from lockgate.policy_bundles.pins import BUNDLE


class FileSource:
    """A bundle's file, or a folder with a ``policy.bundle``."""

    def __init__(self, path: str) -> None:
        """Look at nothing yet."""
        self.name = path

    def facts(self) -> str:
        """Size, place and times of the file; empty where there is none."""
        try:
            about = os.stat(self.name)
            if stat.S_ISDIR(about.st_mode):
                about = os.stat(os.path.join(self.name, BUNDLE))
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError as error:
            return f"cannot be looked at: {error.strerror}"
        return f"{about.st_size} {about.st_dev} {about.st_ino} {about.st_mtime_ns} {about.st_ctime_ns}"

    def read(self) -> bytes:
        """The bundle's file.

        Raises:
            BundleError: It cannot be read.
        """
        path = os.path.join(self.name, BUNDLE) if os.path.isdir(self.name) else self.name
        try:
            return read_regular(path, MOST_BYTES)
        except OSError as error:
            raise BundleError(f"it cannot be read: {error.strerror}") from None
