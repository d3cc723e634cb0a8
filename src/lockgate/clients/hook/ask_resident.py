"""Asks the resident gate from a hook's process. It imports only built-in modules.

``lockgate/hook.py`` loads this file alone, not as a part of the package: each package around it would cost as much.
"""

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _blake2 import blake2b as Hash  # noqa: N812 - the name of the class that it is
    from _socket import socket as Socket  # noqa: N812 - the same
    from collections.abc import Sequence
    from typing import NoReturn

FIRST_SECONDS = 1.0
"""How long the gate may take to say anything, before this process decides by itself."""
INPUT_SECONDS = 3.0
"""How long the client may take to write all of its payload: the deadline of a hook that decides by itself."""
_LOOK_SECONDS = 1.0
"""Between two looks at whether the client is still there, while somebody is waited for."""
_MAX_INPUT = 32 * 1024 * 1024
_MAX_PATH = 100  # sun_path holds 108 bytes on Linux and 104 on macOS, with a zero at the end
HOOK = __file__.rpartition("/clients/")[0] + "/hook.py"
"""The program of the hook."""
_BEGAN = time.monotonic()
"""When this process began: the client has waited since then, whoever decides in the end."""
_THERE = [False]
"""Whether a gate is there that gave no answer. One that has ended meanwhile is not."""
_FORGED = [False]
"""Whether something answered that has not the installation's key: it is no gate of ours."""
_PROOF = 32
"""Bytes of the proof behind each frame that a gate says, and of the key."""
_DATA: "list[bytes]" = []
"""What was read from stdin, which can be read only once."""


def _options(arguments: "Sequence[str]") -> "dict[str, str]":
    """The options of a command line, where a resident gate may be asked; none where it may not."""
    import posix

    options = dict(zip(arguments[1::2], arguments[2::2], strict=False))
    off = posix.environ.get(b"LOCKGATE_RESIDENT") == b"off"
    return {} if off or "--state" not in options or "--remote" in options else options


def _ask(arguments: "Sequence[str]", state: str) -> None:
    """Ask the resident gate of a state folder for an answer, and end the process. Returns where there is none.

    Raises:
        OSError: There is none, or it went away.
    """
    import posix
    from _socket import AF_UNIX, SOCK_STREAM, socket

    began = time.monotonic()
    for descriptor in (0, 1, 2):  # a socket must not get the number of a stream that the client closed
        posix.fstat(descriptor)
    gate = socket(AF_UNIX, SOCK_STREAM)
    gate.settimeout(FIRST_SECONDS)
    connect_gate(gate, state + "/run")
    _THERE[0] = True
    key = _key(state)
    data = _input()
    words = [posix.urandom(16).hex(), str(posix.getppid()), _code(), str(len(arguments)), *arguments]
    head = b"".join([word.encode(sys.getfilesystemencoding(), "surrogateescape") + b"\0" for word in words])
    head += b"".join([name + b"=" + value + b"\0" for name, value in posix.environ.items()])
    sizes = len(head).to_bytes(4, "big") + len(data).to_bytes(4, "big")
    request = b"LOCKGATE3\n" + sizes + head + data
    gate.sendall(request)
    _obey(gate, began + FIRST_SECONDS, _proof_begun(key, request))


def _key(state: str) -> bytes:
    """The installation's key. Without it no gate can prove that it is one; what is wrong is said by who decides."""
    import posix

    file = posix.open(state + "/key", posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC)
    found = posix.fstat(file)
    key = posix.read(file, _PROOF + 1)
    posix.close(file)
    if found.st_mode & 0o170077 != 0o100000 or found.st_uid != posix.geteuid() or len(key) != _PROOF:
        raise PermissionError  # not a regular file, or not this user's alone
    return key


def _proof_begun(key: bytes, request: bytes) -> "Hash":
    """What the proofs of all answers to a request begin with, as ``lockgate.clients.wire.resident`` has it."""
    try:
        from _blake2 import blake2b
    except ImportError:  # an interpreter without its own; hashlib takes longer
        from hashlib import blake2b
    return blake2b(request, key=key, person=b"lockgate answer", digest_size=_PROOF)


def _check(begun: "Hash", frame: bytes, proof: bytes) -> None:
    """Make sure that a frame is of a process that has the key, and says it to this request.

    Raises:
        PermissionError: It is not.
    """
    from _operator import _compare_digest

    hash_ = begun.copy()
    hash_.update(frame)
    if not _compare_digest(hash_.digest(), proof):
        _FORGED[0] = True
        raise PermissionError


def _code() -> str:
    """Which code this is, as ``lockgate.system.code_identity`` tells it: a gate of other code does not decide here."""
    import posix

    facts: list[int] = []
    for file in (HOOK, HOOK.rpartition("/")[0] + "/build"):
        try:
            found = posix.stat(file)
        except OSError:
            if not facts:
                raise
            facts += [0] * 5
        else:
            facts += [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
    return " ".join([*[str(number & 0xFFFFFFFFFFFFFFFF) for number in facts], HOOK])


def connect_gate(gate: "Socket", folder: str) -> None:
    """Connect to the socket of the gate in a folder, if it belongs to this user."""
    import posix
    from _socket import SOL_SOCKET

    if len(folder.encode(errors="surrogateescape")) < _MAX_PATH - len("/gate.sock"):
        gate.connect(folder + "/gate.sock")
    else:
        here = posix.open(".", posix.O_RDONLY)
        posix.chdir(folder)
        try:
            gate.connect("gate.sock")
        finally:
            posix.fchdir(here)
            posix.close(here)
    if sys.platform == "linux":
        from _socket import SO_PEERCRED

        peer = gate.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)  # unix(7): pid, uid, gid
    else:
        peer = gate.getsockopt(0, 1, 76)  # LOCAL_PEERCRED; struct xucred of sys/ucred.h: version, uid, groups
    if int.from_bytes(peer[4:8], sys.byteorder) != posix.geteuid():
        raise OSError


