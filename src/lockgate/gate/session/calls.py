"""Tracks labels of a tool call: pending when it may run, then confirmed or dropped by its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from lockgate.core.model import SPAWNING_TOOLS, Analysis, Label, Subject, Taint, TaintState, ToolCall, Verdict
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.session.agents import SPAWNS, return_labels, return_labels_of
from lockgate.gate.session.labels import SOURCES, as_source, count_sources, name_effects, taints_of
from lockgate.patterns.redaction.credentials import redact
from lockgate.store.rows import AuditQuery, CallRow
from lockgate.system.digests import json_object

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.protocol import Transaction

_MOVED = "a result whose label something else than Lockgate had moved: see `lockgate audit verify`"
_OPEN = frozenset({"running", "asked"})
GIVES = "gives"
"""The fact of a call that names the labels which its result gives."""
KEEPS = "keeps"
"""The fact of a call that names the labels of what it keeps in a file: whatever it says, that counts as read."""
SOURCES_COUNTED = "sources"
"""The fact of a call that says how many sources of the label ``untrusted`` it has; fewer may be kept."""
LOOKS = "looks"
"""The fact of a call that leaves nothing behind which may hold what its subject has read."""
SAID = "said"
"""The fact of a call whose result gave the label ``untrusted`` that holds its beginning, as far as it can be shown."""
INSIDE = "inside"
"""The fact of a call that is not known to bring in what others wrote: a program may only print what is here."""
ENDORSED = "endorsed"
"""The fact of a call whose result was endorsed: by whom, when, and the SHA-256 of its text."""
_RECEIPT = "receipt"
"""The fact of a call that holds how its receipt would report a failure."""


class ResultOutcome(Record):
    """The change that a call's result made."""

    labels: frozenset[Label]
    """The labels that the result gave."""
    known: bool
    """Whether the call was seen before it ran."""


def is_out(row: CallRow) -> bool:
    """Whether a call may run, or runs, and no result of it has come."""
    return row.state in _OPEN


def list_decisions(tx: Transaction, session: str) -> list[Mapping[str, Any]]:
    """What the audit tells of each decision on a call of a session. It takes as long as the audit is."""
    return [json_object(link.body) or {} for link in tx.find_audit(AuditQuery(event="decision", session=session))]


def are_kept(tx: Transaction, subject: Subject, decisions: Iterable[Mapping[str, Any]]) -> bool:
    """Whether each call of a subject that the audit tells was let run, or asked about, is still kept.

    Nothing can be said from what a subject has not done where somebody may have taken that away.

    Args:
        tx: The transaction.
        subject: The subject.
        decisions: What the audit tells of its session, as ``list_decisions`` gives it.
    """
    for body in decisions:
        key = body.get("call") or f"sha256:{body.get('digest')}"
        of_subject = body.get("agent", "") == subject.agent and not body.get("trial")
        if of_subject and body.get("verdict") != Verdict.DENY.word and tx.call(subject.session, str(key)) is None:
            return False
    return True


def call_key(call: ToolCall, digest: str) -> str:
    """The id under which a call is kept: the client's, or the call's digest where the client gives none."""
    return call.call_id or f"sha256:{digest}"


def expect(
    tx: Transaction,
    subject: Subject,
    call: ToolCall,
    analysis: Analysis,
    digest: str,
    now: float,
    *,
    asked: bool = False,
    facts: Mapping[str, Any] = {},
) -> None:
    """Note a call that may run now: what its result will give is pending from here on. Doing it twice changes nothing.

    Args:
        tx: The transaction.
        subject: Who makes the call.
        call: The call.
        analysis: What it can do.
        digest: SHA-256 of the exact call, hexadecimal.
        now: Seconds since the epoch.
        asked: Whether a person is asked first.
        facts: What else is to be kept with it: what was decided, in a word, and whether it leaves nothing behind.
    """
    key = call_key(call, digest)
    before = tx.call(subject.session, key)
    mixed = before is not None and is_out(before) and before.digest != digest
    row = _new_row(subject, call, analysis, digest, now)
    row = row._replace(
        state="asked" if asked else "running",
        # One id for two calls that are both out: no answer is known to be this call's own.
        quiet=() if mixed else row.quiet,
        facts={**row.facts, **{name: value for name, value in facts.items() if value}},
    )
    if before is not None and is_out(before):
        row = row._replace(at=before.at, facts=_join_facts(before, row, mixed=mixed))
    tx.put_call(row)
    if analysis.gives:
        tx.add_taints(subject, taints_of(call.tool, name_effects(call, analysis.effects), key, now, TaintState.PENDING))


