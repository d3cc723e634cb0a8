"""Opens the way from one contained install to package indexes: a folder with a socket, and the relay that listens.

What may be asked for is noted by the gate, below its state folder. The text that the client runs holds only the name of
that note. No contained command sees the folder. A note has a seal, and is for one room.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

from lockgate.containment.registry_proxy import forwarder
from lockgate.containment.sealed_notes import INSTALL, seal_of
from lockgate.core.errors import ContainmentError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.digests import sha256
from lockgate.system.libraries import is_installed
from lockgate.system.unix_sockets import short_path

if TYPE_CHECKING:
    from lockgate.containment.registry_proxy.wanted import Wanted

INSIDE = "/run/lockgate-registries"
"""Where the sandbox sees the folder: ``/run`` is empty there."""
_LIBRARIES = ("cryptography", "h11", "httpx", "packaging", "trustme")
_SOCKET = "socket"
MOST_NOTED = 64 * 1024 * 1024
_KEPT_SECONDS = 86_400.0
"""For how long a note is kept: each decision writes it anew."""
_STARTED: list[subprocess.Popen[bytes]] = []
"""Relays that this process has started: they are reaped when the next one is."""
_NPM_ASKS_LESS = {"npm_config_audit": "false", "npm_config_update_notifier": "false"}
"""npm sends the list of all packages to have it audited: that is refused, so it is told not to try."""


class OpenedProxy(Record):
    """What a sandbox needs to reach the relay."""

    folder: str
    """What it sees at :data:`INSIDE`."""
    environment: Mapping[str, str]
    wrapper: tuple[str, ...]
    """The words that stand before its command."""
    stores: tuple[str, ...] = ()
    """Folders at which it finds one of its own."""


def why_not() -> str:
    """Why no contained install reaches an index on this machine; empty where one can."""
    if not sys.platform.startswith("linux"):
        return "only on Linux has a sandbox a network of its own"
    missing = [name for name in _LIBRARIES if not is_installed(name)]
    return (
        f"libraries are missing ({', '.join(missing)}); in a clone of Lockgate, run: pip install '.[installs]'"
        if missing
        else ""
    )


def note(state: str, room: str, wanted: Wanted) -> str:
    """Note what an install may ask for. Gives the name under which that is: the same for the same room and packages.

    An agent may write any name into a text: only one under which something was noted for its own room leads anywhere.
    """
    from lockgate.system.files import replace
    from lockgate.system.ownership import make_folders

    text = f"{room}\n{wanted.to_json()}"
    name = sha256(text.encode()).hexdigest()[:32]
    make_folders(_folder(state))
    _drop_old(_folder(state))
    path = _note(state, name)
    replace(path, f"{seal_of(state, INSTALL, text)}\n{text}".encode(), draft=f"{path}.{os.getpid()}")
    return name


def read_noted(state: str, name: str, room: str) -> Wanted:
    """What an install may ask for, as the gate has noted it for the room that it runs in.

    Raises:
        ContainmentError: Nothing was noted under the name for this room, or something else has written it.
    """
    from lockgate.containment.registry_proxy.wanted import Wanted
    from lockgate.system.files import read_regular

    try:
        seal, _, text = read_regular(_note(state, name), MOST_NOTED, follow=False).decode().partition("\n")
    except (OSError, ValueError):
        seal = text = ""
    noted_for, _, wanted = text.partition("\n")
    if not seal or seal != seal_of(state, INSTALL, text) or noted_for != room:
        raise ContainmentError("what this install may ask for is not known any more: give the command by itself")
    return Wanted.from_json(wanted)


def open_proxy(state: str, name: str, room: str, home: str, environ: Mapping[str, str]) -> OpenedProxy:
    """Start a relay where none listens, and tell how it is reached. It is not waited for.

    Args:
        state: The state folder.
        name: What :func:`note` has given.
        room: The room that the install runs in.
        home: The person's home folder.
        environ: The environment of the person's client.

    Raises:
        ContainmentError: Nothing was noted under the name for the room, or it cannot be started.
    """
    from lockgate.containment.registry_proxy.settings import indexes_of
    from lockgate.system.ownership import make_folders

    wanted = read_noted(state, name, room)
    folder = os.path.join(_folder(state), name)
    python, npm = indexes_of(home, environ)
    try:
        make_folders(folder)
        with hold_turn(folder), short_path(folder, _SOCKET) as path:
            if not _answers(path):
                _start(path, folder, (state, name, room, home), environ)
    except OSError as error:
        raise ContainmentError(f"the relay to package indexes cannot be started: {error.strerror}") from None
    environment = {"PIP_INDEX_URL": python.base, "UV_DEFAULT_INDEX": python.base, "npm_config_registry": npm.base}
    # What a person has in their usual cache of npm is read-only in there, and new packages are written to it.
    environment["npm_config_cache"] = os.path.join(home, ".cache", "npm")
    environment |= _yarn_and_pnpm(npm.base, os.path.join(home, ".cache"))
    stores: tuple[str, ...] = ()
    if wanted.has_store:
        stores = (_pnpm_store(home, environ),)
        environment |= {"npm_config_store_dir": stores[0], "pnpm_config_store_dir": stores[0]}
    wrapper = (sys.executable, "-I", "-S", str(forwarder.__file__), INSIDE)
    return OpenedProxy(folder, {**environment, **_NPM_ASKS_LESS}, wrapper, stores)


def _pnpm_store(home: str, environ: Mapping[str, str]) -> str:
    """Where pnpm keeps packages (pnpm.io, ``storeDir``)."""
    kept = environ.get("PNPM_HOME") or os.path.join(environ.get("XDG_DATA_HOME") or f"{home}/.local/share", "pnpm")
    return os.path.join(kept, "store")


def _yarn_and_pnpm(registry: str, cache: str) -> dict[str, str]:
    """Where yarn, pnpm and corepack ask, and keep files: their usual folders are read-only in there (their manuals)."""
    return {
        "pnpm_config_registry": registry,
        "YARN_NPM_REGISTRY_SERVER": registry,
        "YARN_GLOBAL_FOLDER": os.path.join(cache, "yarn-berry"),
        "YARN_ENABLE_TELEMETRY": "0",
        "COREPACK_NPM_REGISTRY": registry,
    }


@contextlib.contextmanager
def hold_turn(folder: str) -> Iterator[None]:
    """Wait until nobody else starts or ends the relay of a folder."""
    import fcntl

    descriptor = os.open(f"{folder}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _start(path: str, folder: str, asked: Sequence[str], environ: Mapping[str, str]) -> None:
    for old in (path, os.path.join(folder, "authority.pem")):
        if os.path.lexists(old):
            os.unlink(old)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(100)
        descriptor = listener.fileno()
        words = [sys.executable, "-I", "-m", "lockgate.containment.registry_proxy.relay"]
        _STARTED[:] = [process for process in _STARTED if process.poll() is None]
        _STARTED.append(
            subprocess.Popen(  # noqa: S603 - this program itself
                [*words, str(descriptor), folder, *asked],
                env=dict(environ),
                pass_fds=(descriptor,),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        )


def _drop_old(folder: str) -> None:
    """Remove what was noted long ago, with the folders of relays that have ended."""
    before = time.time() - _KEPT_SECONDS
    with os.scandir(folder) as entries:
        old = [entry for entry in entries if entry.stat(follow_symlinks=False).st_mtime < before]
    for entry in old:
        with contextlib.suppress(OSError):  # a relay that still runs keeps its folder
            os.rmdir(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(1.0)
        try:
            asked.connect(path)
        except OSError:
            return False
        return True


def _folder(state: str) -> str:
    return os.path.join(state, "registries")


def _note(state: str, name: str) -> str:
    return os.path.join(_folder(state), f"{name}.json")
