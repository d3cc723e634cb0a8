"""The head of the audit chain, kept outside of the state folder too: who puts an older state back contradicts it.

Whatever changes labels or answers a question is told twice. Before the commit stands a step there: the head that the
chain is about to have, and the labels that subjects are about to gain. After the commit stands the head. When the store
is opened, the chain must have all of them:

* A head that it lacks: the state is older than what was kept, or another one.
* Only a step: the process was killed in between, or somebody has used just that. The labels of the step are given then.
  So a crash is no alarm, and a kill at the right moment loses no label.

What follows from either stands in :mod:`lockgate.store.sqlite.put_back`.
"""

from __future__ import annotations

import os

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store.chain_links import PURPOSE_OUTSIDE, canonical, gate_of, hash_with_key, is_cut
from lockgate.store.rows import AuditCheckpoint
from lockgate.system.files import read_regular, replace
from lockgate.system.folders import outside_folders

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from sqlite3 import Connection
    from typing import Any

Head = tuple[int, str]
"""How many records there are, and the last one's digest."""
Gain = tuple[str, str, str]
"""A session, an agent, and a label."""

KEPT_AT = "rollback:kept"
"""The setting that says of which folder the head is kept, and whether what is kept lasts as long as the state."""
NEVER = ""
"""The same of a database that an older version has made, which kept no head."""
TEMPORARY = ("/tmp/", "/var/tmp/", "/dev/shm/", "/run/")  # noqa: S108 - only compared
"""A state in such a folder lasts no longer than the runtime folder, and is kept out of it."""
_MOST = 100_000
"""Bytes of a file."""
_PAGE = 4096
"""Bytes that the kernel takes as a whole: what is killed while it writes them has written all or nothing."""
_STEPS = 8
"""Steps that are kept: after a power failure the database may lack as many, which were not on the disk yet."""
_MOST_GAINS = 100
_KINDS = ("next", "store")
"""What a place has beside the head: steps, and which store is used. Each is a file of its own."""
_LAG = 100
"""Records by which what is kept may lag, of those that change no label."""
_PUT_BACK = "put back"
_LOOKS = 5
"""So often a file is read that is not whole: somebody may be writing over it."""
_NOBODY_KNOWS = {"steps": [[2**62, "", (), False]]}
"""Steps that were announced and cannot be read: as of a state that is older than what was kept."""
OWN_STORE = ""
"""What stands for the seal of ``store.json`` where a folder uses its own database."""
_NO_STORE = {"stores": ["?"]}
"""Which stores may be used where that cannot be read: none."""


class Step(Record):
    """What a commit was about to do."""

    head: Head
    gains: tuple[Gain, ...] = ()
    is_whole: bool = True
    """Whether all gains are told: very many are not."""


class Kept(Record):
    """What one place has."""

    place: str
    heads: tuple[Head, ...]
    """The chain has one of them at least."""
    boot: str = ""
    """The start of the machine since which they were written."""
    steps: tuple[Step, ...] = ()


def places(state: str, key: bytes) -> list[str]:
    """The files in which this machine keeps the head of a state folder.

    Their names tell the installation, so that one that begins anew in the same folder has others.
    """
    parent, name = os.path.split(state)
    beside, runtime = outside_folders(state)
    name = f"{name}-{installation(key)}"
    found = [os.path.join(beside, name)]
    if not state.startswith(TEMPORARY) and os.path.isdir(os.path.dirname(runtime)):
        found.append(os.path.join(runtime, f"{name}-{folder_id(parent)}"))
    return found


def folder_id(folder: str) -> str:
    """What tells a folder from others. Its path can be spelt in several ways, and be another folder's later."""
    there = os.stat(folder)
    return f"{there.st_dev:x}-{there.st_ino:x}"


def installation(key: bytes) -> str:
    """What tells an installation in the names of its places."""
    return gate_of(key)[:16]


