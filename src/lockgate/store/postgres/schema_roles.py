"""What binds each gate of the shared database to the role that made it, and keeps a reader from holding up gates.

The database tells roles apart, and not gates. So the row of a gate names the role that put it there. The guards of its
chain let in nobody but that role, its members and the owner of the tables. Who asks is ``session_user``: neither ``SET
ROLE`` nor a function that runs with its owner's rights changes that.
"""

from __future__ import annotations

from lockgate.store.postgres.schema_audit import APPEND_ANCHOR, CHECKPOINT_RULE

SLOTS = 8192
"""Rows that stand for locks. Two sessions with the same one wait for each other, and are no more wrong for it."""

GATE_ROLES = (
    "SELECT r.rolname FROM pg_class c CROSS JOIN aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee"
    " WHERE c.oid = 'lockgate.audit'::regclass AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner"
)
"""The roles that have the rights of a gate."""

READER_ROLES = (
    "SELECT r.rolname FROM pg_class c CROSS JOIN"  # noqa: S608 - a text of ours
    " aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee"
    " WHERE c.oid = 'lockgate.sessions'::regclass AND a.privilege_type = 'SELECT' AND a.grantee <> c.relowner"
    f" AND r.rolname NOT IN ({GATE_ROLES})"
)
"""The roles that may only look."""

_ROLES = (
    """ALTER TABLE lockgate.gates ADD COLUMN role TEXT COLLATE "C" NOT NULL DEFAULT ''""",
    # Nobody noted who made the gates that are there. Where one role has made all of them, it is known.
    f"UPDATE lockgate.gates SET role = one.rolname FROM ({GATE_ROLES}) one"  # noqa: S608 - a text of ours
    f" WHERE (SELECT count(*) FROM ({GATE_ROLES}) each) = 1",
    """
    CREATE FUNCTION lockgate.is_owner() RETURNS BOOLEAN LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
        SELECT pg_has_role(session_user, c.relowner, 'MEMBER') FROM pg_class c
        WHERE c.oid = 'lockgate.gates'::regclass
    $$
    """,
    """
    CREATE FUNCTION lockgate.acts_for(bound TEXT) RETURNS BOOLEAN
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
        SELECT bound = session_user OR lockgate.is_owner() OR EXISTS (
            SELECT FROM pg_roles r WHERE r.rolname = bound AND pg_has_role(session_user, r.oid, 'MEMBER')
        )
    $$
    """,
    """
    CREATE FUNCTION lockgate.demand(chain TEXT) RETURNS VOID
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
    DECLARE bound TEXT := (SELECT g.role FROM lockgate.gates g WHERE g.gate = chain);
    BEGIN
        IF bound = session_user OR lockgate.acts_for(bound) THEN
            RETURN;
        END IF;
        RAISE EXCEPTION 'the gate % belongs to another role', left(chain, 8) USING ERRCODE = 'LG001';
    END $$
    """,
    """
    CREATE FUNCTION lockgate.gates_made() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        NEW.role := session_user;
        RETURN NEW;
    END $$
    """,
    "CREATE TRIGGER gates_made BEFORE INSERT ON lockgate.gates FOR EACH ROW EXECUTE FUNCTION lockgate.gates_made()",
)
"""``demand`` refuses a gate that is not there as well: ``bound`` is NULL then, and so is the condition."""

