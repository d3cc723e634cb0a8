"""What keeps the audit of the shared database append-only: its tables, their guards, and what only functions may do."""

from __future__ import annotations

_TEXT = 'TEXT COLLATE "C" NOT NULL'

_AUDIT = (
    # A gate's row is the head of its chain too: appending locks it, and so one chain is written by one at a time.
    f"""
    CREATE TABLE lockgate.gates (
        gate {_TEXT} PRIMARY KEY,
        name {_TEXT},
        made_at DOUBLE PRECISION NOT NULL,
        seq BIGINT NOT NULL,
        digest {_TEXT},
        seal {_TEXT},
        anchored_seq BIGINT NOT NULL DEFAULT 0,
        anchored_at DOUBLE PRECISION NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50)
    """,
    f"""
    CREATE TABLE lockgate.audit (
        gate {_TEXT},
        seq BIGINT NOT NULL,
        at DOUBLE PRECISION NOT NULL,
        body {_TEXT},
        previous {_TEXT},
        digest {_TEXT},
        PRIMARY KEY (gate, seq)
    )
    """,
    f"""
    CREATE TABLE lockgate.audit_checkpoints (
        gate {_TEXT} PRIMARY KEY,
        seq BIGINT NOT NULL,
        digest {_TEXT},
        removed BIGINT NOT NULL,
        at DOUBLE PRECISION NOT NULL,
        seal {_TEXT} CHECK (length(seal) = 64)
    )
    """,
    f"""
    CREATE TABLE lockgate.anchors (
        n BIGINT PRIMARY KEY,
        at_us BIGINT NOT NULL,
        gate {_TEXT},
        seq BIGINT NOT NULL,
        head {_TEXT},
        previous {_TEXT},
        digest {_TEXT}
    )
    """,
    "CREATE INDEX anchors_by_gate ON lockgate.anchors (gate, seq)",
)

CHECKPOINT_RULE = """\
        IF before IS NULL AND NOT EXISTS (SELECT FROM lockgate.audit a WHERE a.gate = NEW.gate) THEN
            RETURN NEW;  -- a chain that is copied here begins so
        END IF;
        IF NEW.seq > coalesce(before, 0)
            AND NEW.digest = (SELECT a.digest FROM lockgate.audit a WHERE a.gate = NEW.gate AND a.seq = NEW.seq)
            AND position(NEW.seal IN
                (SELECT a.body FROM lockgate.audit a WHERE a.gate = NEW.gate ORDER BY a.seq DESC LIMIT 1)) > 0
        THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'no checkpoint without a record of it' USING ERRCODE = 'restrict_violation';"""
"""Which checkpoint both versions of its guard let in."""

_GUARDS = (
    """
    CREATE FUNCTION lockgate.append_only() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        RAISE EXCEPTION 'append only' USING ERRCODE = 'restrict_violation';
    END $$
    """,
    *(
        f"CREATE TRIGGER {table}_{name} BEFORE {what} ON lockgate.{table}"
        f" FOR EACH {'STATEMENT' if what == 'TRUNCATE' else 'ROW'} EXECUTE FUNCTION lockgate.append_only()"
        for table, whats in (
            ("audit", ("UPDATE", "TRUNCATE")),
            ("anchors", ("UPDATE", "DELETE", "TRUNCATE")),
            ("gates", ("DELETE", "TRUNCATE")),
            ("audit_checkpoints", ("DELETE", "TRUNCATE")),
        )
        for what in whats
        for name in (f"no_{what.lower()}",)
    ),
    # A record can be deleted only where a checkpoint has taken its place; a number is used once.
    """
    CREATE FUNCTION lockgate.audit_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        IF TG_OP = 'DELETE' THEN
            IF OLD.seq <= (SELECT c.seq FROM lockgate.audit_checkpoints c WHERE c.gate = OLD.gate) THEN
                RETURN OLD;
            END IF;
        ELSIF NEW.seq > (SELECT g.seq FROM lockgate.gates g WHERE g.gate = NEW.gate) THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'append only' USING ERRCODE = 'restrict_violation';
    END $$
    """,
    "CREATE TRIGGER audit_guard BEFORE INSERT OR DELETE ON lockgate.audit"
    " FOR EACH ROW EXECUTE FUNCTION lockgate.audit_guard()",
    """
    CREATE FUNCTION lockgate.gates_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        IF NEW.gate = OLD.gate AND (NEW.seq > OLD.seq OR (NEW.seq = OLD.seq AND NEW.digest = OLD.digest)) THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'a chain only goes forward' USING ERRCODE = 'restrict_violation';
    END $$
    """,
    "CREATE TRIGGER gates_forward BEFORE UPDATE ON lockgate.gates FOR EACH ROW EXECUTE FUNCTION lockgate.gates_guard()",
    f"""
    CREATE FUNCTION lockgate.checkpoint_guard() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    DECLARE before BIGINT := (SELECT c.seq FROM lockgate.audit_checkpoints c WHERE c.gate = NEW.gate);
    BEGIN
{CHECKPOINT_RULE}
    END $$
    """,  # noqa: S608 - a text of ours
    "CREATE TRIGGER checkpoint_guard BEFORE INSERT OR UPDATE ON lockgate.audit_checkpoints"
    " FOR EACH ROW EXECUTE FUNCTION lockgate.checkpoint_guard()",
)

