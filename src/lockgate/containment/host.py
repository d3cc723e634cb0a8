"""Finds out whether this host can contain, and which way. It tries once, and keeps the facts that this rests on."""

from __future__ import annotations

import json
import os
import sys
import time

from lockgate.containment.host_facts import SYSTEM_LAUNCHER
from lockgate.containment.host_facts import Host as Host
from lockgate.core.record import TYPE_CHECKING
from lockgate.core.version import PACKAGE_FOLDER, __version__
from lockgate.system.digests import json_object

if TYPE_CHECKING:
    from typing import Any

_FILE = "containment.json"
_AGAIN = 300.0
"""Seconds after which a host that could not contain is tried again: somebody may have installed what was missing."""

_PROGRAMS = ("/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin", "/home/linuxbrew/.linuxbrew/bin")
"""Where bubblewrap is looked for. Not in ``PATH``, which a project's settings can set for hooks."""

_SWITCHES = (
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/user/max_user_namespaces",
)
"""By which an administrator forbids the namespaces that a sandbox is made of."""

_SYSTEM = frozenset(
    "bin boot dev etc lib lib32 lib64 media mnt opt proc root run sbin srv sys usr var home Users tmp".split()  # noqa: SIM905
)
"""Folders of the root that are nobody's project."""
LAUNCHER = os.path.join(PACKAGE_FOLDER, "lockgate-contain")
"""The native launcher, where there is one: native/contain.c."""


def problem(state: str = "") -> str:
    """Why this host cannot contain, for a person; empty where it can.

    Args:
        state: The gate's state folder, where the finding is kept. By default the one of this process's environment.
    """
    return host(state or _default_state()).problem


def workspace_problem(workspace: str, home: str) -> str:
    """Why a folder cannot be the one that a contained command writes to; empty where it can."""
    real, home = os.path.realpath(workspace), os.path.realpath(home)
    if not os.path.isabs(workspace) or not os.path.isdir(real):
        return f"there is no folder {workspace}"
    if f"{home}/".startswith(f"{real.rstrip('/')}/"):
        return f"{real} is no project's folder: a contained command could write to everything there"
    if real.split("/")[1] in _SYSTEM and real.count("/") < 2:
        return f"{real} is a folder of the system"
    return ""


def host(state: str) -> Host:
    """What this host can do: as it was found out before, or tried now where the facts have changed since."""
    facts = facts_of()
    known = _read(state)
    if known is not None and known.get("facts") == facts:
        found = Host(*(str(known.get(name, "")) for name in Host._fields))
        lasts = bool(found.way or found.launcher) or _is_recent(known.get("at"))
        if lasts and _is_believed(state, known, found):
            return found
    return try_again(state)


def _is_believed(state: str, known: dict[str, Any], found: Host) -> bool:
    """Whether nothing else has written a finding: by its seal, and where there is no key by the programs it names."""
    seal = _seal(state, {name: value for name, value in known.items() if name != "seal"})
    return known.get("seal") == seal if seal else _is_of_this_host(found)


def _is_of_this_host(found: Host) -> bool:
    """Whether a finding names no programs but those that would be tried here."""
    from lockgate.containment.macos.sandbox_exec import PROGRAM

    programs = (PROGRAM,) if found.way == "sandbox-exec" else bubblewraps()
    return found.program in ("", *programs) and found.launched_by in ("", *launchers())


def _seal(state: str, known: dict[str, Any]) -> str:
    from lockgate.containment.sealed_notes import HOST, seal_of

    return seal_of(state, HOST, json.dumps(known, sort_keys=True))


def try_again(state: str) -> Host:
    """Try what this host can do, and keep the finding."""
    from lockgate.containment.probe import probe

    found = probe(bubblewraps(), LAUNCHER if os.path.exists(LAUNCHER) else "", system_launcher())
    write_facts(state, {"facts": facts_of(), "at": time.time(), **found._asdict()})
    return found


def forget(state: str) -> None:
    """Drop what is known, after a sandbox could not be built."""
    if _is_anothers(state):
        return
    try:
        os.unlink(os.path.join(state, _FILE))
    except OSError:
        return


def _default_state() -> str:
    from lockgate.system.folders import state_dir

    return state_dir()


def _is_recent(at: object) -> bool:
    return isinstance(at, int | float) and 0 <= time.time() - at < _AGAIN


# ---------------------------------------------------------------- facts
def bubblewraps() -> tuple[str, ...]:
    """Programs named ``bwrap`` that only the system's administrator can have put there."""
    found: dict[str, str] = {}
    for path in (f"{folder}/bwrap" for folder in _PROGRAMS):
        if _belongs_to_root(path):
            found.setdefault(os.path.realpath(path), path)
    return tuple(found.values())


def launchers() -> tuple[str, str]:
    """Where the native launcher of this package is, and where the administrator's copy of it, if there are any."""
    return LAUNCHER, SYSTEM_LAUNCHER


def system_launcher() -> str:
    """The copy of the native launcher that the system's administrator made; empty where none is of this very build."""
    import filecmp

    try:
        same = _belongs_to_root(SYSTEM_LAUNCHER) and filecmp.cmp(LAUNCHER, SYSTEM_LAUNCHER, shallow=False)
    except OSError:
        return ""
    return SYSTEM_LAUNCHER if same else ""


def _belongs_to_root(path: str) -> bool:
    """Whether a program is there that nobody but root can have written."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    return found.st_uid == 0 and not found.st_mode & 0o022 and os.access(path, os.X_OK)


def facts_of() -> list[str]:
    """The facts that a finding rests on: versions, the user, programs and switches of the kernel.

    It must be cheap, because a hook asks for it.
    """
    facts = [__version__, sys.platform, os.uname().release, str(os.getuid())]
    for path in (*bubblewraps(), *filter(os.path.exists, launchers())):
        found = os.stat(path)
        facts.append(f"{path} {found.st_size} {found.st_mtime_ns} {found.st_mode:o}")
    return [*facts, *map(_first_line, _SWITCHES)]


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.readline(100).strip()
    except OSError:
        return "-"


# ---------------------------------------------------------------- what is kept
def _is_anothers(state: str) -> bool:
    from lockgate.system.ownership import problem_of

    return bool(problem_of(state))


def _read(state: str) -> dict[str, Any] | None:
    try:
        with open(os.path.join(state, _FILE), encoding="utf-8") as file:
            return json_object(file.read(1 << 16))
    except (OSError, ValueError):
        return None


def write_facts(state: str, known: dict[str, Any]) -> None:
    """Keep a finding, whole or not at all. Where it cannot be kept, or there is no state yet, it is found out again.

    Nothing is written into another user's folder: under ``sudo -E`` the file would be root's, and of use to nobody.
    """
    if _is_anothers(state):
        return
    path = os.path.join(state, _FILE)
    own = f"{path}.{os.getpid()}"
    try:
        descriptor = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({**known, "seal": _seal(state, known)}, file)
        os.replace(own, path)
    except OSError:
        return
