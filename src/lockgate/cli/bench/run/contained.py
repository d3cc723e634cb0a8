"""Measures a contained command beside the bare one, and beside bubblewrap alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from lockgate.cli.bench.run.costs import Series, Spread
from lockgate.containment.host import Host
from lockgate.service.resident.containment import PROGRAM
from lockgate.system.folders import Folders

BARE, ALONE, BY_LAUNCHER, BY_PYTHON = "bare", "bwrap", "contained", "contained-python"
NAMES = (BARE, ALONE, BY_LAUNCHER, BY_PYTHON)
_SHELL = "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"
_ISOLATED = ("--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")


def programs(where: Folders, able: Host) -> Iterator[tuple[str, str, list[str]]]:
    """Names, what they are, and command lines; nothing where this machine can contain nothing.

    Args:
        where: The folders of a gate that answers.
        able: What this machine can do.
    """
    if able.problem:
        return
    yield BARE, f"{os.path.basename(_SHELL)} -c true: a bare command", [_SHELL, "-c", "true"]
    if able.program and able.way == "bubblewrap":
        yield ALONE, "bwrap --unshare-all true: bubblewrap alone", [able.program, *_ISOLATED, _SHELL, "-c", "true"]
    script = PROGRAM
    folders = [f"--{name}={folder}" for name, folder in zip(where._fields, where, strict=True)]
    words = [*folders, f"--workspace={where.home}/project", "--shell", "true"]
    if able.launcher:
        start = [able.launched_by, "--python", sys.executable, "--script", script]
        yield BY_LAUNCHER, "contained command, launcher and resident gate", [*start, *words]
    yield BY_PYTHON, "contained command, by the Python program", [sys.executable, "-I", "-S", script, *words]


def over_bare(found: Sequence[Series], name: str) -> Spread | None:
    """Milliseconds by which a contained command takes longer than the bare one, by differences of the same rounds."""
    named = {series.name: series for series in found}
    if name not in named or BARE not in named:
        return None
    pairs = zip(named[name].costs, named[BARE].costs, strict=True)
    return Spread.of([contained.wall - bare.wall for contained, bare in pairs])
