"""A person's word that a result is fine: which results allow it, and what it changes.

A label ends in no other way but this one. So what is endorsed is the *result*, by the id of its call and the digests of
the call and of its text: a later read of the same page gives the label anew. Everything that is not known counts
against it. Pure functions over a transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from lockgate.core.errors import EndorsementError
from lockgate.core.model import Label, Subject, Taint, TaintState
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.session.calls import ENDORSED, LOOKS, SAID, SOURCES_COUNTED, are_kept, list_decisions
from lockgate.gate.session.labels import everyone
from lockgate.gate.session.result_excerpt import LINES
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from typing import Any

    from lockgate.gate.monitor.file_labels import LabelledFile
    from lockgate.store.protocol import Transaction
    from lockgate.store.rows import CallRow

_ID = 16
_SHORTEST_ID = 6
_NOT_RUN = "refused"
_BACK = frozenset({"finished", "failed"})


class UntrustedResult(Record):
    """A result that made a subject untrusted."""

    id: str
    """The result's id: another text or call has another one. Empty where no result is known."""
    subject: Subject
    call_id: str
    tool: str
    at: float
    """When the call was let run, in seconds since the epoch."""
    sources: tuple[str, ...]
    """What is kept of where the label came from. May hold untrusted text."""
    said: Mapping[str, Any] = {}
    """The beginning of the result, as ``said.beginning`` keeps it."""
    problem: str = ""
    """Why it cannot be endorsed, for a person; empty where it can."""

    @property
    def text(self) -> str:
        """The first lines of the result. Untrusted text: escape it before it is shown."""
        return str(self.said.get("text", ""))

    @property
    def more(self) -> int:
        """How many lines follow these."""
        return max(int(self.said.get("lines", 0)) - LINES, 0)


def sources_of(tx: Transaction, session: str) -> list[UntrustedResult]:
    """The results that made anybody in a session untrusted, oldest first, with why one cannot be endorsed."""

    def decisions() -> Sequence[Mapping[str, Any]]:
        return list_decisions(tx, session)

    found = [source for subject in everyone(tx, session) for source in _list_untrusted_results(tx, subject, decisions)]
    return sorted(found, key=lambda source: source.at)


def may_end(tx: Transaction, subject: Subject) -> bool:
    """Whether a person can end a subject's label ``untrusted``: each result that gave it can be endorsed."""
    mine = [source for source in sources_of(tx, subject.session) if source.subject == subject]
    return bool(mine) and not any(source.problem for source in mine)


def find(tx: Transaction, sessions: Iterable[str], wanted: str) -> UntrustedResult:
    """The result of an id, or of the beginning of one.

    Raises:
        EndorsementError: There is none in these sessions, or more than one.
    """
    wanted = wanted.strip().lower()
    if len(wanted) < _SHORTEST_ID:
        raise EndorsementError(f"give at least {_SHORTEST_ID} characters of the id")
    found = [source for session in sessions for source in sources_of(tx, session) if source.id.startswith(wanted)]
    if not found:
        raise EndorsementError("no result with this id makes a session untrusted; see: lockgate endorse")
    if len(found) > 1:
        raise EndorsementError(f"{len(found)} results have this id: give more of it")
    return found[0]


def endorse(
    tx: Transaction,
    shown: UntrustedResult,
    *,
    by: str,
    now: float,
    decisions: Sequence[Mapping[str, Any]] | None = None,
) -> frozenset[Label]:
    """Take the label ``untrusted`` of one result from its subject, as the person has said who was shown it.

    Known addresses that came with the result stay those of a stranger.

    Args:
        tx: The transaction.
        shown: The result as the person was shown it.
        by: Who says so, as ``ann (terminal)``.
        now: Seconds since the epoch.
        decisions: What the audit tells of its session, where that was read: see ``calls.list_decisions``.

    Returns:
        The labels that the subject has left.

    Raises:
        EndorsementError: It cannot be endorsed (any more), or it is another result than the one that was shown.
    """
    row = tx.call(shown.subject.session, shown.call_id)
    if row is not None and ENDORSED in row.facts:
        raise EndorsementError(f"it was endorsed already by {row.facts[ENDORSED]['by']}")
    told = list_decisions(tx, shown.subject.session) if decisions is None else decisions
    there = [
        source for source in _list_untrusted_results(tx, shown.subject, lambda: told) if source.call_id == shown.call_id
    ]
    if row is None or not there or there[0].id != shown.id:
        raise EndorsementError("this call has another result by now: look at that one first")
    source = there[0]
    if source.problem:
        raise EndorsementError(source.problem)
    tx.drop_taints(source.subject, Label.UNTRUSTED, source.call_id)
    facts = {name: value for name, value in row.facts.items() if name != SAID}
    tx.put_call(row._replace(facts={**facts, ENDORSED: {"by": by, "at": now, "text": shown.said["digest"]}}))
    return tx.labels(source.subject)


