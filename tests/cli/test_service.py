"""``lockgate service``: what systemd and launchd are told, and how.

No service manager runs here: stand-ins take notes.
"""

from __future__ import annotations

import json
import plistlib
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockgate.cli import service
from lockgate.cli.service import units as service_files
from lockgate.cli.service.managers import manager
from lockgate.clients.hook.start_resident import PROGRAM
from lockgate.system.folders import Folders
from support import forked

ODD = 'a b%h$HOME"\\x'
"""Everything in a path that systemd would take for something else."""

ANALYZE = list(filter(None, [shutil.which("systemd-analyze")]))
"""systemd's own check of a unit, where there is one."""
LINUX = pytest.mark.parametrize("name", ["systemd"] if sys.platform == "linux" else [])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder, and a ``systemctl`` that notes what it is asked."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("systemctl", "launchctl"):
        program = programs / name
        program.write_text(f'#!/bin/sh\necho "$*" >>{shlex.quote(str(tmp_path / "asked"))}\nexit ${{FAIL:-0}}\n')
        program.chmod(0o755)
    (tmp_path / "asked").touch()
    return tmp_path


def lockgate(home: Path, *words: str, code: int = 0, **environ: str) -> str:
    environment = {"HOME": str(home), "PATH": f"{home / 'bin'}:/usr/bin:/bin", **environ}
    done = forked.run_text(["service", *words], cwd=home, env=environment)
    assert done.returncode == code, done
    return done.stdout + done.stderr


def test_the_unit_runs_the_gate_and_nothing_of_the_environment() -> None:
    text = service_files.unit(["/p/python", "-I", "/w/a.py"], {"PATH": "/bin", "HOME": "/h"}, 75)
    lines = text.splitlines()
    assert 'ExecStart="/p/python" "-I" "/w/a.py"' in lines
    assert 'Environment="PATH=/bin"' in lines
    assert {"NoNewPrivileges=yes", "Restart=on-failure", "UMask=0077", "LockPersonality=yes"} <= set(lines)


def test_the_unit_leaves_the_gate_the_files_that_hooks_see() -> None:
    """It answers no hook that sees others, so nothing may give it a view of its own; and it tries out namespaces."""
    text = service_files.unit(["/p"], {}, 75)
    for word in ("Private", "Protect", "ReadOnly", "Inaccessible", "RootDirectory", "RestrictNamespaces", "Dynamic"):
        assert word not in text


def test_a_sandbox_with_the_set_user_id_bit_keeps_it() -> None:
    assert "NoNewPrivileges" not in service_files.unit(["/p"], {}, 75, hardened=False)


@pytest.mark.parametrize(
    ("word", "spelt"),
    [
        ("a b", '"a b"'),
        ("100%", '"100%%"'),
        ("$HOME", '"$$HOME"'),
        ('say "x"', '"say \\"x\\""'),
        ("back\\slash", '"back\\\\slash"'),
        ("ä", '"ä"'),
    ],
)
def test_words_are_taken_as_they_are(word: str, spelt: str) -> None:
    assert f'ExecStart="/p" {spelt}' in service_files.unit(["/p", word], {}, 75).splitlines()


@pytest.mark.parametrize("word", ["a\nExecStart=/x", "a\0b", "\x1b[2J"])
def test_a_word_cannot_begin_a_line(word: str) -> None:
    with pytest.raises(ValueError, match="control character"):
        service_files.unit([word], {}, 75)
    with pytest.raises(ValueError, match="control character"):
        service_files.unit(["/p"], {"HOME": word}, 75)


@pytest.mark.parametrize("path", ['/a"b', "/a'b", "/a\\b"])
def test_a_program_that_systemd_cannot_run(path: str) -> None:
    with pytest.raises(ValueError, match="runs no program"):
        service_files.unit([path], {}, 75)


