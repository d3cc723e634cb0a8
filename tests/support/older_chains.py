"""Making a state folder one of a version that did not say so in its first record, and kept no head outside of it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

from lockgate.store.chain_links import PURPOSE_BEGUN, ROOT, SCHEMA, canonical, hash_with_key, link_digest, seal
from lockgate.store.files import DATABASE, KEY
from lockgate.store.sqlite.rollback import KEPT_AT
from lockgate.system.folders import outside_folders
from support.unguarded import unguarded


def as_an_older_version(state: Path) -> None:
    """Leave a state folder as an older version has. It takes the key, which the person has."""
    key = (state / KEY).read_bytes()
    with sqlite3.connect(state / DATABASE) as database, unguarded(database):
        previous = ROOT
        rows = database.execute("SELECT seq, at, body FROM audit ORDER BY seq").fetchall()
        for seq, at, body in rows:
            text = canonical({name: value for name, value in json.loads(body).items() if name != SCHEMA})
            digest = link_digest(previous, seq, at, text)
            values = (text, previous, digest, seq)
            database.execute("UPDATE audit SET body = ?, previous = ?, digest = ? WHERE seq = ?", values)
            previous = digest
        database.execute("UPDATE audit_head SET digest = ?, seal = ?", (previous, seal(key, len(rows), previous)))
        database.execute("DELETE FROM settings WHERE name = ?", (KEPT_AT,))
        list_without_seals(database, key)
    database.close()
    shutil.rmtree(outside_folders(str(state))[0], ignore_errors=True)


def list_without_seals(database: sqlite3.Connection, key: bytes) -> None:
    """Have the list of who has begun as it was before it had the seal of each."""
    for part, marks in database.execute("SELECT part, marks FROM begun WHERE part >= 0").fetchall():
        text = "".join(f"{each[16]}{each[:16]}" for each in marks.split())
        mark = hash_with_key(key, PURPOSE_BEGUN, canonical({"begun": [part, text]}))
        database.execute("UPDATE begun SET marks = ?, seal = ? WHERE part = ?", (text, mark, part))
    database.execute("DELETE FROM begun WHERE part < 0")
