"""The list of who has begun, and of the newest seal of each: no older one counts, and nobody begins twice.

An entry is a keyed hash of a subject's name. Of one whose rows are kept it has the beginning of the seal of its labels.
So rows that are put back together with an older seal contradict it. Of one that retention has forgotten it has the
labels. Digests follow of what else must not be missing: the noes of a session, and the passages that it has read.

The list has 256 parts. Each has a seal, and one row has the beginning of each of these seals. The digest of that row
is in the seal of the chain's head. So whoever puts back a part, or that row, or the head, contradicts the next of them.
The head itself is held against the records, and against what is kept outside of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from lockgate.core.model import Subject
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import (
    PURPOSE_BEGUN,
    PURPOSE_LIST,
    PURPOSE_SET,
    PURPOSE_SUBJECT,
    canonical,
    hash_with_key,
)
from lockgate.store.files import Sets
from lockgate.store.sqlite.statements import SETTINGS, SqliteStatements

if TYPE_CHECKING:
    Marks = dict[str, str]
    """By the mark of a subject: how it stands in the list."""

PARTS = 256
HERE = "0"
"""How one stands in the list whose rows are kept; the beginning of its seal follows."""
NOES, BOUND_PASSAGES, _BOUND = 1, 2, 2
"""At which place the digest of what else is bound stands behind that, and how many there are."""
MARK = 16
"""Digits of a mark, of the beginning of a subject's seal, and of a set's digest."""
_DIGITS = 15
"""Digits of a part's seal in the row of all parts, which so fits on one page."""
_ALL_PARTS = -1
"""The number of that row."""
_ROOT = 32
"""Digits of that row's digest in the seal of the head."""
_PUT = "INSERT OR REPLACE INTO begun VALUES (?, ?, ?)"
_NONE = "-" * MARK
_SEALS = "SELECT name, seal FROM settings WHERE name >= ? AND substr(name, 1, length(?)) = ?"
_ROWS = "SELECT name, value, seal FROM settings WHERE name >= ? AND substr(name, 1, length(?)) = ? ORDER BY name"


