"""Builds of the package that differ: copies in folders of their own, each of which says who has decided."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from lockgate.store.files import VERSION
from support import steady

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
        old = "    _BEGUN,\n)"
        assert text.count(old) == 1
        self._put(schema, text.replace(old, f"{old[:-1]}    ({more!r},),\n)"))
        files = Path("store", "files.py")
        text = (self.package / files).read_text()
        old = f"\nVERSION = {VERSION}\n"
        assert old in text
        self._put(files, text.replace(old, f"\nVERSION = {VERSION + 1}\n"))
