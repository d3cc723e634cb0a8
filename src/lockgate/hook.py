"""The process that an agent client runs for every event: one JSON object in, one answer out.

It is run by absolute path in an isolated interpreter without site packages, so that neither the environment nor the
project can change what is imported::

    /abs/python -I -S /abs/lockgate/hook.py CLIENT --home H --state S --config C [--event E] [--settings F]
        [--plugin DATA] [--remote PLACE --key-file F [--ca-file F]]

CLIENT is one of :data:`lockgate.adapters.CLIENTS`.

It fails closed. Whatever goes wrong, it answers with a refusal in the client's dialect, a line on stderr and exit
code 2, within its own deadline; it never shows a traceback. Should the interpreter itself hang or die, the exit code
is not zero, and the shell around it (``|| exit 2``) blocks.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Mapping, Sequence

TYPE_CHECKING = False  # nothing of ours, nor typing itself, is imported before main() can refuse
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from lockgate.adapters import Adapter
    from lockgate.adapters.claude_command import Launch
    from lockgate.events import Answer, Context, Event
    from lockgate.folders import Folders
    from lockgate.gate import Monitor
    from lockgate.model import ToolCall
    from lockgate.remote.client import RemoteGate

MAX_INPUT = 32 * 1024 * 1024
"""Most bytes of one payload. More is refused."""
DEADLINE = 3.0
"""Seconds for everything; the client waits longer."""
_GRACE = 0.5
"""Seconds after the deadline until the process is ended from outside the interpreter."""
_MARGIN = 1.5
"""Seconds of the client's patience that are left for its own start of this process, and for reading the answer."""
_BEGAN = time.monotonic()
"""When this process began: a hook is one process for one event."""
_ANSWER = [1]
"""Where the answer goes: the descriptor of standard output as it was when this process began."""
_HEARD: dict[str, Mapping[str, Any]] = {}
"""The payload, once it was read: a refusal withholds the result in it."""
_SPEAKS: list[str] = ["claude-code"]
"""The client that a refusal is spelt for: until one is known, the one that most understand."""

_LAST_RESORT = (
    '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": '
    '"Lockgate could not decide and blocks to be safe: its own code cannot be loaded. Run: lockgate doctor"}}'
)
"""The refusal where even the encoder cannot be imported."""


class _Options:
    """What the command line says; each class attribute but the client is an option, and its value the default."""

    client: str = ""
    home: str = ""
    state: str = ""
    config: str = ""
    event: str = ""
    settings: str = ""
    plugin: str = ""
    remote: str = ""
    key_file: str = ""
    ca_file: str = ""
    deadline: float = DEADLINE


def _options(arguments: Sequence[str]) -> _Options:
    from lockgate.errors import BadInputError

    options = _Options()
    rest = list(arguments)
    if rest and not rest[0].startswith("-"):
        options.client = rest.pop(0)
    while rest:
        name, given, value = rest.pop(0).partition("=")
        field = name.removeprefix("--").replace("-", "_")
        if not name.startswith("--") or field not in _Options.__annotations__ or field == "client":
            raise BadInputError(f"unknown argument {name!r}")
        if not given:
            if not rest:
                raise BadInputError(f"{name} needs a value")
            value = rest.pop(0)
        setattr(options, field, _seconds(value) if field == "deadline" else value)
    return options


def _seconds(value: str) -> float:
    from lockgate.errors import BadInputError

    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0.05 <= seconds <= 600:
        raise BadInputError(f"--deadline must be between 0.05 and 600 seconds, not {value!r}")
    return seconds


def _occupy_descriptors() -> None:
    """Keep the numbers 0 to 2 from being given to a file.

    Where the client closed one of them, the next file opened would get its number, and the answer would be written into
    the database. Read-only, so that writing the answer fails, which refuses.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


def _keep_output() -> None:
    """Let nothing but the answer reach the client: what a library or a plugin prints goes nowhere."""
    _ANSWER[0] = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, 1)
    os.close(nowhere)


# ---------------------------------------------------------------- in
def _read_input() -> bytes:
    from lockgate.errors import BadInputError

    chunks: list[bytes] = []
    size = 0
    while True:
        try:
            chunk = os.read(0, 1 << 20)
        except OSError:
            raise BadInputError("stdin cannot be read") from None
        if not chunk:
            break
        size += len(chunk)
        if size > MAX_INPUT:
            raise BadInputError(f"the payload is larger than {MAX_INPUT // (1024 * 1024)} MB")
        chunks.append(chunk)
    return b"".join(chunks)


# ---------------------------------------------------------------- out
def _write(descriptor: int, text: str) -> bool:
    data = memoryview(text.encode("utf-8", "backslashreplace"))
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        return False
    return True


def _leave(stdout: str, stderr: str, code: int) -> NoReturn:
    """Write the answer and end at once, past the interpreter's own shutdown."""
    if stdout and not _write(_ANSWER[0], stdout + "\n"):
        code = 2
        stderr = stderr or "Lockgate blocks to be safe: the answer could not be written\n"
    if stderr:
        _write(2, stderr)
    os._exit(code)


