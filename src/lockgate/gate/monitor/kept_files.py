"""Remembers files in which calls left a secret, or code from the network, for the calls of all sessions.

A file is known by its path and by what it holds, so that a copy is known that nobody saw made. Paths are noted before a
call runs, as nobody tells of one that is ended. What they hold is looked at when it has come back.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence

from lockgate.core.model import Analysis, EffectKind, Left, Origin, ToolCall
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.session import is_out
from lockgate.gate.session.labels import KEYED, address_key
from lockgate.patterns.redaction.credentials import redact
from lockgate.store.files import Sets
from lockgate.system.digests import sha1, sha256

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lockgate.store.protocol import Store, Transaction

MOST = 300
"""Files with secrets that are remembered, the newest."""
MOST_CODE = 100
"""Files with nothing but code from the network, the newest: downloads are many, and push out no secret."""
LARGEST = 1024 * 1024
"""Bytes of a file that is compared by its content."""
FACT, CLEARED = "kept_files", "cleared_files"
"""Facts of a call: files to be looked at when it has come back, and those that it may have emptied of what mattered."""
PUT = "put_files"
"""The fact of a call that holds what was noted of its files, and what was known of them before."""
_MOST_READ = 8
_WRITING = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
"""Tools that write the text in their input, and where they name the file."""


class KeptFile(Record):
    """The stored facts of one file."""

    path: str
    """Absolute; empty where only the content counts, as of a secret itself."""
    origins: tuple[Origin, ...]
    at: float = 0.0
    content: str = ""
    """SHA-256 of what it holds, hexadecimal; empty where that was not looked at."""
    blob: str = ""
    """The name that git gives to that content."""


class EarlierFiles(Record):
    """The files of earlier calls, as one decision sees them. They are read when they are first asked for."""

    files: Callable[[], Mapping[str, tuple[Origin, ...]]]
    content: Callable[[str], tuple[Origin, ...]]
    blobs: Callable[[], Mapping[str, tuple[Origin, ...]]]
    any: Callable[[], bool]


def look(store: Store, read: Callable[[str], bytes | None], exists: Callable[[str], bool]) -> EarlierFiles:
    """What is known now. Any file may hold a secret where something else has changed which do.

    Args:
        store: Where it is kept.
        read: Reads a regular file that is no longer than ``LARGEST``; ``None`` for all others.
        exists: Whether something lies at a path.
    """
    seen: list[list[KeptFile]] = []
    lost: list[Origin] = []

    def every() -> list[KeptFile]:
        if not seen:
            with store.reading() as tx:
                known = tx.read_set(Sets.KEPT_FILES)
                lost.extend([Origin(Sets.LOST)] if known is None else [])
                seen.append([kept for _, kept in _parse_all(tx.settings(Sets.KEPT_FILES) if known is None else known)])
        return seen[0]

    def content(path: str) -> tuple[Origin, ...]:
        known = {kept.content: kept.origins for kept in every() if kept.content}
        data = read(path) if known or lost else None
        return known.get(sha256(data).hexdigest(), tuple(lost)) if data else ()

    return EarlierFiles(
        lambda: {kept.path: kept.origins for kept in every() if kept.path and exists(kept.path)},
        content,
        lambda: {kept.blob: kept.origins for kept in every() if kept.blob},
        lambda: bool(every() or lost),
    )


def note(
    tx: Transaction,
    session: str,
    call: ToolCall,
    digest: str,
    analysis: Analysis,
    known: Sequence[str],
    now: float,
    *,
    key: bytes,
    knows_secrets: bool,
) -> None:
    """Note what a call that is let run will leave in files, and what is to be looked at when it has come back.

    Args:
        tx: The transaction that lets it run, in which it is expected already.
        session: Whose call it is.
        call: The call.
        digest: SHA-256 of the exact call, hexadecimal.
        analysis: What it can do.
        known: Which values of this machine's secrets stand in it.
        now: Seconds since the epoch.
        key: What addresses are hashed with.
        knows_secrets: Whether the agent may write a secret that it has read.
    """
    left = [*analysis.left, *_files_written(tx, call, known, knows_secrets=knows_secrets)]
    holding = {each.path: KeptFile(each.path, tuple(_to_store(o, key) for o in each.origins), now) for each in left}
    holding = {path: kept for path, kept in holding.items() if kept.origins}
    facts: dict[str, Any] = {
        FACT: [*holding, *_read(call, analysis)],
        CLEARED: [each.path for each in left if not each.origins],
        PUT: [[tx.setting(_name(path)), json.dumps(kept)] for path, kept in holding.items()],
    }
    for kept in holding.values():
        _put(tx, kept)
    row = tx.call(session, call.call_id or f"sha256:{digest}")
    if row is not None and any(facts.values()):
        tx.put_call(row._replace(facts={**row.facts, **facts}))


def _to_store(origin: Origin, key: bytes) -> Origin:
    """Where code comes from, as it is kept: addresses may let somebody in. Of the whole one only a keyed hash stays."""
    if not origin.origin:
        return origin
    address = origin.address
    if address and not address.startswith(KEYED):
        address = KEYED + address_key(key, address).hex()
    return origin._replace(what=_address_text(origin.what), address=address)


def _address_text(what: str) -> str:
    """An address for a person, without the user and what stands behind the path."""
    before, scheme, rest = what.partition("?")[0].partition("#")[0].rpartition("://")
    host, slash, path = rest.partition("/")
    return redact(f"{before}{scheme}{host.rpartition('@')[2]}{slash}{path}")


def _files_written(tx: Transaction, call: ToolCall, known: Sequence[str], *, knows_secrets: bool) -> list[Left]:
    """The file that a tool for files writes, with the secrets that stand in what it writes."""
    path = call.tool_input.get(_WRITING.get(call.tool, ""))
    if not isinstance(path, str) or not path:
        return []
    place = posixpath.normpath(posixpath.join(call.cwd, path))
    origins = tuple(Origin(name) for name in dict.fromkeys(known) if name)
    if origins:
        return [Left(place, origins[:_MOST_READ])]
    anew = call.tool == "Write" and not known and not knows_secrets and _read_kept(tx, place) is not None
    return [Left(place)] if anew else []


def settle(
    tx: Transaction, facts: Mapping[str, Any], read: Callable[[str], bytes | None], now: float, *, done: bool
) -> None:
    """Look at the files of a call that has come back; ``done`` where it did what it was to do."""
    for path in facts.get(CLEARED, ()) if done else ():
        kept, data = _read_kept(tx, path), read(path)
        if kept is not None and not (data and kept.content == sha256(data).hexdigest()):
            tx.put_setting(_name(path), None)
    for _, put in facts.get(PUT, ()):
        kept = _parse(put)  # gone where the call was taken to be refused
        if kept is not None and _read_kept(tx, kept.path) is None:
            _put(tx, kept)
    for path in facts.get(FACT, ()):
        data = read(path)
        if not data:
            continue
        before = _read_kept(tx, path)
        origins = before.origins if before is not None else (Origin(path),)
        content, blob = sha256(data).hexdigest(), sha1(b"blob %d\0" % len(data) + data).hexdigest()
        _put(tx, KeptFile(path if before is not None else "", origins, now, content, blob))


def take_back(tx: Transaction, session: str, key: str) -> None:
    """Forget what was noted of the files of a call that was not run after all, where nothing was noted since."""
    row = tx.call(session, key)
    for before, put in row.facts.get(PUT, ()) if row is not None and is_out(row) else ():
        kept = _parse(put)
        if kept is not None and tx.setting(_name(kept.path)) == put:
            tx.put_setting(_name(kept.path), before)


def _read(call: ToolCall, analysis: Analysis) -> list[str]:
    """The files with secrets that a call reads, as far as its words name them."""
    found = [
        posixpath.normpath(posixpath.join(call.cwd, effect.what))
        for effect in analysis.effects
        if effect.kind is EffectKind.READ_SECRET and effect.rule.startswith("place:secret/")
    ]
    plain = (path for path in dict.fromkeys(found) if path.startswith("/") and not set("*?[~$") & set(path))
    return list(plain)[:_MOST_READ]


def _name(path: str, content: str = "") -> str:
    what = f"{path}\0{content if not path else ''}".encode("utf-8", "surrogatepass")
    return Sets.KEPT_FILES + sha256(what).hexdigest()[:32]


def _put(tx: Transaction, kept: KeptFile) -> None:
    name = _name(kept.path, kept.content)
    code = _is_code(kept)
    rows = [(other, row.at) for other, row in _rows(tx) if other != name and _is_code(row) is code]
    if len(rows) >= (MOST_CODE if code else MOST):
        tx.put_setting(min(rows, key=lambda row: row[1])[0], None)
    tx.put_setting(name, json.dumps(kept))


def _is_code(kept: KeptFile) -> bool:
    return bool(kept.origins) and all(origin.origin for origin in kept.origins)


def _read_kept(tx: Transaction, path: str) -> KeptFile | None:
    text = tx.setting(_name(path))
    return _parse(text) if text is not None else None


def _rows(tx: Transaction) -> list[tuple[str, KeptFile]]:
    return _parse_all(tx.settings(Sets.KEPT_FILES))


def _parse_all(rows: Mapping[str, str]) -> list[tuple[str, KeptFile]]:
    found = ((name, _parse(text)) for name, text in rows.items())
    return [(name, kept) for name, kept in found if kept is not None]


def _parse(text: str) -> KeptFile | None:
    """What was kept; ``None`` for what no gate of ours has written."""
    try:
        path, origins, at, content, blob = json.loads(text)
        made = tuple(Origin(first, tuple(way), *rest) for first, way, *rest in origins)
        return KeptFile(str(path), made, float(at), str(content), str(blob))
    except (ValueError, TypeError, RecursionError):
        return None
