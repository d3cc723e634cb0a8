"""A policy that is published in the store: every gate takes it, and none believes the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bundles.fleets import FLEET, NOW, Machine, packed, public
from lockgate.cli.main import cli
from lockgate.configuration.bundles import enrolment as joining
from lockgate.configuration.bundles.fleet import Fleet, look
from lockgate.core.errors import StoreError
from lockgate.store.opening import open_store
from lockgate.store.postgres.migrations import migrate
from lockgate.store.protocol import Store
from support.postgres import Server, use


class Gate:
    """One of the gates that share a store; each has a state folder of its own."""

    def __init__(self, root: Path, url: str = "") -> None:
        self.state = root / "state"
        self.state.mkdir(parents=True, mode=0o700)
        if url:
            use(self.state, url)
        joining.pin(str(self.state), FLEET, [public("ann")], "", lambda _: None)
        self.store: Store = open_store(str(self.state))

    def look(self) -> Fleet:
        found = look(str(self.state), NOW, tell=lambda _: None, store=self.store)
        assert found is not None
        return found

    def serial(self) -> int:
        current = self.look().current
        return current.serial if current else 0

    def publish(self, serial: int, data: bytes) -> bool:
        with self.store.transaction() as tx:
            return tx.put_policy(FLEET, serial, data)


@pytest.fixture
def gates(tmp_path: Path, postgres_url: str) -> Iterator[Callable[[str], Gate]]:
    made: list[Gate] = []

    def make(name: str) -> Gate:
        made.append(Gate(tmp_path / name, postgres_url))
        return made[-1]

    yield make
    for gate in made:
        gate.store.close()


def test_all_gates_of_a_store_take_what_is_published(gates: Callable[[str], Gate]) -> None:
    one, other = gates("one"), gates("other")
    assert one.publish(3, packed(3))
    assert (one.serial(), other.serial()) == (3, 3)
    assert other.publish(4, packed(4))
    assert (one.serial(), other.serial()) == (4, 4)
    assert not one.publish(3, packed(3))
    third = gates("third")
    assert third.serial() == 4


def test_who_owns_the_database_cannot_forge_a_policy_nor_bring_an_old_one(gates: Callable[[str], Gate]) -> None:
    gate = gates("one")
    gate.publish(3, packed(3))
    assert gate.serial() == 3
    gate.publish(4, packed(4, "eve"))
    assert gate.serial() == 3
    assert "the store: refused: no pinned key" in str(gate.look().problems[0])
    gate.publish(5, packed(2))  # said to be 5, and 2 by its signature
    assert gate.serial() == 3
    assert "old" in str(gate.look().problems)


def test_a_file_that_stays_behind_the_store_is_no_alarm(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.put(packed(3))
    assert machine.serial() == 3
    with open_store(str(machine.state)).transaction() as tx:
        tx.put_policy(FLEET, 4, packed(4))
    store = open_store(str(machine.state))
    for later in (0, 3, 6):
        found = look(str(machine.state), NOW + later, tell=machine.tell, store=store)
        assert found is not None
        assert found.current is not None
        assert (found.current.serial, found.problems) == (4, ())
    store.close()


def test_a_gates_own_role_can_read_a_policy_and_publish_none(tmp_path: Path, postgres_server: Server) -> None:
    name = postgres_server.store_database()
    postgres_server.execute("CREATE ROLE policy_reader LOGIN")
    try:
        migrate(postgres_server.url(name), gate_roles=["policy_reader"])
        owner = Gate(tmp_path / "owner", postgres_server.url(name))
        gate = Gate(tmp_path / "gate", postgres_server.url(name, "policy_reader"))
        owner.publish(1, packed(1))
        assert gate.serial() == 1
        with pytest.raises(StoreError, match="permission"):
            gate.publish(2, packed(2))
        owner.store.close()
        gate.store.close()
    finally:
        postgres_server.execute("DROP OWNED BY policy_reader", name)
        postgres_server.execute("DROP ROLE policy_reader")


# ---------------------------------------------------------------- the command


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(cli, ["policy", *arguments])
        assert result.exit_code == code, (result.output, result.stderr, result.exception)
        return result

    return invoke


def test_publishing_takes_what_a_gate_would_take_and_only_what_is_newer(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    for name, data in (("1", packed(1)), ("2", packed(2)), ("eve", packed(9, "eve")), ("not", b"profile: observe\n")):
        Path(f"{name}.bundle").write_bytes(data)
    Path("other.bundle").write_bytes(packed(9, fleet="other"))
    run("publish", "2.bundle", code=1)  # nothing is pinned
    run("pin", public("ann").line, "--fleet", FLEET, "--yes")
    assert "acme/2 is published" in run("publish", "2.bundle").output
    for name, problem in (("1", "not newer"), ("eve", "no pinned key"), ("other", "fleet other"), ("not", "JSON")):
        assert problem in run("publish", f"{name}.bundle", code=1).stderr
    assert json.loads(run("status", "--json").stdout)["policy"]["serial"] == 2