def test_the_property_list_says_the_same() -> None:
    command = ["/p/python", "-I", f"/w/{ODD}"]
    job = plistlib.loads(service_files.property_list(command, {"PATH": "/bin"}))
    assert job["ProgramArguments"] == command
    assert job["EnvironmentVariables"] == {"PATH": "/bin"}
    assert job["RunAtLoad"] is True
    assert job["KeepAlive"] == {"SuccessfulExit": False}


def test_the_property_list_has_keys_and_types_of_launchd() -> None:
    """As launchd.plist(5) has them. A string for the umask is octal; a number is what it is."""
    kinds: dict[str, type] = {
        "Label": str,
        "ProgramArguments": list,
        "EnvironmentVariables": dict,
        "WorkingDirectory": str,
        "RunAtLoad": bool,
        "KeepAlive": dict,
        "ThrottleInterval": int,
        "ProcessType": str,
        "Umask": int,
    }
    text = service_files.property_list(["/p/python", "ä <&> b"], {"PATH": "/bin"})
    job = plistlib.loads(text)
    assert {name: type(value) for name, value in job.items()} == kinds
    assert job["ProcessType"] in {"Background", "Standard", "Adaptive", "Interactive"}
    assert job["Umask"] == 0o077
    assert all(isinstance(word, str) for word in (*job["ProgramArguments"], *job["EnvironmentVariables"].values()))
    assert text.startswith(b"<?xml")


