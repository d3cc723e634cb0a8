"""Anchors of the audit's head in places outside of the state folder: a background thread writes and compares them.

A keyring of this machine is one such place, where it can be asked without a person. The configuration names others.

A place may have a head that the chain lacks. Then somebody has put an older state back. What follows is the same as
where a file of this machine says so (:mod:`lockgate.store.sqlite.put_back`). A place that has an older head proves
nothing, because a process may have been killed before it wrote. That is told, and the place is written anew.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from contextlib import closing

from lockgate.core.errors import AuditError, StoreError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store.audit.git_anchor import FOLDER, GitAnchor
from lockgate.store.audit.keyring_anchor import KEYRING, KeyringAnchor, is_here
from lockgate.store.chain_links import PURPOSE_REMOTE, gate_of, hash_with_key, is_cut
from lockgate.store.files import DATABASE, ELSEWHERE, own_file, read_key
from lockgate.store.sqlite.put_back import distrust
from lockgate.store.sqlite.rollback import OutsideHead
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.files import read_regular, replace, to_disk
from lockgate.system.libraries import library
from lockgate.system.ownership import make_folders

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from typing import Any, Protocol

    from lockgate.store.sqlite.rollback import Head
    from lockgate.store.sqlite.transaction import SqliteTransaction

    class RemoteAnchor(Protocol):
        """A place that keeps a short text for each installation. Both functions may raise anything."""

        def read(self, name: str) -> str | None:
            """What it has under a name."""

        def write(self, name: str, text: str) -> None:
            """Put a text under a name, in the place of the one that is there."""


GROUP = "lockgate.anchors"
"""The entry points that make other kinds of places: each is called with the options, the state and the home folder."""
EVERY = 60.0
"""Seconds between two writes."""
SILENT = 6 * 3600.0
"""Seconds after which a place that cannot be reached is told."""
TOLD = 7 * 86400.0
"""Seconds for which it is told that a place was put back."""
_FRESH = 3600.0
"""Seconds for which it need not be noted anew that a place is as it was."""
_FOLDER = "folder"
"""For a keyring: what tells this state folder from a copy of it."""
_IMPLIED = "implied"
"""The option of a place that nobody has named. Its problems count only where it was reached before."""
_STATUS = "status.json"
_OLDER = "the state is older than what is kept of it in"
_REWOUND = "it had a newer head before: somebody has put it back, or has emptied it"
_MAY_NOT_BE_NOTICED = "an older state that is put back may not be noticed"


class PlaceProblem(Record):
    """What is wrong with one place, and the command that mends it."""

    says: str
    is_over: bool = False
    """Whether the place is written anew already, so that only a person has to look."""

    @property
    def mend(self) -> str:
        """The command for it. ``doctor`` asks the place again, and tells whether it is mended."""
        return "lockgate audit accept" if self.is_over else "lockgate doctor"

    @property
    def consequence(self) -> str:
        """What it means for a person, and what is wrong."""
        return f"{_MAY_NOT_BE_NOTICED}: {self.says}"

    @property
    def sentence(self) -> str:
        """All of it, for a person."""
        return f"{self.consequence}; once you have seen to it, run: {self.mend}"


def label_of(options: Mapping[str, Any]) -> str:
    """How a place is called, for a person."""
    return " ".join(str(options[name]) for name in ("kind", "remote", "branch", _FOLDER) if name in options)[:200]


def anchor_of(options: Mapping[str, Any], state: str, home: str) -> RemoteAnchor:
    """The place that the configuration names.

    Raises:
        AuditError: There is none of this kind, or it does not know its options.
    """
    kind = options["kind"]
    if kind == "git":
        return GitAnchor(options, state, home)
    if kind == KEYRING:
        return KeyringAnchor(options[_FOLDER], state, home)
    from importlib.metadata import entry_points

    library("pluggy")  # where the environment was not set up, this does it, for what is looked for there
    found = tuple(entry_points(group=GROUP, name=kind))
    if len(found) != 1:
        raise AuditError(f"{len(found) or 'no'} packages in Lockgate's own environment have an anchor `{kind}`")
    made: RemoteAnchor = found[0].load()(dict(options), state, home)
    return made


class HeadAnchors:
    """The anchors of one state folder: files outside of it on this machine, and places that others own."""

    def __init__(self, state: str, home: str, audit: Mapping[str, Any] | None) -> None:
        """Nothing is asked yet.

        Args:
            state: The state folder.
            home: The person's home folder.
            audit: What the configuration says of the audit.
        """
        self._state, self._home = state, home
        self._anchors = _anchors(state, audit or {})
        # A shared store has anchors of its own, which each of its machines notes.
        self._is_alone = not own_file(os.path.join(state, ELSEWHERE)) and own_file(os.path.join(state, DATABASE))

    def places(self) -> tuple[list[str], list[str]]:
        """The files of this machine that have the head, and those that ought to and cannot.

        Raises:
            StoreError: The key cannot be read.
        """
        if not self._is_alone:
            return [], []
        outside = OutsideHead(self._state, read_key(self._state))
        kept = {each.place for each in outside.read_places()}
        good = [place for place in outside.places if place in kept and os.access(os.path.dirname(place), os.W_OK)]
        return good, [place for place in outside.places if place not in good]

    def compare(self) -> list[PlaceProblem]:
        """Compare with each place that the machine does not own, and write the head there. Returns what is wrong.

        Raises:
            StoreError: The state cannot be opened.
        """
        if not self._is_alone:
            return []
        found = [_compare(self._state, self._home, each) for each in self._places_to_ask()]
        _forget_others(self._state, set(map(label_of, self._anchors)))
        return [problem for problem in found if problem is not None]

    def list_reached(self) -> list[str]:
        """The places that are no files of this machine and had the head when they were last asked."""
        known = _status(self._state)
        return [
            label for label in map(label_of, self._places_to_ask()) if label in known and "problem" not in known[label]
        ]

    def problems(self, now: float) -> list[PlaceProblem]:
        """What is to be told of these places without asking them: that they are behind for long, or were put back."""
        known, labels = _status(self._state), map(label_of, self._anchors)
        return [problem for label in labels for problem in list_place_problems(label, known.get(label, {}), now)]

    def all_problems(self, now: float) -> list[PlaceProblem]:
        """What is wrong with all places, this machine's own included. No place is asked.

        Raises:
            StoreError: The key cannot be read.
        """
        return [*self._find_lacking(), *self.problems(now)]

    def has_problems(self, now: float) -> bool:
        """Whether anything is wrong, for a caller that has not read the configuration.

        The places are those that the configuration named when they were last compared.

        Raises:
            StoreError: The key cannot be read.
        """
        known = _status(self._state).items()
        return bool(
            self._find_lacking()
            or [each for label, status in known for each in list_place_problems(label, status, now)]
        )

    def accept(self) -> None:
        """Tell no more that places were put back: a person has looked."""
        if known := _status(self._state):
            _write_status(self._state, {label: {**status, "rewound_at": 0.0} for label, status in known.items()})

    def _find_lacking(self) -> list[PlaceProblem]:
        return [PlaceProblem(f"the head of the audit cannot be kept in {place}") for place in self.places()[1]]

    def start_comparisons(self) -> Callable[[], None]:
        """Start a thread that compares at once and every minute. The function that it returns ends the thread.

        Before it ends, the thread writes once more.
        """
        if not self._places_to_ask() or not self._is_alone:
            return lambda: None
        stop = threading.Event()
        thread = threading.Thread(target=self._compare_until, args=(stop,), name="lockgate-anchors", daemon=True)
        thread.start()

        def end() -> None:
            stop.set()
            thread.join(3.0)

        return end

    def _places_to_ask(self) -> list[dict[str, Any]]:
        """The places that there may be something to ask."""
        return [each for each in self._anchors if not each.get(_IMPLIED) or is_here(self._state)]

    def _compare_until(self, stop: threading.Event) -> None:
        from lockgate.system.error_log import note, place_of

        while True:
            is_last = stop.is_set()
            try:
                self.compare()
            except Exception as error:  # noqa: BLE001 - the gate goes on
                note(self._state, "anchors", type(error).__name__, place_of(error))
            if is_last:
                return
            stop.wait(EVERY)


def _anchors(state: str, audit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The places that the configuration names, and the keyring of a machine where it needs no person to be asked."""
    where = os.path.realpath(state)
    found = [{**each, _FOLDER: where} if each["kind"] == KEYRING else dict(each) for each in audit.get("anchors", ())]
    is_named = any(each["kind"] == KEYRING for each in found)
    # macOS asks a person to unlock a keychain that is locked, so it has to be named there.
    if not is_named and audit.get("keyring", True) and sys.platform != "darwin":
        found.append({"kind": KEYRING, _FOLDER: where, _IMPLIED: True})
    return found