def _input() -> bytes:
    """All of stdin, or a little more than may be: then it is refused."""
    import posix
    from _signal import ITIMER_REAL, SIGALRM, setitimer, signal  # type: ignore[import-not-found]

    signal(SIGALRM, _give_up_input)
    setitimer(ITIMER_REAL, INPUT_SECONDS)
    parts = _DATA
    while sum(map(len, parts)) <= _MAX_INPUT and (part := posix.read(0, 1 << 20)):
        parts.append(part)
    setitimer(ITIMER_REAL, 0)
    return b"".join(parts)


def _give_up_input(*_: object) -> "NoReturn":
    """Have the event refused: a client that never ends its payload would else go on by itself when it tires of us.

    What was read is dropped, because a part may be missing that was just being read when time was up.
    """
    import posix

    _DATA.clear()
    posix.dup2(posix.open("/dev/null", posix.O_RDONLY), 0)
    raise TimeoutError


def _obey(gate: "Socket", until: float, proof: "Hash") -> None:
    """Do what the gate says. Returns where it does not answer until a time of the monotonic clock."""
    import posix

    heard = b""
    parent = 0  # once somebody is waited for
    while True:
        left = until - time.monotonic()
        gate.settimeout(max(min(left, _LOOK_SECONDS) if parent else left, 0.001))
        try:
            part = gate.recv(1 << 18)
        except TimeoutError:
            if left <= _LOOK_SECONDS:
                raise
            _end_unread(parent)
            continue
        heard += part
        while heard[:1] == b"W" and len(heard) >= 5 + _PROOF:
            _check(proof, heard[:5], heard[5 : 5 + _PROOF])
            parent = parent or posix.getppid()
            until = time.monotonic() + FIRST_SECONDS + int.from_bytes(heard[1:5], "big") / 1000
            heard = heard[5 + _PROOF :]
        if heard[:1] == b"A" and len(heard) >= 10:
            middle = 10 + int.from_bytes(heard[2:6], "big")
            end = middle + int.from_bytes(heard[6:10], "big")
            if len(heard) == end + _PROOF or (len(heard) == end and not part):  # a gate sends both at once
                _check(proof, heard[:end], heard[end:])
                _leave(heard[1], heard[10:middle], heard[middle:end])
            if len(heard) > end + _PROOF:
                return
        if not part:
            raise ConnectionError
        if heard[:1] not in (b"", b"W", b"A"):
            return


def _end_unread(parent: int) -> None:
    """End where the client is gone: a person's word must not be used up for nobody."""
    import posix
    import select

    reader = select.poll()
    reader.register(1, 0)
    if posix.getppid() != parent or any(seen & (select.POLLERR | select.POLLHUP) for _, seen in reader.poll(0)):
        posix._exit(2)


def _leave(code: int, stdout: bytes, stderr: bytes) -> "NoReturn":
    import posix

    for descriptor in (1, 2):
        text = stdout if descriptor == 1 else stderr
        try:
            while text:
                text = text[posix.write(descriptor, text) :]
        except OSError:
            code, stderr = 2, stderr or b"Lockgate blocks to be safe: the answer could not be written\n"
    posix._exit(code)


def ask_first(arguments: "Sequence[str]") -> "tuple[bytes, float, bool]":
    """Ask a gate for an answer, and end the process. Returns where there is none.

    Args:
        arguments: The client's name, then options; see ``lockgate/hook.py``.

    Returns:
        What was read from stdin, when this process began, and whether something answered that is no gate of ours.
    """
    options: dict[str, str] = {}
    try:
        options = _options(arguments)
        _FORGED[0] = "--forged" in options
        if options and "--asked" not in options:  # else it was, by whoever has become this process
            _ask(arguments, options["--state"])
    except ConnectionError:
        _THERE[0] = False
    except Exception:  # noqa: BLE001, S110 - whatever it was, this process decides by itself
        pass
    import gc

    # The process ends before there is garbage worth looking for, and each import makes the collector look.
    gc.disable()
    # Appended, so that nothing beside the package can stand in for a module of the standard library.
    sys.path.append(HOOK.rpartition("/")[0].rpartition("/")[0])
    try:
        if {"--home", "--state", "--config"} <= options.keys() and not _FORGED[0]:
            _join(arguments, options)
    except Exception:  # noqa: BLE001, S110 - as above
        pass
    return b"".join(_DATA), _BEGAN, _FORGED[0]


def _join(arguments: "Sequence[str]", options: "dict[str, str]") -> None:
    """Start a gate where none is there, or ask the one that another hook has just started; or wait for a turn.

    Hooks that all load what a decision takes, at once, would take so long that none is in time.
    """
    from lockgate.clients.common.hook_command import CALL_EVENTS
    from lockgate.clients.hook.start_resident import join_gate
    from lockgate.system.folders import Folders

    where = Folders(options["--home"], options["--state"], options["--config"])
    asked = _THERE[0] or "--asked" in options
    spent = int(options.get("--asked") or options.get("--missed") or 0) / 1000
    patient = options.get("--event") in CALL_EVENTS
    if join_gate(where, sys.executable, missed=not asked, began=_BEGAN - spent, patient=patient):
        _THERE[0] = True
        _ask(arguments, where.state)
