"""Writes the units of service managers: for systemd, and a property list for launchd. Pure."""

from __future__ import annotations

import plistlib
from collections.abc import Mapping, Sequence

UNIT = "lockgate-gate.service"
LABEL = "dev.lockgate.gate"
"""The job's name for launchd."""
AGAIN_SECONDS = 1
"""How long a service manager waits before it starts the gate again."""

# Only what the kernel filters by system call. Whatever gives a service another view of the files (ProtectSystem,
# PrivateTmp) would have the gate see others than its hooks do. It answers no hook that sees others. Namespaces stay
# allowed: the gate tries out whether commands can be contained.
_HARDENING = (
    ("NoNewPrivileges", "yes"),
    ("LockPersonality", "yes"),
    ("RestrictRealtime", "yes"),
    ("RestrictSUIDSGID", "yes"),
    ("SystemCallArchitectures", "native"),
    # A judge and webhooks take the network; bubblewrap sets up a loopback device by netlink.
    ("RestrictAddressFamilies", "AF_UNIX AF_INET AF_INET6 AF_NETLINK"),
    ("UMask", "0077"),
    ("LimitCORE", "0"),
    ("LimitNOFILE", "4096"),
    ("TasksMax", "1024"),
)


def unit(command: Sequence[str], environment: Mapping[str, str], again: int, *, hardened: bool = True) -> str:
    """The text of a user unit.

    Args:
        command: The gate's command line, absolute.
        environment: Its variables.
        again: The exit code with which it asks to be started again.
        hardened: Whether to take from it what it never needs. A sandbox program with the set-user-ID bit, as older
            Debian releases have it, would not work with that.

    Raises:
        ValueError: A word cannot be written in a unit.
    """
    lines = [
        "# Written by: lockgate service install. It is not changed by hand: that command would write it anew.",
        "[Unit]",
        "Description=Lockgate: the resident gate, which answers the hooks of agents",
        "StartLimitIntervalSec=60",
        "StartLimitBurst=10",
        "",
        "[Service]",
        "Type=exec",
        f"ExecStart={' '.join([_program(command[0]), *map(_argument, command[1:])])}",
        *(f"Environment={_word(f'{name}={value}')}" for name, value in environment.items()),
        "WorkingDirectory=/",
        f"# It ends with {again} when its code was replaced, to be started anew, and with 0 when it was stopped.",
        "Restart=on-failure",
        f"RestartSec={AGAIN_SECONDS}",
        *(f"{name}={value}" for name, value in _HARDENING if hardened or name != "NoNewPrivileges"),
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "\n".join(lines) + "\n"


def property_list(command: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """The property list of a launchd agent.

    Args:
        command: The gate's command line, absolute.
        environment: Its variables.
    """
    job = {
        "Label": LABEL,
        "ProgramArguments": list(command),
        "EnvironmentVariables": dict(environment),
        "WorkingDirectory": "/",
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": AGAIN_SECONDS,
        "ProcessType": "Interactive",
        "Umask": 0o077,
    }
    return plistlib.dumps(job, sort_keys=False)


def _program(path: str) -> str:
    """The first word of a command: no variable is looked for in it, and it cannot have every character."""
    if not {'"', "'", "\\"}.isdisjoint(path):
        raise ValueError(f"systemd runs no program with a quotation mark or a backslash in its path: {path}")
    return _word(path)


def _argument(word: str) -> str:
    return _word(word.replace("$", "$$"))


def _word(word: str) -> str:
    """A word as systemd reads it: quoted, with specifiers taken literally.

    See "Quoting" in systemd.syntax(7), "Specifiers" in systemd.unit(5), and "Command lines" in systemd.service(5).
    """
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in word):
        raise ValueError("a path with a control character cannot be written in a unit")
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'
