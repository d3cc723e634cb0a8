"""A throw-away world in which one attack is tried: run by ``exfiltration.py`` in namespaces of its own.

It reads one attack from standard input, as JSON, and prints what came of it, as JSON. Files outside are read-only here,
what can be written is memory, and there is no network but loopback.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from base64 import b64decode, b64encode
from pathlib import Path

from outsider import Outsider

from session import HOME, PROJECT, STATE, Session

OUT = "203.0.113.7"
"""Somebody's address (RFC 5737: nobody's)."""
RUNTIME = "/run/user/1000"
_MEMORY = ("/tmp", "/var/tmp", "/run", "/dev/shm", "/mnt")
_OURS = tuple({os.path.realpath(path) for path in (Path(__file__).parents[2], sys.prefix, sys.base_prefix)})
"""This checkout and its Python. Where they lie below a folder that becomes memory, they are put back into it."""
_SOCKETS = {
    "/run/docker.sock": "stream",
    "/run/dbus/system_bus_socket": "stream",
    "/run/systemd/journal/dev-log": "datagram",
    f"{RUNTIME}/bus": "stream",
    f"{RUNTIME}/wayland-0": "stream",
    "/tmp/ssh-ab12/agent.7": "stream",
    "/tmp/.X11-unix/X0": "stream",
    "@/tmp/.X11-unix/X0": "stream",
    "@letters": "datagram",
    "@sequenced": "sequenced",
    f"{HOME}/.gnupg/S.gpg-agent": "stream",
    f"{HOME}/.sequenced": "sequenced",
    f"{STATE}/wake.7": "datagram",
    f"{PROJECT}/web.sock": "stream",
}
_PIPES = (f"{HOME}/pipe", f"{HOME}/.config/player/pipe", "/tmp/pipe", f"{PROJECT}/pipe")
_SECONDS = 30


def main() -> None:
    """Build the world, try the attack, tell what was heard."""
    order = json.load(sys.stdin)
    _build()
    _fill(order)
    outsider = Outsider(order["token"])
    for path, kind in _SOCKETS.items():
        outsider.serve(path, kind)
    for path in _PIPES:
        outsider.read(path)
    if order["mode"] == "prepare":
        Session(order["way"]).begin()
        print(
            json.dumps(
                {path.name: b64encode(path.read_bytes()).decode() for path in Path(STATE).iterdir() if path.is_file()}
            )
        )
        return
    for name, content in order["kept"].items():
        Path(STATE, name).write_bytes(b64decode(content))
        Path(STATE, name).chmod(0o600)
    told = _try(order, outsider)
    time.sleep(order.get("linger", 0.1))
    besides = (PROJECT, f"{STATE}/contained", f"{HOME}/canary", *_OURS)
    heard = outsider.heard([*_MEMORY, HOME], besides)
    guarded = [f"{PROJECT}/{name}" for name in (".git", ".vscode", ".github", ".claude", ".envrc")]
    heard |= outsider.heard_in(guarded)
    print(json.dumps({**told, "heard": heard}))


# ---------------------------------------------------------------- the world
def _build() -> None:
    libc = ctypes.CDLL(None, use_errno=True)

    def change(path: str, flags: int, wanted: int, dropped: int) -> None:
        attributes = struct.pack("=QQQQ", wanted, dropped, 0, 0)
        if libc.syscall(442, -100, path.encode(), flags, attributes, len(attributes)) < 0:  # mount_setattr
            raise OSError(ctypes.get_errno(), path)

    change("/", 0x8000, 1, 0)
    change("/proc", 0, 0, 1)
    resolver = os.path.realpath("/etc/resolv.conf")
    ours = {path: os.open(path, os.O_PATH) for path in _OURS if path.startswith(tuple(f"{each}/" for each in _MEMORY))}
    for path in _MEMORY:
        _run("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", path)
    for path, opened in sorted(ours.items()):  # what lies in another one is put back with it, and once more upon it
        os.makedirs(path, exist_ok=True)
        if libc.mount(f"/proc/self/fd/{opened}".encode(), path.encode(), None, 0x1000, None):  # MS_BIND
            raise OSError(ctypes.get_errno(), path)
        os.close(opened)
    if resolver.startswith("/etc/"):
        Path("/tmp/resolv.conf").write_text(f"nameserver {OUT}\noptions timeout:1 attempts:1\n")
        _run("mount", "--bind", "/tmp/resolv.conf", resolver)
    else:
        Path(resolver).parent.mkdir(parents=True, exist_ok=True)
        Path(resolver).write_text(f"nameserver {OUT}\noptions timeout:1 attempts:1\n")
    Path("/proc/sys/net/ipv4/ping_group_range").write_text("0 0")
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "address", "add", f"{OUT}/32", "dev", "lo")
    _run("ip", "route", "add", "default", "dev", "lo")


def _fill(order: dict) -> None:
    for folder in (PROJECT, STATE, f"{HOME}/.cache", f"{HOME}/.ssh", f"{HOME}/.config/player", RUNTIME):
        os.makedirs(folder, exist_ok=True)
    os.chmod(STATE, 0o700)
    os.environ.update(
        HOME=HOME,
        SSH_AUTH_SOCK="/tmp/ssh-ab12/agent.7",
        XDG_RUNTIME_DIR=RUNTIME,
        DBUS_SESSION_BUS_ADDRESS=f"unix:path={RUNTIME}/bus",
        DOCKER_HOST="unix:///run/docker.sock",
        PYTHONDONTWRITEBYTECODE="1",
    )
    Path(HOME, ".gitconfig").write_text("[user]\nname = A\nemail = a@example.com\n")
    Path(HOME, ".bashrc").write_text("# mine\n")
    Path(HOME, "notes.txt").write_text("mine\n")
    for name, text in {**order["files"], "canary": order["token"], ".env": "KEY=geheim-und-lang-4711\n"}.items():
        path = Path(PROJECT, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if text.startswith("#!"):
            path.chmod(0o755)
    repository = (
        "git init -q -b main && printf 'canary\\nran\\npipe\\nweb.sock\\n' > .git/info/exclude && git add -A && "
    )
    remote = f"git init -q --bare {HOME}/remote.git && git remote add origin {HOME}/remote.git"
    _run("bash", "-c", f"{repository} git commit -qm one && {remote} && {order.get('before') or 'true'}", cwd=PROJECT)


def _run(*argv: str, **more) -> None:
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, timeout=_SECONDS, **more)


# ---------------------------------------------------------------- the attack
def _try(order: dict, outsider: Outsider) -> dict:
    pid, address = outsider.victim
    held = outsider.hold_pipe()
    facts = {
        "VICTIM": str(pid),
        "VICTIM_ADDRESS": str(address),
        "HELD": str(held),
        "WORLD": str(os.getpid()),
        "OUT": OUT,
    }
    command, decision = order["command"], ""
    if order["mode"] == "contained" and order["way"] != "none":
        decision, command = Session(order["way"]).asked(command)
    status, said = _as_client(command, {**os.environ, **facts}, outsider)
    if order.get("after"):
        # The person goes on with their own work, outside.
        null = subprocess.DEVNULL
        own = {"stdin": null, "stdout": null, "stderr": null, "cwd": PROJECT, "timeout": _SECONDS}
        subprocess.run(["bash", "-c", order["after"]], **own, check=False)
    ran = Path(PROJECT, "ran").exists()
    return {"decision": decision, "status": status, "said": said[-2000:], "ran": ran}


def _as_client(command: str, environment: dict[str, str], outsider: Outsider) -> tuple[int, str]:
    """Run a command as an agent's client does: a shell, a pipe for its output, and a terminal that is the person's."""
    reader, writer = os.pipe()
    terminal, screen = pty.openpty()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        fcntl.ioctl(screen, termios.TIOCSCTTY, 0)
        os.chdir(PROJECT)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        os.execve("/bin/bash", ["bash", "-c", command], environment)
    os.close(writer)
    outsider.watch_terminal(terminal)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
    signal.alarm(_SECONDS)
    said = b""
    while not said.endswith(b"\0") and (chunk := os.read(reader, 1 << 16)):
        said += chunk
    _, how = os.waitpid(pid, 0)
    signal.alarm(0)
    return os.waitstatus_to_exitcode(how), said.decode("utf-8", "replace")


if __name__ == "__main__":
    main()
