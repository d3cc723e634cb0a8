"""Writes a plan as the command line of bubblewrap."""

from __future__ import annotations

from lockgate.containment.linux.proc import settings
from lockgate.containment.plan import DEVICES, EMPTY, PROCESSES, QUEUES, READ_ONLY, SHARED, WRITABLE, Plan

_OPTIONS = {
    READ_ONLY: ("--ro-bind",),
    WRITABLE: ("--bind",),
    EMPTY: ("--tmpfs",),
    SHARED: ("--perms", "1777", "--tmpfs"),
    DEVICES: ("--dev",),
    PROCESSES: ("--proc",),
    QUEUES: ("--mqueue",),
}

ISOLATION = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--disable-userns",
    "--cap-drop",
    "ALL",
    "--die-with-parent",
    "--new-session",
)
"""What holds for every sandbox. Loopback is brought up, and no_new_privs is set, by bubblewrap itself."""


def arguments(plan: Plan, filter_descriptor: int, status_descriptor: int) -> list[str]:
    """The options; the command follows them.

    Args:
        plan: The sandbox.
        filter_descriptor: Where the filter of system calls is read from.
        status_descriptor: Where bubblewrap writes, as lines of JSON, which process it started and how that ended.
    """
    return ["--seccomp", str(filter_descriptor), "--json-status-fd", str(status_descriptor), *options(plan)]


def options(plan: Plan) -> list[str]:
    """Those of the options that name no descriptor."""
    said = [*ISOLATION]
    for mount in plan.mounts:
        said += [*_OPTIONS[mount.kind], *([mount.source] if mount.source else []), mount.target]
        if mount.kind == PROCESSES:
            said += [word for path in settings() for word in ("--ro-bind", path, path)]
    return [*said, "--chdir", plan.cwd]
