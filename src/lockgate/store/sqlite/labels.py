"""The queries of the SQLite store about labels, and the seals that tell whether somebody else has changed them.

How many taints a subject has of each label, confirmed and pending, is kept beside them under a keyed hash. Whatever
Lockgate adds, settles or drops changes these numbers by as many rows as it has changed, and nothing else does. So a
taint that somebody deletes is still counted: its label stays, and a person is told. A subject without a seal that holds
has every label.

Who has begun is listed, each with its newest seal (:mod:`lockgate.store.sqlite.subject_list`). So a session whose rows
are all deleted does not begin anew. One whose rows are put back with an older seal has every label. What retention
forgets is listed with the labels that it had, and has them again when it comes back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from lockgate.core.model import Label, Subject, Taint, TaintState
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import PURPOSE_LABELS, canonical, hash_with_key
from lockgate.store.files import CHANGED
from lockgate.store.rows import TAINT_COLUMNS, taint_of, taint_values
from lockgate.store.sqlite.statements import TAINTS
from lockgate.store.sqlite.subject_list import (
    HERE,
    MARK,
    PARTS,
    RowSetQueries,
    digest_at,
    encode_names,
    here,
    may_be_here,
    part_of,
)

if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    from lockgate.store.sqlite.subject_list import Marks

    Counts = dict[tuple[str, str], int]

_KINDS = tuple((label.value, state.value) for label in Label for state in (TaintState.CONFIRMED, TaintState.PENDING))
"""What is counted, in the order of the columns."""
_ALL = frozenset(Label)
FORGOTTEN = "what it had before its rows were removed after their time"
"""What stands as the source of a label that a session had before retention forgot it."""
_ANY = str(2 ** len(Label) - 1)
"""How one stands in the list that was forgotten with every label: with their number there."""
_TAINTS = f"SELECT {TAINT_COLUMNS}, seal FROM taints WHERE session = ? AND agent = ?"  # noqa: S608 - columns of ours
_PENDING = (
    f"SELECT agent, {TAINT_COLUMNS}, seal FROM taints"  # noqa: S608 - columns of ours
    " WHERE session = ? AND call_id = ? AND state = 'pending'"
)
_COUNT_OF_KIND = "SELECT count(*) FROM taints WHERE session = ? AND agent = ? AND label = ? AND state = ?"
_PUT_TAINT = (
    "INSERT INTO taints (session, agent, label, source, tool, call_id, at, state, origin, seal)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (session, agent, label, source, call_id, origin) DO UPDATE SET"
    " tool = excluded.tool, at = excluded.at, state = excluded.state, seal = excluded.seal"
)
_COUNTS = "untrusted, untrusted_pending, secret, secret_pending"
_SEAL_COLUMNS = (*_COUNTS.split(", "), "began", "seal")
_PUT_SEAL = (
    f"INSERT OR REPLACE INTO label_seals (session, agent, {', '.join(_SEAL_COLUMNS)})"  # noqa: S608 - ours
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_SEAL = f"SELECT {', '.join(_SEAL_COLUMNS)} FROM label_seals WHERE session = ? AND agent = ?"  # noqa: S608 - ours
_SUBJECTS = (
    "SELECT session, '' FROM sessions UNION SELECT session, agent FROM agents"
    " UNION SELECT session, agent FROM label_seals"
)
_OF_SESSION = (
    "SELECT session, agent FROM agents WHERE session = ? UNION SELECT session, agent FROM label_seals WHERE session = ?"
)
_BEGINNINGS = "SELECT session, '', started_at FROM sessions UNION ALL SELECT session, agent, started_at FROM agents"
_IN_CHAIN = (
    "SELECT DISTINCT session FROM (SELECT CASE WHEN json_valid(body)"
    " THEN CAST(json_extract(body, '$.session') AS BLOB) END AS session FROM audit) WHERE session <> x''"
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


_READ = 2
"""The rank of a label whose text was read. One that a call will give when it has run has a lower one."""


class LabelQueries(RowSetQueries):
    """Labels of subjects."""

    def __init__(self, connection: Connection, key: bytes, *, writable: bool) -> None:
        """Begin on a connection that is in a transaction."""
        super().__init__(connection, key, writable=writable)
        self.moved = False
        """Whether labels or an answer changed, or a person has acted: the head is then kept outside of the state."""
        self.gains: dict[tuple[str, str, str], bool] = {}
        """Sessions and agents, each with a label that it has now and had not; whether it was read already."""

    def taints(self, subject: Subject, *, limit: int = 0) -> list[Taint]:
        """The taints of a subject, oldest first; with a limit, only so many confirmed ones of each label."""
        if limit:
            values = (*subject, *(value for _ in Label for value in (*subject, limit)))
            rows = sorted(self._all(_OLDEST_TAINTS, values))
        else:
            rows = self._all(f"{_TAINTS} ORDER BY at, id", subject)
        found = [self._taint(subject, row) for row in rows]
        lost = self._lost_labels(subject, found, limit)
        return [Taint(label, CHANGED, "", "", 0.0) for label in Label if label in lost] + found

    def newest_taints(self, session: str, limit: int) -> list[tuple[str, Taint]]:
        """So many taints of a session, newest first, each with the agent that has it."""
        columns = f"agent, {TAINT_COLUMNS}, seal"
        query = f"SELECT {columns} FROM taints WHERE session = ? ORDER BY at DESC, id DESC LIMIT ?"  # noqa: S608 - ours
        rows = self._all(query, (session, limit))
        return [(agent, self._taint(Subject(session, agent), row)) for agent, *row in rows]

    def _taint(self, subject: Subject, row: Sequence[Any]) -> Taint:
        """A taint; of one that something else has written, the label alone."""
        found = taint_of(row[:-1])
        if self._unseal(TAINTS, (*subject, *taint_values(found), row[-1])) is None:
            return Taint(found.label, CHANGED, "", "", 0.0)
        return found

    def _lost_labels(self, subject: Subject, found: Sequence[Taint], limit: int) -> frozenset[Label]:
        """The labels of which a subject has fewer taints than were sealed: all where it is known without a seal."""
        sealed = self._seal_of(subject)
        if sealed is None:
            return _ALL if self._is_known(subject) else frozenset()
        there = Counter((taint.label.value, taint.state.value) for taint in found)
        lost = set()
        for kind, count in zip(_KINDS, sealed[:-1], strict=True):
            is_cut_off = limit and there[kind] == limit < count
            if (self._one(_COUNT_OF_KIND, (*subject, *kind))[0] if is_cut_off else there[kind]) < count:
                lost.add(Label(kind[0]))
        return frozenset(lost)

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
        return there | self._labels_by_seal(subject)

    def labels_of_all(self, subjects: Collection[Subject]) -> dict[Subject, frozenset[Label]]:
        """The labels of each of many subjects, as ``labels`` gives them."""
        rows = self._of_each(subjects, ("session", "agent"), f"{_LABELLED}, {_SEALED}, {_KNOWN}")
        listed = self.in_list(subjects)
        found = {}
        for subject, row in zip(subjects, rows, strict=True):
            there, seal, known = row[: len(Label)], row[len(Label) : -1], row[-1]
            how = listed[subject]
            sealed = self._counts(subject, seal if seal[-1] is not None else None, how)
            is_known = sealed is None and (bool(known) or may_be_here(how))
            labels = _labels_of(sealed, is_known=is_known)
            found[subject] = labels | {label for label, is_there in zip(Label, there, strict=True) if is_there}
        return found

    def add_taints(self, subject: Subject, taints: Iterable[Taint]) -> None:
        """Add taints. One already there (same label, source, call and origin) is kept; confirmed replaces pending."""
        self._may_write()
        changed: Counts = Counter()
        for taint in taints:
            before = self._same_taint(subject, taint)
            if before is None:
                self._put_taint(subject, taint)
            elif before.state is TaintState.PENDING and taint.state is TaintState.CONFIRMED:
                self._put_taint(subject, before._replace(state=taint.state))
                changed[taint.label.value, before.state.value] -= 1
            else:
                continue
            changed[taint.label.value, taint.state.value] += 1
        if changed:
            self._recount(subject, changed)

    def _same_taint(self, subject: Subject, taint: Taint) -> Taint | None:
        """The taint with the same label, source, call and origin that is kept as it was written."""
        same = (*subject, taint.label.value, taint.source, taint.call_id, taint.origin)
        row = self._one(f"{_TAINTS} AND label = ? AND source = ? AND call_id = ? AND origin = ?", same)
        found = self._taint(subject, row) if row is not None else None
        return found if found is not None and found.source == taint.source else None

    def _put_taint(self, subject: Subject, taint: Taint) -> None:
        values = (*subject, *taint_values(taint))
        self._write(_PUT_TAINT, (*values, self._row_seal(TAINTS, values)))

    def settle(self, session: str, call_id: str, *, confirm: bool) -> int:
        """Confirm or drop all pending taints of a call, in every agent of the session. Returns how many."""
        self._may_write()
        rows = self._all(_PENDING, (session, call_id))
        changed: dict[str, Counts] = {}
        settled = 0
        for agent, *row in rows:
            subject = Subject(session, agent)
            taint = self._taint(subject, row)
            if taint.state is not TaintState.PENDING:  # something else has written it
                continue
            settled += 1
            counts = changed.setdefault(agent, Counter())
            counts[taint.label.value, TaintState.PENDING.value] -= 1
            if confirm:
                self._put_taint(subject, taint._replace(state=TaintState.CONFIRMED))
                counts[taint.label.value, TaintState.CONFIRMED.value] += 1
            else:
                self._write("DELETE FROM taints WHERE id = ?", (row[1],))
        for agent, counts in changed.items():
            self._recount(Subject(session, agent), counts)
        return settled

    def drop_taints(self, subject: Subject, label: Label, call_id: str) -> int:
        """Drop the confirmed taints of one label that a subject has by a call of its own. Returns how many."""
        self._may_write()
        where = "label = ? AND call_id = ? AND state = 'confirmed' AND origin = ''"
        rows = self._all(f"{_TAINTS} AND {where}", (*subject, label.value, call_id))
        own = [row for row in rows if self._taint(subject, row).call_id == call_id]
        for row in own:
            self._write("DELETE FROM taints WHERE id = ?", (row[1],))
        if own:
            self._recount(subject, {(label.value, TaintState.CONFIRMED.value): -len(own)})
        return len(own)

    # seals

    def begin_seal(self, subject: Subject, began: float) -> None:
        """Seal a subject as one without labels. To be said before its row is put, when there is none.

        One that has begun before has lost its rows. It gets no seal, so that it has every label.

        Args:
            subject: Who begins.
            began: When, in seconds since the epoch.
        """
        sealed = self._seal_of(subject)
        if sealed is None:
            self._begin(subject, began)
        elif not sealed[-1]:
            self._put_seal(subject, sealed[:-1], began)

    def seal_labels(self) -> int:
        """Seal all subjects as they are: those of a database without seals. Returns how many."""
        counts, began = self._count(), self._beginnings()
        for subject, there in counts.items():
            self._put_seal(subject, there, began.get(subject, 0.0))
        return len(counts)

    def seal_taints(self) -> None:
        """Seal all taints as they are, where an older version has kept them."""
        for session, agent, *row in self._all(f"SELECT session, agent, {TAINT_COLUMNS} FROM taints", ()):  # noqa: S608
            values = (session, agent, *taint_values(taint_of(row)))
            self._write("UPDATE taints SET seal = ? WHERE id = ?", (self._row_seal(TAINTS, values), row[1]))

    def seal_beginnings(self) -> None:
        """Seal when subjects have begun, where a database has the seals of before."""
        began = self._beginnings()
        for *names, mark in self._all(f"SELECT session, agent, {_COUNTS}, seal FROM label_seals", ()):  # noqa: S608
            subject, counts = Subject(*names[:2]), names[2:]
            if mark == self._seal_for(subject, counts):
                self._put_seal(subject, counts, began.get(subject, 0.0))

    def distrust_labels(self) -> None:
        """Let every subject that is known have every label, also where somebody puts seals of before back."""
        parts = self.parts()
        self._write("DELETE FROM label_seals", ())
        self.begin_epoch()
        self.put_parts(parts)

    def seal_anew(self, subjects: Iterable[Subject]) -> None:
        """Let no seal of before hold, and seal those who are about to get every label."""
        counts, began = self._count(), self._beginnings()
        self.distrust_labels()
        for subject in subjects:
            self._put_seal(subject, counts.get(subject, [0] * len(_KINDS)), began.get(subject, 0.0))

    if TYPE_CHECKING:  # the head of the chain has it

        def begin_epoch(self) -> None:
            """Let seals of labels count only where they are made from here on."""

    def label_contradictions(self) -> list[tuple[Subject, str]]:
        """The subjects whose labels are not what was sealed, each with what is wrong, for a person."""
        found = []
        began = self._beginnings()
        for subject, there in self._count().items():
            sealed = self._seal_of(subject)
            if sealed is None:
                found.append((subject, "its labels have no seal that holds"))
            elif sealed[:-1] != there:
                found.append((subject, "it has other labels, or from other sources, than were sealed"))
            elif began.get(subject, sealed[-1]) != sealed[-1]:
                found.append((subject, "it began at another time than was sealed"))
        return found + self._list_contradictions() + self._row_contradictions()

    def mend_labels(self, subjects: Collection[Subject], at: float) -> None:
        """Let subjects have every label that they seem to have, and seal that."""
        self.moved = True
        if Subject("") in subjects:
            self._mend_damage()
        kept = [subject for subject in subjects if self._is_kept(subject)]
        labels, began = {subject: self.labels(subject) for subject in kept}, self._beginnings()
        for subject in kept:
            self._drop_unsealed(subject)
            counted = self._all(f"{_COUNT} WHERE session = ? AND agent = ? {_GROUPED}", subject)
            counts: Counts = Counter({(label, state): count for _, _, label, state, count in counted})
            self._put_seal(subject, [counts[kind] for kind in _KINDS], began.get(subject, 0.0))
        self.list_begun(frozenset(kept))  # no seal counts before
        self.list_sets(None if Subject("") in subjects else {subject.session for subject in subjects})
        for subject in kept:
            there = {self._taint(subject, row).label for row in self._all(_TAINTS, subject)}
            lost = [label for label in Label if label in labels[subject] - there]
            self.add_taints(subject, [Taint(label, CHANGED, "", "", at) for label in lost])
        for subject in subjects:
            self._mend_rows(subject)

    def _drop_unsealed(self, subject: Subject) -> None:
        """Remove the taints of a subject that something else has written."""
        for row in self._all(_TAINTS, subject):
            if self._taint(subject, row).source == CHANGED:
                self._write("DELETE FROM taints WHERE id = ?", (row[1],))

    def _is_kept(self, subject: Subject) -> bool:
        """Whether anything is kept of a subject."""
        return self._is_there(subject) or bool(self._one(_SEAL, subject) or self._one(f"{_TAINTS} LIMIT 1", subject))

    def _row_contradictions(self) -> list[tuple[Subject, str]]:
        """What is wrong with rows of other tables."""
        raise NotImplementedError

    def _mend_rows(self, subject: Subject) -> None:
        """Let no row of a subject stand that something else has written."""
        raise NotImplementedError

    def _mend_damage(self) -> None:
        """Make indexes anew, where one hides rows."""
        raise NotImplementedError

    # who has begun

    def list_begun(self, vouched: Collection[Subject] | None = None) -> None:
        """List whoever is there, and all sessions that are not and that the chain knows: these have had any label.

        Args:
            vouched: Whose seals count as they are kept, whatever the list says of them; ``None`` for everybody's.
        """
        listed: dict[int, Marks] = {}
        for part in range(PARTS):
            marks, holds = self.read_part(part)
            # What somebody else has written there says nothing of labels.
            listed[part] = {
                mark: how if holds and not how.startswith(HERE) else _ANY
                for mark, how in marks.items()
                if len(mark) == MARK
            }
        for mark in map(self.subject_mark, self._in_chain()):
            listed[part_of(mark)].setdefault(mark, _ANY)
        counted = self._count()
        in_list = self.in_list(counted)
        for subject in counted:
            row = self._one(_SEAL, subject)
            if vouched is None or subject in vouched:
                is_sealed = row is not None and self._is_sealed(subject, row)
            else:
                is_sealed = self._counts(subject, row, in_list[subject]) is not None
            mark = self.subject_mark(subject)
            listed[part_of(mark)][mark] = here(row[-1] if is_sealed else "", in_list[subject] or "")
        self.put_parts(listed)

    def list_seals(self) -> None:
        """Add their seals to those who are listed, where an older version has kept the list without."""
        seals = {}
        for subject in self._count():
            row = self._one(_SEAL, subject)
            if row is not None and self._is_sealed(subject, row):
                seals[self.subject_mark(subject)] = row[-1]
        listed = {
            part: {mark: here(seals.get(mark, "")) if how == HERE else how for mark, how in marks.items()}
            for part in range(PARTS)
            if (marks := self.read_older_part(part)) is not None
        }
        self.put_parts(listed)

    def _list_contradictions(self) -> list[tuple[Subject, str]]:
        """What is wrong with the list of who has begun."""
        parts = self.parts()
        if not parts:
            return [(Subject(""), "the list of who has begun is not the one that the head of the audit names")]
        names = {self.subject_mark(subject): subject for subject in self._count()}
        listed = {mark for marks in parts.values() for mark, how in marks.items() if how.startswith(HERE)}
        lost = sorted(listed - set(names))
        names |= {self.subject_mark(subject): subject for subject in self._in_chain()}
        broken = [part for part in range(PARTS) if part not in parts]
        found = [(Subject(""), f"part {part} of the list of who has begun has no seal that holds") for part in broken]
        gone = "it has begun, and all that was kept of it is gone"
        return found + [(names.get(mark, Subject("")), gone) for mark in lost]

    def _in_chain(self) -> list[Subject]:
        """The sessions that the audit names. What a client made up as a name need not be text."""
        return [Subject(_name_of(name)) for (name,) in self._all(_IN_CHAIN, ())]

    def _begin(self, subject: Subject, began: float) -> None:
        """Seal and list one that was never seen; one that was forgotten, with the labels that it had."""
        mark = self.subject_mark(subject)
        marks, holds = self.read_part(part_of(mark))
        how = marks.get(mark)
        if not holds or (how is not None and how.startswith(HERE)):
            return
        self._put_seal(subject, [0] * len(_KINDS), began)
        if how is not None:
            had = [label for place, label in enumerate(Label) if int(how) >> place & 1]
            self.add_taints(subject, [Taint(label, FORGOTTEN, "", "", began) for label in had])

    def _forget(self, sessions: Sequence[str]) -> None:
        """Take sessions and their agents from the list, but for the labels that they have."""
        changed: dict[int, Marks] = {}
        for session in sessions:
            subjects = {Subject(session), *(Subject(*row) for row in self._all(_OF_SESSION, (session, session)))}
            had = frozenset().union(*map(self.labels, subjects))
            number = sum(1 << place for place, label in enumerate(Label) if label in had)
            for subject in subjects:
                mark = self.subject_mark(subject)
                part = part_of(mark)
                marks, holds = self.read_part(part)
                if holds:
                    changed.setdefault(part, marks).pop(mark, None)
                    if number and not subject.agent:
                        changed[part][mark] = str(number)
        self.put_parts(changed)

    def _beginnings(self) -> dict[Subject, float]:
        """When each subject that is kept has begun."""
        return {Subject(session, agent): began for session, agent, began in self._all(_BEGINNINGS, ())}

    def _count(self) -> dict[Subject, list[int]]:
        """How many taints each subject has, in the order of the columns."""
        counts: dict[Subject, Counts] = {Subject(*subject): Counter() for subject in self._all(_SUBJECTS, ())}
        for session, agent, label, state, count in self._all(_COUNTED, ()):
            counts.setdefault(Subject(session, agent), Counter())[label, state] = count
        return {subject: [there[kind] for kind in _KINDS] for subject, there in counts.items()}

    def _labels_by_seal(self, subject: Subject) -> frozenset[Label]:
        """The labels that a subject has by its seal: all of them where it has none, and is known."""
        sealed = self._seal_of(subject)
        return _labels_of(sealed, is_known=sealed is None and self._is_known(subject))

    def _seal_of(self, subject: Subject) -> list[int] | None:
        """What was sealed of a subject; ``None`` where there is no seal, or it does not hold."""
        row = self._one(_SEAL, subject)
        return self._counts(subject, row, self.how_listed(subject)) if row is not None else None

    def _counts(self, subject: Subject, row: Sequence[Any] | None, how: str | None) -> list[int] | None:
        """What a row of the seals tells, where it is the newest of its subject, as that stands in the list."""
        if row is None or how is None or not self._is_sealed(subject, row):
            return None
        if digest_at(how, 0) != here(row[-1]):
            return None
        return list(row[:-1])

    def _is_sealed(self, subject: Subject, row: Sequence[Any]) -> bool:
        """Whether a row's seal holds, be it the newest one or not."""
        return bool(row[-1] == self._seal_for(subject, row[:-1]))

    def _put_seal(self, subject: Subject, counts: Sequence[int], began: float) -> None:
        sealed = [*counts, float(began)]
        seal = self._seal_for(subject, sealed)
        self._write(_PUT_SEAL, [*subject, *sealed, seal])
        self.list_seal(subject, seal)

    def _recount(self, subject: Subject, changed: Counts) -> None:
        """Change what is sealed of a subject by what was changed. One whose seal is gone gets none."""
        sealed = self._seal_of(subject)
        if sealed is None and not self._is_there(subject) and not self._one(_SEAL, subject):
            self._begin(subject, 0.0)
            sealed = self._seal_of(subject)
        if sealed is None:
            return
        counts = [count + changed.get(kind, 0) for count, kind in zip(sealed[:-1], _KINDS, strict=True)]
        if min(counts) >= 0:  # else somebody has put a row there that was never counted
            self._put_seal(subject, counts, sealed[-1])
            self._note(subject, _ranks(sealed[:-1]), _ranks(counts))

    def _note(self, subject: Subject, before: Sequence[int], after: Sequence[int]) -> None:
        if before != after:
            self.moved = True
            ranks = zip(Label, before, after, strict=True)
            new = {(*subject, label.value): is_now == _READ for label, was, is_now in ranks if is_now > was}
            self.gains |= {gain: is_read or self.gains.get(gain, False) for gain, is_read in new.items()}

    def _is_known(self, subject: Subject) -> bool:
        return self._is_there(subject) or self.is_listed(subject)

    def _is_there(self, subject: Subject) -> bool:
        """Whether its row is kept."""
        if subject.agent:
            return self._one("SELECT 1 FROM agents WHERE session = ? AND agent = ?", subject) is not None
        return self._one("SELECT 1 FROM sessions WHERE session = ?", (subject.session,)) is not None

    def _seal_for(self, subject: Subject, sealed: Sequence[float]) -> str:
        values = [*encode_names(subject), *sealed, *self.since()]
        return hash_with_key(self._key, PURPOSE_LABELS, canonical({"labels": values}))


def _name_of(name: bytes) -> str:
    """A name as JSON has it, with the half of a character that a client may have made up; else as near as it gets."""
    try:
        return name.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return name.decode("utf-8", "replace")


def _labels_of(sealed: Sequence[int] | None, *, is_known: bool) -> frozenset[Label]:
    """The labels that a seal tells: all of them where none holds, and the subject is known."""
    if sealed is None:
        return _ALL if is_known else frozenset()
    return frozenset(
        label for number, label in enumerate(Label) if sealed[2 * number] > 0 or sealed[2 * number + 1] > 0
    )


def _ranks(counts: Sequence[float]) -> list[int]:
    """How much a subject has of each label: confirmed, only pending, or none. More of the same changes nothing."""
    return [_READ if counts[place] else int(counts[place + 1] > 0) for place in range(0, len(counts), 2)]
