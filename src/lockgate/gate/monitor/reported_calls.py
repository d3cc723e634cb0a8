"""Records a call that already runs in a container. It gives labels as any other call does."""

from __future__ import annotations

from lockgate.core.events import ToolRequested
from lockgate.core.model import LabelState, PolicyDecision, Tier, Verdict
from lockgate.gate import session
from lockgate.gate.findings import sources
from lockgate.gate.monitor.masking import Mask
from lockgate.gate.parts import Parts, call_digest, merge
from lockgate.store.audit import record


def note(parts: Parts, event: ToolRequested) -> bool:
    """Note a call that runs already; whether the host sees it as the container did.

    What its result may bring is expected from here on, as of any call. So the labels are those of a call that was asked
    about. Where the host sees effects, that is recorded as a discrepancy: the container's side is of another version,
    knows less than the configuration of the host, or was tampered with.
    """
    context, call = event.context, event.call
    configuration = parts.configure(context)
    analysis = merge(parts.analyse(context, call, configuration))
    found = parts.guard.check_input(context, call)
    mask = Mask.of(found, call)
    digest = call_digest(call)
    agrees = not analysis.effects and not found.pattern_matches
    with parts.store.transaction() as tx:
        now = parts.clock()
        parts.enter(tx, context, now)
        session.hold_secrets(tx, context.subject, call, sources(mask.result(found), call.tool), now)
        told, masked = mask.analysis(analysis), mask.call(call)
        session.expect(tx, context.subject, masked, told, digest, now)
        taints = session.provenance(tx, context.subject)
        column = LabelState.of(frozenset(taint.label for taint in taints))
        decision = PolicyDecision(Verdict.ALLOW, column, profile="container", tier=Tier.LOCAL)
        body = record.decision_record(context, masked, digest, taints, told, decision, found=mask.result(found))
        tx.append_audit(now, {**body, **record.cascade(decision, record.Timing(), None, ""), "reported": True})
        if not agrees:
            rules = sorted({effect.rule for effect in told.effects} | {match.rule for match in found.pattern_matches})
            facts = {"digest": digest, "call": call.call_id, "tool": call.tool, "rules": rules[:32]}
            tx.append_audit(now, record.event_record(context, "discrepancy", facts))
    return agrees
