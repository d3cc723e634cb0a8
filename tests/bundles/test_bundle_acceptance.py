"""Which bundle a machine takes, what it remembers, and that nothing it refuses changes what is in force."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles.fleets import DAY, NOW, Machine, packed, payload_of, signed
from lockgate.configuration.bundles import accepted
from lockgate.configuration.bundles import enrolment as joining
from lockgate.configuration.bundles.update import ACCEPTED, REFUSED, REVOKED
from lockgate.core.errors import BundleError


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    found = Machine(tmp_path)
    found.put(packed(5))
    assert found.serial() == 5
    found.news.clear()
    return found


def test_what_is_accepted_is_told_once_and_survives_restarts(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.put(packed(5))
    assert [machine.serial() for _ in range(3)] == [5, 5, 5]
    assert machine.events() == [ACCEPTED]
    assert machine.news[0].facts["serial"] == 5
    machine.source.unlink()  # what is in force needs no file
    assert (machine.serial(), machine.problems()) == (5, "")
    assert dict(machine.look().files()) == {"lockgate.yaml": b"table: {egress: deny}\n"}


def test_the_policy_is_read_in_either_alphabet(machine: Machine) -> None:
    text = b"# \xc3\xbf\xc3\xbf\xc3\xbe?~?~?~>>>\n"
    value = json.loads(packed(6, files={"lockgate.yaml": text}))
    assert set("+/") & set(value["payload"])
    value["payload"] = value["payload"].replace("+", "-").replace("/", "_")
    machine.put(json.dumps(value).encode())
    assert machine.serial() == 6
    assert machine.look().files()["lockgate.yaml"] == text


REFUSED_BUNDLES: dict[str, tuple[bytes, str]] = {
    "another key's": (packed(9, "eve"), "no pinned key"),
    "nobody's": (packed(9, "ann").replace(b'"sig"', b'"gis"'), "sig is missing"),
    "an old one": (packed(4), "old: its serial is 4, and 5"),
    "the same serial with another content": (
        packed(5, files={"lockgate.yaml": b"profile: observe\n"}),
        "another content",
    ),
    "another fleet's": (packed(9, fleet="other"), "for the fleet other"),
    "an expired one": (packed(9, expires=NOW), "expired"),
    "one from the future": (packed(9, created=NOW + 3 * DAY), "from the future"),
    "a policy that is not valid": (packed(9, files={"lockgate.yaml": b"profil: observe\n"}), "profil"),
    "patterns that are not valid": (packed(9, files={"patterns.yaml": b"patterns: 7\n"}), "patterns"),
    "a plugin beside a file": (packed(9, files={"lockgate.yaml": b"plugins: [./x.py]\n"}), "absolute"),
    "an unsigned policy": (b"profile: observe\n", "no JSON value"),
    "half a bundle": (packed(9)[:-40], "JSON"),
    "nothing": (b"", "ends too early"),
    "a path in it": (
        signed(payload_of(serial=9, files=[{"name": "../x", "sha256": "", "content": ""}]), "ann"),
        "no policy",
    ),
}


@pytest.mark.parametrize(("data", "problem"), REFUSED_BUNDLES.values(), ids=REFUSED_BUNDLES)
def test_what_is_refused_is_told_and_leaves_the_last_good_one_in_force(
    machine: Machine, data: bytes, problem: str
) -> None:
    machine.put(data)
    for _ in range(2):
        assert machine.serial() == 5
        assert problem in machine.problems()
    assert machine.events() == [REFUSED]
    assert problem in machine.news[0].facts["because"]
    machine.put(packed(10))
    assert (machine.serial(), machine.problems()) == (10, "")


def test_a_refused_first_bundle_leaves_nothing_in_force(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.put(packed(1, "eve"))
    assert machine.serial() == 0
    assert "no valid policy of the fleet acme" in machine.problems()
    assert "no pinned key" in machine.problems()


def test_the_same_bundle_again_is_nothing_new(machine: Machine) -> None:
    machine.put(packed(5, "ann", "bob"))  # signed by one more
    assert (machine.serial(), machine.problems(), machine.events()) == (5, "", [])


def test_an_expired_bundle_stays_in_force_and_is_told_of_also_when_the_clock_is_put_back(machine: Machine) -> None:
    machine.put(packed(6, expires=NOW + DAY))
    assert (machine.serial(), machine.problems()) == (6, "")
    assert "expired" in machine.problems(NOW + DAY)
    assert "expired" in machine.problems(NOW)  # it was seen to expire
    assert machine.serial(NOW) == 6
    os.utime(machine.source, (1, 1))  # and is no new bundle that would be refused for it
    assert "refused" not in machine.problems(NOW)


def test_a_clock_that_was_put_back_revives_no_expired_bundle(machine: Machine) -> None:
    machine.put(packed(6, created=NOW))
    assert machine.serial() == 6
    machine.put(packed(7, created=NOW - 9 * DAY, expires=NOW - DAY))
    assert machine.serial(NOW - 5 * DAY) == 6
    assert "expired" in machine.problems(NOW - 5 * DAY)


def test_a_bundle_from_the_future_is_taken_when_its_time_has_come(machine: Machine) -> None:
    machine.put(packed(6, created=NOW + 2 * DAY))
    assert machine.serial() == 5
    assert machine.serial(NOW + 30) == 5
    assert machine.serial(NOW + DAY + 61) == 6


def test_serials_of_fleets_are_counted_apart_and_never_forgotten(machine: Machine) -> None:
    machine.pin("ann", fleet="other")
    machine.put(packed(2, fleet="other"))
    assert machine.serial() == 2
    machine.pin("ann")
    machine.put(packed(4))
    assert machine.serial() == 0  # not the other fleet's, and not the old one
    assert "old: its serial is 4, and 5" in machine.problems()
    machine.put(packed(5))
    assert machine.serial() == 5


# ---------------------------------------------------------------- keys


def test_keys_are_rotated_without_a_gap(machine: Machine) -> None:
    machine.pin("ann", "bob")
    assert machine.serial() == 5
    machine.put(packed(6, "ann", "bob"))
    machine.pin("bob")
    assert (machine.serial(), machine.problems()) == (6, "")
    machine.put(packed(7, "ann"))
    assert machine.serial() == 6
    machine.put(packed(8, "bob"))
    assert machine.serial() == 8


def test_what_a_key_alone_has_signed_falls_with_the_key(machine: Machine) -> None:
    machine.pin("bob")
    assert machine.serial() == 0
    assert REVOKED in machine.events()
    machine.put(packed(4, "bob"))
    assert machine.serial() == 0  # and nothing old comes in its place
    machine.put(packed(6, "bob"))
    assert machine.serial() == 6


PINS = {
    "no JSON": b"{",
    "no keys": b'{"fleet": "acme", "keys": []}',
    "no key": b'{"fleet": "acme", "keys": ["ssh-rsa x"]}',
    "no fleet": b'{"keys": ["ssh-ed25519 x"]}',
    "a relative source": b'{"fleet": "acme", "keys": ["x"], "source": "x"}',
    "a key twice": b'{"fleet": "acme", "fleet": "other", "keys": ["x"]}',
    "nothing": b"",
}


@pytest.mark.parametrize("data", PINS.values(), ids=PINS)
def test_pins_that_cannot_be_used_leave_the_last_good_one_in_force(machine: Machine, data: bytes) -> None:
    path = machine.state / "policy" / "fleet.json"
    path.write_bytes(data)
    machine.put(packed(9, "eve"))
    assert machine.serial() == 5
    assert machine.problems()


def test_pins_that_others_can_write_are_not_believed(machine: Machine) -> None:
    (machine.state / "policy" / "fleet.json").chmod(0o666)
    machine.put(packed(9))
    assert machine.serial() == 5
    assert "others can write" in machine.problems()


def test_pins_that_are_gone_let_nobody_out_of_the_fleet(machine: Machine) -> None:
    (machine.state / "policy" / "fleet.json").unlink()
    assert machine.serial() == 5
    assert "the keys of acme are gone" in machine.problems()


def test_the_administrators_pins_go_before_the_users(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    managed = tmp_path / "etc"
    managed.mkdir()
    monkeypatch.setattr("lockgate.configuration.bundles.pins.find_managed_folder", lambda: str(managed))
    pins = json.loads((machine.state / "policy" / "fleet.json").read_text())
    (managed / "fleet.json").write_text(json.dumps({"fleet": "acme", "keys": pins["keys"]}))
    (managed / "policy.bundle").write_bytes(packed(7))
    machine.pin("eve")
    machine.put(packed(8, "eve"))
    assert machine.serial() == 7


# ---------------------------------------------------------------- what is kept


def test_a_record_that_is_damaged_locks_until_a_person_installs_a_bundle(machine: Machine) -> None:
    (machine.state / "policy" / "accepted.json").write_text("{")
    machine.put(packed(9))
    assert machine.serial() == 0
    assert "damaged" in machine.problems()
    joining.install(str(machine.state), packed(9), NOW, "x", machine.tell)
    assert (machine.serial(), machine.problems()) == (9, "")


def test_a_bundle_that_is_changed_on_the_disk_is_not_read(machine: Machine) -> None:
    path = Path(accepted.bundle_path(str(machine.state), machine.look().digest))
    path.write_bytes(packed(5, files={"lockgate.yaml": b"profile: observe\n"}))
    with pytest.raises(BundleError, match="changed"):
        machine.look().files()
    path.unlink()
    with pytest.raises(BundleError, match="cannot be read"):
        machine.look().files()


def test_a_look_that_may_not_write_sees_the_new_bundle_and_keeps_nothing(machine: Machine) -> None:
    before = sorted((machine.state / "policy").iterdir())
    machine.put(packed(6))
    found = machine.look(keep=False)
    assert found.current is not None
    assert (found.current.serial, list(found.files())) == (6, ["lockgate.yaml"])
    assert sorted((machine.state / "policy").iterdir()) == before
    assert machine.events() == []


def test_what_cannot_be_kept_holds_for_the_look_alone(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    machine.put(packed(6))
    with monkeypatch.context() as patch:
        patch.setattr("lockgate.configuration.bundles.storage.put", full)
        found = machine.look()
        assert found.current is not None
        assert (found.current.serial, list(found.files())) == (6, ["lockgate.yaml"])
    assert machine.serial() == 6


def test_only_a_few_bundles_are_kept(machine: Machine) -> None:
    for serial in range(6, 12):
        machine.put(packed(serial))
        assert machine.serial() == serial
    assert len(list((machine.state / "policy").glob("*.bundle"))) == 2
    assert {path.stat().st_mode & 0o777 for path in (machine.state / "policy").iterdir()} == {0o600}
    assert (machine.state / "policy").stat().st_mode & 0o777 == 0o700


def test_a_folder_as_source_and_a_source_that_is_none(machine: Machine) -> None:
    joining.pin(str(machine.state), "acme", machine.look().pins.keys, str(machine.source.parent), machine.tell)  # type: ignore[union-attr]
    machine.put(packed(6))
    assert machine.serial() == 6
    machine.source.unlink()
    os.mkfifo(machine.source)
    assert machine.serial() == 6
    assert "not a regular file" in machine.problems()


def test_a_file_that_is_written_twice_in_one_tick_is_noticed(machine: Machine) -> None:
    machine.put(packed(6))
    assert machine.serial() == 6
    before = machine.source.stat()
    bad = bytearray(machine.source.read_bytes())
    bad[20] ^= 1
    machine.source.write_bytes(bad)
    os.utime(machine.source, ns=(before.st_atime_ns, before.st_mtime_ns))
    path = machine.state / "policy" / "accepted.json"
    value = json.loads(path.read_text())
    [(source, [facts, *rest])] = value["looked"].items()
    about = machine.source.stat()
    facts = facts.rpartition(" ")[0] + f" {about.st_ctime_ns}"  # as if the clock had not gone on
    path.write_text(json.dumps({**value, "looked": {source: [facts, *rest]}}))
    assert machine.problems() == ""
    assert "refused" in "".join(map(str, machine.look(NOW + 3).problems))


def test_leaving_forgets_the_policy_and_not_the_serial(machine: Machine) -> None:
    joining.leave(str(machine.state), machine.tell)
    assert machine.events() == [joining.UNPINNED]
    machine.pin("ann")
    machine.put(packed(4))
    assert machine.serial() == 0


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from(["ann", "eve"]), st.integers(0, 1)), max_size=8))
def test_the_serial_in_force_only_grows(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str, int]]
) -> None:
    """Whatever comes in which order: what is in force has the highest serial of all that were good."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    highest = 0
    for serial, name, content in steps:
        machine.put(packed(serial, name, files={"lockgate.yaml": b"# %d\n" % content}))
        highest = max(highest, serial) if name == "ann" else highest
        assert machine.serial() == highest
