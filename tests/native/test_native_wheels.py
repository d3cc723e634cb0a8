"""What is built: wheels with a native client where there is a compiler, and without one where there is none."""

from __future__ import annotations

import os
import platform
import re
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from lockgate.clients.hook.native import ABOUT
from lockgate.containment import probe
from native.conftest import ROOT, compiling, made

MEMBER = "lockgate/lockgate-hook"
Without = Callable[[Path], dict[str, str]]
"""Makes a folder of programs; the variables with which a build finds them."""


def built(folder: Path, target: str = "wheel", cwd: Path = ROOT, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the build back end with some variables, and no others that change what it does."""
    given = {name: value for name, value in os.environ.items() if name not in ("CC", "LOCKGATE_NATIVE")}
    words = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    return subprocess.run(
        words, cwd=cwd, env={**given, **environ}, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(("words", "code"), [(["--help"], 0), (["-h"], 0), ([], 2), (["--other"], 2), (["a", "b"], 2)])
def test_the_compiler_explains_itself_and_makes_no_file_of_that_name(
    tmp_path: Path, words: list[str], code: int
) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "native" / "compile.py"), *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, list(tmp_path.iterdir())) == (code, [])
    assert "python native/compile.py TARGET" in done.stdout


def only_file(folder: Path, ending: str) -> Path:
    (found,) = folder.glob(f"*{ending}")
    return found


def tags(wheel: Path) -> set[str]:
    """The tags in a wheel's own description."""
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/WHEEL"))
    lines = archive.read(name).decode().splitlines()
    return {line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")}


def no_compiler(folder: Path) -> dict[str, str]:
    """A machine's programs, and no compiler among them."""
    folder.mkdir()
    return {"PATH": str(folder)}


def failing_compiler(folder: Path) -> dict[str, str]:
    """A compiler that compiles nothing."""
    folder.mkdir()
    for name in ("cc", "gcc", "clang"):
        (folder / name).write_text("#!/bin/sh\necho 'hook.c:1: error: no' >&2\nexit 1\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/bin:/usr/bin"}


def compiler_for_elsewhere(folder: Path) -> dict[str, str]:
    """A compiler whose programs do not run here."""
    folder.mkdir()
    (folder / "cc").write_text(
        '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nprintf "\\177ELF" >"$2"\nchmod +x "$2"\n'
    )
    (folder / "cc").chmod(0o755)
    return {"CC": str(folder / "cc")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = built(folder, LOCKGATE_NATIVE="required")
    assert done.returncode == 0, done.stderr
    return only_file(folder, ".whl")


def test_a_wheel_holds_a_client_that_runs(wheel: Path, tmp_path: Path) -> None:
    entry = zipfile.ZipFile(wheel).getinfo(MEMBER)
    assert stat.S_IMODE(entry.external_attr >> 16) == 0o755
    client = Path(zipfile.ZipFile(wheel).extract(entry, tmp_path))
    client.chmod(0o755)
    assert subprocess.run([client, "--about"], capture_output=True, text=True, check=True).stdout == ABOUT


def test_a_wheel_says_where_it_can_be_installed(wheel: Path) -> None:
    assert all(tag.startswith("py3-none-") and tag != "py3-none-any" for tag in tags(wheel))
    assert all(tag.endswith(platform.machine()) for tag in tags(wheel))
    assert set(wheel.stem.split("-", 4)[4].split(".")) == {tag.rpartition("-")[2] for tag in tags(wheel)}


@pytest.mark.skipif(sys.platform != "linux", reason="a tag of Linux")
def test_a_wheel_promises_no_more_than_its_dependencies_hold(wheel: Path) -> None:
    """What is installed here has at least one tag that is as old as the wheel's, and none for musl is promised."""
    from importlib.metadata import distribution

    def oldest(lines: set[str]) -> tuple[int, int]:
        return min((int(a), int(b)) for line in lines for a, b in re.findall(r"manylinux_(\d+)_(\d+)", line))

    needed = distribution("google-re2").read_text("WHEEL") or ""
    assert oldest(tags(wheel)) == oldest(set(needed.splitlines()))
    assert not any("musllinux" in tag for tag in tags(wheel))


@pytest.mark.parametrize(
    "without", [no_compiler, failing_compiler, compiler_for_elsewhere], ids=lambda make: make.__name__
)
def test_without_a_compiler_there_is_a_wheel_for_every_machine(tmp_path: Path, without: Without) -> None:
    environ = without(tmp_path / "bin")
    done = built(tmp_path / "out", **environ)
    assert done.returncode == 0, done.stderr
    made = only_file(tmp_path / "out", ".whl")
    assert tags(made) == {"py3-none-any"}
    assert MEMBER not in zipfile.ZipFile(made).namelist()
    assert "without the native programs" in done.stdout + done.stderr


def test_without_a_compiler_a_required_client_is_an_error(tmp_path: Path) -> None:
    done = built(tmp_path / "out", **no_compiler(tmp_path / "bin"), LOCKGATE_NATIVE="required")
    assert done.returncode != 0
    assert "there is no C compiler" in done.stdout + done.stderr


def test_it_can_be_left_out(tmp_path: Path) -> None:
    assert built(tmp_path / "out", LOCKGATE_NATIVE="off").returncode == 0
    assert tags(only_file(tmp_path / "out", ".whl")) == {"py3-none-any"}


def test_the_sources_that_are_published_are_enough(tmp_path: Path) -> None:
    assert built(tmp_path / "sources", "sdist").returncode == 0
    with tarfile.open(only_file(tmp_path / "sources", ".tar.gz")) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (project,) = (tmp_path / "unpacked").iterdir()
    done = built(tmp_path / "out", cwd=project, LOCKGATE_NATIVE="required")
    assert done.returncode == 0, done.stderr
    assert MEMBER in zipfile.ZipFile(only_file(tmp_path / "out", ".whl")).namelist()


@pytest.mark.parametrize("without", [lambda _: {}, no_compiler], ids=["built", "failed"])
def test_a_build_leaves_nothing_behind(tmp_path: Path, without: Without) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environ = without(tmp_path / "bin")
    done = built(tmp_path / "out", TMPDIR=str(temporary), LOCKGATE_NATIVE="required", **environ)
    assert (done.returncode == 0) is (environ == {})
    assert list(temporary.iterdir()) == []


def test_what_is_compiled_replaces_at_once_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "lockgate-hook"
    target.write_text("before")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(compiling.NotCompiledError):
        compiling.compile_client(target)
    assert target.read_text() == "before"
    assert sorted(tmp_path.iterdir()) == [target]


def test_every_source_is_compiled() -> None:
    parts = {*compiling.PARTS, *compiling.LAUNCHER_PARTS}
    assert sorted(path.name for path in (ROOT / "native").glob("*.c")) == sorted(parts)


def test_the_launcher_is_there_and_compiles_without_a_warning(wheel: Path, tmp_path: Path) -> None:
    client = Path(zipfile.ZipFile(wheel).extract("lockgate/lockgate-contain", tmp_path))
    client.chmod(0o755)
    said = subprocess.run([client, "--about"], capture_output=True, text=True, check=True).stdout
    assert said == compiling.LAUNCHER_ABOUT == probe.ABOUT
    made(tmp_path / "warned", compiling.LAUNCHER_PARTS, ())
