"""Tries on a Mac whether ``sandbox-exec`` holds what the profile says, before it is ever relied on.

The profile's language is not documented, and changes of the system could make it say less. So each machine tries: a
program in a sandbox does what must not be possible and what must be, and one wrong answer rules the way out.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile

from lockgate.containment.macos.sandbox_exec import command_line
from lockgate.containment.plan import DEVICES, EMPTY, READ_ONLY, WRITABLE, Mount, Plan
from lockgate.core.errors import LockgateError
from lockgate.system.ownership import make_folders
from lockgate.system.programs import run

_SECONDS = 2.0
_TRY = """
import json, os, socket, sys
here, port, parent = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def can(what, *arguments):
    try:
        what(*arguments)
    except OSError:
        return False
    return True
def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as it:
        it.settimeout(1)
        it.connect(address)
        it.send(b"x")
def write(path):
    open(path, "a").close()
def again(path, other):
    os.link(path, other)
    write(other)
done = {
    "tcp": can(connect, socket.AF_INET, ("127.0.0.1", port)),
    "udp": can(connect, socket.AF_INET, ("127.0.0.1", port), socket.SOCK_DGRAM),
    "serve": can(lambda: socket.create_server(("127.0.0.1", 0))),
    "a socket of the machine": can(connect, socket.AF_UNIX, here + "/s"),
    "a socket in the project": can(connect, socket.AF_UNIX, here + "/p/s"),
    "write outside": can(write, here + "/made"),
    "write by a link": can(write, here + "/p/link/made"),
    "write to a protected file": can(write, here + "/p/.envrc"),
    "write to it by another name": can(again, here + "/p/.envrc", here + "/p/other"),
    "move it": can(os.rename, here + "/p/.envrc", here + "/p/moved"),
    "make a protected folder": can(os.mkdir, here + "/p/.vscode"),
    "move one there": can(os.mkdir, here + "/p/made") and can(os.rename, here + "/p/made", here + "/p/.Vscode"),
    "read a secret": can(lambda: open(here + "/hidden/key").read()),
    "signal": can(os.kill, parent, 0),
    "WRITE": can(write, here + "/p/fine") and can(os.rename, here + "/p/fine", here + "/p/finer"),
    "READ": can(os.listdir, here + "/p") and can(lambda: open(here + "/visible").read()),
    "TEMPORARY": can(write, os.environ["TMPDIR"] + "/t"),
    "START": os.system("/usr/bin/true </dev/null >/dev/null") == 0,
}
print(json.dumps(done))
"""
"""Small letters must fail, capital ones must not."""


def try_profile(program: str) -> str:
    """Why ``sandbox-exec`` does not hold here; empty where it does.

    Args:
        program: ``sandbox-exec``, absolute.
    """
    if not os.access(program, os.X_OK):
        return f"there is no {program}"
    with tempfile.TemporaryDirectory(prefix="lockgate-") as folder:
        here = os.path.realpath(folder)
        _fill(here)
        servers = [_listener(place) for place in (("127.0.0.1", 0), f"{here}/s", f"{here}/p/s")]
        try:
            port = servers[0].getsockname()[1]
            command = (sys.executable, "-I", "-S", "-c", _TRY, here, str(port), str(os.getpid()))
            return _judge(*command_line(_plan(here, command), program))
        except (OSError, LockgateError) as error:
            return f"{type(error).__name__}: {error}"
        finally:
            for server in servers:
                server.close()


def _judge(argv: list[str], environment: dict[str, str]) -> str:
    ran = run(argv, _SECONDS, environ=environment)
    if ran.problem:
        return ran.problem
    try:
        found = json.loads(ran.out)
    except ValueError:
        return f"exit code {ran.code}: {ran.err.strip()[-200:]}"
    if not isinstance(found, dict) or set(found) != set(_names()):
        return "it answers otherwise than was asked"
    wrong = [name for name, could in found.items() if could is not name.isupper()]
    return f"it does not hold what it should: {', '.join(wrong)}" if wrong else ""


def _names() -> list[str]:
    return [line.split('"')[1] for line in _TRY.splitlines() if line.startswith('    "')]


def _fill(here: str) -> None:
    for name in ("p", "hidden", "own/tmp"):
        make_folders(f"{here}/{name}")
    for name in ("p/.envrc", "hidden/key", "visible"):
        with open(f"{here}/{name}", "w", encoding="ascii") as file:
            file.write("x")
    os.symlink(here, f"{here}/p/link")


def _plan(here: str, command: tuple[str, ...]) -> Plan:
    mounts = (
        Mount(READ_ONLY, "/", "/"),
        Mount(DEVICES, "/dev"),
        Mount(WRITABLE, f"{here}/temporary", f"{here}/own/tmp"),
        Mount(EMPTY, f"{here}/hidden"),
        Mount(WRITABLE, f"{here}/p", f"{here}/p"),
        Mount(READ_ONLY, f"{here}/p/.envrc", f"{here}/p/.envrc"),
    )
    places = (("**", ".envrc"), ("**", ".vscode", "**"))
    return Plan(mounts, "/", {"PATH": os.defpath}, command, places)


def _listener(place: tuple[str, int] | str) -> socket.socket:
    server = socket.socket(socket.AF_UNIX if isinstance(place, str) else socket.AF_INET)
    server.bind(place)
    server.listen()
    return server
