"""A fleet's policy as binding layers: the layers above them can only tighten."""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.configuration.bundles.fleet import Fleet
from lockgate.configuration.bundles.manifest import CONFIGURATION, LOCKBOX, PATTERNS
from lockgate.configuration.layers.files import LOCKED, LayerFile, LayerPlace, LayerState
from lockgate.core.errors import BundleError, ConfigError
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

    from lockgate.policy.lockbox.merging import LockboxLayer

_NAME = "fleet "
"""Before the name of a file: the name of its layer."""


class Bound(Record):
    """The lowest layers of a configuration."""

    layers: tuple[LockboxLayer, ...]
    states: tuple[LayerState, ...]
    problems: tuple[ConfigError, ...]
    whole: bool
    """Whether this is what the bundle says, and not what stands in for one that is damaged."""


def layers_of(fleet: Fleet) -> Bound:
    """The configuration that a fleet's policy comes to.

    Where there is none, or where this version cannot read it, every effect is denied: no policy could be stricter, and
    local work goes on. A bundle without a configuration leaves that to the machine.
    """
    from lockgate.policy.lockbox.merging import LockboxLayer
    from lockgate.policy.validation import parse
    from lockgate.system.libraries import library

    for name in ("yaml", "jsonschema", "regex"):
        library(name)
    try:
        files = fleet.files()
    except BundleError as error:
        return _make_locked_layer(fleet, (ConfigError(_path(fleet), 0, "", str(error)),), whole=False)
    if fleet.current is None:
        return _make_locked_layer(fleet, (), whole=True)
    layers, states, problems = [], [], []
    for name in (LOCKBOX, CONFIGURATION):
        if name not in files:
            continue
        parsed = parse(files[name], name)
        problems += [ConfigError(_NAME + each.file, each.line, each.key, each.problem) for each in parsed.problems]
        layers.append(LockboxLayer(_NAME + name, parsed.value or {}))
        states.append(LayerState(_NAME + name, _path(fleet), "valid", fleet.current.files[name]))
    if problems:  # another version of Lockgate has found it valid
        return _make_locked_layer(fleet, tuple(problems), whole=True)
    if layers:
        layers[-1] = layers[-1]._replace(value={**layers[-1].value, "strict": True})
    return Bound(tuple(layers), tuple(states), (), whole=True)


def _make_locked_layer(fleet: Fleet, problems: tuple[ConfigError, ...], *, whole: bool) -> Bound:
    from lockgate.policy.lockbox.merging import LockboxLayer

    state = LayerState(_NAME + CONFIGURATION, _path(fleet), LOCKED)
    return Bound((LockboxLayer(_NAME + CONFIGURATION, make_locked_configuration()),), (state,), problems, whole)


def make_locked_configuration() -> Mapping[str, Any]:
    """The configuration that denies every effect."""
    from lockgate.policy.profiles import DEFAULT, FIXED_ROWS, read_shipped_profiles

    rows = read_shipped_profiles()[DEFAULT].table.keys() - FIXED_ROWS
    return {"strict": True, "mcp_default": "unsafe_acting", "table": dict.fromkeys(sorted(rows), "deny")}


def pattern_look(fleet: Fleet) -> LayerFile | None:
    """The fleet's patterns as a file that was looked at; ``None`` where its bundle has none."""
    if fleet.current is None or PATTERNS not in fleet.current.files:
        return None
    place = LayerPlace(_NAME + PATTERNS, _path(fleet), fleet=True)
    try:
        return LayerFile(place, fleet.files()[PATTERNS], "", fleet.current.files[PATTERNS])
    except BundleError as error:
        return LayerFile(place, None, str(error), "")


def binds_patterns(fleet: Fleet) -> bool:
    """Whether other files of patterns can only tighten."""
    return fleet.current is None or PATTERNS in fleet.current.files


def _path(fleet: Fleet) -> str:
    from lockgate.configuration.bundles.accepted import bundle_path

    if fleet.current:
        return bundle_path(fleet.state, fleet.current.digest)
    return fleet.pins.path if fleet.pins else ""
