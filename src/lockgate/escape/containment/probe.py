"""Trying whether a sandbox can be built on this host: a harmless command is run in one."""

from __future__ import annotations

import os
import subprocess
import sys

from lockgate.escape.containment.host import Host

_SECONDS = 1.5
_OUTSIDE = "/proc/self/ns/net"


def probe(bubblewraps: tuple[str, ...]) -> Host:
    """Try each way in turn.

    Args:
        bubblewraps: Programs that may be bubblewrap, absolute.
    """
    if not sys.platform.startswith("linux"):
        return Host(problem=f"there is no way yet to contain a command on {sys.platform}")
    problems = []
    for program in bubblewraps:
        why = _try([program, "--unshare-all", "--disable-userns", "--unshare-user", "--ro-bind", "/", "/"])
        if not why:
            return Host("bubblewrap", program)
        problems.append(f"{program}: {why}")
    return Host(problem="; ".join(problems) or "bubblewrap (0.8 or newer) is not installed")


def _try(sandbox: list[str]) -> str:
    """Why a sandbox does not work; empty where it does."""
    inside = [sys.executable, "-I", "-S", "-c", f"import os; print(os.readlink({_OUTSIDE!r}))"]
    try:
        done = subprocess.run(  # noqa: S603 - the system's own program, and this interpreter
            [*sandbox, "--proc", "/proc", "--", *inside],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
            env={},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else f"exit code {done.returncode}"
    if not done.stdout.startswith("net:") or done.stdout.strip() == os.readlink(_OUTSIDE):
        return "it does not keep the network away"
    return ""
