"""Runs a script a second time to find which secret reaches which program that sends.

Text whose value is not known is a placeholder (``scope.py``). In this run a placeholder is followed by marks, which are
characters that stand for where the text comes from (``tracer.py``).

What it says is evidence for a person, so where it is not sure it says "may". What leaves with what is sent is an effect
of its own, which is decided in every session (``sent``). Where the run fails, all that is read is taken to be sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lockgate.core.model import REACHING, Effect, EffectKind, Flow, Variant
from lockgate.resources.host_view import HostView
from lockgate.shell.grammar.tree import Literal, Script
from lockgate.shell.interpreter.lookahead import nodes
from lockgate.shell.secret_flow.deployments import deployment_digest
from lockgate.shell.secret_flow.tracer import Tracer, key_of
from lockgate.shell.state.abstract_text import marks_of
from lockgate.shell.state.scope import Scope

_MOST_FLOWS = 12
_SENTENCES = 2


def follow(script: Script, scope: Scope, around: HostView, dialect: str) -> Tracer | None:
    """Run a script once more and follow its secrets.

    Args:
        script: The script as it was read.
        scope: The state in which it begins.
        around: What the analysis may know beside the script.
        dialect: The shell that runs the script.

    Returns:
        What was found, ``None`` where that failed, or where the script itself has a character that is a mark: the
        reasons are then given without it.
    """
    tracer = Tracer(around)
    tracer.enter(dialect)
    for node in nodes(script):
        if isinstance(node, Literal) and marks_of(node.text):
            return None
    try:
        began = scope.copy()
        tracer.run(script, scope)
        tracer.run_traps()
        if tracer.runs_concurrently(script):
            # What runs at the same time may read what is only written later.
            tracer.run(script, began)
        tracer.run_writers()
    except Exception:  # noqa: BLE001 - what only explains must not change what is decided
        return None
    return tracer


def explain_effect(effect: Effect, tracer: Tracer) -> Effect:
    """An effect, with the secrets that reach it in its reason."""
    found = tracer.reached.get(key_of(effect))
    if not found:
        return effect
    said = [flow.sentence for flow in best(found)]
    return effect._replace(because=f"{effect.because}: {'; '.join(said[:_SENTENCES])}")


def egress_effects(effects: Sequence[Effect], tracer: Tracer) -> list[Effect]:
    """The effects of sending the secrets that leave, one for each place that they go to."""
    if tracer.full or any(effect.rule == "shell:too-complex" for effect in effects):
        return not_followed(effects)
    found: list[Effect] = []
    for effect in effects:
        if effect.rule.startswith("variable:") and effect.kind is EffectKind.EGRESS:
            # What goes through another machine that a variable of this very command names.
            reads = [each for each in effects if each.rule.startswith("place:secret/")]
            found += not_followed([*reads, effect])[:1] if reads else []
        flows = tracer.payloads.get(key_of(effect))
        if flows and effect.variant is not Variant.KNOWN:
            said = [f"{flow.sentence}, which sends it to {flows[flow]}" for flow in best(flows)[:_SENTENCES]]
            sending, ways = _effect_of_sending(effect, "; ".join(said)), tracer.deployments.get(key_of(effect), set())
            only = next(iter(ways)) if len(ways) == 1 else ""
            held = sorted({f"{flow.source} {flow.through}" for flow in flows})
            found.append(sending._replace(deployment=deployment_digest(only, held)) if only else sending)
    return found


def not_followed(effects: Sequence[Effect]) -> list[Effect]:
    """The same where nobody knows what is sent."""
    read = next((effect for effect in effects if effect.kind is EffectKind.READ_SECRET), None)
    reaching = (effect for effect in effects if effect.kind in REACHING and effect.variant is not Variant.KNOWN)
    what = f"`{read.what}`" if read is not None else "a secret"
    return [
        _effect_of_sending(effect, f"{what} may be sent to `{effect.what}`: this cannot be followed")
        for effect in reaching
    ]


def runs_not_followed(effects: Sequence[Effect]) -> list[Effect]:
    """The effects of running what is downloaded, where nobody knows what is run."""
    from lockgate.shell.secret_flow.code_sources import DOWNLOAD, DownloadRun, run_effects

    fetched = [e for e in effects if e.kind is EffectKind.FETCH and e.variant is Variant.PLAIN]
    runs = any(effect.kind is EffectKind.EXECUTE for effect in effects)
    return (
        run_effects({DownloadRun(DOWNLOAD, each.what, each.address, "this"): None for each in fetched}) if runs else []
    )


def _effect_of_sending(effect: Effect, because: str) -> Effect:
    """What sends, as the sending of a secret."""
    return Effect(
        EffectKind.EGRESS, effect.what, "shell:sends-secret", because, Variant.SECRET, changed=effect.changed,
        uncontainable=effect.uncontainable,
    )  # fmt: skip


def best(found: Iterable[Flow]) -> list[Flow]:
    """Flows without those of which another says more."""
    every = dict.fromkeys(found)
    return [flow for flow in every if flow.certain or flow._replace(certain=True) not in every][:_MOST_FLOWS]
