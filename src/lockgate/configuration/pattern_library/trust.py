"""What a project's pattern files would loosen if a person trusted them."""

from __future__ import annotations

from collections.abc import Sequence

from lockgate.configuration.layers.files import Place
from lockgate.configuration.pattern_library.layers import gather_layers, shipped_layer
from lockgate.core.errors import ConfigError
from lockgate.core.record import Record
from lockgate.patterns.library.loading import load, real_checks
from lockgate.patterns.library.merging import Layer, merge
from lockgate.system.folders import folders


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