def _new_row(subject: Subject, call: ToolCall, analysis: Analysis, digest: str, now: float) -> CallRow:
    """A call of which nothing is kept yet."""
    return CallRow(
        subject.session,
        call_key(call, digest),
        subject.agent,
        redact(call.tool),
        digest,
        quiet=_quiet(call, analysis),
        facts=_facts(call, analysis),
        at=now,
    )


def _join_facts(before: CallRow, row: CallRow, *, mixed: bool) -> dict[str, Any]:
    """The facts of a call that is noted again while it is out: the labels of both, and no more trust than both have.

    Args:
        before: How it was noted.
        row: How it is noted now.
        mixed: Whether they are two calls under one id.
    """
    gives = {*before.facts.get(GIVES, ()), *row.facts[GIVES]}
    facts = {**before.facts, **row.facts, GIVES: sorted(gives)}
    if mixed or _receipt(before) != _receipt(row):
        facts.pop(_RECEIPT, None)
    if mixed:
        facts.pop(SOURCES_COUNTED, None)
    if LOOKS not in row.facts:
        facts.pop(LOOKS, None)
    return facts


def settle_result(
    tx: Transaction,
    subject: Subject,
    call: ToolCall,
    text: str,
    now: float,
    *,
    digest: str,
    fresh: Callable[[], Analysis],
    background: bool = False,
    keep: bool = False,
    vouched: bool = False,
) -> ResultOutcome:
    """Settle a call by its result.

    The result gives nothing where it is empty or a receipt, or where each of its lines is one of the call's own quiet
    answers. For a file with secrets, these are its plain lines. What the call keeps in a file counts as read.

    Args:
        tx: The transaction.
        subject: Who made the call.
        call: The call.
        text: All text of the result that enters the subject's context.
        now: Seconds since the epoch.
        digest: SHA-256 of the exact call, hexadecimal.
        fresh: Analyses the call anew; called only where it was not seen before it ran.
        background: Whether the call goes on and its output comes later, by ways that fire no event. Or it lies in a
            file of which the text is the beginning: whatever it may bring counts as come.
        keep: Whether the beginning of the text may be kept, to be shown to a person: it holds no secret.
        vouched: Whether all of the text is known to be words of people whom a person trusts to be read.
    """
    said = None if background else text
    return _settle(
        tx, subject, call, said, now, digest=digest, fresh=fresh, state="finished", keep=keep, vouched=vouched
    )


def settle_failure(
    tx: Transaction,
    subject: Subject,
    call: ToolCall,
    error: str,
    now: float,
    *,
    digest: str,
    fresh: Callable[[], Analysis],
    keep: bool = False,
) -> ResultOutcome:
    """Settle a call that failed. Its output is a source like any; the client's own words are not.

    Args:
        tx: The transaction.
        subject: Who made the call.
        call: The call.
        error: The error's text as it enters the subject's context.
        now: Seconds since the epoch.
        digest: SHA-256 of the exact call, hexadecimal.
        fresh: Analyses the call anew; called only where it was not seen before it ran.
        keep: As for :func:`settle_result`.
    """
    return _settle(tx, subject, call, error, now, digest=digest, fresh=fresh, state="failed", keep=keep)


