"""The protocol of a source of bundles."""

from __future__ import annotations

from typing import Protocol


class BundleSource(Protocol):
    """A place that a gate looks at for a newer bundle. It is believed in nothing: signature and serial decide."""

    @property
    def name(self) -> str:
        """How a person finds it: a path, or ``the shared store``."""

    def facts(self) -> str:
        """What changes with the content, found without reading it; empty where there is no bundle."""

    def read(self) -> bytes:
        """The bundle's file. Raises ``OSError`` or ``BundleError``."""
