"""What ``lockgate doctor`` says of the resident gate."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any, Literal

from lockgate.clients.hook.answer import PROGRAM
from lockgate.clients.hook.start_resident import OFF
from lockgate.clients.wire.resident_control import look
from lockgate.clients.wire.resident_files import run_folder
from lockgate.core.version import PACKAGE_FOLDER, __version__
from lockgate.system.code_identity import code_of

Found = tuple[Literal["ok", "warn", "fail"], str, str]
"""How it is, what was seen, and how to mend it."""
MOST_MB = 200.0
"""Memory of a gate over which something is wrong with it."""
_RESTART = "run: lockgate gate restart"


def resident_gate(state: str, environ: Mapping[str, str]) -> Found:
    """Whether hooks find a resident gate, and how it is. That there is none is no fault: hooks decide by themselves.

    Args:
        state: The state folder.
        environ: The person's environment.
    """
    problem = _folder(run_folder(state))
    if problem:
        return "fail", problem, "look at what is in it, remove it, then run: lockgate gate restart"
    if environ.get(OFF) == "off":
        return "warn", f"{OFF}=off: each hook decides by itself, which takes longer", f"unset {OFF}"
    found = look(state)
    if not found.runs:
        return "ok", "none runs now; hooks decide by themselves, and one of the next starts it", ""
    if found.problem:
        return "warn", f"one runs and hooks cannot ask it: {found.problem}; they decide by themselves", _RESTART
    return _check_running(found.facts)


def _folder(folder: str) -> str:
    """What is wrong with the rights of the socket's folder, or of the socket."""
    try:
        there = os.lstat(folder)
    except OSError:
        return ""
    if not stat.S_ISDIR(there.st_mode) or there.st_uid != os.geteuid():
        return f"{folder} is not a folder of your own: no gate can listen there"
    if stat.S_IMODE(there.st_mode) & 0o077:
        return f"others can get at {folder}"
    return ""


def _check_running(facts: Mapping[str, Any]) -> Found:
    memory, slowest = facts.get("memory_mb"), facts.get("p99_ms")
    says = f"process {facts.get('pid')}, version {facts.get('version')}, answered {facts.get('answered')}"
    says += f", p99 {slowest:g} ms" if slowest is not None else ""
    says += f", {memory:g} MB" if memory is not None else ""
    if facts.get("version") != __version__:
        return "warn", f"{says}; this program is version {__version__}", _RESTART
    if facts.get("program") != PACKAGE_FOLDER:
        return "warn", f"{says}; it runs {facts.get('program')}, and this program is {PACKAGE_FOLDER}", _RESTART
    if facts.get("code") != code_of(PROGRAM):
        return "warn", f"{says}; its files were replaced since it began", _RESTART
    if memory is not None and memory > MOST_MB:
        return "warn", f"{says}: it is larger than it should be", _RESTART
    return "ok", says, ""