def settle_again(
    tx: Transaction,
    subject: Subject,
    call: ToolCall,
    text: str,
    now: float,
    *,
    digest: str,
    fresh: Callable[[], Analysis],
    state: str = "finished",
    background: bool = False,
    vouched: bool = False,
) -> ResultOutcome | None:
    """Label a subject by a second result of a call that has come back, where it brings what the first did not.

    Hooks may be installed twice, so the same result may come twice. Somebody may also tell an empty one before it.

    Args:
        tx: The transaction.
        subject: Who made the call.
        call: The call.
        text: All text of the result that enters the subject's context.
        now: Seconds since the epoch.
        digest: SHA-256 of the exact call, hexadecimal.
        fresh: Analyses the call anew.
        state: Whether it finished or failed, as the second result says.
        background: As for :func:`settle_result`.
        vouched: As for :func:`settle_result`.

    Returns:
        What it gave; ``None`` where that is nothing new.
    """
    row = tx.call(subject.session, call_key(call, digest))
    if row is None:
        return None
    there = {taint.label for taint in tx.taints(subject) if taint.call_id == row.call_id}
    if row.digest == digest and (there.issuperset(row.facts.get(GIVES, ())) or _is_endorsed(row, text)):
        return None  # what the call gives is known without another analysis
    said = None if background else text
    quiet: tuple[str, ...] = ()
    if row.agent == subject.agent and _is_as_let_run(row, call, digest, fresh):
        is_vouched = vouched and said is not None and row.facts.get(GIVES) == [Label.UNTRUSTED]
        if (is_vouched and not row.facts.get(KEEPS)) or _has_receipt(row, said, state):
            return None
        quiet = row.quiet
    if not _brings(row, said, quiet):
        return None
    analysis = fresh()
    if analysis.gives <= there:
        return None
    taints = taints_of(call.tool, name_effects(call, analysis.effects), row.call_id, now, TaintState.CONFIRMED)
    tx.add_taints(subject, taints)
    _late(tx, subject)
    # These labels may be those of two results: a person cannot be shown what they come from.
    tx.put_call(row._replace(facts={name: value for name, value in row.facts.items() if name != SOURCES_COUNTED}))
    return ResultOutcome(analysis.gives, known=True)