@pytest.mark.parametrize("analyze", ANALYZE)
def test_systemd_understands_the_unit(tmp_path: Path, analyze: str) -> None:
    program = tmp_path / "a b%h$HOME ä"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / service_files.UNIT
    unit.write_text(service_files.unit([str(program), ODD], {"PATH": "/bin", "HOME": ODD}, 75))
    environment = {"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
    command = [analyze, "--user", "verify", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_each_manager_runs_the_gate_of_these_folders_for_ever(tmp_path: Path, platform: str) -> None:
    found = manager(Folders(str(tmp_path), "/s", "/c"), platform, 501)
    text = found.text.decode()
    for word in (PROGRAM, "--state", "/s", "--config", "/c", "--idle", "--replace"):
        assert word in text
    assert found.path.startswith(str(tmp_path))
    if platform == "darwin":
        assert found.up == (("launchctl", "bootstrap", "gui/501", found.path),)


@LINUX
def test_from_install_to_uninstall(home: Path, name: str) -> None:
    unit = home / ".config" / "systemd" / "user" / service_files.UNIT
    assert "not installed" in lockgate(home, "status", code=1)
    assert "ExecStart=" in lockgate(home, "install", "--dry-run")
    assert not unit.exists()
    assert "runs the gate now" in lockgate(home, "install")
    assert (home / "asked").read_text().splitlines()[-3:] == [
        "--user daemon-reload",
        f"--user enable {service_files.UNIT}",
        f"--user restart {service_files.UNIT}",
    ]
    told = json.loads(lockgate(home, "status", "--json"))
    assert told == {"manager": name, "file": str(unit), "installed": True, "current": True, "runs": True}
    unit.write_text(unit.read_text() + "# changed\n")
    assert "not what this version would write" in lockgate(home, "status", code=1)
    lockgate(home, "install", "--no-start")
    assert "removed" in lockgate(home, "uninstall")
    assert not unit.exists()
    assert "not installed" in lockgate(home, "uninstall")


@LINUX
def test_a_manager_that_is_not_there(home: Path, name: str) -> None:
    assert "failed: exit status 3" in lockgate(home, "install", code=1, FAIL="3")
    assert not (home / ".config").exists()
    assert (home / "asked").read_text().splitlines()[-2:] == [
        f"--user disable --now {service_files.UNIT}",
        "--user daemon-reload",
    ]
    (home / "bin" / "systemctl").unlink()
    assert "there is no systemctl here" in lockgate(home, "install", code=1, PATH=f"{home / 'bin'}")


@LINUX
def test_a_folder_that_was_there_before_stays(home: Path, name: str) -> None:
    (home / ".config" / "systemd").mkdir(parents=True)
    lockgate(home, "install", code=1, FAIL="3")
    assert list((home / ".config").rglob("*")) == [home / ".config" / "systemd"]


@LINUX
def test_the_file_goes_though_the_manager_cannot_be_told(home: Path, name: str) -> None:
    lockgate(home, "install", "--no-start")
    said = lockgate(home, "uninstall", code=1, FAIL="1")
    assert "removed" in said
    assert "failed" in said
    assert "not installed" in lockgate(home, "uninstall")


@LINUX
def test_an_installation_that_fails_leaves_the_one_before(home: Path, name: str) -> None:
    unit = home / ".config" / "systemd" / "user" / service_files.UNIT
    lockgate(home, "install")
    unit.write_text("of another version\n")
    assert "as before" in lockgate(home, "install", code=1, FAIL="1")
    assert unit.read_text() == "of another version\n"
    assert (home / "asked").read_text().splitlines()[-1] == f"--user restart {service_files.UNIT}"


LAUNCHCTL = """#!/bin/sh
# Jobs are loaded once, and only what is loaded can be asked for or ended: launchctl(1).
# The process that was ended takes a while to go, and no job of its name can be loaded until then.
case "$1" in
  bootstrap)
    echo . >>"$JOB.tries"
    if [ -e "$JOB.going" ]; then rm "$JOB.going"; echo "Bootstrap failed: 5: Input/output error" >&2; exit 5; fi
    [ ! -e "$JOB" ] && [ -z "$FAIL" ] && : >"$JOB" || exit 5 ;;
  bootout) [ -e "$JOB" ] && mv "$JOB" "$JOB.going" || { echo "Boot-out failed: 3: No such process" >&2; exit 3; } ;;
  print) [ -e "$JOB" ] || exit 113; echo "	state = ${STATE:-running}" ;;
esac
"""


@pytest.fixture
def mac(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose service manager is launchd; gives the job's file."""
    (home / "bin" / "launchctl").write_text(LAUNCHCTL)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("JOB", str(home / "job"))
    where = Folders(str(home), str(home / "state"), str(home / "config"))
    monkeypatch.setattr(service, "_manager", lambda: manager(where, "darwin", 501))
    monkeypatch.setattr(service, "require_person", lambda _: None)
    return home / "Library" / "LaunchAgents" / f"{service_files.LABEL}.plist"


def by_hand(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(service.service, list(words))
    assert done.exit_code == code, (done.output, done.exception)
    return done.output


def test_from_install_to_uninstall_on_a_mac(mac: Path, home: Path) -> None:
    for _ in range(2):  # the second time over the first
        assert "runs the gate now" in by_hand("install")
    assert (home / "job.tries").read_text().count(".") == 3
    assert "it runs" in by_hand("status")
    by_hand("uninstall")
    assert not mac.exists()
    assert not (home / "job").exists()


def test_what_was_never_started_on_a_mac_can_be_removed(mac: Path) -> None:
    by_hand("install", "--no-start")
    assert mac.exists()
    assert "removed" in by_hand("uninstall")
    assert not mac.exists()


def test_an_installation_that_fails_on_a_mac_leaves_nothing(
    mac: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIL", "1")
    assert "removed again" in by_hand("install", code=1)
    assert not mac.exists()
    assert (home / "job.tries").read_text().count(".") == 1  # nothing was in the way, so nothing is waited for


def test_a_job_that_has_ended_on_a_mac_does_not_run(mac: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_hand("install")
    monkeypatch.setenv("STATE", "not running")
    assert "it does not run" in by_hand("status", code=1)


@pytest.mark.parametrize("words", [["install"], ["uninstall"]])
def test_an_agent_may_not(home: Path, words: list[str]) -> None:
    assert "only a person may" in lockgate(home, *words, code=1, CLAUDECODE="1")
    assert not (home / ".config").exists()
