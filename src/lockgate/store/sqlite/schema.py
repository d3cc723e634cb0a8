"""The tables, and how an older database becomes a newer one.

``MIGRATIONS[n]`` takes a database from version ``n`` to ``n + 1``; the version stands in ``PRAGMA user_version``. A
migration that has been released is never changed: add another one, and count it in ``lockgate.store.files.VERSION``. A
hook that finds that version does not import the tables.
"""

from __future__ import annotations

# A call's state is checked without ``IN``: for more than two values SQLite makes a table of them each time it checks a
# row, which takes longer than writing the row does.
_FIRST = (
    """
    CREATE TABLE sessions (
        session TEXT PRIMARY KEY,
        client TEXT NOT NULL,
        cwd TEXT NOT NULL,
        workspace TEXT NOT NULL,
        parent TEXT NOT NULL,
        how TEXT NOT NULL,
        process TEXT NOT NULL,
        started_at REAL NOT NULL,
        seen_at REAL NOT NULL,
        ended_at REAL NOT NULL,
        why TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX sessions_by_seen ON sessions (seen_at)",
    "CREATE INDEX sessions_by_process ON sessions (process, seen_at)",
    """
    CREATE TABLE agents (
        id INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        agent TEXT NOT NULL,
        agent_type TEXT NOT NULL,
        parent TEXT NOT NULL,
        call_id TEXT NOT NULL,
        delegate TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('running', 'ended')),
        started_at REAL NOT NULL,
        parents TEXT NOT NULL,
        UNIQUE (session, agent)
    )
    """,
    """
    CREATE TABLE taints (
        id INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        agent TEXT NOT NULL,
        label TEXT NOT NULL CHECK (label IN ('untrusted', 'secret')),
        source TEXT NOT NULL,
        tool TEXT NOT NULL,
        call_id TEXT NOT NULL,
        at REAL NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('pending', 'confirmed')),
        origin TEXT NOT NULL,
        UNIQUE (session, agent, label, source, call_id, origin)
    )
    """,
    "CREATE INDEX taints_oldest ON taints (session, agent, state, label)",
    "CREATE INDEX taints_pending ON taints (session, call_id) WHERE state = 'pending'",
    """
    CREATE TABLE calls (
        id INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        call_id TEXT NOT NULL,
        agent TEXT NOT NULL,
        tool TEXT NOT NULL,
        digest TEXT NOT NULL,
        state TEXT NOT NULL CHECK (
            state = 'running' OR state = 'asked' OR state = 'finished' OR state = 'failed' OR state = 'refused'
        ),
        quiet TEXT NOT NULL,
        facts TEXT NOT NULL,
        at REAL NOT NULL,
        UNIQUE (session, call_id)
    )
    """,
    "CREATE INDEX calls_by_state ON calls (session, state)",
    """
    CREATE TABLE briefs (
        id INTEGER PRIMARY KEY,
        brief TEXT NOT NULL UNIQUE,
        session TEXT NOT NULL,
        parent TEXT NOT NULL,
        call_id TEXT NOT NULL,
        digest TEXT NOT NULL,
        text TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('asked', 'approved', 'running', 'done', 'refused')),
        agent TEXT NOT NULL,
        at REAL NOT NULL
    )
    """,
    "CREATE INDEX briefs_by_session ON briefs (session)",
    """
    CREATE TABLE blocked (
        id INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        agent TEXT NOT NULL,
        what TEXT NOT NULL,
        at REAL NOT NULL
    )
    """,
    "CREATE INDEX blocked_by_session ON blocked (session)",
    """
    CREATE TABLE addresses (
        session TEXT NOT NULL,
        key BLOB NOT NULL,
        human INTEGER NOT NULL,
        PRIMARY KEY (session, key)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE audit (
        seq INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        body TEXT NOT NULL,
        previous TEXT NOT NULL,
        digest TEXT NOT NULL
    )
    """,
    "CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'append only'); END",
    """
    CREATE TABLE audit_head (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        seq INTEGER NOT NULL,
        digest TEXT NOT NULL,
        seal TEXT NOT NULL
    )
    """,
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)

_APPROVALS = (
    """
    CREATE TABLE approvals (
        id INTEGER PRIMARY KEY,
        approval TEXT NOT NULL UNIQUE,
        session TEXT NOT NULL,
        agent TEXT NOT NULL,
        client TEXT NOT NULL,
        call_id TEXT NOT NULL,
        digest TEXT NOT NULL,
        basis TEXT NOT NULL,
        about TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'changed', 'used')),
        asked_at REAL NOT NULL,
        expires_at REAL NOT NULL,
        decided_at REAL NOT NULL,
        decided_by TEXT NOT NULL,
        reason TEXT NOT NULL
    )
    """,
    "CREATE INDEX approvals_by_session ON approvals (session, state)",
    "CREATE INDEX approvals_by_state ON approvals (state, expires_at)",
)

# The audit may be cut at its beginning, in one way only: a checkpoint first says how far, which needs a record of it in
# the chain; then records up to it can be deleted, and no other. A number that was used is never used again.
_RETENTION = (
    """
    CREATE TABLE audit_checkpoint (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        seq INTEGER NOT NULL,
        digest TEXT NOT NULL,
        removed INTEGER NOT NULL,
        at REAL NOT NULL,
        seal TEXT NOT NULL CHECK (length(seal) = 64)
    )
    """,
    """
    CREATE TRIGGER audit_checkpoint_forward BEFORE INSERT ON audit_checkpoint
    WHEN EXISTS (SELECT 1 FROM audit UNION ALL SELECT 1 FROM audit_checkpoint) AND NOT coalesce(
        NEW.seq > coalesce((SELECT seq FROM audit_checkpoint), 0)
        AND NEW.digest = (SELECT digest FROM audit WHERE seq = NEW.seq)
        AND instr((SELECT body FROM audit ORDER BY seq DESC LIMIT 1), NEW.seal) > 0, 0)
    BEGIN SELECT RAISE(ABORT, 'no checkpoint without a record of it'); END
    """,
    "CREATE TRIGGER audit_checkpoint_no_update BEFORE UPDATE ON audit_checkpoint"
    " BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "CREATE TRIGGER audit_checkpoint_no_delete BEFORE DELETE ON audit_checkpoint"
    " BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "DROP TRIGGER audit_no_delete",
    """
    CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
    WHEN OLD.seq > coalesce((SELECT seq FROM audit_checkpoint), 0)
    BEGIN SELECT RAISE(ABORT, 'append only'); END
    """,
    # INSERT OR REPLACE would remove a record without any trigger of DELETE.
    """
    CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit
    WHEN NEW.seq <= max(coalesce((SELECT max(seq) FROM audit), 0), coalesce((SELECT seq FROM audit_checkpoint), 0))
    BEGIN SELECT RAISE(ABORT, 'append only'); END
    """,
)

# Only calls that are out are looked for by their state. Those that have come back are many more: an index of all made
# each change of a state write pages all over it.
_CALLS_OUT = (
    "DROP INDEX calls_by_state",
    "CREATE INDEX calls_out ON calls (session, state) WHERE state = 'running' OR state = 'asked'",
)

# Older databases check a call's state with ``IN``, which is the same condition, and keep it: another one would take a
# copy of all calls. A hook that has to make that for a million is ended by its deadline, and the next one begins anew.
# A gate cannot come up beside them. So what a migration does must be done well within a hook's time.
_CALLS_CHECKED: tuple[str, ...] = ()

# How many taints each subject has, under a keyed hash. `create` fills it.
_LABEL_SEALS = (
    """
    CREATE TABLE label_seals (
        session TEXT NOT NULL,
        agent TEXT NOT NULL,
        untrusted INTEGER NOT NULL,
        untrusted_pending INTEGER NOT NULL,
        secret INTEGER NOT NULL,
        secret_pending INTEGER NOT NULL,
        seal TEXT NOT NULL,
        PRIMARY KEY (session, agent)
    ) WITHOUT ROWID
    """,
)

# Who has begun, and when: a session whose rows are all deleted must not begin anew. `create` fills both.
_BEGUN = (
    "ALTER TABLE label_seals ADD COLUMN began REAL NOT NULL DEFAULT 0",
    "CREATE TABLE begun (part INTEGER PRIMARY KEY, marks TEXT NOT NULL, seal TEXT NOT NULL)",
)

# A row that lets something run, or labels less, is nobody's word but Lockgate's. What an older version has written has
# no seal and loosens nothing; `create` seals settings that may go on.
_ROW_SEALS = tuple(
    f"ALTER TABLE {table} ADD COLUMN seal TEXT NOT NULL DEFAULT ''"
    for table in ("sessions", "agents", "calls", "briefs", "addresses", "settings")
)

# The list of who has begun has the seal of each, and the head names the list: no seal of before counts. A taint is
# nobody's word but Lockgate's, either. `create` fills both.
_NEWEST_SEALS = ("ALTER TABLE taints ADD COLUMN seal TEXT NOT NULL DEFAULT ''",)

# An answer of a person is nobody's word but Lockgate's, either. The list of who has begun tells of noes, and the head
# of settings, so that none goes missing. `create` fills all of them.
_SEALED_ANSWERS = ("ALTER TABLE approvals ADD COLUMN seal TEXT NOT NULL DEFAULT ''",)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    _FIRST,
    _APPROVALS,
    _RETENTION,
    _CALLS_OUT,
    _CALLS_CHECKED,
    _LABEL_SEALS,
    _BEGUN,
    _ROW_SEALS,
    _NEWEST_SEALS,
    _SEALED_ANSWERS,
)