class SubjectListQueries(SqliteStatements):
    """The list, as it is kept in one table."""

    _tags: str | None = None
    """The row of all parts, where the head names it; empty where it does not."""

    if TYPE_CHECKING:  # the head of the chain has it

        def root(self) -> str:
            """The digest of the row of all parts; empty where the head tells none."""

        def put_root(self, root: str) -> None:
            """Let the head tell another one."""

        def epoch(self) -> str:
            """Since which record seals of labels hold; empty where all do."""

    def parts(self) -> dict[int, Marks]:
        """All parts of the list that nobody else has written or put back."""
        return {part: marks for part, (marks, holds) in self._read_parts(range(PARTS)).items() if holds}

    def read_part(self, part: int) -> tuple[Marks, bool]:
        """A part of the list, and whether it is the one that Lockgate has written last."""
        return self._read_parts((part,))[part]

    def _read_parts(self, parts: Collection[int]) -> dict[int, tuple[Marks, bool]]:
        """Some parts of the list with one question, as ``read_part`` gives them."""
        query = f"SELECT part, marks, seal FROM begun WHERE part IN (?{', ?' * (len(parts) - 1)})"  # noqa: S608 - ours
        rows = {part: row for part, *row in self._all(query, tuple(parts))}
        return {part: self._check_part(part, *rows.get(part, ("", ""))) for part in parts}

    def _check_part(self, part: int, text: object, seal: object) -> tuple[Marks, bool]:
        if not isinstance(text, str) or not isinstance(seal, str):
            return {}, False
        marks = {each[:MARK]: each[MARK:] for each in text.split(" ") if each}
        holds = seal == self._part_seal(part, text) and self._tag_of_part(part) == seal[:_DIGITS]
        return marks, holds

    def read_older_part(self, part: int) -> Marks | None:
        """A part as versions without seals in the list have written it; ``None`` where somebody else has."""
        row = self._one("SELECT marks, seal FROM begun WHERE part = ?", (part,))
        text, seal = row or ("", "")
        if not isinstance(text, str) or seal != self._part_seal(part, text):
            return None
        return {text[at + 1 : at + 1 + MARK]: text[at] for at in range(0, len(text), 1 + MARK)}

    def put_parts(self, parts: Mapping[int, Marks]) -> None:
        """Write parts of the list. Those that do not hold, and are not written, go on not to hold."""
        if not parts:
            return
        tags = self._all_tags() or "-" * (PARTS * _DIGITS)
        for part, marks in parts.items():
            text = " ".join(f"{mark}{how}" for mark, how in sorted(marks.items()))
            seal = self._part_seal(part, text)
            self._write(_PUT, (part, text, seal))
            at = part * _DIGITS
            tags = f"{tags[:at]}{seal[:_DIGITS]}{tags[at + _DIGITS :]}"
        self._write(_PUT, (_ALL_PARTS, tags, ""))
        self._tags = tags
        self.put_root(self._root_of(tags))

    def is_listed(self, subject: Subject) -> bool:
        """Whether a subject is listed as one whose rows are kept; so is each where the list was changed."""
        return may_be_here(self.how_listed(subject))

    def how_listed(self, subject: Subject) -> str | None:
        """How a subject stands in the list, as ``in_list`` gives it."""
        return self.in_list((subject,))[subject]

    def in_list(self, subjects: Collection[Subject]) -> dict[Subject, str | None]:
        """How each subject stands in the list: empty where it does not; ``None`` where its part was changed."""
        if not subjects:
            return {}
        marks = {subject: self.subject_mark(subject) for subject in subjects}
        parts = self._read_parts({part_of(mark) for mark in marks.values()})
        found = {subject: (mark, *parts[part_of(mark)]) for subject, mark in marks.items()}
        return {subject: there.get(mark, "") if holds else None for subject, (mark, there, holds) in found.items()}

    def list_seal(self, subject: Subject, seal: str) -> None:
        """List a subject with the seal that it is given. Nothing is done where its part of the list was changed."""
        mark = self.subject_mark(subject)
        part = part_of(mark)
        marks, holds = self.read_part(part)
        if holds:
            self.put_parts({part: {**marks, mark: here(seal, marks.get(mark, ""))}})

    def subject_mark(self, subject: Subject) -> str:
        """What stands in the list for a subject."""
        return hash_with_key(self._key, PURPOSE_SUBJECT, canonical({"subject": encode_names(subject)}))[:MARK]

    def since(self) -> list[str]:
        """What binds a seal to the time since labels were distrusted last. Where they never were, there is none."""
        epoch = self.epoch()
        return [epoch] if epoch else []

    def _all_tags(self) -> str:
        """The row of all parts; empty where the head does not name it."""
        if self._tags is None:
            row = self._one("SELECT marks FROM begun WHERE part = ?", (_ALL_PARTS,))
            found = row[0] if row is not None and isinstance(row[0], str) else ""
            self._tags = found if found and self._root_of(found) == self.root() else ""
        return self._tags

    def _tag_of_part(self, part: int) -> str:
        return self._all_tags()[part * _DIGITS :][:_DIGITS]

    def _root_of(self, tags: str) -> str:
        return hash_with_key(self._key, PURPOSE_LIST, tags)[:_ROOT]

    def _part_seal(self, part: int, text: str) -> str:
        return hash_with_key(self._key, PURPOSE_BEGUN, canonical({"begun": [part, text, *self.since()]}))


