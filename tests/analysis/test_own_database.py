"""No agent reaches the gate's own store with a client of PostgreSQL; every other database is what it ever was."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from lockgate.analysis import analyse
from lockgate.core.model import Effect, EffectKind, ToolCall, Variant
from lockgate.gate.host.host_view import host_view_in
from lockgate.resources.host_view import HostView, OwnDatabase
from lockgate.shell.knowledge.lookup import table
from lockgate.system.folders import Folders

PROJECT = "/home/user/project"
STORE = OwnDatabase("lockgate", 5432)

OWN = [
    "psql lockgate -c 'select 1'",
    "psql -d lockgate -c 'select 1'",
    "psql --dbname=lockgate -c 'select 1'",
    "psql -dlockgate -c 'select 1'",
    "/usr/bin/psql -h /run/postgresql -p 5432 lockgate -c 'select 1'",
    "psql -h localhost -U lockgate_gate lockgate -c 'select 1'",
    "psql postgresql:///lockgate -c 'select 1'",
    "psql postgres://me@127.0.0.1/lockgate?sslmode=disable -c 'select 1'",
    "psql postgresql://me@localhost:5432/lockgate -c 'select 1'",
    "psql postgresql://localhost/%6cockgate -c 'select 1'",
    "psql 'postgresql://me:x#y@localhost/lockgate' -c 'select 1'",
    "psql 'postgresql://me:x?y@localhost/lockgate' -c 'select 1'",
    "psql 'postgresql://db.e.example#@localhost/lockgate' -c 'select 1'",
    "psql 'postgresql://localhost/other?dbname=lockgate' -c 'select 1'",
    "psql 'host=localhost dbname=lockgate' -c 'select 1'",
    "psql \"dbname='lockgate'\" -c 'select 1'",
    "psql 'dbname = lockgate' -c 'select 1'",
    "psql 'service=own' -c 'select 1'",
    "psql 'user=me' -c 'select 1'",
    "psql -c 'select 1'",
    "echo 'select 1' | psql",
    'psql "$DB" -c "select 1"',
    "psql $ARGS mydb -c 'select 1'",
    "PGDATABASE=lockgate psql -c 'select 1'",
    "export PGDATABASE=lockgate; psql -c 'select 1'",
    "psql -h \"$HOST\" lockgate -c 'select 1'",
    "psql -h db.e.example, lockgate -c 'select 1'",
    "psql -h db.e.example,localhost lockgate -c 'select 1'",
    "psql postgresql://db.e.example,localhost/lockgate -c 'select 1'",
    'psql -p "$PORT" lockgate -c "select 1"',
    "psql -p 5433 -p 05432 lockgate -c 'select 1'",
    "psql -h db.e.example 'host=localhost dbname=lockgate' -c 'select 1'",
    "psql mydb -c '\\c lockgate' -c 'select 1'",
    "psql mydb -c '\\connect lockgate'",
    "psql mydb -c '\\c \"lockgate\"'",
    "psql mydb -c '\\c dbname=lockgate'",
    "psql mydb <<'E'\n\\c lockgate\nselect 1;\nE",
    "printf '\\\\c lockgate\\nselect 1;' | psql mydb",
    "psql mydb -c '\\c :name'",
    "pgcli lockgate",
    "pg_dump lockgate",
    "pg_dump -Fc -f a.dump -d lockgate",
    "pg_dump --schema=lockgate",
    "pg_dumpall",
    "pg_basebackup -D copy",
    "pg_restore -d lockgate a.dump",
    "createdb -T lockgate copy",
    "createdb --template=lockgate copy",
    "dropdb lockgate",
    "pgbench -i lockgate",
    "vacuumdb -a",
    "vacuumdb --all -z",
    "sudo -u postgres psql lockgate -c 'select 1'",
    "cd /tmp && psql lockgate < dump.sql",
    "bash -c 'psql lockgate -c \"select 1\"'",
]
OTHERS = [
    "psql mydb -c 'select 1'",
    "psql -h localhost -U app mydb -c 'select 1'",
    "psql -U lockgate mydb -c 'select 1'",
    "psql mydb lockgate -c 'select 1'",
    "psql mydb -c 'select * from lockgate'",
    "psql postgres://user:pw@localhost/db -c 'select 1'",
    "psql postgresql:///db -c 'select 1'",
    "psql 'host=localhost dbname=x' -c 'select 1'",
    "psql -p 5433 lockgate -c 'select 1'",
    "psql postgresql://localhost:5433/lockgate -c 'select 1'",
    "psql 'port=5433 dbname=lockgate' -c 'select 1'",
    "psql -h db.e.example lockgate -c 'select 1'",
    "psql postgresql://db.e.example/lockgate -c 'select 1'",
    "psql mydb -c '\\c other' -c 'select 1'",
    "psql mydb -c '\\c - app'",
    "psql mydb <<'E'\n\\c other app\nselect 'lockgate';\nE",
    "psql mydb -c '\\copy t to x.csv'",
    "psql mydb -c '\\conninfo'",
    "PGDATABASE=mydb psql -c 'select 1'",
    'psql mydb -v id="$ID" -c "select 1"',
    "psql -l",
    "psql --version",
    "psql --help",
    "pg_dump mydb",
    "pg_dump -t lockgate mydb",
    "pg_dump -f lockgate mydb",
    "pg_restore -l lockgate",
    "pg_restore a.dump",
    "pg_restore -d mydb a.dump",
    "createdb",
    "createdb mydb",
    "dropdb mydb",
    "vacuumdb -z mydb",
    "pg_isready",
    "pg_isready -h localhost -p 5432",
    "initdb -D data",
    "mysql lockgate -e 'select 1'",
    "sqlite3 lockgate 'select 1'",
    "echo psql lockgate",
    "grep -r psql lockgate",
]


BYTES = [
    "nc 127.0.0.1 5432 < x",
    "nc localhost postgresql < x",
    "nc localhost $port < x",
    "socat FILE:x TCP:127.0.0.1:5432",
    "openssl s_client -starttls postgres -connect 127.0.0.1:5432",
    "cat x > /dev/tcp/127.0.0.1/5432",
    "exec 3<>/dev/tcp/localhost/70968",
]
NO_BYTES = [
    "nc -z localhost 5432",
    "nc localhost 5433 < x",
    "curl http://127.0.0.1:5432/",
    "psql -h 127.0.0.1 -p 5432 mydb -c 'select 1'",
    "pg_isready -h 127.0.0.1 -p 5432",
    "echo x > /dev/tcp/127.0.0.1/6379",
]


def found(command: str, own: OwnDatabase | None = STORE) -> list[Effect]:
    around = HostView(workspace=PROJECT, own_database=lambda: own)
    return list(analyse(ToolCall("Bash", {"command": command}, PROJECT), around).effects)


def is_stopped(effects: list[Effect]) -> bool:
    return (EffectKind.TAMPER, Variant.SELF, "address:own") in [
        (effect.kind, effect.variant, effect.rule) for effect in effects
    ]


@pytest.mark.parametrize("command", OWN)
def test_the_store_is_no_agents(command: str) -> None:
    assert is_stopped(found(command))


@pytest.mark.parametrize("command", OTHERS)
def test_another_database_is_what_it_ever_was(command: str) -> None:
    assert found(command) == found(command, None)


@pytest.mark.parametrize("command", OWN)
def test_without_a_store_on_this_machine_there_is_nothing_to_guard(command: str) -> None:
    assert not is_stopped(found(command, None))


@pytest.mark.parametrize("command", ["createuser -s me", "createuser -h localhost me", "dropuser me"])
def test_who_may_come_to_the_server_is_asked_about(command: str) -> None:
    assert (EffectKind.TAMPER, Variant.PLAIN) in [(effect.kind, effect.variant) for effect in found(command)]
    assert EffectKind.TAMPER not in [effect.kind for effect in found(command, None)]
    assert EffectKind.TAMPER not in [effect.kind for effect in found(f"{command} -p 5433")]


def test_a_store_at_another_port() -> None:
    own = OwnDatabase("lockgate", 6543)
    assert is_stopped(found("psql -p 6543 lockgate -c 'select 1'", own))
    assert is_stopped(found("psql lockgate -c 'select 1'", own))  # PGPORT may say it
    assert not is_stopped(found("psql postgresql://localhost/lockgate -c 'select 1'", own))


@pytest.mark.parametrize("host", ["desk", "DESK.", "desk,db.e.example"])
def test_a_store_by_the_name_of_its_machine(host: str) -> None:
    own = STORE._replace(host="Desk")
    assert is_stopped(found(f"psql -h {host} lockgate -c 'select 1'", own))
    assert is_stopped(found(f"psql postgresql://{host}/lockgate -c 'select 1'", own))
    assert not is_stopped(found(f"psql -h other-{host.partition(',')[0]} lockgate -c 'select 1'", own))


def test_the_table_names_programs_that_are_known() -> None:
    for name, client in table("postgresql_clients").items():
        assert set(client) <= {"names", "unless", "when", "every"}, name
        assert not found(f"{name} --help", None), name


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("postgresql:///lockgate", STORE),
        ("postgresql://me:pw@localhost/lockgate", STORE),
        ("postgresql://me:p%40@127.0.0.1:6543/lockgate?sslmode=disable", OwnDatabase("lockgate", 6543)),
        ("postgresql://[::1]:6543/lockgate", OwnDatabase("lockgate", 6543)),
        ("postgresql:///lock%20gate?host=/run/postgresql&port=6543", OwnDatabase("lock gate", 6543)),
        ("postgresql://%2Frun%2Fpostgresql/lockgate", STORE),
        ("postgresql://db.example.org,127.0.0.1:6543/lockgate?sslmode=verify-full", OwnDatabase("lockgate", 6543)),
        ("postgresql://db.example.org/lockgate?hostaddr=127.0.0.1", STORE),
        ("postgresql://{own}/lockgate?sslmode=verify-full", STORE),
        ("postgresql://{OWN}.:6543/lockgate?sslmode=verify-full", OwnDatabase("lockgate", 6543)),
        ("postgresql://db.example.org,{own}/lockgate?sslmode=verify-full", STORE),
        ("postgresql://LocalHost/lockgate", STORE),
        ("postgresql://not-{own}/lockgate?sslmode=verify-full", None),
        ("postgresql://db.example.org/lockgate?sslmode=verify-full", None),
        ("postgresql://10.0.0.1:5432/lockgate?sslmode=verify-full", None),
        ("nonsense://[", None),
    ],
)
def test_what_store_json_says(tmp_path: Path, url: str, own: OwnDatabase | None) -> None:
    where = Folders(str(tmp_path), str(tmp_path / "state"), str(tmp_path / "config"))
    around = host_view_in(where, PROJECT)
    assert around.own_database() is None
    (tmp_path / "state").mkdir(mode=0o700)
    path = tmp_path / "state" / "store.json"
    name = socket.gethostname()
    path.write_text(json.dumps({"url": url.replace("{own}", name).replace("{OWN}", name.upper())}))
    path.chmod(0o600)
    assert around.own_database() == (own and own._replace(host=name))
    path.write_text("{")
    assert around.own_database() is None


@pytest.mark.parametrize("command", BYTES)
def test_bytes_written_by_hand_do_not_reach_it_unseen(command: str) -> None:
    assert "address:own-store" in {effect.rule for effect in found(command)}
    assert "address:own-store" not in {effect.rule for effect in found(command, None)}


@pytest.mark.parametrize("command", NO_BYTES)
def test_who_only_knocks_or_speaks_otherwise_is_let(command: str) -> None:
    assert "address:own-store" not in {effect.rule for effect in found(command)}
