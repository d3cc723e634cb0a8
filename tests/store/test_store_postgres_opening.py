"""What a gate refuses to take for its store, what no environment can change, and what a gate's role may do."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest
from contract import SESSION

from lockgate.core.errors import StoreError
from lockgate.store.opening import open_existing, open_store
from lockgate.store.postgres import migrations as migrating
from lockgate.store.postgres import schema
from lockgate.store.postgres.migrations import migrate
from lockgate.store.postgres.opening import own_name
from lockgate.store.postgres.settings import address_of, database_near, without_password
from support.postgres import Server, use, write_something


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgresql://db.example.org/lockgate", "verify-full"),
        ("postgresql://db.example.org/lockgate?sslmode=require", "verify-full"),
        ("postgresql://db.example.org/lockgate?sslmode=verify-ca", "verify-full"),
        ("postgresql://127.0.0.1,db.example.org/lockgate", "verify-full"),
        ("postgresql://localhost/lockgate?hostaddr=192.0.2.1", "verify-full"),
        ("postgresql://10.0.0.1/lockgate", "verify-full"),
        ("postgresql://127.0.0.1.example.org/lockgate", "verify-full"),
        ("postgresql://db.example.org/", "verify-full|name a database"),
        ("postgresql:///?host=/tmp", "name a database"),
        ("postgresql:///lockgate?service=prod", "name no service"),
        ("postgresql:///lockgate?nonsense=1", "understands"),
        ("host=/tmp dbname=lockgate", "must begin with"),
        ("mysql://db/lockgate", "must begin with"),
        ("", "must begin with"),
    ],
)
def test_addresses_that_are_refused(url: str, problem: str) -> None:
    with pytest.raises(StoreError, match=problem):
        address_of(url)


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)  # as in a container that runs under any number
    assert address_of("postgresql:///lockgate")["user"] == str(os.geteuid())
    assert address_of("postgresql://ann@/lockgate")["user"] == "ann"
    assert own_name().startswith(f"{os.geteuid()}@")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://db.example.org/lockgate?sslmode=verify-full",
        "postgresql://a.example.org,b.example.org:5433/lockgate?sslmode=verify-full&sslrootcert=/etc/ca.pem",
        "postgresql://127.0.0.1/lockgate",
        "postgres://gate@[::1]:5433/lockgate",
        "postgresql://localhost/lockgate",
        "postgresql:///lockgate",
        "postgresql:///lockgate?host=/run/postgresql",
    ],
)
def test_addresses_that_are_taken(url: str) -> None:
    assert address_of(url)["target_session_attrs"] == "read-write"


HOSTILE = {
    "PGHOST": "/nonexistent",
    "PGHOSTADDR": "192.0.2.1",
    "PGPORT": "1",
    "PGUSER": "nobody_known",
    "PGDATABASE": "elsewhere",
    "PGOPTIONS": "-c default_transaction_read_only=on",
    "PGSSLMODE": "require",
    "PGSSLROOTCERT": "/nonexistent",
    "PGSSLCERTMODE": "require",
    "PGREQUIREAUTH": "scram-sha-256",
    "PGREQUIREPEER": "somebody",
    "PGTARGETSESSIONATTRS": "standby",
    "PGCONNECT_TIMEOUT": "nonsense",
    "PGCLIENTENCODING": "LATIN1",
    "PGPASSFILE": "/nonexistent",
    "PGMINPROTOCOLVERSION": "nonsense",
    "PGMAXPROTOCOLVERSION": "nonsense",
    "PGCHANNELBINDING": "require",
    "PGGSSENCMODE": "require",
    "PGLOADBALANCEHOSTS": "nonsense",
    "PGSERVICE": "elsewhere",
    "PGSERVICEFILE": "/nonexistent",
}


def test_no_variable_leads_elsewhere(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)
    write_something(tmp_path / "state", postgres_url)
    assert {name: os.environ[name] for name in HOSTILE} == HOSTILE, "they are the program's, and stay as they are"


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '"x"', "{}", '{"url": 1}', '{"url": "postgresql:///x", "gate": 1}', '{"url": "x", "more": 1}'],
)
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, text: str) -> None:
    state = use(tmp_path / "state", "postgresql:///x")
    (state / "store.json").write_text(text)
    for opened in (open_store, open_existing):
        with pytest.raises(StoreError, match="store use"):
            opened(str(state))


def test_a_file_that_others_may_have_put_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = use(tmp_path / "state", "postgresql:///x")
    path = state / "store.json"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="not a regular file"):
        open_store(str(state))
    path.unlink()
    (tmp_path / "elsewhere").rename(path)
    path.chmod(0o644)
    open_store(str(state)).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


ODD_PASSWORDS = ["pa#ss", "pa?s=s", "pa[ss", "pa]ss", "pa\u2100ss", "pa:ss", "pa,ss"]
"""What other addresses have none of without an escape, and libpq takes."""


@pytest.mark.parametrize("password", ["", *ODD_PASSWORDS])
def test_no_password_is_shown(password: str) -> None:
    url = f"postgresql://ann:{password}@db.example.org:5433/lockgate?sslmode=verify-full&sslpassword=hidden"
    assert address_of(url).get("password", "") == password
    assert (
        without_password(url) == "postgresql://ann:***@db.example.org:5433/lockgate?sslmode=verify-full&sslpassword=***"
    )


@pytest.mark.parametrize("name", ["scram_client_key", "scram_server_key", "oauth_client_secret", "password"])
def test_what_is_as_good_as_a_password_is_not_shown(name: str) -> None:
    assert without_password(f"postgresql:///lockgate?{name}=hidden") == f"postgresql:///lockgate?{name}=***"


@pytest.mark.parametrize("password", ODD_PASSWORDS)
def test_a_database_of_this_machine_is_known_whatever_its_password(tmp_path: Path, password: str) -> None:
    state = use(tmp_path / "state", f"postgresql://ann:{password}@localhost:5433/lockgate")
    assert database_near(str(state / "store.json")) == ("lockgate", 5433)


def test_a_database_without_tables_is_refused(tmp_path: Path, postgres_server: Server) -> None:
    with pytest.raises(StoreError, match="lockgate store migrate"):
        write_something(tmp_path / "state", postgres_server.url(postgres_server.database()))


@pytest.mark.parametrize(("version", "problem"), [(schema.VERSION + 1, "newer Lockgate"), (0, "older Lockgate")])
def test_another_version_is_refused_from_its_first_moment_on(
    tmp_path: Path, postgres_url: str, version: int, problem: str
) -> None:
    store = open_store(str(use(tmp_path / "state", postgres_url)))
    with store.transaction() as tx:
        tx.put_session(SESSION)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE lockgate.meta SET version = %s", (version,))
    with pytest.raises(StoreError, match=problem), store.transaction():
        pass
    with pytest.raises(StoreError, match=problem):
        store.clock() if store._ahead is None else store.reading().__enter__()
    store.close()


def test_an_older_database_is_migrated_once_by_two_at_a_time(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_something(tmp_path / "state", postgres_url)
    later = (*schema.MIGRATIONS, ("CREATE TABLE lockgate.later (x INT)", "INSERT INTO lockgate.later VALUES (1)"))
    for module in (schema, migrating):
        monkeypatch.setattr(module, "MIGRATIONS", later)
        monkeypatch.setattr(module, "VERSION", len(later))
    found = []
    threads = [threading.Thread(target=lambda: found.append(migrate(postgres_url))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted((done.before, done.after) for done in found) == [
        (len(later) - 1, len(later)),
        *[(len(later), len(later))] * 3,
    ]
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT x FROM lockgate.later").fetchall() == [(1,)]
    with pytest.raises(StoreError, match="newer Lockgate"):
        write_something(tmp_path / "state", postgres_url)
    monkeypatch.undo()
    with pytest.raises(StoreError, match="newer Lockgate"):
        migrate(postgres_url)


def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "MIGRATIONS", (*schema.MIGRATIONS, ("CREATE TABLE lockgate.x ()", "NONSENSE")))
    monkeypatch.setattr(migrating, "VERSION", schema.VERSION + 1)
    with pytest.raises(StoreError, match="cannot be made"):
        migrate(postgres_url)
    monkeypatch.undo()
    write_something(tmp_path / "state", postgres_url)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM lockgate.audit",
        "UPDATE lockgate.audit SET at = 1",
        "TRUNCATE lockgate.audit",
        "INSERT INTO lockgate.anchors VALUES (99, 1, 'x', 1, 'x', 'x', 'x')",
        "UPDATE lockgate.meta SET version = 9",
        "DELETE FROM lockgate.gates",
        "ALTER TABLE lockgate.audit DISABLE TRIGGER ALL",
        "DROP TABLE lockgate.audit",
        "CREATE TABLE lockgate.mine ()",
        "CREATE OR REPLACE FUNCTION lockgate.anchor(chain TEXT) RETURNS INT LANGUAGE sql AS 'SELECT 1'",
        "SET session_replication_role = replica",
    ],
)
def test_the_role_of_a_gate_can_do_its_work_and_no_more(
    tmp_path: Path, postgres_server: Server, postgres_url: str, statement: str
) -> None:
    if not postgres_server.execute("SELECT 1 FROM pg_roles WHERE rolname = 'gate'"):
        postgres_server.execute("CREATE ROLE gate LOGIN")
        postgres_server.execute("CREATE ROLE looker LOGIN")
    migrate(postgres_url, gate_roles=["gate"], reader_roles=["looker"])
    as_gate = postgres_url.replace("postgres@", "gate@")
    write_something(tmp_path / "state", as_gate)
    with psycopg.connect(as_gate, autocommit=True) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement)
    with psycopg.connect(postgres_url.replace("postgres@", "looker@"), autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM lockgate.audit").fetchall() == [(1,)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO lockgate.blocked (session, agent, what, at) VALUES ('', '', '', 1)")


def test_the_contents_of_a_users_own_schemas_are_never_asked(tmp_path: Path, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE public.sessions (session TEXT)")
        connection.execute(
            "CREATE FUNCTION public.pg_advisory_xact_lock(BIGINT) RETURNS INT LANGUAGE sql AS 'SELECT 1/0'"
        )
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET search_path = public")
    write_something(tmp_path / "state", postgres_url)


ISOLATED = """
import sys
sys.path.append(sys.argv[2])
from lockgate.store.opening import open_store
store = open_store(sys.argv[1])
with store.transaction() as tx:
    tx.append_audit(store.clock(), {"event": "test"})
store.close()
print("done")
"""


def test_a_process_without_site_packages_reaches_it(tmp_path: Path, postgres_url: str) -> None:
    source = str(Path(__file__).parents[2] / "src")
    state = str(use(tmp_path / "state", postgres_url))
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ISOLATED, state, source],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": os.defpath},
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


WITHOUT = """
import sys
sys.modules["psycopg"] = None
from lockgate.core.errors import StoreError
from lockgate.store.opening import open_store
try:
    open_store(sys.argv[1])
except StoreError as error:
    print(error)
"""


def test_without_the_library_the_gate_says_what_to_install(tmp_path: Path) -> None:
    state = str(use(tmp_path / "state", "postgresql:///x"))
    done = subprocess.run([sys.executable, "-c", WITHOUT, state], capture_output=True, text=True, timeout=60)
    assert "pip install '.[postgres]'" in done.stdout
