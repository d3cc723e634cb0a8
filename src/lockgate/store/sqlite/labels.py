"""The queries of the SQLite store about labels, and the seals that tell whether somebody else has changed them.

How many taints a subject has of each label, confirmed and pending, is kept beside them under a keyed hash. Whatever
Lockgate adds, settles or drops changes these numbers by as many rows as it has changed, and nothing else does. So a
taint that somebody deletes is still counted: its label stays, and a person is told. A subject without a seal that holds
has every label.

Who has begun is listed, in parts that are sealed each by itself. So a session whose rows are all deleted does not begin
anew. What retention forgets is listed with the labels that it had, and has them again when it comes back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from lockgate.core.model import Label, Subject, Taint, TaintState
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import PURPOSE_BEGUN, PURPOSE_LABELS, PURPOSE_SUBJECT, canonical, keyed_hash
from lockgate.store.rows import TAINT_COLUMNS, taint_of, taint_values
from lockgate.store.sqlite.statements import SqliteStatements

if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    Counts = dict[tuple[str, str], int]
    Marks = dict[str, str]
    """By the mark of a subject: how it stands in the list."""

CHANGED = "the state, which something else than Lockgate has changed or put back: see `lockgate audit verify`"
"""What stands as the source of a label that is sealed, and has no taint."""
_KINDS = tuple((label.value, state.value) for label in Label for state in (TaintState.CONFIRMED, TaintState.PENDING))
"""What is counted, in the order of the columns."""
_ALL = frozenset(Label)
FORGOTTEN = "what it had before its rows were removed after their time"
"""What stands as the source of a label that a session had before retention forgot it."""
_PARTS = 256
"""Into how many parts the list of who has begun is split: each that begins writes one of them."""
_MARK = 16
"""Digits of a mark."""
_HERE = "0"
"""How one stands in the list whose rows are kept; one that was forgotten has the number of its labels there."""
_ANY = str(2 ** len(Label) - 1)


class LabelQueries(SqliteStatements):
    """Labels of subjects."""

    def __init__(self, connection: Connection, key: bytes, *, writable: bool) -> None:
        """Begin on a connection that is in a transaction."""
        super().__init__(connection, key, writable=writable)
        self.moved = False
        """Whether labels or an answer changed, or a person has acted: the head is then kept outside of the state."""
        self.gains: set[tuple[str, str, str]] = set()
        """Sessions and agents, each with a label that it has now and had not."""

    def taints(self, subject: Subject, *, limit: int = 0) -> list[Taint]:
        """The taints of a subject, oldest first; with a limit, only so many confirmed ones of each label."""
        if limit:
            values = (*subject, *(value for _ in Label for value in (*subject, limit)))
            found = [taint_of(row) for row in sorted(self._all(_OLDEST_TAINTS, values))]
        else:
            found = [taint_of(row) for row in self._all(f"{_TAINTS} ORDER BY at, id", subject)]
        gone = self._labels_by_seal(subject) - {taint.label for taint in found}
        return [Taint(label, CHANGED, "", "", 0.0) for label in Label if label in gone] + found if gone else found

    def newest_taints(self, session: str, limit: int) -> list[tuple[str, Taint]]:
        """So many taints of a session, newest first, each with the agent that has it."""
        query = f"SELECT agent, {TAINT_COLUMNS} FROM taints WHERE session = ? ORDER BY at DESC, id DESC LIMIT ?"  # noqa: S608
        return [(agent, taint_of(row)) for agent, *row in self._all(query, (session, limit))]

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
        found = {}
        for subject, row in zip(subjects, rows, strict=True):
            there, seal, known = row[: len(Label)], row[len(Label) : -1], row[-1]
            sealed = self._counts(subject, seal if seal[-1] is not None else None)
            is_known = sealed is None and (bool(known) or self._has_begun(subject))
            labels = _labels_of(sealed, is_known=is_known)
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
                (*subject, *taint_values(taint)),
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

    def seal_beginnings(self) -> None:
        """Seal when subjects have begun, where a database has the seals of before."""
        began = self._beginnings()
        for *names, mark in self._all(f"SELECT session, agent, {_COUNTS}, seal FROM label_seals", ()):  # noqa: S608
            subject, counts = Subject(*names[:2]), names[2:]
            if mark == self._mark(subject, counts):
                self._put_seal(subject, counts, began.get(subject, 0.0))

    def distrust_labels(self) -> None:
        """Let every subject that is known have every label, also where somebody puts seals of before back."""
        parts = {part: marks for part in range(_PARTS) for marks, holds in [self._read_part(part)] if holds}
        self._write("DELETE FROM label_seals", ())
        self.begin_epoch()
        for part, marks in parts.items():
            self._put_part(part, marks)

    def seal_anew(self, subjects: Iterable[Subject]) -> None:
        """Let no seal of before hold, and seal those who are about to get every label."""
        counts, began = self._count(), self._beginnings()
        self.distrust_labels()
        for subject in subjects:
            self._put_seal(subject, counts.get(subject, [0] * len(_KINDS)), began.get(subject, 0.0))

    if TYPE_CHECKING:  # the head of the chain has it

        def epoch(self) -> str:
            """Since which record seals of labels hold; empty where all do."""

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

    def mend_labels(self, subject: Subject, at: float) -> None:
        """Let a subject have every label that it seems to have, and seal that."""
        self.moved = True
        if self._is_there(subject) or self._one(_SEAL, subject) or self._one(f"{_TAINTS} LIMIT 1", subject):
            labels = self.labels(subject)
            self._write("DELETE FROM label_seals WHERE session = ? AND agent = ?", subject)
            there = {taint.label for taint in map(taint_of, self._all(_TAINTS, subject))}
            counted = self._all(f"{_COUNT} WHERE session = ? AND agent = ? {_GROUPED}", subject)
            counts: Counts = Counter({(label, state): count for _, _, label, state, count in counted})
            self._put_seal(subject, [counts[kind] for kind in _KINDS], self._beginnings().get(subject, 0.0))
            self.add_taints(subject, [Taint(label, CHANGED, "", "", at) for label in Label if label in labels - there])
        self._mend_rows(subject)
        self.list_begun()

    def _row_contradictions(self) -> list[tuple[Subject, str]]:
        """What is wrong with rows of other tables."""
        raise NotImplementedError

    def _mend_rows(self, subject: Subject) -> None:
        """Let no row of a subject stand that something else has written."""
        raise NotImplementedError

    # who has begun

    def list_begun(self) -> None:
        """List whoever is there, and all sessions that are not and that the chain knows: these have had any label."""
        listed = {}
        for part in range(_PARTS):
            marks, holds = self._read_part(part)
            # What somebody else has written there says nothing of labels.
            listed[part] = {
                mark: how if holds and how != _HERE else _ANY for mark, how in marks.items() if len(mark) == _MARK
            }
        for mark in map(self._subject_mark, self._in_chain()):
            listed[_part(mark)].setdefault(mark, _ANY)
        for mark in map(self._subject_mark, self._count()):
            listed[_part(mark)][mark] = _HERE
        for part, marks in listed.items():
            self._put_part(part, marks)

    def _list_contradictions(self) -> list[tuple[Subject, str]]:
        """What is wrong with the list of who has begun."""
        names = {self._subject_mark(subject): subject for subject in self._count()}
        there = set(names)
        names |= {self._subject_mark(subject): subject for subject in self._in_chain()}
        found, listed = [], set()
        for part in range(_PARTS):
            marks, holds = self._read_part(part)
            listed |= {mark for mark, how in marks.items() if how == _HERE}
            if not holds:
                found.append((Subject(""), f"part {part} of the list of who has begun has no seal that holds"))
        lost = sorted(listed - there)
        found += [(names.get(mark, Subject("")), "it has begun, and all that was kept of it is gone") for mark in lost]
        # One without a seal is told as that.
        added = [names[mark] for mark in sorted(there - listed) if self._seal_of(names[mark]) is not None]
        return found + [(subject, "it is not in the list of who has begun") for subject in added]

    def _in_chain(self) -> list[Subject]:
        """The sessions that the audit names. What a client made up as a name need not be text."""
        return [Subject(_name_of(name)) for (name,) in self._all(_IN_CHAIN, ())]

    def _begin(self, subject: Subject, began: float) -> None:
        """Seal and list one that was never seen; one that was forgotten, with the labels that it had."""
        mark = self._subject_mark(subject)
        marks, holds = self._read_part(_part(mark))
        how = marks.get(mark)
        if not holds or how == _HERE:
            return
        self._put_part(_part(mark), {**marks, mark: _HERE})
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
                mark = self._subject_mark(subject)
                part = _part(mark)
                marks, holds = self._read_part(part)
                if holds:
                    changed.setdefault(part, marks).pop(mark, None)
                    if number and not subject.agent:
                        changed[part][mark] = str(number)
        for part, marks in changed.items():
            self._put_part(part, marks)

    def _has_begun(self, subject: Subject) -> bool:
        """Whether a subject is listed as one whose rows are kept; so is each where the list was changed."""
        mark = self._subject_mark(subject)
        marks, holds = self._read_part(_part(mark))
        return not holds or marks.get(mark) == _HERE

    def _read_part(self, part: int) -> tuple[Marks, bool]:
        """A part of the list, and whether its seal holds."""
        row = self._one("SELECT marks, seal FROM begun WHERE part = ?", (part,))
        if row is None:
            return {}, False
        text, seal = row
        if not isinstance(text, str):
            return {}, False
        marks = {text[at + 1 : at + 1 + _MARK]: text[at] for at in range(0, len(text), 1 + _MARK)}
        return marks, seal == self._part_seal(part, text)

    def _put_part(self, part: int, marks: Marks) -> None:
        text = "".join(f"{how}{mark}" for mark, how in sorted(marks.items()))
        self._write("INSERT OR REPLACE INTO begun VALUES (?, ?, ?)", (part, text, self._part_seal(part, text)))

    def _part_seal(self, part: int, text: str) -> str:
        return keyed_hash(self._key, PURPOSE_BEGUN, canonical({"begun": [part, text, *self._since()]}))

    def _subject_mark(self, subject: Subject) -> str:
        return keyed_hash(self._key, PURPOSE_SUBJECT, canonical({"subject": _kept_names(subject)}))[:_MARK]

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
        return self._counts(subject, self._one(_SEAL, subject))

    def _counts(self, subject: Subject, row: Sequence[Any] | None) -> list[int] | None:
        if row is None:
            return None
        *sealed, mark = row
        return sealed if mark == self._mark(subject, sealed) else None

    def _put_seal(self, subject: Subject, counts: Sequence[int], began: float) -> None:
        sealed = [*counts, float(began)]
        self._write(_PUT_SEAL, [*subject, *sealed, self._mark(subject, sealed)])

    def _recount(self, subject: Subject, changed: Counts) -> None:
        """Change what is sealed of a subject by what was changed. One whose seal is gone gets none."""
        if self._seal_of(subject) is None and not self._is_there(subject) and not self._one(_SEAL, subject):
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
            self.gains |= {(*subject, label.value) for label, was, is_now in ranks if is_now > was}

    def _is_known(self, subject: Subject) -> bool:
        return self._is_there(subject) or self._has_begun(subject)

    def _is_there(self, subject: Subject) -> bool:
        """Whether its row is kept."""
        if subject.agent:
            return self._one("SELECT 1 FROM agents WHERE session = ? AND agent = ?", subject) is not None
        return self._one("SELECT 1 FROM sessions WHERE session = ?", (subject.session,)) is not None

    def _mark(self, subject: Subject, sealed: Sequence[float]) -> str:
        values = [*_kept_names(subject), *sealed, *self._since()]
        return keyed_hash(self._key, PURPOSE_LABELS, canonical({"labels": values}))

    def _since(self) -> list[str]:
        """What binds a seal to the time since labels were distrusted last. Where they never were, there is none."""
        epoch = self.epoch()
        return [epoch] if epoch else []


_TAINTS = f"SELECT {TAINT_COLUMNS} FROM taints WHERE session = ? AND agent = ?"  # noqa: S608 - columns of ours
_SAME = "session = ? AND agent = ? AND label = ? AND source = ? AND call_id = ? AND origin = ?"
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


def _kept_names(subject: Subject) -> list[str]:
    """The names of a subject as SQLite keeps them: see ``SqliteStatements._run``."""
    return [name.encode("utf-8", "backslashreplace").decode() for name in subject]


def _name_of(name: bytes) -> str:
    """A name as JSON has it, with the half of a character that a client may have made up; else as near as it gets."""
    try:
        return name.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return name.decode("utf-8", "replace")


def _part(mark: str) -> int:
    """The part of the list in which a mark stands."""
    return int(mark[:8], 16) % _PARTS


def _labels_of(sealed: Sequence[int] | None, *, is_known: bool) -> frozenset[Label]:
    """The labels that a seal tells: all of them where none holds, and the subject is known."""
    if sealed is None:
        return _ALL if is_known else frozenset()
    return frozenset(
        label for number, label in enumerate(Label) if sealed[2 * number] > 0 or sealed[2 * number + 1] > 0
    )


def _ranks(counts: Sequence[float]) -> list[int]:
    """How much a subject has of each label: confirmed, only pending, or none. More of the same changes nothing."""
    return [2 if counts[place] else int(counts[place + 1] > 0) for place in range(0, len(counts), 2)]