class RowSetQueries(SubjectListQueries):
    """Rows of which none may be missing: the noes of a session, what it has read, and settings that hold somebody back.

    The seal of a row does not tell that another row is gone, or is put back as it was. So the digest of all seals of a
    set is kept: of what belongs to a session in the list, of settings in the head of the audit's chain. Whoever puts
    that back contradicts what comes next. A set that is not what it was stays so until a person has looked. What
    Lockgate writes into it counts, and does not vouch for the rest.
    """

    if TYPE_CHECKING:  # the head of the chain, and questions to a person

        def sets(self) -> str | None:
            """The digests of settings that the head tells; ``None`` where it tells none."""

        def put_sets(self, sets: str) -> None:
            """Let the head tell others."""

        def seals_of_noes(self, session: str) -> list[str]:
            """The seals of the noes of a session that Lockgate has written."""

    # what is bound with a session

    def has_all_noes(self, session: str, sealed: Iterable[str], every: Iterable[str]) -> bool:
        """Whether the noes of a session are those that were said.

        Args:
            session: The session.
            sealed: The seals of those that Lockgate has written.
            every: The seals of all that are there.
        """
        how = self.how_listed(Subject(session))
        if how is None:
            return False
        return self._set_digest(sealed) == (digest_at(how, NOES) if how.startswith(HERE) else self._set_digest(every))

    def list_noes(self, session: str) -> None:
        """Let the noes of a session be those that are there and have a seal."""
        self._bind_to(session, NOES, self._set_digest(self.seals_of_noes(session)))

    def read_passages(self, session: str) -> str | None:
        """The passages of strangers that a session has read, empty where there are none.

        ``None`` where something else has taken them away, changed them or put them back.
        """
        seal, text = self._passages(session)
        how = self.how_listed(Subject(session))
        told = digest_at(how, BOUND_PASSAGES) if how else ""
        return None if how is None or (told and told != seal) else text

    def find_lost(self) -> list[tuple[str, int]]:
        """The sessions of which something else has changed what is bound, each with what that is."""
        names = [session for (session,) in self._all("SELECT session FROM sessions ORDER BY session", ())]
        with_noes, listed = set(self._find_with_noes()), self.in_list([Subject(name) for name in names])
        found = []
        for name in names:
            how = listed[Subject(name)] or ""
            if (name in with_noes or digest_at(how, NOES)) and not self._are_noes_whole(name):
                found.append((name, NOES))
            if digest_at(how, BOUND_PASSAGES) and self.read_passages(name) is None:
                found.append((name, BOUND_PASSAGES))
        return found

    def list_sets(self, sessions: Iterable[str] | None = None) -> None:
        """Let what is there, and has a seal, be what must not be missing.

        Args:
            sessions: In which sessions; ``None`` for all, and for the settings.
        """
        if sessions is None:
            rows = self._all(
                "SELECT name FROM settings WHERE substr(name, 1, length(?)) = ?", (Sets.PASSAGES, Sets.PASSAGES)
            )
            sessions = {*self._find_with_noes(), *(name.removeprefix(Sets.PASSAGES) for (name,) in rows)}
            self._list_settings()
        for session in sessions:
            self.list_noes(session)
            self._bind_to(session, BOUND_PASSAGES, self._passages(session)[0])

    def _find_with_noes(self) -> list[str]:
        rows = self._all("SELECT DISTINCT session FROM approvals WHERE state = 'denied'", ())
        return [session for (session,) in rows]

    def _are_noes_whole(self, session: str) -> bool:
        rows = self._all("SELECT seal FROM approvals WHERE session = ? AND state = 'denied'", (session,))
        return self.has_all_noes(session, self.seals_of_noes(session), [seal for (seal,) in rows])

    def _passages(self, session: str) -> tuple[str, str]:
        """The beginning of the seal of a session's passages, and they themselves; both empty where there are none."""
        name = (f"{Sets.PASSAGES}{session}",)
        row = self._one("SELECT name, value, seal FROM settings WHERE name = ?", name)
        return (row[2][:MARK], row[1]) if self._unseal(SETTINGS, row, name) is not None else ("", "")

    def _bind_to(self, session: str, place: int, digest: str) -> None:
        """Bind a digest with a session that is in the list."""
        mark = self.subject_mark(Subject(session))
        part = part_of(mark)
        marks, holds = self.read_part(part)
        how = marks.get(mark, "")
        if holds and how.startswith(HERE) and digest_at(how, place) != digest:
            self.put_parts({part: {**marks, mark: bind(how, place, digest)}})

    # settings

    def has_in_set(self, prefix: str) -> bool:
        """Whether there are settings of a set, or something else has changed which there are."""
        return self._digest_in_head(prefix) != ""

    def read_set(self, prefix: str) -> dict[str, str] | None:
        """All settings of a set; ``None`` where something else has taken one away, changed one or put one back."""
        rows = self._all(_ROWS, (prefix, prefix, prefix))
        sealed = [row for row in rows if self._unseal(SETTINGS, row) is not None]
        holds = self._digest_in_head(prefix) == self._set_digest(seal for *_, seal in sealed)
        return {name: value for name, value, _ in sealed} if holds else None

    def prepare_setting(self, name: str) -> Callable[[str], None]:
        """What is to be done when a setting was written: with its seal, which is empty where it was removed.

        Nothing is where something else has changed the set. It stays so.
        """
        if not name.startswith((Sets.PASSAGES, *Sets.IN_HEAD)):
            return _do_nothing
        if name.startswith(Sets.PASSAGES):
            session = name.removeprefix(Sets.PASSAGES)
            is_whole = self.read_passages(session) is not None
            return (lambda seal: self._bind_to(session, BOUND_PASSAGES, seal[:MARK])) if is_whole else _do_nothing
        prefix = next(each for each in Sets.IN_HEAD if name.startswith(each))
        # A row with the seal of another one counts here. It does not when it is read, and then the set is not whole.
        seals = dict(self._all(_SEALS, (prefix, prefix, prefix)))
        if self._digest_in_head(prefix) != self._set_digest(seals.values()):
            return _do_nothing
        return lambda seal: self._list_set(prefix, ({**seals, name: seal} if seal else _omit(seals, name)).values())

    def _list_settings(self) -> None:
        for prefix in Sets.IN_HEAD:
            rows = self._all(_ROWS, (prefix, prefix, prefix))
            self._list_set(prefix, [row[-1] for row in rows if self._unseal(SETTINGS, row) is not None])

    def _list_set(self, prefix: str, seals: Iterable[str]) -> None:
        """Let a set be the settings with these seals."""
        at = Sets.IN_HEAD.index(prefix) * MARK
        sets = self.sets() or _NONE * len(Sets.IN_HEAD)
        digest = self._set_digest(seals) or _NONE
        self.put_sets(f"{sets[:at]}{digest}{sets[at + MARK :]}")

    def _digest_in_head(self, prefix: str) -> str | None:
        """The digest of a set; empty where there are none in it, ``None`` where the head tells nothing of sets."""
        sets, at = self.sets(), Sets.IN_HEAD.index(prefix) * MARK
        return None if sets is None else sets[at : at + MARK].strip("-")

    def _set_digest(self, seals: Iterable[str]) -> str:
        """The digest of some seals; empty where there are none."""
        text = " ".join(sorted(seals))
        return hash_with_key(self._key, PURPOSE_SET, text)[:MARK] if text else ""


