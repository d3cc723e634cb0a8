"""The folders above the gate's own state: what reading all below them means, and who may enter them."""

from __future__ import annotations

from lockgate.analysis.places import Path
from lockgate.analysis.spelling import folders, names_of
from lockgate.analysis.surroundings import Surroundings
from lockgate.model import Effect, EffectKind

OWN_BELOW = "place:own/state-below"
_BELOW = "the gate's own state lies below it, where links and passwords are that can approve for a person"
_ABOVE = "the gate's own state lies below it, which this can open to others or close to the gate"


def state_below(form: Path, path: str, around: Surroundings) -> list[Effect]:
    """Effects of reading everything below a folder, where the gate's own state is among it."""
    return [Effect(EffectKind.TAMPER, path, OWN_BELOW, _BELOW)] if _has_state_below(form, around) else []


def entry_effects(folder: str, cwd: str, around: Surroundings) -> list[Effect]:
    """Effects of changing who may enter a folder, where the gate's own state lies below it."""
    if any(_has_state_below(form, around) for form in folders(folder, cwd, around)):
        return [Effect(EffectKind.TAMPER, folder, "place:own/state-above", _ABOVE)]
    return []


def _has_state_below(form: Path, around: Surroundings) -> bool:
    return any(form.names == (state := names_of(own))[: len(form.names)] != state for own in around.state_paths)
