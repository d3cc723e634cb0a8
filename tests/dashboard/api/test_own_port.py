"""The gate knows at which port a person is answered: for as long as a dashboard listens there, and no longer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lockgate.gate.host.host_view import own_ports
from lockgate.service.http.port_file import OwnPort
from support.api_server import Machine

KILLED = """
import os, signal, sys
from lockgate.service.http.port_file import OwnPort
OwnPort(sys.argv[1], 4001)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")


def test_no_agent_may_talk_to_a_running_dashboard(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with machine.serve() as server:
        assert own_ports(machine.state) == {server.port}
        assert "address:own" in machine.run("explain", "--json", f"curl -s {server.url}/api/v1/me").stdout
    assert own_ports(machine.state) == set()
    machine.store.close()


def test_dashboards_leave_each_others_marks_alone(state: str) -> None:
    # Nobody listens at these ports: what counts is who holds the mark, and not who can be reached from here.
    one, other, same = OwnPort(state, 4001), OwnPort(state, 4002), OwnPort(state, 4001)
    assert own_ports(state) == {4001, 4002}
    one.remove()
    assert own_ports(state) == {4001, 4002}
    same.remove()
    assert own_ports(state) == {4002}
    other.remove()
    assert own_ports(state) == set()


def test_the_mark_of_a_dashboard_that_was_killed_goes_with_the_next(state: str) -> None:
    subprocess.run([sys.executable, "-c", KILLED, state], check=False, timeout=60)
    assert own_ports(state) == {4001}
    again = OwnPort(state, 4002)
    assert own_ports(state) == {4002}
    OwnPort(state, 4001)
    assert own_ports(state) == {4001, 4002}
    again.remove()


def test_a_link_in_the_place_of_a_mark_is_not_followed(state: str, tmp_path: Path) -> None:
    OwnPort(state, 4001).remove()
    Path(state, "ports", "4001").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="4001"):
        OwnPort(state, 4001)
    assert not (tmp_path / "elsewhere").exists()
