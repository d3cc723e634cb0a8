"""The process of a resident gate.

::

    /abs/python -I -S -X disable-remote-debug /abs/lockgate/resident/process.py
        --home H --state S --config C [--idle SECONDS] [--replace yes]

It ends by itself when nobody has asked it for a while. Where another one listens already, it ends at once, unless it is
to take its place. It also ends when its code was replaced by another version, or its socket or the state folder is
gone; then it says to a service manager that another one is to be started (:data:`AGAIN`).
"""

from __future__ import annotations

import gc
import os
import sys
import time

_BEGAN_NS = time.time_ns()

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

    from lockgate.service.resident.metrics import Measures
    from lockgate.system.code_identity import OwnCode
    from lockgate.system.folders import Folders

IDLE_SECONDS = 1800.0
"""How long a gate that nobody asks stays."""
_TRIES, _PAUSE = 5, 0.01
"""How often it tries to get the lock, and seconds between: who looks whether a gate is there has it for an instant."""
AGAIN = 75
"""The exit code of a gate that cannot go on, where a new one can: EX_TEMPFAIL of sysexits.h."""


class Listening:
    """The socket and the lock of a gate, and when to let go of them."""

    def __init__(self, where: Folders, idle: float) -> None:
        """Begin without them.

        Args:
            where: The folders that the gate serves.
            idle: Seconds without a request after which it ends; 0 for never.
        """
        self._where = where
        self._idle = idle
        self._path = ""
        self._inode = 0
        self._lock = -1

    def take_turn(self, code: str = "") -> bool:
        """Make sure to be the only gate; whether it is.

        Args:
            code: Which code this is. The file with the lock says it, to hooks that get no answer.

        Raises:
            OSError: The lock cannot be looked at.
            StoreError: The state folder cannot be used.
        """
        import fcntl

        from lockgate.clients.wire.resident_files import LOCK, make_run_folder

        folder = make_run_folder(self._where.state)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._lock = os.open(os.path.join(folder, LOCK), flags, 0o600)
        for _ in range(_TRIES):
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                time.sleep(_PAUSE)
            else:
                os.ftruncate(self._lock, 0)
                os.write(self._lock, os.fsencode(code))
                return True
        return False

    def begin(self) -> socket.socket:
        """Listen. Raises ``OSError`` where that cannot be."""
        import socket

        from lockgate.clients.wire.resident_files import SOCKET, run_folder
        from lockgate.system.unix_sockets import short_path

        folder = run_folder(self._where.state)
        path = os.path.join(folder, SOCKET)
        if os.path.lexists(path):
            os.unlink(path)  # of a gate that was killed: it would have the lock
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with short_path(folder, SOCKET) as address:
            listening.bind(address)
        os.chmod(path, 0o600)
        listening.listen(1024)
        self._path = path
        self._inode = os.lstat(path).st_ino
        return listening

    def is_own(self) -> bool:
        """Whether hooks still find this gate."""
        try:
            return os.lstat(self._path).st_ino == self._inode
        except OSError:
            return False

    def goes_on(self, measures: Measures) -> bool:
        """Whether the gate is still wanted."""
        return self.is_own() and not (self._idle and time.monotonic() - measures.last_at > self._idle)

    def end(self) -> None:
        """Give the gate's place up, so that another one can start."""
        if self.is_own():
            os.unlink(self._path)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def run(where: Folders, idle: float, code: OwnCode) -> bool:
    """Be the gate of a state folder until it is time to end; whether another one should be started then.

    Args:
        where: The folders that it serves.
        idle: Seconds without a request after which it ends; 0 for never.
        code: Which code this is.

    Raises:
        OSError: It cannot listen.
        StoreError: The state cannot be opened or trusted.
    """
    listening = Listening(where, idle)
    if not listening.take_turn(code.hook):
        return False
    try:
        return _serve(where, listening, code)
    finally:
        listening.end()


def _serve(where: Folders, listening: Listening, own: OwnCode) -> bool:
    import signal

    from lockgate.core.record import quicken
    from lockgate.service.resident.decider import Decider
    from lockgate.service.resident.identity import LoadedCode
    from lockgate.service.resident.loop import Serving

    decider = Decider(where)
    decider.warm()
    quicken()
    code = LoadedCode(_BEGAN_NS)
    decider.is_stale = code.has_changed
    decider.is_own_code = own.is_told_by
    decider.code = own.hook

    def is_replaced() -> bool:
        return code.has_changed() or decider.state.has_changed() or not listening.is_own()

    serving = Serving(listening.begin(), decider, lambda measures: listening.goes_on(measures) and not is_replaced())

    signal.signal(signal.SIGALRM, serving.limit.rang)
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda *_: serving.stop())
    _keep_what_is_loaded()
    end_upkeep = decider.start_upkeep()
    try:
        serving.run()
        return is_replaced() or serving.makes_room or serving.measures.failed > 0
    finally:
        end_upkeep()
        decider.close()


def _keep_what_is_loaded() -> None:
    """Have the garbage collector leave alone what is loaded: it stays, and need not be looked at again and again."""
    gc.collect()
    gc.freeze()
    gc.disable()


def main(arguments: Sequence[str]) -> int:
    """Run a gate; the exit code: 0 it ended in its own time, 1 it could not be one, or :data:`AGAIN`."""
    from lockgate.system.code_identity import OwnCode

    code = OwnCode(_programs())  # before anything else is loaded
    from lockgate.system.error_log import note, place_of
    from lockgate.system.folders import Folders

    os.chdir("/")  # so that no folder is kept busy
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    where = Folders(given["--home"], given["--state"], given["--config"])
    try:
        if given.get("--replace") == "yes":
            from lockgate.clients.wire.resident_control import stop_gate

            stop_gate(where.state)
        again = run(where, float(given.get("--idle", IDLE_SECONDS)), code)
    except Exception as error:  # noqa: BLE001 - hooks decide by themselves; why is kept for `lockgate doctor`
        note(where.state, "gate", type(error).__name__, place_of(error))
        return 1
    return AGAIN if again else 0


def _programs() -> list[str]:
    """The programs of this package that ask a gate: the hook, and the launcher of contained commands."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return [os.path.join(package, name) for name in ("hook.py", "contain.py")]


if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))
    sys.exit(main(sys.argv[1:]))