_CHAINS = (
    """
    CREATE OR REPLACE FUNCTION lockgate.audit_guard() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        IF TG_OP = 'DELETE' THEN
            PERFORM lockgate.demand(OLD.gate);
            IF OLD.seq <= (SELECT c.seq FROM lockgate.audit_checkpoints c WHERE c.gate = OLD.gate) THEN
                RETURN OLD;
            END IF;
        ELSE
            PERFORM lockgate.demand(NEW.gate);
            IF NEW.seq > (SELECT g.seq FROM lockgate.gates g WHERE g.gate = NEW.gate) THEN
                RETURN NEW;
            END IF;
        END IF;
        RAISE EXCEPTION 'append only' USING ERRCODE = 'restrict_violation';
    END $$
    """,
    """
    CREATE OR REPLACE FUNCTION lockgate.gates_guard() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        PERFORM lockgate.demand(OLD.gate);
        IF NEW.role <> OLD.role AND NOT lockgate.is_owner() THEN
            RAISE EXCEPTION 'only the owner gives a gate to another role' USING ERRCODE = 'LG001';
        END IF;
        IF NEW.gate = OLD.gate AND (NEW.seq > OLD.seq OR (NEW.seq = OLD.seq AND NEW.digest = OLD.digest)) THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'a chain only goes forward' USING ERRCODE = 'restrict_violation';
    END $$
    """,
    f"""
    CREATE OR REPLACE FUNCTION lockgate.checkpoint_guard() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    DECLARE before BIGINT := (SELECT c.seq FROM lockgate.audit_checkpoints c WHERE c.gate = NEW.gate);
    BEGIN
        PERFORM lockgate.demand(NEW.gate);
        IF TG_OP = 'UPDATE' AND NEW.gate <> OLD.gate THEN
            RAISE EXCEPTION 'append only' USING ERRCODE = 'restrict_violation';
        END IF;
{CHECKPOINT_RULE}
    END $$
    """,  # noqa: S608 - a text of ours
    # Both of these run with their owner's rights, and so must ask first who is asking.
    """
    CREATE OR REPLACE FUNCTION lockgate.cut_audit(chain TEXT) RETURNS BIGINT
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DECLARE gone BIGINT;
    BEGIN
        PERFORM lockgate.demand(chain);
        DELETE FROM lockgate.audit a USING lockgate.audit_checkpoints c
            WHERE a.gate = chain AND c.gate = chain AND a.seq <= c.seq;
        GET DIAGNOSTICS gone = ROW_COUNT;
        RETURN gone;
    END $$
    """,
    f"""
    CREATE OR REPLACE FUNCTION lockgate.anchor(chain TEXT) RETURNS SETOF lockgate.anchors
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DECLARE made lockgate.anchors;
    BEGIN
        PERFORM g.gate FROM lockgate.gates g WHERE g.gate = chain FOR NO KEY UPDATE;
        IF NOT FOUND THEN
            RETURN;  -- nothing was recorded
        END IF;
        PERFORM lockgate.demand(chain);
{APPEND_ANCHOR}
    END $$
    """,
    # What a gate trusts is its own. One that has recorded nothing yet has no row, and an id that nobody can guess.
    """
    CREATE FUNCTION lockgate.settings_guard() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    DECLARE other TEXT;
    BEGIN
        FOR other IN SELECT g.gate FROM lockgate.gates g
            WHERE (TG_OP <> 'DELETE' AND g.gate = NEW.gate) OR (TG_OP <> 'INSERT' AND g.gate = OLD.gate)
        LOOP
            PERFORM lockgate.demand(other);
        END LOOP;
        IF TG_OP = 'DELETE' THEN
            RETURN OLD;
        END IF;
        RETURN NEW;
    END $$
    """,
    "CREATE TRIGGER settings_guard BEFORE INSERT OR UPDATE OR DELETE ON lockgate.settings"
    " FOR EACH ROW EXECUTE FUNCTION lockgate.settings_guard()",
)

_LOCKS = (
    # To lock a row takes the right to change it, which a reader has not; anybody may take an advisory lock.
    "CREATE TABLE lockgate.locks (slot INTEGER PRIMARY KEY)",
    f"INSERT INTO lockgate.locks SELECT generate_series(0, {SLOTS - 1})",
    "CREATE TRIGGER locks_stay BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON lockgate.locks"
    " FOR EACH STATEMENT EXECUTE FUNCTION lockgate.append_only()",
    # A record and the head that it makes, in one statement: two would be two answers for the gate to take apart.
    """
    CREATE FUNCTION lockgate.append(TEXT, BIGINT, DOUBLE PRECISION, TEXT, TEXT, TEXT, TEXT) RETURNS VOID
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        INSERT INTO lockgate.audit (gate, seq, at, body, previous, digest) VALUES ($1, $2, $3, $4, $5, $6);
        UPDATE lockgate.gates SET seq = $2, digest = $6, seal = $7 WHERE gate = $1;
    END $$
    """,
    # By this a process knows the database again without the key, which a reader does not get.
    "ALTER TABLE lockgate.meta ADD COLUMN mark TEXT GENERATED ALWAYS AS (encode(sha256(fleet_key), 'hex')) STORED",
    "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA lockgate FROM PUBLIC",
)

BINDING = (*_ROLES, *_CHAINS, *_LOCKS)
"""In the order in which they are made."""
