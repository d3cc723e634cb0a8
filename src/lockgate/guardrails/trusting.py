"""What a project's pattern files would loosen if a person trusted them."""

from __future__ import annotations

from collections.abc import Sequence

from lockgate.analysis.patterns.loading import load, real_checks
from lockgate.analysis.patterns.merging import Layer, merge
from lockgate.errors import ConfigError
from lockgate.folders import folders
from lockgate.guardrails.layers import gather_layers, shipped_layer
from lockgate.layers import Place
from lockgate.record import Record


class PatternLayers(Record):
    """A project's pattern files."""

    problems: tuple[ConfigError, ...]
    loosenings: tuple[str, ...]
    """What they say that holds only if they are trusted."""


def patterns_layers(found: Sequence[tuple[Place, bytes]]) -> PatternLayers:
    """Check a project's pattern files against the person's own layers.

    Args:
        found: The files and their contents.
    """
    if not found:
        return PatternLayers((), ())
    checks = real_checks()
    problems: list[ConfigError] = []
    layers = [shipped_layer(), *gather_layers(folders(), checks)]
    for place, data in found:
        loaded = load(data, place.path, checks)
        problems += loaded.problems
        if loaded.document is not None:
            layers.append(Layer(place.name, place.path, loaded.document, may_loosen=False))
    return PatternLayers(tuple(problems), tuple(merge(layers).notes))
