"""Tests that were started in the background, or by ``nohup``, can still end what they start by a signal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_CHILD = "import signal; print(*[signal.getsignal(n) != signal.SIG_IGN for n in (1, 2, 3)])"
_PARENT = f"""
import signal, subprocess, sys
for number in (1, 2, 3):
    signal.signal(number, signal.SIG_IGN)
sys.path.insert(0, sys.argv[1])
from support.dispositions import let_children_hear
for _ in range(2):
    subprocess.run([sys.executable, "-c", {_CHILD!r}], check=True)
    let_children_hear()
"""


def test_what_tests_start_hears_signals_that_the_tests_ignore() -> None:
    here = str(Path(__file__).parent)
    done = subprocess.run([sys.executable, "-c", _PARENT, here], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.split("\n") == ["False False False", "True True True", ""]
