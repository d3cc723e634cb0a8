"""The tables of the shared database, and how an older one becomes a newer one.

``MIGRATIONS[n]`` takes a database from version ``n`` to ``n + 1``; the version stands in ``lockgate.meta``. A migration
that has been released is never changed: add another one.

Text is text and not ``jsonb``, because what is hashed must come back to the byte. Columns of text have the collation C:
they are compared as bytes, as SQLite does.
"""

from __future__ import annotations

from lockgate.store.postgres.schema_audit import AUDIT
from lockgate.store.postgres.schema_roles import BINDING
from lockgate.store.postgres.schema_rows import ROWS

SCHEMA = "lockgate"

_TEXT = 'TEXT COLLATE "C" NOT NULL'

_TABLES = (
    f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}",
    """
    CREATE TABLE lockgate.meta (
        id SMALLINT PRIMARY KEY CHECK (id = 1),
        version INTEGER NOT NULL,
        fleet_key BYTEA NOT NULL CHECK (length(fleet_key) = 32)
    )
    """,
    f"""
    CREATE TABLE lockgate.sessions (
        session {_TEXT} PRIMARY KEY,
        client {_TEXT},
        cwd {_TEXT},
        workspace {_TEXT},
        parent {_TEXT},
        how {_TEXT},
        process {_TEXT},
        started_at DOUBLE PRECISION NOT NULL,
        seen_at DOUBLE PRECISION NOT NULL,
        ended_at DOUBLE PRECISION NOT NULL,
        why {_TEXT}
    ) WITH (fillfactor = 80)
    """,
    # No index by seen_at: every event changes it, and an update that touches no index is much cheaper (HOT).
    "CREATE INDEX sessions_by_process ON lockgate.sessions (process)",
    "CREATE INDEX sessions_ended ON lockgate.sessions (ended_at) WHERE ended_at > 0",
    f"""
    CREATE TABLE lockgate.agents (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        session {_TEXT},
        agent {_TEXT},
        agent_type {_TEXT},
        parent {_TEXT},
        call_id {_TEXT},
        delegate {_TEXT},
        state {_TEXT} CHECK (state IN ('running', 'ended')),
        started_at DOUBLE PRECISION NOT NULL,
        parents {_TEXT},
        UNIQUE (session, agent)
    )
    """,
    f"""
    CREATE TABLE lockgate.taints (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        session {_TEXT},
        agent {_TEXT},
        label {_TEXT} CHECK (label IN ('untrusted', 'secret')),
        source {_TEXT},
        tool {_TEXT},
        call_id {_TEXT},
        at DOUBLE PRECISION NOT NULL,
        state {_TEXT} CHECK (state IN ('pending', 'confirmed')),
        origin {_TEXT},
        same BYTEA NOT NULL CHECK (length(same) = 16),
        UNIQUE (session, agent, same)
    )
    """,
    "CREATE INDEX taints_oldest ON lockgate.taints (session, agent, state, label, id)",
    "CREATE INDEX taints_pending ON lockgate.taints (session, call_id) WHERE state = 'pending'",
    f"""
    CREATE TABLE lockgate.calls (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        session {_TEXT},
        call_id {_TEXT},
        agent {_TEXT},
        tool {_TEXT},
        digest {_TEXT},
        state {_TEXT} CHECK (state IN ('running', 'asked', 'finished', 'failed', 'refused')),
        quiet {_TEXT},
        facts {_TEXT},
        at DOUBLE PRECISION NOT NULL,
        UNIQUE (session, call_id)
    )
    """,
    "CREATE INDEX calls_by_state ON lockgate.calls (session, state)",
    f"""
    CREATE TABLE lockgate.briefs (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        brief {_TEXT} UNIQUE,
        session {_TEXT},
        parent {_TEXT},
        call_id {_TEXT},
        digest {_TEXT},
        text {_TEXT},
        state {_TEXT} CHECK (state IN ('asked', 'approved', 'running', 'done', 'refused')),
        agent {_TEXT},
        at DOUBLE PRECISION NOT NULL
    )
    """,
    "CREATE INDEX briefs_by_session ON lockgate.briefs (session)",
    f"""
    CREATE TABLE lockgate.approvals (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        approval {_TEXT} UNIQUE,
        session {_TEXT},
        agent {_TEXT},
        client {_TEXT},
        call_id {_TEXT},
        digest {_TEXT},
        basis {_TEXT},
        about {_TEXT},
        state {_TEXT} CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'changed', 'used')),
        asked_at DOUBLE PRECISION NOT NULL,
        expires_at DOUBLE PRECISION NOT NULL,
        decided_at DOUBLE PRECISION NOT NULL,
        decided_by {_TEXT},
        reason {_TEXT}
    )
    """,
    "CREATE INDEX approvals_by_session ON lockgate.approvals (session, state)",
    "CREATE INDEX approvals_open ON lockgate.approvals (expires_at) WHERE state IN ('pending', 'approved')",
    f"""
    CREATE TABLE lockgate.blocked (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        session {_TEXT},
        agent {_TEXT},
        what {_TEXT},
        at DOUBLE PRECISION NOT NULL
    )
    """,
    "CREATE INDEX blocked_by_session ON lockgate.blocked (session)",
    f"""
    CREATE TABLE lockgate.addresses (
        session {_TEXT},
        key BYTEA NOT NULL,
        human SMALLINT NOT NULL,
        PRIMARY KEY (session, key)
    )
    """,
    f"""
    CREATE TABLE lockgate.settings (
        gate {_TEXT},
        name {_TEXT},
        value {_TEXT},
        PRIMARY KEY (gate, name)
    )
    """,
    f"""
    CREATE TABLE lockgate.policies (
        fleet {_TEXT} PRIMARY KEY,
        serial BIGINT NOT NULL,
        digest {_TEXT},
        data BYTEA NOT NULL
    )
    """,
)


_FIRST = (*_TABLES, *AUDIT)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, BINDING, ROWS)

VERSION = len(MIGRATIONS)
"""The version that this release reads and writes."""

_DATA = "sessions, agents, taints, calls, briefs, approvals, blocked, addresses, settings"

GATE_RIGHTS = (
    "GRANT USAGE ON SCHEMA lockgate TO {role}",
    "GRANT SELECT ON ALL TABLES IN SCHEMA lockgate TO {role}",
    *(f"GRANT INSERT, UPDATE, DELETE ON lockgate.{table} TO {{role}}" for table in _DATA.split(", ")),
    "GRANT INSERT ON lockgate.audit TO {role}",
    "GRANT INSERT, UPDATE ON lockgate.gates, lockgate.audit_checkpoints TO {role}",
    "GRANT UPDATE ON lockgate.locks TO {role}",
    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA lockgate TO {role}",
)
"""What the role of a gate may do, and no more: no DELETE of a record, and nothing with an anchor but have one made. A
fleet's policy it may only read. Whose gate a row is, the guards say."""

READER_RIGHTS = (
    "GRANT USAGE ON SCHEMA lockgate TO {role}",
    "GRANT SELECT ON ALL TABLES IN SCHEMA lockgate TO {role}",
    "REVOKE SELECT ON lockgate.meta FROM {role}",
    "GRANT SELECT (id, version, mark) ON lockgate.meta TO {role}",
)
"""What a role needs that only looks. Not the fleet's key, with which it could try out addresses."""
