"""Keeps track of files that hold a stranger's text. Whoever reads one, in any session, has read the stranger.

A file is labelled where a call writes into it a passage of an untrusted result of its session. A passage that the file
held before does not count. A download labels its file too. The label is set when the call is let run: a client that is
killed tells nobody of it. The file's content is hashed after the call, so that a copy is recognised.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping, Sequence

from lockgate.core.model import ARRAY, OBJECT, Analysis, Label, ToolCall
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.session import is_out
from lockgate.gate.session.shingles import Shingles, pack, shingles_of, unpack
from lockgate.store.files import Sets
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lockgate.store.protocol import Store, Transaction

    Read = Callable[[str], bytes | None]

EVERYWHERE = "/"
"""What stands for all files where something else has changed which hold a stranger's text."""
_MOST = 100
"""Files that are remembered, the newest."""
_MOST_SESSIONS = 50
"""Sessions whose passages are remembered, the newest."""
_MOST_WRITTEN = 16
"""Files that one call writes."""
FACT, PUT = "labelled_files", "put_labels"
"""Facts of a call: the files to hash after it, and the row of each label before the call and by it."""


class LabelledFile(Record):
    """A file that holds a stranger's text."""

    path: str
    """Absolute."""
    source: str
    """What its writer had read: a source of the session, as a taint tells it. May hold untrusted text."""
    session: str
    at: float
    """When it was written, in seconds since the epoch."""
    content: str = ""
    """SHA-256 of what it holds, hexadecimal; empty where that was not looked at."""


class LabelledFiles(Record):
    """The labelled files of this machine, as one decision sees them. They are read when they are first asked for."""

    files: Callable[[], Mapping[str, str]]
    """The source of each that is still there, by path."""
    content: Callable[[str], str]
    """The source of a file, by what it holds; empty for others."""


def look(store: Store, read: Read, is_file: Callable[[str], bool]) -> LabelledFiles:
    """What is known now.

    Args:
        store: Where it is kept.
        read: Reads a regular file that is not too long; ``None`` for all others.
        is_file: Whether a file lies at a path.
    """
    seen: list[list[LabelledFile]] = []

    def every() -> list[LabelledFile]:
        if not seen:
            with store.reading() as tx:
                seen.append(list_labelled(tx))
        return seen[0]

    def content(path: str) -> str:
        known = {file.content: file.source for file in every() if file.content}
        data = read(path) if known else None
        return known.get(sha256(data).hexdigest(), "") if data else ""

    def files() -> Mapping[str, str]:
        return {file.path: file.source for file in every() if file.path == EVERYWHERE or is_file(file.path)}

    return LabelledFiles(files, content)


def list_labelled(tx: Transaction) -> list[LabelledFile]:
    """Every labelled file, the oldest first. Any file may be one where something else has changed which they are."""
    if not tx.has_in_set(Sets.FILE_LABELS):
        return []
    kept = tx.read_set(Sets.FILE_LABELS)
    found = filter(None, map(_file, (tx.settings(Sets.FILE_LABELS) if kept is None else kept).values()))
    lost = [LabelledFile(EVERYWHERE, Sets.LOST, "", 0.0)] if kept is None else []
    return [*lost, *sorted(found, key=lambda file: file.at)]


def forget(tx: Transaction, path: str) -> None:
    """Take the label from a file, as a person has said."""
    tx.put_setting(_name(path), None)


def remember_read(tx: Transaction, session: str, text: str, now: float) -> None:
    """Remember the passages of a stranger's text that a session has read."""
    read = shingles_of(text)
    if not read.hashes:
        return
    known = _passages(tx, session) or Shingles()
    both = known.unite(read)
    if both == known:
        return
    if not known.hashes:
        _make_room(tx)
    tx.put_setting(Sets.PASSAGES + session, f"{now:.0f} {pack(both)}")


