"""Compiles the files of a configuration, layer by layer. Not imported where the compiled form is in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockgate.configuration.layers.files import (
    LayerFile,
    LayerPlace,
    LayerState,
    digest_of,
    good_digest,
    last_good,
    put_good,
)
from lockgate.core.errors import ConfigError
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.libraries import library

if TYPE_CHECKING:
    from typing import Any

    from lockgate.configuration.bundles.fleet import Fleet
    from lockgate.policy.lockbox.merging import LockboxLayer
    from lockgate.store.protocol import Transaction

PROGRAM = "program"
"""The name of the layer that a program hands in."""


def compile_files(
    tx: Transaction | None,
    looks: Sequence[LayerFile],
    trusted: frozenset[tuple[str, str]],
    *,
    keep: bool = True,
    program: Mapping[str, Any] | None = None,
    fleet: Fleet | None = None,
) -> dict[str, Any]:
    """Compile files to JSON.

    * ``compiled``: the policies.
    * ``layers``: the state of each layer.
    * ``problems``: what is wrong.
    * ``good``: for each file that is not valid, the digest of the content that is used instead.
    * ``whole``: false where a part of the fleet's policy could not be read.

    Args:
        tx: A transaction of the store; ``None`` where there is none.
        looks: The files, from the lowest to the highest layer.
        trusted: Paths and digests of the projects' files that may loosen.
        keep: Whether the good content of a file is kept, for when it is not valid any more.
        program: What a program says, over all files.
        fleet: The policy of a fleet, below all files.
    """
    if any(look.data is not None for look in looks):
        for name in ("yaml", "jsonschema", "regex"):
            library(name)
    from lockgate.policy.lockbox.merging import LockboxLayer, compile_layers

    files = _LayerFiles(tx, trusted, keep=keep)
    whole = files.bind(fleet) if fleet is not None else True
    for look in looks:
        files.take(look)
    if program:
        files.layers.append(LockboxLayer(PROGRAM, program))
    return {
        "compiled": compile_layers(files.layers),
        "good": files.good,
        "layers": files.states,
        "problems": [[error.file, error.line, error.key, error.problem] for error in files.problems],
        "whole": whole,
    }


class _LayerFiles:
    """The layers so far, from the lowest on."""

    def __init__(self, tx: Transaction | None, trusted: frozenset[tuple[str, str]], *, keep: bool) -> None:
        self._tx = tx
        self._trusted = trusted
        self._keep = keep
        self.layers: list[LockboxLayer] = []
        self.states: list[LayerState] = []
        self.problems: list[ConfigError] = []
        self.good: dict[str, str | None] = {}
        """Digests of the last good contents, for each file that is not valid."""

    def bind(self, fleet: Fleet) -> bool:
        """Add the layers of a fleet's policy; returns whether all of it could be read."""
        from lockgate.configuration.bundles.layers import layers_of

        bound = layers_of(fleet)
        self.layers += bound.layers
        self.states += bound.states
        self.problems += [*fleet.problems, *bound.problems]
        return bound.whole

    def take(self, look: LayerFile) -> None:
        """Add a file as a layer; where it is not valid, its last good content."""
        path = look.place.path
        if look.data is None and not look.problem:
            self.states.append(LayerState(look.place.name, path, "absent"))
            self._note_good(path, "", None)
            return
        if look.data is not None:
            from lockgate.policy.validation import parse

            parsed = parse(look.data, path)
            self.problems += parsed.problems
            if parsed.value is not None:
                self._add(look.place, parsed.value, look.digest, "valid")
                self._note_good(path, look.digest, look.data)
                return
        else:
            self.problems.append(ConfigError(path, 0, "", look.problem))
        self.good[path] = good_digest(self._tx, path) if self._tx is not None else None
        self._add_last_good(look.place)

    def _note_good(self, path: str, digest: str, data: bytes | None) -> None:
        """Keep the content of a valid file for later. Where there is no file, forget what was kept."""
        if self._tx is not None and self._keep and (good_digest(self._tx, path) or "") != digest:
            put_good(self._tx, path, data)

    def _add(self, place: LayerPlace, value: Mapping[str, Any], digest: str, state: str) -> None:
        from lockgate.policy.lockbox.merging import LockboxLayer

        may_loosen = not place.project or (place.path, digest) in self._trusted
        self.layers.append(LockboxLayer(place.name, value, may_loosen, place.project))
        self.states.append(LayerState(place.name, place.path, state if may_loosen else "untrusted", digest))

    def _add_last_good(self, place: LayerPlace) -> None:
        """Add the last good content of a file that is not valid, if there is one."""
        from lockgate.policy.validation import parse

        data = last_good(self._tx, place.path)
        # What a former version accepted may not be valid any more.
        value = None if data is None else parse(data, place.path).value
        if data is None or value is None:
            self.states.append(LayerState(place.name, place.path, "invalid"))
        else:
            self._add(place, value, digest_of(data), "last good")
