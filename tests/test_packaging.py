"""What is published: the wheel holds everything, and an installation of it works without the source tree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from lockgate.cli.main import cli
from lockgate.clients.claude.events import EVENTS
from lockgate.core.version import RELEASE
from lockgate.system.package_digest import digest_of

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugin/**/*.md")])


def run(
    *command: object,
    cwd: Path = ROOT,
    env: dict[str, str] | None = None,
    stdin: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run a command and take its output."""
    words = [str(word) for word in command]
    return subprocess.run(
        words, cwd=cwd, env=env, input=stdin, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built with the locked back end."""
    folder = tmp_path_factory.mktemp("wheel")
    built = run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder)
    assert built.returncode == 0, built.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` folder of an environment with the wheel; the dependencies are those of this environment."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps")
    done = run(*pip, "--disable-pip-version-check", wheel)
    assert done.returncode == 0, done.stderr
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    # A path in a .pth file is searched last, and the .pth files in it (this source tree's) are not read.
    Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    source = ROOT / "src"
    expected = {
        str(path.relative_to(source))
        for path in (source / "lockgate").rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".artefact")  # what set-up compiles is good for one machine
    }
    held = set(zipfile.ZipFile(wheel).namelist())
    assert {"lockgate/py.typed", "lockgate/policy/profiles.json"} <= expected
    assert expected - held == set()
    assert not [name for name in held if name.startswith(("tests", "docs", "evals", "scripts"))]
    assert not [name for name in held if name.endswith((".artefact", ".pyc"))]


def test_the_installed_hook_is_native_where_the_wheel_has_a_client(installed: Path, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    written = run(
        installed / "lockgate", "install", "claude-code", "--dry-run", "--json", cwd=tmp_path, env=environment
    )
    assert json.loads(written.stdout)["diff"].count("/lockgate/lockgate-hook' --python ") == len(EVENTS)
    python = run(
        installed / "lockgate",
        "install",
        "claude-code",
        "--dry-run",
        "--json",
        "--no-native",
        cwd=tmp_path,
        env=environment,
    )
    assert "lockgate-hook" not in python.stdout


@pytest.fixture(scope="module")
def built(wheel: Path) -> list[str]:
    """What the wheel says of its build: version, commit, digest. A source tree says what it was when it was set up."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.read("lockgate/build").decode().splitlines()


def test_the_wheel_says_what_it_is(wheel: Path, built: list[str]) -> None:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    text = archive.read(metadata).decode()
    assert f"\nVersion: {built[0]}\n" in text
    assert "\nLicense-Expression: Apache-2.0\n" in text
    assert "\nRequires-Python: >=3.11\n" in text


def test_no_two_builds_of_different_code_share_a_version(built: list[str]) -> None:
    """The version names the commit, and what was changed since."""
    version, commit, digest = built
    assert re.fullmatch(rf"{re.escape(RELEASE)}(\+([0-9]+\.)?g{commit[:9]}(\.d[0-9a-f]{{9}})?)?", version)
    assert commit == run("git", "rev-parse", "HEAD").stdout.strip()
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert digest == digest_of(str(ROOT / "src" / "lockgate"))


def test_a_source_distribution_is_the_same_build(built: list[str], tmp_path: Path) -> None:
    """It has no commit to look at, and has it written down."""
    done = run(sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", tmp_path)
    assert done.returncode == 0, done.stderr
    (packed,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    (root,) = (path for path in tmp_path.iterdir() if path.is_dir())
    told = run(sys.executable, "-c", "import hatch_build; print(*hatch_build._described())", cwd=root)
    assert told.stdout.split() == built[:2], told.stderr


def test_doctor_knows_the_files_of_its_build(installed: Path, built: list[str], tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    def told() -> dict[str, str]:
        done = run(installed / "lockgate", "doctor", "--json", cwd=tmp_path, env=environment)
        (found,) = (check for check in json.loads(done.stdout)["checks"] if check["name"] == "build")
        assert isinstance(found, dict)
        return found

    well = told()
    assert (well["state"], f"version {built[0]} in {installed.parent}" in well["says"]) == ("ok", True), well
    table = next(installed.parent.glob("lib/python*/site-packages/lockgate/policy/profiles.json"))
    text = table.read_text()
    try:
        table.write_text(f"{text} ")
        changed = told()
        assert (changed["state"], "not those that it was built with" in changed["says"]) == ("fail", True)
    finally:
        table.write_text(text)


def test_the_installed_command_runs_from_the_wheel(installed: Path, built: list[str]) -> None:
    assert built[0] in run(installed / "lockgate", "--version", cwd=Path("/")).stdout
    place = run(installed / "python", "-c", "import lockgate; print(lockgate.__file__)", cwd=Path("/")).stdout
    assert place.startswith(str(installed.parent)), "the source tree hides the installation"


def test_the_installed_hook_decides(installed: Path, tmp_path: Path) -> None:
    """The very command line that ``lockgate install`` writes, as the client runs it."""
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = run(installed / "lockgate", "install", "claude-code", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    settings = json.loads((tmp_path / ".claude" / "settings.json").read_text())
    command = settings["hooks"]["PreToolUse"][-1]["hooks"][0]["command"]

    def answer(tool: str, **tool_input: str) -> str:
        payload = {
            "hook_event_name": "PreToolUse",
            "session_id": "s",
            "transcript_path": "",
            "cwd": str(tmp_path),
            "tool_name": tool,
            "tool_use_id": "t",
            "tool_input": tool_input,
        }
        hook = run("/bin/sh", "-c", command, stdin=json.dumps(payload), env=environment, cwd=tmp_path)
        assert hook.returncode == 0, hook.stderr
        return hook.stdout

    assert answer("Bash", command="echo hello") == ""
    refused = json.loads(answer("Write", file_path=str(tmp_path / ".claude" / "settings.json"), content="{}"))
    assert refused["hookSpecificOutput"]["permissionDecision"] in {"deny", "ask"}


def _commands(document: Path) -> Iterator[str]:
    """The commands in a document's code blocks."""
    for block in re.findall(r"^```\w*\n(.*?)^```", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            yield line.partition("  #")[0].strip().removeprefix("$ ")


def _exists(words: list[str]) -> bool:
    command: click.Command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            return False
        command, words = found, words[1:]
    return True


def test_documented_commands_exist() -> None:
    """Every ``lockgate ...`` and ``make ...`` that a document shows can be run."""
    targets = set(re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = {(document.name, line) for document in DOCUMENTS for line in _commands(document)}
    known = [(name, line) for name, line in shown if line.startswith(("lockgate ", "make "))]
    assert known
    wrong = [
        (name, line)
        for name, line in known
        if not (_exists(line.split()[1:]) if line.startswith("lockgate ") else line.split()[1] in targets)
    ]
    assert wrong == []


def test_the_installed_gate_decides_its_first_call(installed: Path, tmp_path: Path) -> None:
    """A wheel holds no compiled patterns: the first call waits for them, and is not refused."""
    program = (
        "from lockgate import Gate\n"
        "with Gate.open(ephemeral=True) as gate:\n"
        "    print(gate.session().check_sync('Bash', {'command': 'ls'}).verdict)\n"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = run(installed / "python", "-c", program, cwd=tmp_path, env=environment)
    assert (done.stdout, done.returncode) == ("allow\n", 0), done.stderr
