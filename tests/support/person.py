"""A person's machine: a home folder, the gate's state in it, and ``lockgate`` with and without a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from e2e.harness.terminal import Terminal
from lockgate.store.rows import ApprovalRow
from support import forked
from support.prepared import open_new


class Machine:
    """One for a test; its store is to be closed."""

    COMMAND: tuple[str, ...] = ()
    """The words with which each command line begins."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.home.mkdir()
        self.state = str(self.home / ".local" / "state" / "lockgate")
        self.store = open_new(self.state, busy_seconds=20)
        self.environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8"}

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "lockgate", *self.COMMAND, *arguments]

    def terminal(self, *arguments: str, **environment: str) -> Terminal:
        return Terminal(self.argv(*arguments), {**self.environment, **environment}, self.home)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return forked.run_text([*self.COMMAND, *arguments], cwd=self.home, env={**self.environment, **environment})

    def row(self, approval: str) -> ApprovalRow:
        """A question, as it is kept."""
        with self.store.reading() as tx:
            row = tx.approval(approval)
        assert row is not None
        return row


_Kind = TypeVar("_Kind", bound=Machine)


@contextmanager
def opened(kind: type[_Kind], root: Path) -> Iterator[_Kind]:
    """A machine whose store is closed at the end."""
    machine = kind(root.resolve())
    with closing(machine.store):
        yield machine
