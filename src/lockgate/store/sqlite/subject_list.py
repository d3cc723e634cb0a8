"""The list of who has begun, and of the newest seal of each: no older one counts, and nobody begins twice.

An entry is a keyed hash of a subject's name. Of one whose rows are kept it has the beginning of the seal of its labels.
So rows that are put back together with an older seal contradict it. Of one that retention has forgotten it has the
labels.

The list has 256 parts. Each has a seal, and one row has the beginning of each of these seals. The digest of that row
is in the seal of the chain's head. So whoever puts back a part, or that row, or the head, contradicts the next of them.
The head itself is held against the records, and against what is kept outside of the state.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from lockgate.core.model import Subject
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import PURPOSE_BEGUN, PURPOSE_LIST, PURPOSE_SUBJECT, canonical, hash_with_key
from lockgate.store.sqlite.statements import SqliteStatements

if TYPE_CHECKING:
    Marks = dict[str, str]
    """By the mark of a subject: how it stands in the list."""

PARTS = 256
HERE = "0"
"""How one stands in the list whose rows are kept; the beginning of its seal follows."""
MARK = 16
"""Digits of a mark, and of the beginning of a subject's seal."""
_DIGITS = 15
"""Digits of a part's seal in the row of all parts, which so fits on one page."""
_ALL_PARTS = -1
"""The number of that row."""
_ROOT = 32
"""Digits of that row's digest in the seal of the head."""
_PUT = "INSERT OR REPLACE INTO begun VALUES (?, ?, ?)"


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
        how = self.in_list((subject,))[subject]
        return how is None or how.startswith(HERE)

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
            self.put_parts({part: {**marks, mark: here(seal)}})

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


def part_of(mark: str) -> int:
    """The part of the list in which a mark stands."""
    return int(mark[:8], 16) % PARTS


def here(seal: str) -> str:
    """How a subject with a seal stands in the list. One without any has an empty one."""
    return f"{HERE}{seal[:MARK]}"


def encode_names(subject: Subject) -> list[str]:
    """The names of a subject as SQLite keeps them: see ``SqliteStatements._run``."""
    return [name.encode("utf-8", "backslashreplace").decode() for name in subject]
