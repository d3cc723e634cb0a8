"""Sources of bundles: a file, a folder that configuration management fills, the store of many gates."""

from __future__ import annotations

import os
import stat

from lockgate.configuration.bundles.pins import BUNDLE
from lockgate.configuration.layers.files import MOST_BYTES
from lockgate.core.errors import BundleError
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.files import read_regular

if TYPE_CHECKING:
    from lockgate.store.protocol import Store


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


class StoreSource:
    """What was published for the fleet in this gate's store. Who can write there can publish; no gate believes it."""

    name = "the store"

    def __init__(self, store: Store, fleet: str) -> None:
        """Look at nothing yet."""
        self._store, self._fleet = store, fleet

    def facts(self) -> str:
        """The hash of the bundle; empty where there is none.

        Raises:
            StoreError: The store cannot be read.
        """
        with self._store.reading() as tx:
            return tx.policy_digest(self._fleet)

    def read(self) -> bytes:
        """The bundle's file.

        Raises:
            BundleError: It is gone.
            StoreError: The store cannot be read.
        """
        with self._store.reading() as tx:
            data = tx.policy(self._fleet)
        if data is None:
            raise BundleError("it is gone")
        return data
