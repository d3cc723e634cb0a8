"""Whether a hook sees the same files as the gate: only then does a path mean the same to both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from lockgate.system.peer_credentials import Peer, sees_the_same

_LINUX = sys.platform == "linux"
"""Elsewhere there are no namespaces."""
_MAPPED = [] if os.geteuid() == 0 else ["--map-root-user"]
_HERE = "print(flush=True); input()"


def seen(*command: str) -> bool:
    """Whether a process that says when it is ready sees the same files as this one."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "\n"
            return sees_the_same(Peer(os.geteuid(), process.pid))
        finally:
            process.kill()


def test_a_process_of_this_machine() -> None:
    assert seen(sys.executable, "-c", _HERE)


def test_one_with_mounts_of_its_own() -> None:
    if _LINUX:
        assert not seen("unshare", *_MAPPED, "--mount", sys.executable, "-c", _HERE)


def test_one_with_another_root(tmp_path: Path) -> None:
    program = f"import os; os.chroot({str(tmp_path)!r}); {_HERE}"
    if _LINUX:
        assert not seen("unshare", *(_MAPPED or ["--uts"]), sys.executable, "-c", program)


def test_one_that_is_gone() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    if _LINUX:
        assert not sees_the_same(Peer(os.geteuid(), process.pid))
        assert not sees_the_same(Peer(os.geteuid(), 0))
