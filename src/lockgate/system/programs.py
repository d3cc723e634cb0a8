"""Runs a program of this machine and reads its output, within seconds and bounds.

Whoever may not take a program that did not run for one that said nothing looks at :attr:`Ran.problem`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from lockgate.core.record import Record


class Ran(Record):
    """The outcome of a program."""

    problem: str
    """Why it did not run, or did not end in time; empty where it ended by itself."""
    code: int = -1
    """The exit status."""
    out: str = ""
    err: str = ""


def run(
    words: Sequence[str],
    seconds: float,
    *,
    given: str = "",
    cwd: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Ran:
    """Run a program to its end.

    Args:
        words: The program and its arguments; no shell reads them.
        seconds: How long it may take. Then it is killed.
        given: What it reads.
        cwd: Where it runs, if not here.
        environ: Its whole environment, if not this process's.
    """
    try:
        done = subprocess.run(  # noqa: S603 - the callers choose the program
            words,
            input=given or None,
            stdin=None if given else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            cwd=cwd,
            env=environ,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Ran(getattr(error, "strerror", None) or type(error).__name__)
    return Ran("", done.returncode, done.stdout, done.stderr)
