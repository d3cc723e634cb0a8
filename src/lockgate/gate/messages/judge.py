"""What agent and person read of a judge's opinion, and the agent of a person's answer. Pure text."""

from __future__ import annotations

from lockgate.core.display_text import visible
from lockgate.core.events import Answer
from lockgate.core.model import Verdict
from lockgate.core.questions import Opinion
from lockgate.gate.monitor.decide import Ruling

_PERSON = {
    "used": "A person approved exactly this call.",
    "denied": "A person was asked about this call and said no",
    "denied before": "A person said no to exactly this call before, and that stands until they take it back",
    "expired": "A person was asked about this call, and nobody answered in time",
    "unproven": "The state says that a person approved this call, and the audit has no record of that, so that it does"
    " not run. Something else has written the state: the person runs `lockgate audit verify`",
}

_NOES = frozenset({"denied", "denied before"})


def with_words(said: Answer, ruling: Ruling, opinion: Opinion | None) -> Answer:
    """Add what the judge and the person said to an answer, each in a line of its own."""
    lines = []
    if opinion is not None and opinion.flagged and said.verdict is not Verdict.ALLOW:
        lines.append(_judged(opinion))
    if ruling.person:
        because = f": {visible(ruling.person_says, 400)}" if ruling.person_says else ""
        lines.append(f"{_PERSON[ruling.person]}{because}".rstrip(".") + ".")
    if not lines:
        return said
    text = "\n".join(lines)
    if said.verdict is Verdict.ALLOW:
        return said._replace(context="\n".join(filter(None, (said.context, text))))
    back = f"To take that back: lockgate approvals retract {ruling.approval}" if ruling.person in _NOES else ""
    return said._replace(
        to_agent="\n".join(filter(None, (said.to_agent, text))),
        to_person="\n".join(filter(None, (said.to_person, text, back))),
    )


def _judged(opinion: Opinion) -> str:
    if opinion.failed:
        return f"The judge could not be asked ({visible(opinion.failed, 200)}), which counts as an objection."
    return f"The judge ({visible(opinion.model, 80)}) objects: {visible(opinion.reason, 400)}"