def _is_endorsed(row: CallRow, text: str) -> bool:
    """Whether a person has said of just this text that it is fine."""
    endorsed = row.facts.get(ENDORSED)
    if not isinstance(endorsed, dict):
        return False
    from lockgate.system.digests import sha256

    return bool(endorsed.get("text") == sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


def hold_secrets(tx: Transaction, subject: Subject, call: ToolCall, sources: Sequence[str], now: float) -> None:
    """Label a subject for secrets that were found in what it wrote or read, whatever the call was expected to bring.

    Args:
        tx: The transaction.
        subject: Who knows them now.
        call: The call that they were found in.
        sources: Where each was found, for the provenance.
        now: Seconds since the epoch.
    """
    if not sources:
        return
    said = dict.fromkeys(map(as_source, sources[:SOURCES]))
    tool = redact(call.tool)
    tx.add_taints(subject, [Taint(Label.SECRET, source, tool, call.call_id, now) for source in said])
    _late(tx, subject)


def settle_refusal(tx: Transaction, subject: Subject, call: ToolCall, *, digest: str) -> None:
    """Settle a call that was not run after all: nothing came of it."""
    key = call_key(call, digest)
    row = tx.call(subject.session, key)
    if row is not None and is_out(row):
        tx.settle(subject.session, key, confirm=False)
        tx.put_call(row._replace(state="refused"))


def _settle(
    tx: Transaction,
    subject: Subject,
    call: ToolCall,
    text: str | None,
    now: float,
    *,
    digest: str,
    fresh: Callable[[], Analysis],
    state: str,
    keep: bool,
    vouched: bool = False,
) -> ResultOutcome:
    key = call_key(call, digest)
    row = tx.call(subject.session, key)
    if row is not None and is_out(row):
        tx.put_call(row._replace(state=state))
        return_labels_of(tx, row)
        if row.agent == subject.agent and _is_as_let_run(row, call, digest, fresh):
            vouched = vouched and row.digest == digest and row.facts.get(GIVES) == [Label.UNTRUSTED]
            return ResultOutcome(_settle_known(tx, row, text, state, now, keep=keep, vouched=vouched), known=True)
        # It was changed after it was let run (another hook can do that), and is labelled as what ran. Or another agent
        # than the one that made it gets its result: both have it then.
        tx.settle(row.session, key, confirm=row.agent != subject.agent or _brings(row, text, ()))
    analysis = fresh()
    gave: frozenset[Label] = frozenset()
    # Whether it is a receipt depends on what was there before it ran, which nobody has looked at.
    if analysis.keeps or not _says_nothing(text, _quiet(call, analysis)):
        tx.add_taints(
            subject, taints_of(call.tool, name_effects(call, analysis.effects), key, now, TaintState.CONFIRMED)
        )
        gave = analysis.gives
        _late(tx, subject)
    row = row or _new_row(subject, call, analysis, digest, now)
    # Its labels may be those of several results: none of them can be shown to a person as what they come from.
    facts = {name: value for name, value in row.facts.items() if name not in (SOURCES_COUNTED, LOOKS, SAID)}
    if Label.UNTRUSTED in gave:
        facts[SAID] = {}
    tx.put_call(row._replace(state=state, facts=facts))
    return ResultOutcome(gave, known=False)


def _quiet(call: ToolCall, analysis: Analysis) -> tuple[str, ...]:
    """How the lines of a result look that give no label. What a program says of itself may be said of a secret."""
    if Label.SECRET not in analysis.gives:
        return analysis.quiet
    from lockgate.gate.session.own_words import plain_lines

    return plain_lines(call, analysis)


def _is_as_let_run(row: CallRow, call: ToolCall, digest: str, fresh: Callable[[], Analysis]) -> bool:
    """Whether a result is that of the call that was let run, or of one that can bring no more.

    The digests of one call may differ: its working folder is the new one after ``cd``.
    """
    if row.digest == digest:
        return True
    analysis = fresh()
    known = ((GIVES, analysis.gives), (KEEPS, analysis.keeps))
    same = _quiet(call, analysis) == row.quiet and analysis.receipt == _receipt(row)
    return same and all(labels <= frozenset(row.facts.get(name, ())) for name, labels in known)


def _settle_known(
    tx: Transaction, row: CallRow, text: str | None, state: str, now: float, *, keep: bool, vouched: bool
) -> frozenset[Label]:
    expected = frozenset(Label(label) for label in row.facts.get(GIVES, ()))
    if not expected:
        return frozenset()
    is_vouched = vouched and not row.facts.get(KEEPS) and text is not None
    confirm = not is_vouched and not _has_receipt(row, text, state) and _brings(row, text, row.quiet)
    tx.settle(row.session, row.call_id, confirm=confirm)
    subject = Subject(row.session, row.agent)
    if confirm and (lost := expected - tx.labels(subject)):
        # Somebody has moved its taints to another call.
        tx.add_taints(subject, [Taint(label, _MOVED, row.tool, row.call_id, now) for label in sorted(lost)])
    if confirm and Label.UNTRUSTED in expected:
        shown = text if keep and expected == {Label.UNTRUSTED} else None
        tx.put_call(row._replace(state=state, facts={**row.facts, SAID: _excerpt(shown)}))
    return expected if confirm else frozenset()


def _excerpt(text: str | None) -> dict[str, Any]:
    """What is kept of a result for a person who may say that it is fine; nothing where they cannot be shown it."""
    if text is None:
        return {}
    from lockgate.gate.session.result_excerpt import make_excerpt

    return make_excerpt(text)


def _late(tx: Transaction, subject: Subject) -> None:
    """What an ended sub-agent still gets, its parent gets too."""
    row = tx.agent(subject) if subject.agent else None
    if row is not None and row.state == "ended":
        return_labels(tx, row)


def _facts(call: ToolCall, analysis: Analysis) -> dict[str, Any]:
    facts: dict[str, Any] = {GIVES: sorted(analysis.gives)}
    if Label.UNTRUSTED in analysis.gives:
        facts[SOURCES_COUNTED] = count_sources(call, analysis.effects)
    if analysis.keeps:
        facts[KEEPS] = sorted(analysis.keeps)
    if analysis.receipt and Label.SECRET not in analysis.gives:
        facts[_RECEIPT] = list(analysis.receipt)
    if call.tool in SPAWNING_TOOLS:
        facts[SPAWNS] = call.spawns
    return facts


def _has_receipt(row: CallRow, text: str | None, state: str) -> bool:
    patterns = _receipt(row)
    if not patterns or state != "finished" or row.facts.get(KEEPS):
        return False
    from lockgate.gate.session.own_words import is_receipt

    return is_receipt(text, patterns)


def _brings(row: CallRow, text: str | None, quiet: tuple[str, ...]) -> bool:
    """Whether a call gives its labels: by what it says, or by what it keeps in a file, of whose source nobody hears."""
    return bool(row.facts.get(KEEPS)) or not _says_nothing(text, quiet)


def _says_nothing(text: str | None, quiet: tuple[str, ...]) -> bool:
    from lockgate.gate.session.own_words import says_nothing

    return says_nothing(text, quiet)


def _receipt(row: CallRow) -> tuple[str, ...]:
    """The patterns of failures of a call that answers with a receipt; empty for all others."""
    return tuple(row.facts.get(_RECEIPT, ()))