def list_labelled_files(tx: Transaction) -> list[LabelledFile]:
    """The files into which an agent wrote what it had read of strangers, the oldest first."""
    from lockgate.gate.monitor.file_labels import list_labelled

    return list_labelled(tx)


def _list_untrusted_results(
    tx: Transaction, subject: Subject, decisions: Callable[[], Sequence[Mapping[str, Any]]]
) -> list[UntrustedResult]:
    taints = [taint for taint in tx.taints(subject) if taint.label is Label.UNTRUSTED]
    if not taints:
        return []
    calls = {row.call_id: row for row in tx.calls(subject.session)}
    whole = _is_whole(calls.values(), subject, taints)
    whole = whole and all(are_kept(tx, other, decisions()) for other in everyone(tx, subject.session))
    groups: dict[tuple[str, str], list[Taint]] = {}
    for taint in taints:
        groups.setdefault((taint.call_id, taint.origin), []).append(taint)
    return [
        _source(tx, subject, group, calls.get(call_id), list(calls.values()), whole=whole)
        for (call_id, _), group in groups.items()
    ]


def _source(
    tx: Transaction,
    subject: Subject,
    taints: Sequence[Taint],
    row: CallRow | None,
    calls: Sequence[CallRow],
    *,
    whole: bool,
) -> UntrustedResult:
    first = taints[0]
    said = _read_said(row)
    names = tuple(taint.source for taint in taints)
    source = UntrustedResult("", subject, first.call_id, first.tool, first.at, names, said)
    problem = _problem_of(subject, taints, row) or _problem_of_session(tx, row, calls)
    if not problem and not whole:
        problem = "not every source of the label is kept, so that nobody can see all of them"
    if row is None or not said or first.origin:
        return source._replace(problem=problem)
    return source._replace(id=_id(subject, row, said), problem=problem)


def _id(subject: Subject, row: CallRow, said: Mapping[str, Any]) -> str:
    parts = (*subject, row.call_id, row.digest, str(said["digest"]))
    text = b"".join(len(part).to_bytes(8, "big") + part for part in (_bytes(part) for part in parts))
    return sha256(b"lockgate result\0" + text).hexdigest()[:_ID]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _read_said(row: CallRow | None) -> Mapping[str, Any]:
    """What was kept of a result. Another gate of a shared store may have written anything: that is nothing."""
    said: Any = row.facts.get(SAID) if row is not None else None
    match said:
        case {"text": str(), "lines": int(), "digest": str()}:
            found: Mapping[str, Any] = said
            return found
    return {}


def _problem_of(subject: Subject, taints: Sequence[Taint], row: CallRow | None) -> str:
    """Why one result cannot be endorsed, whatever its session did."""
    if taints[0].origin:
        return "it came by another agent or session, whose own words carry it on"
    if row is None:
        return "it is no result of a call: a prompt, an instruction, an earlier session or a state that was put back"
    if row.state not in _BACK or any(taint.state is not TaintState.CONFIRMED for taint in taints):
        return "its result has not come (whole) yet"
    if row.agent != subject.agent:
        return "another agent has made the call"
    if row.facts.get("keeps"):
        return "the call has written what it read into a file"
    if not _read_said(row):
        return "its text is not kept, or too long to be shown"
    if row.facts.get(SOURCES_COUNTED) != len(taints):
        return "not every source of this result is kept, so that nobody can see all of them"
    return ""


def _problem_of_session(tx: Transaction, row: CallRow | None, calls: Sequence[CallRow]) -> str:
    """What a session did since a call that may have taken along what the call has read."""
    if row is None:
        return ""
    since = [each for each in calls if each.at >= row.at and each.call_id != row.call_id and each.state != _NOT_RUN]
    left = next((each for each in since if not each.facts.get(LOOKS)), None)
    if left is not None:
        return f"since then the session may have written files, made plans or told other agents: by {left.tool}"
    if any(agent.started_at >= row.at for agent in tx.agents(row.session)):
        return "since then the session has started an agent, which has the label too"
    return ""


def _is_whole(calls: Iterable[CallRow], subject: Subject, taints: Sequence[Taint]) -> bool:
    """Whether a taint is kept for every source that the subject's calls are counted to have."""
    kept = Counter(taint.call_id for taint in taints if not taint.origin)
    mine = [row for row in calls if row.agent == subject.agent and SAID in row.facts]
    return all(
        kept[row.call_id] and kept[row.call_id] == row.facts.get(SOURCES_COUNTED, kept[row.call_id]) for row in mine
    )