def list_place_problems(label: str, status: Mapping[str, Any], now: float) -> Iterator[PlaceProblem]:
    """What a person has to know of a place elsewhere, by what was noted of it last."""
    if status.get("problem") and abs(now - status.get("at", 0.0)) > SILENT:
        yield PlaceProblem(f"{label}: {status['problem']}")
    if abs(now - status.get("rewound_at", 0.0)) < TOLD:
        yield _rewound(label)


def _rewound(label: str) -> PlaceProblem:
    return PlaceProblem(f"{label}: {_REWOUND}", is_over=True)


def _compare(state: str, home: str, options: Mapping[str, Any]) -> PlaceProblem | None:
    label, key = label_of(options), read_key(state)
    status = _status(state).get(label, {})
    try:
        anchor, name = anchor_of(options, state, home), gate_of(key)[:32]
        text = anchor.read(name)
        told = _head_in(text, key)
        head = _look(state, told or _of_other_folders(anchor, name, key), label)
        rewound = (told[0] if told else 0) < status.get("seq", 0) <= head[0]
        if told != head:
            _sync(state)  # else a power failure would make an alarm of what is about to be told
            anchor.write(name, _text_of(head, key))
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        problem = str(error) if isinstance(error, AuditError) else type(error).__name__
        if not options.get(_IMPLIED):
            _keep_status(state, label, {**status, "problem": problem})
        elif not status:
            return None
        return PlaceProblem(f"{label}: {problem}")
    now = time.time()
    is_as_it_was = status.get("seq") == head[0] and "problem" not in status and abs(now - status["at"]) < _FRESH
    if rewound or not is_as_it_was:
        told_at = now if rewound else status.get("rewound_at", 0)
        _keep_status(state, label, {"seq": head[0], "at": now, "rewound_at": told_at})
    return _rewound(label) if rewound else None