def note_written(
    tx: Transaction, session: str, call: ToolCall, key: str, analysis: Analysis, source: str, read: Read, now: float
) -> None:
    """Note which files will hold a stranger's text once a call that is let run has run.

    Args:
        tx: The transaction that lets it run, in which it is expected already.
        session: Whose call it is.
        call: The call.
        key: Its name in its session.
        analysis: What it can do.
        source: What made the session untrusted, as a taint tells it; empty where nothing did.
        read: Reads a regular file that is not too long; ``None`` for all others.
        now: Seconds since the epoch.
    """
    places = [posixpath.normpath(posixpath.join(call.cwd, path)) for path in analysis.written[:_MOST_WRITTEN]]
    before = {path: tx.setting(_name(path)) for path in places} if tx.has_in_set(Sets.FILE_LABELS) else {}
    kept = _find_kept_source(analysis)
    found = {path: LabelledFile(path, kept, session, now) for path in places if kept}
    found |= {path: LabelledFile(path, what, session, now) for path, what in _downloads(analysis).items()}
    says = "\n".join(_texts(call.tool_input)) if source and places else ""
    for path in _find_with_passages(tx, session, says, places, read) if says else ():
        found.setdefault(path, LabelledFile(path, source, session, now))
    for file in found.values():
        _put(tx, file)
    looked_at = [*found, *(path for path, text in before.items() if text is not None and path not in found)]
    row = tx.call(session, key) if looked_at else None
    if row is not None:
        facts = {FACT: looked_at, PUT: {path: [before.get(path), json.dumps(file)] for path, file in found.items()}}
        tx.put_call(row._replace(facts={**row.facts, **facts}))


def _find_with_passages(tx: Transaction, session: str, says: str, places: Sequence[str], read: Read) -> Iterator[str]:
    """The files into which a text brings a stranger's passage that they do not hold; all where some are lost."""
    known = _passages(tx, session)
    passages = known.intersect(shingles_of(says)) if known is not None else frozenset[int]()
    for path in places if known is None or passages else ():
        data = read(path)
        old = shingles_of(data.decode("utf-8", "replace")) if data else Shingles()
        if known is None or passages - old.hashes:
            yield path


def settle(tx: Transaction, call: ToolCall, facts: Mapping[str, Any], read: Read, *, done: bool) -> None:
    """Look at the labelled files that a call has written; ``done`` where it did what it was to do."""
    put = facts.get(PUT, {})
    for path in facts.get(FACT, ()):
        if done and call.tool == "Write" and path not in put:
            forget(tx, path)
            continue
        kept, data = _file(tx.setting(_name(path)) or put.get(path, ("", ""))[1]), read(path)
        if kept is not None and data:
            _put(tx, kept._replace(content=sha256(data).hexdigest()))


def take_back(tx: Transaction, session: str, key: str) -> None:
    """Forget what was noted of the files of a call that was not run after all, where nothing was noted since."""
    row = tx.call(session, key)
    for path, (before, put) in row.facts.get(PUT, {}).items() if row is not None and is_out(row) else ():
        if tx.setting(_name(path)) == put:
            tx.put_setting(_name(path), before)


def _texts(tool_input: Mapping[str, Any]) -> Iterator[str]:
    """All texts in an input."""
    todo: list[Any] = [tool_input]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, OBJECT):
            todo += item.values()
        elif isinstance(item, ARRAY):
            todo += item


def _find_kept_source(analysis: Analysis) -> str:
    """The source of the strangers' text that a command writes into files; empty where it writes none.

    A labelled file that the command reads is no such source: a formatter would label all that it is given.
    """
    if Label.UNTRUSTED not in analysis.keeps:
        return ""
    brings = (
        effect for effect in analysis.effects if effect.gives is Label.UNTRUSTED and not effect.rule.startswith("file:")
    )
    return next((effect.what for effect in brings), "")


def _downloads(analysis: Analysis) -> dict[str, str]:
    """The files into which a call downloads something, and from where."""
    found = {left.path: [origin.what for origin in left.origins if origin.origin] for left in analysis.left}
    return {path: what[0] for path, what in found.items() if what}


def _passages(tx: Transaction, session: str) -> Shingles | None:
    """The passages of strangers that a session has read; ``None`` where something else has changed which."""
    text = tx.read_passages(session)
    return None if text is None else unpack(text.partition(" ")[2])


def _make_room(tx: Transaction) -> None:
    rows = tx.settings(Sets.PASSAGES)
    if len(rows) >= _MOST_SESSIONS:
        tx.put_setting(min(rows, key=lambda name: _time_of(rows[name])), None)


def _time_of(text: str) -> float:
    at = text.partition(" ")[0]
    return float(at) if at.isdecimal() else 0.0


def _name(path: str) -> str:
    return Sets.FILE_LABELS + sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _put(tx: Transaction, file: LabelledFile) -> None:
    name = _name(file.path)
    if tx.setting(name) is None:
        files = list_labelled(tx)
        if len(files) >= _MOST:
            forget(tx, next(file.path for file in files if file.path != EVERYWHERE))
    tx.put_setting(name, json.dumps(file))


def _file(text: str) -> LabelledFile | None:
    """What was kept; ``None`` for what no gate of ours has written."""
    try:
        path, source, session, at, content = json.loads(text)
        return LabelledFile(str(path), str(source), str(session), float(at), str(content))
    except (ValueError, TypeError, RecursionError):
        return None
