"""What `lockgate setup sandbox` prints, for each state of a machine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockgate.cli import setup
from lockgate.cli.main import cli
from lockgate.containment.host import launchers
from lockgate.containment.host_facts import SYSTEM_LAUNCHER, Host

NOTHING = Host(problem="cannot make namespaces")

MACHINES = {
    "everybody may make namespaces": (Host("namespaces", launcher="namespaces"), "1", True, 0, False),
    "the copy may already": (Host(launcher="namespaces", launched_by=SYSTEM_LAUNCHER), "1", True, 0, False),
    "AppArmor forbids it": (NOTHING, "1", True, 0, True),
    "AppArmor forbids it to all but bubblewrap": (Host("bubblewrap", "/usr/bin/bwrap"), "1", True, 0, True),
    "there is no launcher to allow it to": (NOTHING, "1", False, 1, False),
    "AppArmor is there, and allows it": (NOTHING, "0", True, 1, False),
    "there is no AppArmor": (NOTHING, "", True, 1, False),
}


@pytest.mark.parametrize(("able", "switch", "launcher", "code", "steps"), MACHINES.values(), ids=MACHINES)
def test_what_is_printed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    able: Host,
    switch: str,
    launcher: bool,
    code: int,
    steps: bool,
) -> None:
    monkeypatch.setattr(setup.sys, "platform", "linux")
    monkeypatch.setattr(setup, "try_again", lambda state: able)
    own, restricted = tmp_path / "own launcher", tmp_path / "restricted"
    if launcher:
        own.touch()
    if switch:
        restricted.write_text(f"{switch}\n")
    monkeypatch.setattr(setup, "launchers", lambda: (str(own), SYSTEM_LAUNCHER))
    monkeypatch.setattr(setup, "_RESTRICTED", str(restricted))
    text = CliRunner().invoke(cli, ["setup", "sandbox"])
    data = CliRunner().invoke(cli, ["setup", "sandbox", "--json"])
    found = json.loads(data.stdout)
    assert (text.exit_code, data.exit_code, bool(found["load"])) == (code, code, steps)
    assert found["why"] in text.stdout
    for name in ("load", "prove", "take_out"):
        assert bool(found[name]) is steps
        assert found[name] in text.stdout
    if steps:
        assert f"0755 '{own}' {SYSTEM_LAUNCHER} " in found["load"]
        assert found["profile"] == CliRunner().invoke(cli, ["setup", "sandbox", "--profile"]).stdout


def test_no_program_of_the_users_runs_as_root() -> None:
    commands = "\n".join(command for _, command in setup._apparmor_setup(*launchers()).steps)
    assert set(re.findall(r"sudo (\S+)", commands)) == {"install", "tee", "apparmor_parser", "grep", "rm"}


def test_the_profile_is_for_the_copy_and_what_it_starts_makes_no_namespace() -> None:
    first, second = re.findall(r"^profile .*?^\}", setup.profile(), re.DOTALL | re.MULTILINE)
    assert f"profile lockgate-contain {SYSTEM_LAUNCHER} " in first
    assert "allow userns," in first
    assert "-> &lockgate-contain//&lockgate-contained," in first
    assert "audit deny userns," in second
    assert "allow userns" not in second


@pytest.mark.parametrize("command", [command for _, command in setup._apparmor_setup(*launchers()).steps])
def test_the_commands_are_a_shells(command: str) -> None:
    shell = shutil.which("sh")
    assert shell is not None
    assert subprocess.run([shell, "-n", "-c", command], check=False).returncode == 0