APPEND_ANCHOR = """\
        LOCK TABLE lockgate.anchors IN SHARE ROW EXCLUSIVE MODE;
        SELECT coalesce(max(a.n), 0) + 1 INTO made.n FROM lockgate.anchors a;
        made.previous := coalesce((SELECT a.digest FROM lockgate.anchors a WHERE a.n = made.n - 1), repeat('0', 64));
        made.at_us := floor(extract(epoch FROM clock_timestamp()) * 1000000);
        SELECT g.gate, g.seq, g.digest INTO made.gate, made.seq, made.head FROM lockgate.gates g WHERE g.gate = chain;
        made.digest := encode(sha256(convert_to(concat_ws(E'\\n', 'lockgate anchor 1', made.previous, made.n,
            made.at_us, made.gate, made.seq, made.head), 'UTF8')), 'hex');
        INSERT INTO lockgate.anchors SELECT made.*;
        UPDATE lockgate.gates g SET anchored_seq = made.seq, anchored_at = made.at_us / 1e6 WHERE g.gate = chain;
        RETURN NEXT made;"""
"""How both versions of a function write the head of a chain as the next anchor."""

_ACTS = (
    # A gate's role has no right to delete records: this does it for one, as far as the guard above lets it.
    """
    CREATE FUNCTION lockgate.cut_audit(chain TEXT) RETURNS BIGINT
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
        WITH gone AS (
            DELETE FROM lockgate.audit a USING lockgate.audit_checkpoints c
            WHERE a.gate = chain AND c.gate = chain AND a.seq <= c.seq RETURNING 1
        ) SELECT count(*) FROM gone
    $$
    """,
    # Anchors are written by the database alone: it takes the head that is there, and links it to the anchor before.
    f"""
    CREATE FUNCTION lockgate.anchor(chain TEXT) RETURNS SETOF lockgate.anchors
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DECLARE made lockgate.anchors;
    BEGIN
        PERFORM g.gate FROM lockgate.gates g WHERE g.gate = chain FOR NO KEY UPDATE;
{APPEND_ANCHOR}
    END $$
    """,
    # Whoever waits for an answer, on whatever host, is woken as soon as it is committed.
    """
    CREATE FUNCTION lockgate.tell_of_approval() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        PERFORM pg_notify('lockgate_approvals', left(NEW.approval, 200));
        RETURN NULL;
    END $$
    """,
    "CREATE TRIGGER approvals_told AFTER INSERT OR UPDATE ON lockgate.approvals"
    " FOR EACH ROW EXECUTE FUNCTION lockgate.tell_of_approval()",
    "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA lockgate FROM PUBLIC",
)

AUDIT = (*_AUDIT, *_GUARDS, *_ACTS)
"""In the order in which they are made."""
