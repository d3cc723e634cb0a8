"""What others could change of a program: the doctor names it, and the line that it says mends it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.cli.doctor import rights
from lockgate.cli.doctor.rights import find_exposed
from support import steady
from support.gates import end_gates
from support.prepared import give_state

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that others can enter, which that of a test is not."""
    folder = Path(tempfile.mkdtemp(prefix="lockgate-rights-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    end_gates(folder)
    shutil.rmtree(folder)


def _doctor(home: Path, package: Path) -> tuple[str, str, str]:
    """What a real doctor of an installation says of its program."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(package.parent)}
    words = [sys.executable, "-m", "lockgate", "doctor", "--json"]
    done = subprocess.run(words, cwd=home, env=environ, capture_output=True, text=True, timeout=100, check=False)
    (found,) = (check for check in json.loads(done.stdout)["checks"] if check["name"] == "program")
    return found["state"], found["says"], found["mend"]


@pytest.mark.slow
@pytest.mark.parametrize("opened", ["lockgate", "lockgate/hook.py", "lockgate/lockgate-hook", "lockgate/core/model.py"])
def test_an_installation_under_a_wide_umask(place: Path, opened: str) -> None:
    """Not only the package's folder: each file, and each folder above it."""
    home, lib = place / "ann's", place / "ann's" / "lib"
    lib.mkdir(parents=True)
    shutil.copytree(steady.package(), lib / "lockgate")
    give_state(home / ".local" / "state" / "lockgate")
    subprocess.run(["chmod", "-R", "u=rwX,go=rX", str(lib)], check=True)
    assert _doctor(home, lib / "lockgate")[0] == "ok"
    (lib / opened).chmod(0o777)
    lib.chmod(0o777)
    state, says, mend = _doctor(home, lib / "lockgate")
    assert (state, says.startswith(f"others can change {lib}, and ")) == ("fail", True)
    subprocess.run(["/bin/sh", "-c", mend.removeprefix("run: ")], check=True)
    assert _doctor(home, lib / "lockgate")[0] == "ok"
    assert (lib / opened).stat().st_mode & 0o022 == 0


def _tree(place: Path) -> Path:
    (place / "lib" / "inner").mkdir(parents=True)
    for each in (place / "lib", place / "lib" / "inner"):
        each.chmod(0o755)
    for name in ("lib/a.py", "lib/inner/b.py"):
        (place / name).write_text("")
        (place / name).chmod(0o644)
    return place / "lib"


@pytest.mark.parametrize(
    ("path", "mode", "found"),
    [
        pytest.param("lib", 0o755, [], id="nothing"),
        pytest.param("lib/inner/b.py", 0o666, ["lib/inner/b.py"], id="a file"),
        pytest.param("lib/inner", 0o777, ["lib/inner"], id="a folder"),
        pytest.param("lib/inner", 0o1777, ["lib/inner"], id="one in which others can put something beside"),
        pytest.param("lib/inner", 0o700, [], id="one that keeps others out"),
        pytest.param(".", 0o777, ["."], id="the folder above"),
        pytest.param(".", 0o1777, [], id="one above in which nobody can replace what is another's"),
        pytest.param(".", 0o711, [], id="one above that others can only enter"),
    ],
)
def test_what_others_can_write_to(place: Path, path: str, mode: int, found: list[str]) -> None:
    lib = _tree(place)
    (place / path).chmod(mode)
    exposed = find_exposed([str(lib)])
    assert exposed.many == len(found)
    assert [exposed.first] == [os.path.normpath(place / each) for each in found] or not found


def test_a_folder_above_keeps_others_out(place: Path) -> None:
    lib = _tree(place)
    (lib / "a.py").chmod(0o666)
    place.chmod(0o700)
    assert find_exposed([str(lib)]).many == 0


def test_a_link_is_looked_at_from_both_ends(place: Path) -> None:
    lib = _tree(place)
    (place / "bin").mkdir()
    (place / "bin").chmod(0o777)
    (place / "bin" / "lockgate").symlink_to(lib / "a.py")
    (lib / "a.py").chmod(0o666)
    exposed = find_exposed([str(place / "bin" / "lockgate")])
    assert (exposed.above, exposed.below) == ((str(place / "bin"),), (str(lib / "a.py"),))


@AS_ROOT
def test_an_administrators_group_is_theirs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Debian has it: what is root's may be its group's, too."""
    monkeypatch.setattr(rights, "_is_own_group", lambda _: False)
    lib = _tree(place)
    lib.chmod(0o775)
    assert find_exposed([str(lib)]).many == 0
    os.chown(lib, 12345, 12345)
    assert find_exposed([str(lib)]).many == 1
