"""Which secret reaches which program that sends: a second run of a script, made only where one may reach another.

Text whose value is not known is a placeholder (``scope.py``). In this run a placeholder is followed by marks, which are
characters that stand for where the text comes from (``tracer.py``).

The run decides nothing. What it says is evidence for a person, so where it is not sure it says nothing, or "may".
"""

from __future__ import annotations

from collections.abc import Iterable

from lockgate.analysis.shell.flow import nodes
from lockgate.analysis.shell.marks import OPAQUE, marks_of
from lockgate.analysis.shell.scope import Scope
from lockgate.analysis.shell.syntax import Literal, Param, Script
from lockgate.analysis.shell.tracer import Source, Tracer
from lockgate.analysis.shell.variables import is_secret_name
from lockgate.analysis.surroundings import Surroundings
from lockgate.model import Effect, Flow

_MOST_FLOWS = 12
_SENTENCES = 2


def follow(script: Script, scope: Scope, around: Surroundings) -> Tracer | None:
    """Run a script once more and follow its secrets.

    Args:
        script: The script as it was read.
        scope: The state in which it begins.
        around: What the analysis may know beside the script.

    Returns:
        What was found, ``None`` where that failed, or where the script itself has a character that is a mark: the
        reasons are then given without it.
    """
    tracer = Tracer(around)
    for node in nodes(script):
        if isinstance(node, Literal) and marks_of(node.text):
            return None
        if isinstance(node, Param) and is_secret_name(node.name) and node.name not in scope.variables:
            scope.variables[node.name] = OPAQUE + tracer.mark(Source(f"${node.name}"))
    try:
        tracer.run(script, scope)
        tracer.run_traps()
    except Exception:  # noqa: BLE001 - what only explains must not change what is decided
        return None
    return tracer


def explained(effect: Effect, tracer: Tracer) -> Effect:
    """An effect, with the secrets that reach it in its reason."""
    found = tracer.reached.get((effect.kind, effect.rule, effect.what))
    if not found:
        return effect
    said = [flow.sentence for flow in best(found)]
    return effect._replace(because=f"{effect.because}: {'; '.join(said[:_SENTENCES])}")


def best(found: Iterable[Flow]) -> list[Flow]:
    """Flows without those of which another says more."""
    every = dict.fromkeys(found)
    return [flow for flow in every if flow.certain or flow._replace(certain=True) not in every][:_MOST_FLOWS]
