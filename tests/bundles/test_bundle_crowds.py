"""Many gates at once, and gates that are killed: what is in force is one whole bundle, and never an older one."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

from bundles.fleets import NOW, Machine, packed, private
from lockgate.configuration.bundles import accepted
from lockgate.configuration.bundles import enrolment as joining
from lockgate.configuration.bundles.fleet import look
from lockgate.configuration.bundles.update import ACCEPTED, News


def _apart(work: Callable[[], None]) -> int:
    """Run something in a process of its own, which ends at once after it."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1000)
    except BlockingIOError:
        return b""


def test_a_crowd_accepts_a_bundle_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    private("ann")  # before the processes part
    machine.put(packed(3))
    told = tmp_path / "told"

    def tell(news: list[News]) -> None:
        with told.open("a") as file:
            file.writelines(f"{each.event} {each.facts['serial']}\n" for each in news)

    def work() -> None:
        for _ in range(5):
            found = look(str(machine.state), NOW, tell=tell)  # type: ignore[arg-type]
            serial = found.current.serial if found and found.current else 0
            with (tmp_path / "seen").open("a") as file:
                file.write(f"{serial}\n")

    for pid in [_apart(work) for _ in range(8)]:
        os.waitpid(pid, 0)
    assert told.read_text().splitlines() == [f"{ACCEPTED} 3"]
    assert (tmp_path / "seen").read_text().splitlines() == ["3"] * 40


def test_writers_with_bundles_of_their_own_end_with_the_newest(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    bundles = {serial: packed(serial) for serial in range(1, 9)}

    def install(serial: int) -> None:
        joining.install(str(machine.state), bundles[serial], NOW, "x", lambda _: None)

    for pid in [_apart(lambda serial=serial: install(serial)) for serial in bundles]:  # type: ignore[misc]
        os.waitpid(pid, 0)
    assert machine.serial() == 8
    assert accepted.read_accepted(str(machine.state)).highest["acme"][0] == 8


def test_a_gate_that_is_killed_leaves_the_old_bundle_or_the_new_one(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    bundles = [packed(serial, files={"lockgate.yaml": b"# %d\n" % serial + b"#" * 50_000}) for serial in range(1, 400)]
    joining.install(str(machine.state), bundles[0], NOW, "x", lambda _: None)

    reading, writing = os.pipe()

    def install_all(after: int) -> None:
        for data in bundles[after:]:
            joining.install(str(machine.state), data, NOW, "x", lambda _: None)
            os.write(writing, b".")

    before = 1
    rng = random.Random(7)
    for _ in range(20):
        pid = _apart(lambda after=before: install_all(after))  # type: ignore[misc]
        os.read(reading, 1)  # it is at work
        time.sleep(rng.uniform(0.0, 0.03))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        found = machine.look()
        assert found.current is not None
        assert found.problems == ()
        assert before <= found.current.serial
        assert found.files()["lockgate.yaml"].startswith(b"# %d\n" % found.current.serial)
        before = found.current.serial
        os.set_blocking(reading, False)
        while _read(reading):
            pass
        os.set_blocking(reading, True)
    assert before > 20
    joining.install(str(machine.state), packed(1000), NOW, "x", lambda _: None)
    assert [path.name for path in (machine.state / "policy").iterdir() if path.name.endswith(".draft")] == []


def test_a_bundle_that_is_written_slowly_is_taken_when_it_is_whole(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.put(packed(1))
    assert machine.serial() == 1
    data = packed(2)
    for end in range(0, len(data), 97):
        with machine.source.open("wb") as file:
            file.write(data[:end])
        assert machine.serial() == 1
    machine.source.write_bytes(data)
    assert (machine.serial(), machine.problems()) == (2, "")


def test_what_is_kept_is_plain_json(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.put(packed(1))
    machine.look()
    value = json.loads((machine.state / "policy" / "accepted.json").read_text())
    assert value["current"]["serial"] == 1
