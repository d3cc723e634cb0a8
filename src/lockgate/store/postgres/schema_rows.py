"""What keeps the role of one gate from loosening what another's has written about sessions.

Each row names the role that put it there. Every gate may add to a session, because a session may go on elsewhere. What
was added only that role changes, its members, and the owner of the tables. A change or a deletion that is another's is
left undone without an error: a label stays, and the gate that wanted to drop it goes on. Rows of older databases name
no role, and are everybody's as before.
"""

from __future__ import annotations

OWNED = ("sessions", "agents", "taints", "calls", "briefs", "approvals", "addresses")
"""The tables whose rows name a role."""

_GUARD = """
    CREATE FUNCTION lockgate.{table}_rows() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            NEW.role := session_user;
            RETURN NEW;
        END IF;
        IF TG_OP = 'DELETE' THEN
            IF lockgate.is_mine(OLD.role) THEN
                RETURN OLD;
            END IF;
            RETURN NULL;
        END IF;
        IF NEW.role <> OLD.role AND NOT lockgate.is_owner() THEN
            NEW.role := OLD.role;
        END IF;
        IF {may_change} THEN
            RETURN NEW;
        END IF;
        RETURN NULL;
    END $$
"""
_TRIGGER = (
    "CREATE TRIGGER {table}_rows BEFORE INSERT OR UPDATE OR DELETE ON lockgate.{table}"
    " FOR EACH ROW EXECUTE FUNCTION lockgate.{table}_rows()"
)


def _same(*columns: str) -> str:
    return " AND ".join(f"NEW.{column} = OLD.{column}" for column in columns)


_MINE = "lockgate.is_mine(OLD.role)"
_CHANGES = {
    # When it was seen last must not go back: retention would forget the session.
    "sessions": f"{_MINE} OR ({_same('session', 'started_at', 'parent', 'how')} AND NEW.seen_at >= OLD.seen_at)",
    "agents": f"{_MINE} OR ({_same('session', 'agent', 'parent', 'parents', 'call_id', 'started_at')}"
    " AND NEW.delegate IN ('', OLD.delegate))",
    # Nobody but the owner changes a label in any other way.
    "taints": f"lockgate.is_owner() OR (NEW.state = 'confirmed' AND {_same('session', 'agent', 'label', 'source')}"
    f" AND {_same('tool', 'call_id', 'at', 'origin', 'same')})",
    "calls": _MINE,
    "briefs": _MINE,
    # A person may answer at any gate: that they did, the chain of that gate proves.
    "approvals": f"{_MINE} OR (OLD.state IN ('pending', 'approved')"
    f" AND {_same('approval', 'session', 'agent', 'call_id', 'digest', 'basis', 'asked_at', 'expires_at')})",
    "addresses": _MINE,
}

ROWS = (
    *(f"""ALTER TABLE lockgate.{table} ADD COLUMN role TEXT COLLATE "C" NOT NULL DEFAULT ''""" for table in OWNED),
    # An address counts by who has added it: so two roles may both add it.
    "ALTER TABLE lockgate.addresses DROP CONSTRAINT addresses_pkey, ADD PRIMARY KEY (session, key, role)",
    """
    CREATE FUNCTION lockgate.is_mine(bound TEXT) RETURNS BOOLEAN
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        RETURN bound = session_user OR bound = '' OR lockgate.acts_for(bound);
    END $$
    """,
    *(_GUARD.format(table=table, may_change=_CHANGES[table]) for table in OWNED),
    *(_TRIGGER.format(table=table) for table in OWNED),
    "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA lockgate FROM PUBLIC",
)
"""In the order in which they are made."""

OWN = "a.role IN ('', session_user)"
"""Whether an address ``a`` is this role's own: only such a one goes on to another session."""
TRUSTED = f"({OWN} OR a.role = (SELECT s.role FROM lockgate.sessions s WHERE s.session = a.session))"  # noqa: S608 - ours
"""Whether an address ``a`` counts: this role has added it, or the one that the session belongs to."""
