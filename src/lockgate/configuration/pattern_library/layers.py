"""Finds the files of the pattern library, checks which count, and merges them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from lockgate.configuration.layers.files import (
    LayerFile,
    LayerPlace,
    LayerState,
    digest_of,
    find_trusted_files,
    last_good,
    look_at,
    may_be_in_fleet,
)
from lockgate.core.errors import ConfigError, PatternError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.core.version import PACKAGE_FOLDER
from lockgate.system.files import real_path
from lockgate.system.folders import Folders, find_managed_folder

if TYPE_CHECKING:
    from lockgate.patterns.library.linking import Linked
    from lockgate.patterns.library.loading import PatternChecks
    from lockgate.patterns.library.merging import PatternLayer
    from lockgate.store.protocol import Transaction

SHIPPED = os.path.join(PACKAGE_FOLDER, "patterns", "library", "shipped.json")
_BOUND = "where the fleet's policy binds"
PROJECT_FILES = (
    os.path.join(".claude", "hooks", "patterns", "patterns.yaml"),
    "lockgate.patterns.yaml",
    ".lockgate.patterns.yaml",
)
"""Where a project's patterns are looked for, below its root."""


class Gathered(Record):
    """The merged layers."""

    linked: Linked
    layers: tuple[LayerState, ...]
    """All places, from the lowest to the highest."""
    problems: tuple[ConfigError, ...]
    notes: tuple[str, ...]
    """What layers that may not loosen have said in vain."""
    good: tuple[tuple[str, bytes | None], ...]
    """Files whose content is good (``None``: that are gone): to be kept as their last good contents."""
    broken: tuple[str, ...]
    """Files whose last good content stands in for them."""


def pattern_places(where: Folders, workspace: str) -> tuple[LayerPlace, ...]:
    """All places of pattern files, from the lowest to the highest layer; what is shipped lies below them.

    Args:
        where: The folders.
        workspace: The project's root folder, absolute; empty where there is none.
    """
    found = [
        LayerPlace("managed patterns.yaml", os.path.join(find_managed_folder(), "patterns.yaml")),
        LayerPlace("user patterns.yaml", os.path.join(where.config, "patterns.yaml")),
    ]
    if os.path.isabs(workspace) and "\0" not in workspace:
        root = real_path(workspace)
        found += [LayerPlace(f"project {name}", os.path.join(root, name), project=True) for name in PROJECT_FILES]
    users = {real_path(place.path) for place in found if not place.project}
    return tuple(place for place in found if not place.project or real_path(place.path) not in users)


def is_patterns(path: str) -> bool:
    """Whether a file is one of patterns, by its name."""
    return os.path.basename(path).endswith("patterns.yaml")


def looks_at(where: Folders, workspace: str) -> tuple[LayerFile, ...]:
    """What is at all places now. A fleet's policy lies below them, and binds them."""
    found = pattern_places(where, workspace)
    if not may_be_in_fleet(where.state):
        return tuple(map(look_at, found))
    import time

    from lockgate.configuration.bundles.fleet import look
    from lockgate.configuration.bundles.layers import binds_patterns, pattern_look

    fleet = look(where.state, time.time())
    if fleet is None or not binds_patterns(fleet):
        return tuple(map(look_at, found))
    below = pattern_look(fleet)
    looks = [look_at(place._replace(bound=True)) for place in found]
    return (below, *looks) if below is not None else tuple(looks)


def gather(tx: Transaction | None, looks: Sequence[LayerFile], checks: PatternChecks | None = None) -> Gathered:
    """Read all layers and lay them over each other. Writes nothing.

    Args:
        tx: Tells what a person trusts, and the last good contents; ``None`` where nothing was recorded yet.
        looks: What is at the places.
        checks: What files are checked with; by default those of both engines.
    """
    from lockgate.patterns.library.linking import link
    from lockgate.patterns.library.merging import merge

    reader = _LayerReader(tx, looks, checks)
    state = merge([read_shipped_layer(), *reader.layers])
    return Gathered(
        linked=link(state),
        layers=tuple(reader.states),
        problems=(*reader.problems, *state.problems),
        notes=tuple(state.notes),
        good=tuple(reader.good),
        broken=tuple(reader.broken),
    )