def _of_other_folders(anchor: RemoteAnchor, name: str, key: bytes) -> Head | None:
    """The newest head that a keyring has of this installation in other folders: a copy of it lacks that."""
    if not isinstance(anchor, KeyringAnchor):
        return None
    return max((head for text in anchor.of_other_folders(name) if (head := _head_in(text, key))), default=None)


def _look(state: str, told: Head | None, label: str) -> Head:
    """The head of the chain; where the chain lacks what was told, after that was recorded."""
    with closing(SqliteStore.open(state)) as store:
        with store.reading() as tx:
            lacks = told is not None and not _has(tx, told, store.key)
        if lacks and told is not None:
            with store.transaction() as tx:
                if not _has(tx, told, store.key):
                    distrust(tx, f"{_OLDER} {label}, or another one", time.time())
        with store.reading() as tx:
            head = tx.audit_head()
    return head.seq, head.digest


def _has(tx: SqliteTransaction, head: Head, key: bytes) -> bool:
    if not head[0]:
        return True  # it was told before anything was recorded, and every chain goes on from there
    cut = tx.audit_checkpoint()
    if cut.seq and is_cut(key, cut) and head[0] <= min(cut.seq, tx.audit_head().seq):
        return head[0] < cut.seq or head == (cut.seq, cut.digest)  # retention has removed it
    found = tx.audit(after=head[0] - 1, limit=1)
    return bool(found) and (found[0].seq, found[0].digest) == head


def _sync(state: str) -> None:
    for name in (f"{DATABASE}-wal", DATABASE):
        try:
            handle = os.open(os.path.join(state, name), os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        try:
            to_disk(handle)
        finally:
            os.close(handle)


def _text_of(head: Head, key: bytes) -> str:
    body = f"{head[0]} {head[1]}"
    return f"{body}\n{hash_with_key(key, PURPOSE_REMOTE, body)}\n"


def _head_in(text: str | None, key: bytes) -> Head | None:
    """The head of a note that was made with this key; ``None`` for any other."""
    body, _, mark = (text or "").rstrip("\n").partition("\n")
    if not mark or mark != hash_with_key(key, PURPOSE_REMOTE, body):
        return None
    seq, _, digest = body.partition(" ")
    return int(seq), digest


def _status(state: str) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(read_regular(os.path.join(state, FOLDER, _STATUS), 100_000, follow=False))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _keep_status(state: str, label: str, status: Mapping[str, Any]) -> None:
    _write_status(state, {**_status(state), label: status})


def _forget_others(state: str, labels: Collection[str]) -> None:
    """Forget the places that the configuration does not name any more."""
    known = _status(state)
    left = {label: status for label, status in known.items() if label in labels}
    if left != known:
        _write_status(state, left)


def _write_status(state: str, status: Mapping[str, Any]) -> None:
    path = os.path.join(state, FOLDER, _STATUS)
    make_folders(os.path.dirname(path))
    replace(path, json.dumps(status, sort_keys=True).encode(), draft=f"{path}.{os.getpid()}")