class OutsideHead:
    """What is kept outside of one state folder."""

    def __init__(self, state: str, key: bytes) -> None:
        """Nothing is read yet."""
        self.state = state
        self.places = places(state, key)
        self._key = key

    def note(self, *, lasts: bool) -> str:
        """What the state says of itself where the head is kept: of which folder, beside what, whether that lasts."""
        others, state = sorted(self.others()), os.path.realpath(self.state)
        return canonical({"above": self.above(), "lasts": lasts, "others": others, "state": state})

    def above(self) -> str:
        """What tells the folder above the state from another one with the same path."""
        return folder_id(os.path.join(self.state, os.pardir))

    def others(self) -> set[str]:
        """The other installations of which a head is kept of a state in this very folder."""
        found: set[str] = set()
        own = installation(self._key)
        for place in self.places:
            folder, name = os.path.split(place)
            before, _, after = name.rpartition(own)
            try:
                names = os.listdir(folder)
            except OSError:
                continue
            there = [each for each in names if each.startswith(before) and each.endswith(after)]
            found.update(each[len(before) :][: len(own)] for each in there if len(each) == len(name))
        return found - {own}

    def is_noted(self, connection: Connection) -> bool:
        """Whether the state says that it is kept here. That it lasts is said once, and for good."""
        row = connection.execute("SELECT value FROM settings WHERE name = ?", (KEPT_AT,)).fetchone()
        return row == (self.note(lasts=True),) or (row == (self.note(lasts=False),) and not self.lasts())

    def lasts(self) -> bool:
        """Whether the head is kept beside the state, on the same file system."""
        beside = os.path.dirname(self.state)
        return os.path.lexists(self.places[0]) and os.stat(self.state).st_dev == os.stat(beside).st_dev

    def read_places(self) -> list[Kept]:
        """What each place has; nothing of one that has nothing, or nothing that was made with the key."""
        return [found for place in self.places if (found := self.read(place))]

    def of_before(self, state: str) -> list[Kept]:
        """What other places have of this installation, which had the state before it was moved, or have a copy of it.

        Args:
            state: The folder in which it was; empty where nobody knows.
        """
        runtime, mark = outside_folders(self.state)[1], f"-{installation(self._key)}-"
        try:
            names = sorted(os.listdir(runtime))
        except OSError:
            names = []
        there = [os.path.join(runtime, name) for name in names if mark in name and "." not in name.partition(mark)[2]]
        return [found for place in self._others([*self._places_of(state), *there]) if (found := self.read(place))]

    def forget(self, state: str) -> None:
        """Remove what is kept of the folder in which the state was before, if that is not this one."""
        for place in self._others(self._places_of(state)):
            for file in (place, *(f"{place}.{kind}" for kind in _KINDS)):
                if os.path.lexists(file):
                    os.unlink(file)

    def _places_of(self, state: str) -> list[str]:
        try:
            return places(state, self._key) if state else []
        except OSError:  # the folder above is gone, too
            return []

    def _others(self, where: Iterable[str]) -> list[str]:
        """Those places that are not this folder's, under whatever name."""
        own = set(map(os.path.realpath, self.places))
        return [place for place in dict.fromkeys(where) if os.path.realpath(place) not in own]

    def read(self, place: str) -> Kept | None:
        """What one place has, or ``None``."""
        head = self._read(place)
        if head is None:
            return None
        heads = tuple((seq, digest) for seq, digest in head["heads"])
        return Kept(place, heads, head["boot"], self._steps(place))

    def is_in(self, connection: Connection, told: Sequence[Kept]) -> bool:
        """Whether the chain has what was kept, all of it.

        Args:
            connection: To the database.
            told: What ``kept`` gave before the database was looked at: others may go on meanwhile.
        """
        there = self.in_chain(connection, _all_heads(told))
        return all(there.intersection(each.heads) and there.issuperset(_of_steps(each)) for each in told)

    def in_chain(self, connection: Connection, heads: Collection[Head]) -> set[Head]:
        """Those heads that the chain has, or had before retention removed their records."""
        marks = ", ".join("?" * len(heads))
        rows = connection.execute(
            f"SELECT seq, digest FROM audit WHERE seq IN ({marks})",  # noqa: S608 - only placeholders
            [seq for seq, _ in heads],
        ).fetchall()
        digests = dict(rows)
        there = {head for head in heads if head[0] == 0 or digests.get(head[0]) == head[1]}
        missing = [head for head in heads if head not in there and head[0] not in digests]
        return there.union(self._find_removed(connection, missing)) if missing else there

    def _find_removed(self, connection: Connection, heads: Iterable[Head]) -> list[Head]:
        row = connection.execute("SELECT seq, digest, removed, at, seal FROM audit_checkpoint WHERE id = 1").fetchone()
        if row is None:
            return []
        cut, last = AuditCheckpoint._make(row), head_of(connection)[0]
        if not is_cut(self._key, cut):
            return []
        return [head for head in heads if head[0] <= last and (cut.seq > head[0] or (cut.seq, cut.digest) == head)]

    def announce(self, connection: Connection, gains: Collection[Gain]) -> Step:
        """Keep what the transaction under way is about to do, before it is committed."""
        told = tuple(sorted(gains))
        step = Step(head_of(connection), told[:_MOST_GAINS], len(told) <= _MOST_GAINS)
        self._tell(self._put_steps(place, (*self._steps(place)[1 - _STEPS :], step)) for place in self.places)
        return step

    def take_back(self, step: Step, gains: Collection[Gain]) -> None:
        """Announce less than before, where the commit has failed. To be called under the lock for writing.

        Args:
            step: What was announced.
            gains: Those that hold whatever became of the commit.
        """
        if not step.is_whole:
            return
        left = [step._replace(gains=tuple(sorted(gains)))] if gains else []
        for place in self.places:
            before = self._steps(place)
            if step in before:
                self._tell([self._put_steps(place, [*(each for each in before if each != step), *left])])

    def advance(self, connection: Connection, *, force: bool = False) -> bool:
        """Keep the head as it is now. A place that cannot be written is told, and the others are written.

        Args:
            connection: To the database, in no transaction.
            force: Whether what was found under the lock for writing says that this is the state.

        Returns:
            Whether the state is the one that was kept. If not, nothing is written.
        """
        problems = [self._bring_up(connection, place, force=force) for place in self.places]
        if _PUT_BACK in problems:
            return False
        self._tell(problems)
        return True

    def follow(self, connection: Connection, told: Sequence[Kept]) -> None:
        """Bring up what lags: far behind the head, or behind a step, whose process was killed after its commit."""
        seq = head_of(connection)[0]
        for each in told:
            last = max(each.heads)[0]
            if last + _LAG <= seq or any(step.head[0] > last for step in each.steps):
                self.advance(connection)
                return

    def _bring_up(self, connection: Connection, place: str, *, force: bool) -> str:
        """Bring one place up to the head; what is wrong."""
        found = self._read(place)
        before: list[Head] = [] if found is None else [(seq, digest) for seq, digest in found["heads"]]
        there = self.in_chain(connection, before)
        if before and not there and not force:
            return _PUT_BACK
        head = head_of(connection)
        if len(before) == 1 and there and before[0][0] >= head[0]:
            return ""
        problem = self.put_heads(place, (head,))
        # Another process may have written a later one meanwhile, in whose place this one now stands.
        while not problem and (now := head_of(connection)) != head:
            problem = self.put_heads(place, (head := now,))
        return problem

    def put_heads(self, place: str, heads: Iterable[Head]) -> str:
        """Put heads in one place, at once; what is wrong."""
        from lockgate.system.uptime import instant

        return self._write(place, {"heads": [list(head) for head in heads], "boot": instant().boot})

    def put_all(self, heads: Collection[Head]) -> bool:
        """Put heads in all places; whether one of them took it."""
        problems = [self.put_heads(place, heads) for place in self.places]
        self._tell(problems)
        return not all(problems)

    def drop_steps(self, lost: Collection[Step]) -> None:
        """Forget steps that were seen to. To be called under the lock for writing."""
        for place in self.places:
            before = self._steps(place)
            self._tell([self._put_steps(place, [step for step in before if step not in lost])])

    def stores(self) -> set[str]:
        """Which stores the folder may use, by the seals of ``store.json``; nothing where nobody has chosen one."""
        found = [self._read(f"{place}.store", _NO_STORE) for place in self.places]
        return {seal for each in found if each for seal in each["stores"]}

    def put_stores(self, seals: Iterable[str]) -> None:
        """Keep which stores the folder may use."""
        self._tell([self._write(f"{place}.store", {"stores": [*seals]}) for place in self.places])

    def _steps(self, place: str) -> tuple[Step, ...]:
        found = self._read(f"{place}.next", _NOBODY_KNOWS) or {"steps": ()}
        return tuple(
            Step((seq, digest), tuple((session, agent, label) for session, agent, label in gains), is_whole)
            for seq, digest, gains, is_whole in found["steps"]
        )

    def _put_steps(self, place: str, steps: Iterable[Step]) -> str:
        told = [[*step.head, step.gains, step.is_whole] for step in steps]
        if len(canonical({"steps": told})) > _MOST - _PAGE:
            told = [[seq, digest, (), False] for seq, digest, *_ in told]
        return self._write(f"{place}.next", {"steps": told})

    def _read(self, file: str, damaged: Any = None) -> Any:
        """The content of one file.

        Args:
            file: One of the two of a place.
            damaged: What one has that was not made with the key, or is no whole one.

        Returns:
            Its content; ``None`` where there is none.
        """
        import json

        for _ in range(_LOOKS):
            try:
                text = read_regular(file, _MOST, follow=False).decode("ascii")
            except OSError:
                return None
            except ValueError:
                continue
            body, _, mark = text.rstrip("\n").rpartition("\n")
            if mark == self._mark(file, body):
                return json.loads(body)
            if not text:
                return None
        return damaged

    def _write(self, file: str, content: dict[str, Any]) -> str:
        body = canonical(content)
        data = f"{body}\n{self._mark(file, body)}\n".encode("ascii").ljust(_PAGE, b"\n")
        draft = f"{file}.{os.getpid()}.{os.urandom(4).hex()}"
        try:
            try:
                replace(file, data, draft=draft, in_place=len(data) == _PAGE)
            except FileNotFoundError:
                from lockgate.system.ownership import make_folders

                make_folders(os.path.dirname(file))
                replace(file, data, draft=draft)
        except OSError as error:
            return f"{file}: {error.strerror}"
        return ""

    def _mark(self, file: str, body: str) -> str:
        # One file of a place must not pass for another.
        kind = next((kind for kind in _KINDS if file.endswith(f".{kind}")), "head")
        return hash_with_key(self._key, PURPOSE_OUTSIDE, f"{kind}\n{body}")

    def _tell(self, problems: Iterable[str]) -> None:
        for problem in filter(None, list(problems)):
            from lockgate.system.error_log import note

            note(self.state, "head outside of the state", "OSError", problem)


def head_of(connection: Connection) -> Head:
    """The head of the chain as it is now; of an empty chain where it is missing."""
    found = connection.execute("SELECT seq, digest FROM audit_head WHERE id = 1").fetchone()
    return (int(found[0]), str(found[1])) if found else (0, "")


def _all_heads(told: Sequence[Kept]) -> set[Head]:
    return {head for each in told for head in (*each.heads, *_of_steps(each))}


def _of_steps(kept: Kept) -> Iterable[Head]:
    return (step.head for step in kept.steps)