def _refuse(event: str | None, message: str) -> NoReturn:
    try:
        from lockgate.adapters import adapter

        payload = _HEARD.get("payload", {})
        name = event or payload.get("hook_event_name")
        stdout, stderr, code = adapter(_SPEAKS[0]).encode_failure(name, message, payload)
    except BaseException:  # noqa: BLE001 - nothing may keep the refusal from being written
        stdout, stderr, code = _LAST_RESORT, f"Lockgate blocks to be safe: {message!a}\n", 2
    _leave(stdout, stderr, code)


def _log(state: str, event: str | None, error: BaseException) -> None:
    """Keep what failed and where, and nothing of the payload but the event's name."""
    from lockgate.logs import note, place_of

    note(state, event or "-", type(error).__name__, place_of(error))


# ---------------------------------------------------------------- deadline
class _Deadline:
    """When this process must have answered. There is one of them in a process."""

    event: str | None = None
    allowed: float = DEADLINE
    """Seconds for everything that this process does itself."""
    lent: float = 0.0
    """Seconds beside these in which somebody else was, or is, waited for."""


def _start_deadline(seconds: float, event: str | None) -> None:
    """Refuse when time is up, even where the code that runs then catches exceptions, or never returns from C."""
    _Deadline.event, _Deadline.allowed, _Deadline.lent = event, seconds, 0.0
    _arm(seconds)
    _arm_outside(seconds)


def _arm(left: float) -> None:
    import signal

    def expired(*_: object) -> None:
        _refuse(_Deadline.event, f"the decision took longer than {_Deadline.allowed + _Deadline.lent:g} s")

    signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, left)


def _arm_outside(left: float) -> None:
    """Have a thread outside the interpreter end the process: with exit code 1, on which the shell around it blocks."""
    import faulthandler

    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    faulthandler.dump_traceback_later(left + _GRACE, exit=True, file=nowhere)


def _bring_forward(allowed: float, event: str) -> None:
    """Let a configuration ask for a shorter deadline; it cannot give more time than the client waits for."""
    import signal

    left = allowed + _Deadline.lent - (time.monotonic() - _BEGAN)
    if left < signal.getitimer(signal.ITIMER_REAL)[0]:
        _Deadline.event, _Deadline.allowed = event, allowed
        _arm(max(left, 0.001))


def prolong(seconds: float) -> float:
    """Move the deadline, because somebody else is waited for: a judge, a person. Called before each wait.

    Args:
        seconds: How long that may take.

    Returns:
        How long it may really take: the client does not wait for ever, and after it there must be time to answer.
    """
    import signal

    from lockgate.adapters.claude_command import hook_timeout

    left = signal.getitimer(signal.ITIMER_REAL)[0]
    most = hook_timeout(_Deadline.event) - _MARGIN - (time.monotonic() - _BEGAN) - left
    lent = max(min(seconds, most), 0.0)
    _Deadline.lent += lent
    _arm(left + lent)
    _arm_outside(left + lent)
    return lent


def _stop_deadline() -> None:
    import signal

    signal.setitimer(signal.ITIMER_REAL, 0)


# ---------------------------------------------------------------- the whole
def _decide(client: Adapter, options: _Options, payload: Mapping[str, Any], event: str) -> tuple[str, int]:
    from lockgate.folders import Folders, folders

    if options.home and options.state and options.config:
        where = Folders(options.home, options.state, options.config)
    else:
        where = folders(os.environ)
    launch = _launch(options, where) if event == "ConfigChange" else None
    decoded = client.decode(payload, os.environ, launch)
    if decoded is None:
        return "", 0
    gate = _remote_gate(client, options, where) if options.remote else _gate(client, where, event)
    for told_late in client.missed(decoded):
        gate.handle(told_late)
    answer = gate.handle(decoded)
    if answer.new_input is not None:
        answer = _with_permission(client, decoded, answer, where)
    return client.encode(event, answer, decoded)


