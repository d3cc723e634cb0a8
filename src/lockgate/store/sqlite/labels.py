"""The queries of the SQLite store about labels, and the seals that tell whether somebody else has changed them.

How many taints a subject has of each label, confirmed and pending, is kept beside them under a keyed hash. Whatever
Lockgate adds, settles or drops changes these numbers by as many rows as it has changed, and nothing else does. So a
taint that somebody deletes is still counted: its label stays, and a person is told. A subject without a seal that holds
has every label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from lockgate.core.model import Label, Subject, Taint, TaintState
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import PURPOSE_LABELS, canonical, keyed
from lockgate.store.sqlite.statements import Statements

if TYPE_CHECKING:
    from typing import Any

    Counts = dict[tuple[str, str], int]

CHANGED = "the state, which something else than Lockgate has changed: see `lockgate audit verify`"
"""What stands as the source of a label that is sealed, and has no taint."""
_KINDS = tuple((label.value, state.value) for label in Label for state in (TaintState.CONFIRMED, TaintState.PENDING))
"""What is counted, in the order of the columns."""
_ALL = frozenset(Label)


class LabelQueries(Statements):
    """Labels of subjects."""

    def taints(self, subject: Subject, *, limit: int = 0) -> list[Taint]:
        """The taints of a subject, oldest first; with a limit, only so many confirmed ones of each label."""
        if limit:
            values = (*subject, *(value for _ in Label for value in (*subject, limit)))
            found = [_taint(row) for row in sorted(self._all(_OLDEST_TAINTS, values))]
        else:
            found = [_taint(row) for row in self._all(f"{_TAINTS} ORDER BY at, id", subject)]
        gone = self._sealed_labels(subject) - {taint.label for taint in found}
        return [Taint(label, CHANGED, "", "", 0.0) for label in Label if label in gone] + found if gone else found

    def newest_taints(self, session: str, limit: int) -> list[tuple[str, Taint]]:
        """So many taints of a session, newest first, each with the agent that has it."""
        query = f"SELECT agent, {_TAINT} FROM taints WHERE session = ? ORDER BY at DESC, id DESC LIMIT ?"  # noqa: S608
        return [(agent, _taint(row)) for agent, *row in self._all(query, (session, limit))]

    def labels(self, subject: Subject) -> frozenset[Label]:
        """The labels of a subject, pending ones too."""
        there = frozenset(
            label
            for label in Label
            if self._one(
                "SELECT 1 FROM taints WHERE session = ? AND agent = ? AND label = ? LIMIT 1",
                (*subject, label.value),
            )
        )
        return there | self._sealed_labels(subject)

    def labels_of_all(self, subjects: Collection[Subject]) -> dict[Subject, frozenset[Label]]:
        """The labels of each of many subjects, as ``labels`` gives them."""
        rows = self._of_each(subjects, ("session", "agent"), f"{_LABELLED}, {_SEALED}, {_KNOWN}")
        found = {}
        for subject, row in zip(subjects, rows, strict=True):
            there, seal, known = row[: len(Label)], row[len(Label) : -1], row[-1]
            labels = _labels_of(self._counts(subject, seal if seal[-1] is not None else None), is_known=bool(known))
            found[subject] = labels | {label for label, is_there in zip(Label, there, strict=True) if is_there}
        return found

    def add_taints(self, subject: Subject, taints: Iterable[Taint]) -> None:
        """Add taints. One already there (same label, source, call and origin) is kept; confirmed replaces pending."""
        self._may_write()
        changed: Counts = Counter()
        for taint in taints:
            same = (*subject, taint.label.value, taint.source, taint.call_id, taint.origin)
            before = self._one(f"SELECT state FROM taints WHERE {_SAME}", same)  # noqa: S608 - columns of ours
            if before is not None and TaintState.CONFIRMED.value not in (before[0], taint.state.value):
                continue
            if before == (TaintState.CONFIRMED.value,):
                continue
            self._write(
                "INSERT INTO taints (session, agent, label, source, tool, call_id, at, state, origin)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (session, agent, label, source, call_id, origin) DO UPDATE SET state = 'confirmed'"
                " WHERE excluded.state = 'confirmed'",
                (
                    *subject,
                    taint.label.value,
                    taint.source,
                    taint.tool,
                    taint.call_id,
                    taint.at,
                    taint.state.value,
                    taint.origin,
                ),
            )
            changed[taint.label.value, taint.state.value] += 1
            if before is not None:
                changed[taint.label.value, before[0]] -= 1
        if changed:
            self._recount(subject, changed)

    def settle(self, session: str, call_id: str, *, confirm: bool) -> int:
        """Confirm or drop all pending taints of a call, in every agent of the session. Returns how many."""
        self._may_write()
        where = "session = ? AND call_id = ? AND state = 'pending'"
        found = self._all(
            f"SELECT agent, label, count(*) FROM taints WHERE {where} GROUP BY agent, label",  # noqa: S608
            (session, call_id),
        )
        if not found:
            return 0
        act = "UPDATE taints SET state = 'confirmed'" if confirm else "DELETE FROM taints"
        settled = self._write(f"{act} WHERE {where}", (session, call_id)).rowcount
        changed: dict[str, Counts] = {}
        for agent, label, count in found:
            counts = changed.setdefault(agent, Counter())
            counts[label, TaintState.PENDING.value] -= count
            counts[label, TaintState.CONFIRMED.value] += count if confirm else 0
        for agent, counts in changed.items():
            self._recount(Subject(session, agent), counts)
        return settled

    def drop_taints(self, subject: Subject, label: Label, call_id: str) -> int:
        """Drop the confirmed taints of one label that a subject has by a call of its own. Returns how many."""
        dropped = self._write(
            "DELETE FROM taints WHERE session = ? AND agent = ? AND label = ? AND call_id = ?"
            " AND state = 'confirmed' AND origin = ''",
            (*subject, label.value, call_id),
        ).rowcount
        if dropped:
            self._recount(subject, {(label.value, TaintState.CONFIRMED.value): -dropped})
        return dropped

    # seals

    def begin_seal(self, subject: Subject) -> None:
        """Seal a subject as one without labels. To be said before its row is put, when there is none."""
        if self._seal_of(subject) is None:
            self._put_seal(subject, [0] * len(_KINDS))

    def seal_labels(self) -> int:
        """Seal all subjects as they are: those of a database without seals. Returns how many."""
        counts = self._counted()
        for subject, there in counts.items():
            self._put_seal(subject, there)
        return len(counts)

    def label_contradictions(self) -> list[tuple[Subject, str]]:
        """The subjects whose labels are not what was sealed, each with what is wrong, for a person."""
        found = []
        for subject, there in self._counted().items():
            sealed = self._seal_of(subject)
            if sealed is None:
                found.append((subject, "its labels have no seal that holds"))
            elif sealed != there:
                found.append((subject, "it has other labels, or from other sources, than were sealed"))
        return found

    def _counted(self) -> dict[Subject, list[int]]:
        """How many taints each subject has, in the order of the columns."""
        counts: dict[Subject, Counts] = {Subject(*subject): Counter() for subject in self._all(_SUBJECTS, ())}
        for session, agent, label, state, count in self._all(_COUNTED, ()):
            counts.setdefault(Subject(session, agent), Counter())[label, state] = count
        return {subject: [there[kind] for kind in _KINDS] for subject, there in counts.items()}

    def mend_labels(self, subject: Subject, at: float) -> None:
        """Let a subject have every label that it seems to have, and seal that."""
        labels = self.labels(subject)
        self._write("DELETE FROM label_seals WHERE session = ? AND agent = ?", subject)
        there = {taint.label for taint in map(_taint, self._all(_TAINTS, subject))}
        counted = self._all(f"{_COUNT} WHERE session = ? AND agent = ? {_GROUPED}", subject)
        counts: Counts = Counter({(label, state): count for _, _, label, state, count in counted})
        self._put_seal(subject, [counts[kind] for kind in _KINDS])
        self.add_taints(subject, [Taint(label, CHANGED, "", "", at) for label in Label if label in labels - there])

    def _sealed_labels(self, subject: Subject) -> frozenset[Label]:
        """The labels that a subject has by its seal: all of them where it has none, and is known."""
        sealed = self._seal_of(subject)
        return _labels_of(sealed, is_known=sealed is None and self._is_known(subject))

    def _seal_of(self, subject: Subject) -> list[int] | None:
        """What was sealed of a subject; ``None`` where there is no seal, or it does not hold."""
        return self._counts(subject, self._one(_SEAL, subject))

    def _counts(self, subject: Subject, row: Sequence[Any] | None) -> list[int] | None:
        if row is None:
            return None
        *counts, mark = row
        return counts if mark == self._mark(subject, counts) else None

    def _put_seal(self, subject: Subject, counts: Sequence[int]) -> None:
        values: list[str | int] = [*subject, *counts, self._mark(subject, counts)]
        self._write("INSERT OR REPLACE INTO label_seals VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def _recount(self, subject: Subject, changed: Counts) -> None:
        """Change what is sealed of a subject by what was changed. One whose seal is gone gets none."""
        sealed = self._seal_of(subject)
        if sealed is None:
            if self._one("SELECT 1 FROM label_seals WHERE session = ? AND agent = ?", subject) or self._is_known(
                subject
            ):
                return
            sealed = [0] * len(_KINDS)
        counts = [count + changed.get(kind, 0) for count, kind in zip(sealed, _KINDS, strict=True)]
        if min(counts) >= 0:  # else somebody has put a row there that was never counted
            self._put_seal(subject, counts)

    def _is_known(self, subject: Subject) -> bool:
        if subject.agent:
            return self._one("SELECT 1 FROM agents WHERE session = ? AND agent = ?", subject) is not None
        return self._one("SELECT 1 FROM sessions WHERE session = ?", (subject.session,)) is not None

    def _mark(self, subject: Subject, counts: Sequence[int]) -> str:
        # As SQLite keeps them: see ``Statements._run``.
        names = [name.encode("utf-8", "backslashreplace").decode() for name in subject]
        return keyed(self._key, PURPOSE_LABELS, canonical({"labels": [*names, *counts]}))


_TAINT = "at, id, label, source, tool, call_id, state, origin"
_TAINTS = f"SELECT {_TAINT} FROM taints WHERE session = ? AND agent = ?"  # noqa: S608 - columns of ours
_SAME = "session = ? AND agent = ? AND label = ? AND source = ? AND call_id = ? AND origin = ?"
_SEAL_COLUMNS = ("untrusted", "untrusted_pending", "secret", "secret_pending", "seal")
_SEAL = f"SELECT {', '.join(_SEAL_COLUMNS)} FROM label_seals WHERE session = ? AND agent = ?"  # noqa: S608 - ours
_SUBJECTS = (
    "SELECT session, '' FROM sessions UNION SELECT session, agent FROM agents"
    " UNION SELECT session, agent FROM label_seals"
)
_COUNT = "SELECT session, agent, label, state, count(*) FROM taints"
_GROUPED = "GROUP BY session, agent, state, label"
_COUNTED = f"{_COUNT} {_GROUPED}"
# A long session has thousands: each part is read from an index that is in this order, and no further. Python 3.14 takes
# no numbered placeholders with values in a row.
_OLDEST_TAINTS = " UNION ALL ".join(
    [
        f"{_TAINTS} AND state = 'pending'",
        *(
            f"SELECT * FROM ({_TAINTS} AND state = 'confirmed' AND label = '{label.value}' ORDER BY id LIMIT ?)"  # noqa: S608
            for label in Label
        ),
    ]
)
_LABELLED = ", ".join(
    "EXISTS (SELECT 1 FROM taints WHERE session = asked.session AND agent = asked.agent"  # noqa: S608
    f" AND label = '{label.value}')"
    for label in Label
)
"""Whether a subject that is asked about has each of the labels."""
_SEALED = ", ".join(
    f"(SELECT {column} FROM label_seals WHERE session = asked.session AND agent = asked.agent)"  # noqa: S608 - ours
    for column in _SEAL_COLUMNS
)
_KNOWN = (
    "CASE WHEN asked.agent = '' THEN EXISTS (SELECT 1 FROM sessions WHERE session = asked.session)"
    " ELSE EXISTS (SELECT 1 FROM agents WHERE session = asked.session AND agent = asked.agent) END"
)


def _labels_of(sealed: Sequence[int] | None, *, is_known: bool) -> frozenset[Label]:
    """The labels that a seal tells: all of them where none holds, and the subject is known."""
    if sealed is None:
        return _ALL if is_known else frozenset()
    return frozenset(
        label for number, label in enumerate(Label) if sealed[2 * number] > 0 or sealed[2 * number + 1] > 0
    )


def _taint(row: Sequence[Any]) -> Taint:
    at, _, label, source, tool, call_id, state, origin = row
    return Taint(Label(label), source, tool, call_id, at, TaintState(state), origin)
