"""What cannot be contained is not run."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from containment.machine import Machine
from lockgate.containment import backends
from lockgate.containment.backends import SandboxNotBuiltError
from lockgate.containment.host_facts import Host
from lockgate.containment.plan import READ_ONLY, Mount, Plan

pytestmark = pytest.mark.sampled

MADE = "touch made"


def _refuses(machine: Machine, *command: str, **more: object) -> str:
    done = machine.run(*command, **more)
    assert done.returncode == 125, done
    assert not (machine.project / "made").exists()
    assert "not run" in done.stderr
    return done.stderr


def test_a_host_that_cannot_contain(machine: Machine) -> None:
    machine.know("", problem="nothing is installed here")
    assert "nothing is installed here" in _refuses(machine, MADE)


@pytest.mark.parametrize("program", ["/bin/false", "/bin/true", "/nonexistent/bwrap", "/bin/sh"])
def test_a_sandbox_that_cannot_be_built(machine: Machine, program: str) -> None:
    machine.know("bubblewrap", program)
    _refuses(machine, MADE)
    assert not (machine.state / "containment.json").exists(), "it is tried anew"


def test_a_way_that_is_not_known(machine: Machine) -> None:
    machine.know("magic")
    _refuses(machine, MADE)


def test_a_folder_that_is_no_projects(machine: Machine) -> None:
    for folder in (machine.home, machine.home.parent, "/", "/usr", "/nonexistent"):
        machine.project, before = machine.project.__class__(folder), machine.project
        argv = machine.argv(MADE)
        machine.project = before
        done = machine._run(argv)
        assert done.returncode == 125, (folder, done)
    assert not (machine.project / "made").exists()


@pytest.mark.parametrize("options", [("--folder-to=x",), ("--no-network=no",), ("--background=1",), ("stray",)])
def test_arguments_that_are_not_understood(machine: Machine, options: tuple[str, ...]) -> None:
    _refuses(machine, MADE, options=options)


def test_a_configuration_that_cannot_be_read(machine: Machine) -> None:
    machine.end()  # a gate has read it already
    (machine.state / "lockgate.db").write_text("no database\n")
    _refuses(machine, MADE)


def test_a_folder_with_too_many_files(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    from lockgate.containment.protected_files import survey
    from lockgate.core.errors import ContainmentError
    from lockgate.resources.host_view import HostView
    from lockgate.resources.protected_paths import PathGuard

    for number in range(20):
        machine.file(f"f{number}")
    with pytest.raises(ContainmentError):
        list(survey(str(machine.project), PathGuard(HostView()), most=10))


# ---------------------------------------------------------------- what is gone between plan and mount
class Builder:
    """Bubblewrap behind a program that does something first, and counts how often it is started."""

    def __init__(self, machine: Machine, first: str, options: str = "") -> None:
        self._count = machine.root / "builds"
        program = machine.root / "builder"
        program.write_text(f'#!/bin/sh\necho x >> {self._count}\n{first}\nexec /usr/bin/bwrap {options} "$@"\n')
        program.chmod(0o755)
        machine.know("bubblewrap", str(program))

    @property
    def builds(self) -> int:
        """How often it was started, since the last time that this was asked."""
        found = len(self._count.read_text().split()) if self._count.exists() else 0
        self._count.unlink(missing_ok=True)
        return found


@pytest.fixture(params=["bubblewrap", "bubblewrap, native"])
def bubblewrap(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    """A machine with bubblewrap."""
    machine = Machine(tmp_path, "bubblewrap", native=request.param != "bubblewrap")
    try:
        machine.begin()
        yield machine
    finally:
        machine.end()


@pytest.mark.parametrize(("command", "status"), [("cat; echo made >&2; touch made", 0), ("touch made; exit 1", 1)])
def test_a_socket_that_is_gone_when_it_is_mounted(bubblewrap: Machine, command: str, status: int) -> None:
    path = bubblewrap.home / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        builder = Builder(bubblewrap, f"rm -f {path}")
        done = bubblewrap.run(command, input="given")
    assert (done.returncode, builder.builds) == (status, 2), done
    assert (bubblewrap.project / "made").exists()
    assert (done.stdout, done.stderr) == (("given", "made\n") if status == 0 else ("", "")), done


@pytest.mark.parametrize(
    ("command", "status"), [("exit 1", 1), ("exit 125", 125), ("kill -9 $$", 137), ("nothing", 127)]
)
def test_what_has_begun_is_never_run_again(bubblewrap: Machine, command: str, status: int) -> None:
    builder = Builder(bubblewrap, ":")
    done = bubblewrap.run(f"echo ran; {command}")
    assert (done.returncode, done.stdout, builder.builds) == (status, "ran\n", 1), done


def test_a_sandbox_that_never_stands_is_built_twice(bubblewrap: Machine) -> None:
    builder = Builder(bubblewrap, ":", "--ro-bind / / --ro-bind /etc/passwd /etc/none/$(printf 'a\\033')")
    said = _refuses(bubblewrap, MADE)
    assert builder.builds == 2
    assert said.count("\n") == 1, said
    assert "mkdir parents for /etc/none/" in said
    assert "\033" not in said


def test_who_is_ended_while_it_is_built_does_not_begin(bubblewrap: Machine) -> None:
    builder = Builder(
        bubblewrap, f"touch {bubblewrap.root}/building; sleep 1", "--ro-bind / / --ro-bind /bin /etc/none/a"
    )
    running = subprocess.Popen(bubblewrap.argv(MADE), cwd=bubblewrap.project, env=bubblewrap.environment)
    until = time.monotonic() + 20
    while not (bubblewrap.root / "building").exists() and time.monotonic() < until:
        time.sleep(0.02)
    running.terminate()
    assert (running.wait(20), builder.builds) == (128 + signal.SIGTERM, 1)


def test_what_the_kernel_cannot_mount_is_told_by_the_error(capfd: pytest.CaptureFixture[str]) -> None:
    mounts = (Mount(READ_ONLY, "/", "/"), Mount(READ_ONLY, "/etc/none/a", "/etc/passwd"))
    running = backends.start(Plan(mounts, "/", {}, ("/bin/true",)), Host("namespaces", "", ""))
    with pytest.raises(SandboxNotBuiltError, match="Read-only file system: '/new/etc/none'"):
        running.wait()
    assert capfd.readouterr().err == ""