def _gate(client: Adapter, where: Folders, event: str) -> Monitor:
    from lockgate.runtime import open_gate

    def limit(allowed: float) -> None:
        _bring_forward(allowed, event)

    def has_rule(context: Context, call: ToolCall) -> bool:
        return client.is_fixed(context, call, where.home)

    gate = open_gate(where, limit, client.parents_of, client.has_history, has_rule, prolong)
    if client.OBJECTS:
        from lockgate.adapters.objecting import with_objections

        return with_objections(gate, client.objections)
    return gate


def _remote_gate(client: Adapter, options: _Options, where: Folders) -> RemoteGate:
    """The gate outside of the container that this hook runs in."""
    from lockgate.remote.client import Hands, RemoteGate, Where

    def has_rule(context: Context, call: ToolCall) -> bool:
        return client.is_fixed(context, call, where.home)

    place = Where(options.remote, options.key_file, where, options.ca_file)
    return RemoteGate(place, options.deadline, Hands(prolong, has_rule, client.objections if client.OBJECTS else None))


def _with_permission(client: Adapter, event: Event, answer: Answer, where: Folders) -> Answer:
    """A rewritten call keeps what the client's own rules say about it."""
    from lockgate.events import ToolRequested

    if not isinstance(event, ToolRequested):
        return answer
    return answer._replace(permitted=client.is_permitted(event.context, event.call, where.home))


def _launch(options: _Options, where: Folders) -> Launch:
    """How this very hook was started: what settings that start it otherwise are told by."""
    from lockgate.adapters.claude_command import Launch, remote_words

    remote = remote_words(options.remote, options.key_file, options.ca_file)
    return Launch(sys.executable, os.path.abspath(__file__), where, options.settings, options.plugin, remote)


def _event_of(client: Adapter, payload: Mapping[str, Any], expected: str) -> str:
    from lockgate.errors import BadInputError

    event = payload.get("hook_event_name")
    if client.UNNAMED and event is None and expected:
        return expected
    if not isinstance(event, str) or not event:
        raise BadInputError("the payload has no hook_event_name")
    if expected and event != expected:
        raise BadInputError(f"the payload is for {event!r}, but this hook is registered for {expected}")
    return event


def main(arguments: Sequence[str]) -> NoReturn:
    """Answer one event and end the process.

    Args:
        arguments: The client's name, then options (see the module's text).
    """
    event: str | None = None
    state = ""
    try:
        _occupy_descriptors()
        _keep_output()
        event = _announced(arguments)
        _speak_for(arguments)
        options = _options(arguments)
        state = options.state
        _start_deadline(options.deadline, event)
        from lockgate.adapters import adapter
        from lockgate.adapters.payload import parse

        client = adapter(options.client)
        payload = parse(_read_input())
        event = _Deadline.event = _event_of(client, payload, options.event)
        _HEARD["payload"] = payload
        stdout, code = _decide(client, options, payload, event)
        _stop_deadline()
    except BaseException as error:  # noqa: BLE001 - a gate that fails must refuse, whatever it was
        _fail(event, state, error)
    _leave(stdout, "", code)


def _speak_for(arguments: Sequence[str]) -> None:
    """Note whom a refusal is spelt for, read before anything can fail."""
    from lockgate.adapters import CLIENTS

    if arguments and arguments[0] in CLIENTS:
        _SPEAKS[0] = arguments[0]


def _announced(arguments: Sequence[str]) -> str | None:
    """The event that the command line names, read before anything can fail."""
    for index, argument in enumerate(arguments):
        if argument == "--event" and index + 1 < len(arguments):
            return arguments[index + 1]
        if argument.startswith("--event="):
            return argument.partition("=")[2]
    return None


def _fail(event: str | None, state: str, error: BaseException) -> NoReturn:
    message = "an internal error; run: lockgate doctor"
    try:
        from lockgate.errors import LockgateError
        from lockgate.folders import folders

        if isinstance(error, LockgateError):
            message = str(error)
        _log(state or folders(os.environ).state, event, error)
    except BaseException:  # noqa: BLE001, S110 - the refusal matters more than its record
        pass
    _refuse(event, message)


if __name__ == "__main__":
    # The process ends before there is garbage worth looking for, and each import makes the collector look.
    gc.disable()
    # Appended, so that nothing beside the package can stand in for a module of the standard library.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    main(sys.argv[1:])
