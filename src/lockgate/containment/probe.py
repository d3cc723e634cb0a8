"""Tries whether a sandbox can be built on this host, by running a harmless command in one."""

from __future__ import annotations

import os
import sys

from lockgate.containment.host_facts import Host
from lockgate.containment.linux.bubblewrap import ISOLATION
from lockgate.core.version import PACKAGE_FOLDER
from lockgate.system.programs import run

_SECONDS = 1.2
"""For one try. Two have to fit into the time that a hook has for its decision."""
_OUTSIDE = "/proc/self/ns/net"
_INSIDE = ("/bin/sh", "-c", f"ls -l {_OUTSIDE}")
_SOURCE = os.path.dirname(PACKAGE_FOLDER)
_OWN = "import sys; sys.path.append({folder!r}); from lockgate.containment.linux.namespaces import probe; probe()"


ABOUT = "lockgate-contain LOCKGATE3 2\n"
"""What a launcher says of itself that understands this version's plans."""


def probe(bubblewraps: tuple[str, ...], launcher: str = "", system_launcher: str = "") -> Host:
    """Try each way in turn.

    Args:
        bubblewraps: Programs that may be bubblewrap, absolute.
        launcher: The native launcher; empty where there is none.
        system_launcher: The administrator's copy of it, which may be allowed more; empty where there is none.
    """
    found = _way(bubblewraps)
    if found.way != "namespaces" and system_launcher and not _try([system_launcher, "--try"]):
        return found._replace(problem="", launcher="namespaces", launched_by=system_launcher)
    if found.way not in ("bubblewrap", "namespaces") or not launcher or not _runs(launcher):
        return found
    return found._replace(launcher=found.way, launched_by=launcher)


def _way(bubblewraps: tuple[str, ...]) -> Host:
    if sys.platform == "darwin":
        from lockgate.containment.macos.probe import try_profile
        from lockgate.containment.macos.sandbox_exec import PROGRAM

        why = try_profile(PROGRAM)
        return Host(problem=f"{PROGRAM}: {why}") if why else Host("sandbox-exec", PROGRAM)
    if not sys.platform.startswith("linux"):
        return Host(problem=f"there is no way yet to contain a command on {sys.platform}")
    # The kernel's own namespaces come first. What they cover stays covered when the command has ended, also for another
    # command that was handed a folder's descriptor; with bubblewrap it does not. They are quicker, too: for each mount
    # bubblewrap looks through all others again.
    own = _try_namespaces()
    if not own:
        return Host("namespaces")
    if not bubblewraps:
        return Host(problem=f"bubblewrap is not installed, and {own}")
    program = bubblewraps[0]
    why = _try([program, *ISOLATION, "--ro-bind", "/", "/", "--proc", "/proc", "--", *_INSIDE])
    return Host(problem=f"{program}: {why}; {own}") if why else Host("bubblewrap", program)


def _try_namespaces() -> str:
    return _try([sys.executable, "-I", "-S", "-c", _OWN.format(folder=_SOURCE)])


def _runs(launcher: str) -> bool:
    """Whether the launcher is of this version and runs here."""
    ran = run([launcher, "--about"], _SECONDS)
    return (ran.code, ran.out) == (0, ABOUT)


def _try(sandbox: list[str]) -> str:
    """Why a sandbox does not work; empty where it does."""
    ran = run(sandbox, _SECONDS, environ={"PATH": os.defpath})
    if ran.problem:
        return ran.problem
    if ran.code:
        return ran.err.strip().splitlines()[-1][:200] if ran.err.strip() else f"exit code {ran.code}"
    if "net:[" not in ran.out or os.readlink(_OUTSIDE) in ran.out:
        return "it does not keep the network away"
    return ""
