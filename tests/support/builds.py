"""Builds of the package that differ: copies in folders of their own, each of which says who has decided."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

from lockgate.store.files import VERSION
from support import steady

_ROOT = Path(__file__).resolve().parents[2]
_COMPILING = """
import pathlib, runpy, sys
runpy.run_path(sys.argv[1])["compile_client"](pathlib.Path(sys.argv[2]))
"""
_DENIES = 'answer.to_agent or answer.to_person or "Lockgate blocked this call"'
"""What a refusal of Claude Code's adapter says."""


class Build:
    """One build, in a folder."""

    def __init__(self, root: Path, name: str) -> None:
        """Copy the package, so that its refusals name this build.

        Args:
            root: The folder, which is made.
            name: What its refusals say.
        """
        self.package = root / "lockgate"
        shutil.copytree(steady.package(), self.package)
        self.change(name)

    @property
    def hook(self) -> str:
        """The hook's file."""
        return os.fspath(self.package / "hook.py")

    @property
    def gate(self) -> str:
        """The file of the gate's process."""
        return os.fspath(self.package / "service" / "resident" / "process.py")

    @property
    def native(self) -> str:
        """The native client."""
        return os.fspath(self.package / "lockgate-hook")

    def change(self, name: str) -> None:
        """Make another build of it, in place, as an installer does: file for file, and each of them is a new one."""
        answers = Path("clients", "claude", "answers.py")
        text = (steady.package() / answers).read_text()
        assert text.count(_DENIES) == 1
        self._put(answers, text.replace(_DENIES, f"{name!r} + str({_DENIES})"))
        self._put(Path("hook.py"), (steady.package() / "hook.py").read_text())
        self._put(Path("build"), f"0.1.0+{name}\n{name}\n\n")

    def _put(self, path: Path, text: str) -> None:
        draft = self.package / f"{path}.draft"
        draft.write_text(text)
        draft.replace(self.package / path)
        # As installers do: Python tells a compiled file's age by seconds and size, and a test changes it sooner.
        for compiled in (self.package / path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()

    def schema(self, more: str) -> None:
        """Add a migration, which is a statement."""
        schema = Path("store", "sqlite", "schema.py")
        text = (self.package / schema).read_text()
        old = "    _SEALED_ANSWERS,\n)"
        assert text.count(old) == 1
        self._put(schema, text.replace(old, f"{old[:-1]}    ({more!r},),\n)"))
        files = Path("store", "files.py")
        text = (self.package / files).read_text()
        old = f"\nVERSION = {VERSION}\n"
        assert old in text
        self._put(files, text.replace(old, f"\nVERSION = {VERSION + 1}\n"))


# ---------------------------------------------------------------- builds of before
def of_commit(commit: str) -> Path:
    """The package as it was at a commit, which is taken out of the history once on this machine.

    A test that asks for it is left out where there is no such history: in a shallow clone, or without git.
    """
    folder = Path(tempfile.gettempdir()) / f"lockgate-tests-builds-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    assert folder.stat().st_uid == os.getuid()
    package = folder / commit / "lockgate"
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not package.exists():
            draft = Path(tempfile.mkdtemp(dir=folder))
            words = ["git", "-C", os.fspath(_ROOT), "archive", "--format=tar", f"--output={draft}.tar", commit]
            done = subprocess.run([*words, "src/lockgate", "native"], capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"no history with {commit} here: {done.stderr.strip()}")
            with tarfile.open(f"{draft}.tar") as archive:
                archive.extractall(draft, filter="data")
            client = [f"{draft}/native/compile.py", f"{draft}/src/lockgate/lockgate-hook"]
            subprocess.run([sys.executable, "-c", _COMPILING, *client], capture_output=True, check=True)
            package.parent.mkdir(exist_ok=True)
            (draft / "src" / "lockgate").rename(package)
            shutil.rmtree(draft)
            Path(f"{draft}.tar").unlink()
    return package


class Environment:
    """A folder of packages, in which a person has one build, and then another one."""

    def __init__(self, folder: Path, package: Path) -> None:
        """Install a build.

        Args:
            folder: The folder, which is made.
            package: The build.
        """
        self.package = folder / "lockgate"
        shutil.copytree(package, self.package)

    def upgrade(self, package: Path) -> None:
        """Do as pip does: the files of before are put aside, those of now are copied, and then the others go."""
        aside = self.package.with_name("~ockgate")
        self.package.rename(aside)
        # Whoever runs meanwhile makes folders for what it compiles.
        shutil.copytree(package, self.package, dirs_exist_ok=True)
        shutil.rmtree(aside)