def may_be_here(how: str | None) -> bool:
    """Whether rows are kept of one that stands so in the list. Where its part was changed nobody knows."""
    return how is None or how.startswith(HERE)


def part_of(mark: str) -> int:
    """The part of the list in which a mark stands."""
    return int(mark[:8], 16) % PARTS


def here(seal: str, before: str = "") -> str:
    """How a subject with a seal stands in the list, or one without any. What else was bound before stays so."""
    return ".".join((f"{HERE}{seal[:MARK]}", *before.split(".")[1:]))


def bind(how: str, place: int, digest: str) -> str:
    """How a subject stands in the list with another digest at a place."""
    told = [*how.split("."), *[""] * place][: 1 + _BOUND]
    told[place] = digest
    return ".".join(told).rstrip(".")


def digest_at(how: str, place: int) -> str:
    """The digest at a place; empty where there is none."""
    return [*how.split("."), *[""] * place][place]


def encode_names(subject: Subject) -> list[str]:
    """The names of a subject as SQLite keeps them: see ``SqliteStatements._run``."""
    return [name.encode("utf-8", "backslashreplace").decode() for name in subject]


def _do_nothing(_: str) -> None:
    """A setting that is in no set, or in one that is not whole."""


def _omit(seals: Mapping[str, str], name: str) -> dict[str, str]:
    return {other: seal for other, seal in seals.items() if other != name}
