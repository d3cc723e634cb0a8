"""Packages that a session with untrusted text has installed: their code runs contained in every session.

They are kept by the folder in which something was installed. A person ends that: by a word, or by a commit of the files
that name them. A commit that was made while such a session went on may be the agent's, and ends nothing. Pure
functions over a transaction.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Mapping

from lockgate.core.model import Command, Label, Subject
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store import chain_links
from lockgate.store.files import Sets

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.protocol import Transaction

INSTALLED, ENDED = "packages", "packages-ended"
"""The events of the records that tell of an install, and of its end."""
_MOVING = frozenset({"cd", "pushd", "popd"})
"""Commands that run nothing in the folder in which they are given."""


class InstalledPackages(Record):
    """What is kept of one folder."""

    folder: str
    """Absolute: where it was installed."""
    environment: str = ""
    """The folder that holds the environment of Python which was filled; empty where none was."""
    root: str = ""
    """Of the repository."""
    labels: tuple[str, ...] = (Label.UNTRUSTED.value,)
    files: Mapping[str, str] = {}
    """The files that name each package with a digest, by their paths from the root, with the SHA-256 of what they
    held. Where there are none, no commit ends it."""
    head: str = ""
    """The commit that such a session has seen last; empty while one may be committing."""
    session: str = ""
    at: float = 0.0

    def may_be_run(self, commands: Iterable[Command], workspace: str) -> bool:
        """Whether some commands may run code from the folder: by where they run, or by a word that lies in there."""
        every = list(commands)
        return not every or any(self._may_run(command, workspace) for command in every)

    def _may_run(self, command: Command, workspace: str) -> bool:
        if command.words[:1] and command.words[0] in _MOVING:
            return False
        places = [place for place in (self.folder, self.environment) if place]
        folders = [folder or workspace for folder in command.folders] or [workspace]
        if any(_are_related(folder, place) for folder in folders for place in places):
            return True
        named = (word.rpartition("=")[2] for word in command.words)
        paths = [posixpath.normpath(posixpath.join(folder, word)) for word in named for folder in folders]
        return any(_is_below(path, place) for path in paths for place in places)


def list_standing(tx: Transaction) -> list[InstalledPackages]:
    """All that is kept on this machine. What somebody else has changed counts, and only a person's word ends it.

    Where something else has changed which folders these are, any may be one.
    """
    prefix, kept = _name(tx, ""), tx.read_set(Sets.PACKAGES)
    rows = tx.settings(Sets.PACKAGES) if kept is None else kept
    lost = [InstalledPackages("/")] if kept is None else []
    return lost + [_read(tx, name.removeprefix(prefix), text) for name, text in rows.items() if name.startswith(prefix)]


def note(tx: Transaction, found: InstalledPackages, *, exact: bool) -> None:
    """Note what an install fills.

    Args:
        tx: The transaction that lets it run.
        found: What is to be kept of the folder.
        exact: Whether the install removes what its files do not name.
    """
    before = next((each for each in list_standing(tx) if each.folder == found.folder), None)
    if before is not None:
        labels = tuple(sorted({*before.labels, *found.labels}))
        # What an earlier install has left is named by the files of this one only where that removes all else.
        named = found.files if exact or before.files == found.files else {}
        found = found._replace(labels=labels, files=named)
    _put(tx, found)


def put_back(tx: Transaction, folder: str, now: float) -> None:
    """Keep a folder again of which the state has lost that something was installed in it: no commit ends that."""
    _put(tx, InstalledPackages(folder, at=now))


def call_runs(tx: Transaction) -> None:
    """Note that an untrusted session's command runs, which may commit."""
    for each in list_standing(tx):
        if each.head:
            _put(tx, each._replace(head=""))


def call_ended(tx: Transaction, subject: Subject, root: str, head: str) -> None:
    """Note what is checked out after a command of an untrusted session."""
    if Label.UNTRUSTED not in tx.labels(subject):
        return
    for each in list_standing(tx):
        if each.root == root and head and each.head != head:
            _put(tx, each._replace(head=head))


def wait_for_commit(tx: Transaction, seen: InstalledPackages, head: str) -> None:
    """Note what is checked out where nobody told it: whoever committed that, the next commit is a person's."""
    if seen in list_standing(tx):
        _put(tx, seen._replace(head=head))


def end(tx: Transaction, seen: InstalledPackages) -> bool:
    """End one as it was seen; whether it was still so."""
    if seen not in list_standing(tx):
        return False
    tx.put_setting(_name(tx, seen.folder), None)
    return True


def describe(seen: InstalledPackages) -> dict[str, Any]:
    """What the audit tells of one."""
    return {"folder": seen.folder, "labels": list(seen.labels), "files": dict(seen.files), "by_session": seen.session}


def _name(tx: Transaction, folder: str) -> str:
    return f"{Sets.PACKAGES}{tx.gate}:{folder}"


def _put(tx: Transaction, found: InstalledPackages) -> None:
    kept = found._asdict() | {"labels": list(found.labels), "files": dict(found.files)}
    tx.put_setting(_name(tx, found.folder), chain_links.canonical({**kept, "seal": _seal(tx, kept)}))


def _seal(tx: Transaction, kept: Mapping[str, Any]) -> str:
    return tx.hash_with_key(chain_links.PURPOSE_PACKAGES, chain_links.canonical(kept))


def _read(tx: Transaction, folder: str, text: str) -> InstalledPackages:
    from hmac import compare_digest

    try:
        kept = json.loads(text)
        seal = kept.pop("seal")
        if compare_digest(str(seal), _seal(tx, kept)) and kept["folder"] == folder:
            return InstalledPackages(**{**kept, "labels": tuple(kept["labels"])})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    return InstalledPackages(folder)


def _are_related(one: str, other: str) -> bool:
    return _is_below(one, other) or _is_below(other, one)


def _is_below(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")