def gather_for_cli(where: Folders, workspace: str) -> Gathered:
    """What holds for a workspace, for a person. Writes nothing.

    Raises:
        StoreError: There is a store, and it cannot be read.
    """
    from lockgate.store.opening import open_existing

    looks = looks_at(where, workspace)
    store = open_existing(where.state)
    if store is None:
        return gather(None, looks)
    try:
        with store.reading() as tx:
            return gather(tx, looks)
    finally:
        store.close()


def gather_layers(where: Folders, checks: PatternChecks) -> list[PatternLayer]:
    """The layers of the machine and of the person, as they stand; what is not valid is left out."""
    return _LayerReader(None, looks_at(where, ""), checks).layers


def read_shipped_layer() -> PatternLayer:
    """What is shipped, as the lowest layer. It was checked when it was built."""
    from lockgate.patterns.library import merging
    from lockgate.system.documents.values import Document

    with open(SHIPPED, encoding="utf-8") as file:
        return merging.PatternLayer(merging.SHIPPED, SHIPPED, Document(json.load(file), {}))


class _LayerReader:
    """Reads the files one after the other."""

    def __init__(self, tx: Transaction | None, looks: Sequence[LayerFile], checks: PatternChecks | None) -> None:
        self.tx = tx
        self.checks = checks
        self.trusted = find_trusted_files(tx, looks) if tx is not None else frozenset()
        self.layers: list[PatternLayer] = []
        self.states: list[LayerState] = []
        self.problems: list[ConfigError] = []
        self.good: list[tuple[str, bytes | None]] = []
        self.broken: list[str] = []
        for look in looks:
            self._read(look)

    def _read(self, look: LayerFile) -> None:
        place, path = look.place, look.place.path
        if place.fleet:
            self._read_fleet(look)
            return
        if look.problem:
            self.problems.append(ConfigError(path, 0, "", look.problem))
        elif look.data is None:
            self.states.append(LayerState(place.name, path, "absent"))
            self.good.append((path, None))
            return
        elif self._take(place, look.data, "valid", self.problems):
            self.good.append((path, look.data))
            return
        self.broken.append(path)
        stored = last_good(self.tx, path)
        # What a former version accepted may not be valid any more.
        if stored is None or not self._take(place, stored, "last good", []):
            self.states.append(LayerState(place.name, path, "invalid"))

    def _read_fleet(self, look: LayerFile) -> None:
        """Nothing stands in for a fleet's patterns: what has one gate find them valid, another must not do without."""
        problems: list[ConfigError] = []
        if look.data is None or not self._take(look.place, look.data, "valid", problems):
            raise PatternError(f"the fleet's patterns cannot be used: {look.problem or problems[0]}")

    def _take(self, place: LayerPlace, data: bytes, state: str, problems: list[ConfigError]) -> bool:
        """Take a content as a layer; whether it is valid."""
        from lockgate.patterns.library.loading import load, real_checks
        from lockgate.patterns.library.merging import PatternLayer
        from lockgate.system.libraries import library

        for name in ("yaml", "jsonschema"):
            library(name)
        self.checks = self.checks or real_checks()
        loaded = load(data, place.path, self.checks)
        problems += loaded.problems
        if loaded.document is None:
            return False
        digest = digest_of(data)
        trusted = not place.project or (place.path, digest) in self.trusted
        may_loosen = trusted and not place.bound
        layer = PatternLayer(place.name, place.path, loaded.document, may_loosen)
        self.layers.append(layer._replace(held=_BOUND) if place.bound else layer)
        held = "bound" if trusted else "untrusted"
        self.states.append(LayerState(place.name, place.path, state if may_loosen else held, digest))
        return True
