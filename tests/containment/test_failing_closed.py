"""What cannot be contained is not run."""

from __future__ import annotations

import pytest

from containment.machine import Machine

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
