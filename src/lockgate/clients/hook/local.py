"""A hook that decides in its own process, where no resident gate answers or none is wanted.

It fails closed. Whatever goes wrong, it answers with a refusal in the client's dialect, a line on stderr and exit code
2, within its own deadline; it never shows a traceback.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

TYPE_CHECKING = False  # nothing of ours, nor typing itself, is imported before main() can refuse
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

    from lockgate.clients.adapter import ClientAdapter, HookOutput
    from lockgate.clients.hook.answer import EventRequest
    from lockgate.clients.hook.deadline import Deadline
    from lockgate.clients.hook.options import HookOptions
    from lockgate.clients.remote.gate import RemoteGate
    from lockgate.gate import Monitor
    from lockgate.store.audit.refusals import Refusal
    from lockgate.system.folders import Folders

MAX_INPUT = 32 * 1024 * 1024
"""Most bytes of one payload. More is refused."""
_ANSWER = [1]
"""Where the answer goes: the descriptor of standard output as it was when this process began."""
_ASKED: list[EventRequest] = []
"""What is asked, once the command line was understood."""
_REFUSAL: list[Refusal] = []
"""The refusal that may become due. None where the gate is elsewhere: its records are not kept here."""
_INPUT = [b""]
"""What was read of standard input."""
_EVENT: list[str | None] = [None]
"""The event that the command line names."""
_GATE: list[Monitor] = []
"""What has decided, in this process."""
_SPEAKS: list[str] = ["claude-code"]
"""The client that a refusal is spelt for: until one is known, the one that most understand."""

_READ_LATE = 1 << 20
"""Most bytes of a payload that are read only to name a call that was refused."""

_LAST_RESORT = (
    '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": '
    '"Lockgate could not decide and blocks to be safe: its own code cannot be loaded. Run: lockgate doctor"}}'
)
"""The refusal where even the encoder cannot be imported."""


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
    """Keep everything but the answer from the client: prints of libraries and plugins go nowhere."""
    _ANSWER[0] = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, 1)
    os.close(nowhere)


# ---------------------------------------------------------------- in
def _read_input(begun: bytes) -> bytes:
    from lockgate.core.errors import BadInputError

    _INPUT[0] = begun
    chunks = [begun]
    size = len(begun)
    while size <= MAX_INPUT:
        try:
            chunk = os.read(0, 1 << 20)
        except OSError:
            raise BadInputError("stdin cannot be read") from None
        if not chunk:
            _INPUT[0] = b"".join(chunks)
            return _INPUT[0]
        size += len(chunk)
        chunks.append(chunk)
    raise BadInputError(f"the payload is larger than {MAX_INPUT // (1024 * 1024)} MB")


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
    os._exit(_write_answer(stdout, stderr, code))


def _write_answer(stdout: str, stderr: str, code: int) -> int:
    """Write the answer; the exit code."""
    if stdout and not _write(_ANSWER[0], stdout + "\n"):
        code = 2
        stderr = stderr or "Lockgate blocks to be safe: the answer could not be written\n"
    if stderr:
        _write(2, stderr)
    return code


def _refuse(message: str) -> NoReturn:
    try:
        from lockgate.clients.adapter import adapter

        if _ASKED:
            stdout, stderr, code = _ASKED[0].spell_failure(message)
        else:
            stdout, stderr, code = adapter(_SPEAKS[0]).encode_failure(_EVENT[0], message, {})
    except BaseException:  # noqa: BLE001 - nothing may keep the refusal from being written
        stdout, stderr, code = _LAST_RESORT, f"Lockgate blocks to be safe: {message!a}\n", 2
    code = _write_answer(stdout, stderr, code)
    _keep(message)
    os._exit(code)


def _keep(message: str) -> None:
    """Keep the refusal, so that the next process that can write the store records it."""
    try:
        if _REFUSAL:
            _name_call()
            _REFUSAL[0].keep(message)
    except BaseException:  # noqa: BLE001, S110 - the refusal is out, and that matters more
        pass


def _name_call() -> None:
    """Name the call in the refusal that may become due."""
    if _REFUSAL:
        event = (_ASKED and _ASKED[0].name) or _EVENT[0] or ""
        _REFUSAL[0].about(_SPEAKS[0], event, _names())


def _names() -> Mapping[str, object]:
    """What the client says of the call, in its dialect. Nothing where that dialect cannot be loaded."""
    try:
        from lockgate.clients.adapter import adapter

        return adapter(_SPEAKS[0]).names(_payload())
    except Exception:  # noqa: BLE001 - the refusal is recorded all the same
        return {}


def _payload() -> Mapping[str, Any]:
    """What the client said, also where time was up before it was read."""
    if _ASKED and _ASKED[0].payload:
        return _ASKED[0].payload
    from lockgate.system.digests import json_object

    return (json_object(_INPUT[0]) if len(_INPUT[0]) <= _READ_LATE else None) or {}


def _log(state: str, error: BaseException) -> None:
    """Keep what failed and where, and nothing of the payload but the event's name."""
    from lockgate.system.error_log import note, place_of

    event = _ASKED[0].name if _ASKED else _EVENT[0]
    note(state, event or "-", type(error).__name__, place_of(error))


# ---------------------------------------------------------------- the whole
def _decide(asked: EventRequest, data: bytes, deadline: Deadline) -> HookOutput:
    from lockgate.clients.adapter import HookOutput

    event = asked.read(data, os.environ)
    deadline.event = asked.name
    if event is None:
        return HookOutput("")
    client, options, where = asked.client, asked.options, asked.where
    gate: Monitor | RemoteGate
    if options.remote:
        gate = _remote_gate(client, options, where, deadline)
    else:
        gate = _gate(client, where, deadline)
        _GATE.append(gate)
    for told_late in client.find_missed(event):
        gate.handle(told_late)
    return asked.spell(gate.handle(event))


def _record_refusals(state: str) -> None:
    """Record what other hooks refused and could not record: this one has just written the store."""
    if not _GATE or not os.path.isdir(os.path.join(state, "refusals")):
        return
    from lockgate.store.audit.refusals import sweep

    try:  # noqa: SIM105 - contextlib would be one module more for each hook
        sweep(state, _GATE[0].parts.store)
    except BaseException:  # noqa: BLE001, S110 - the next one does it, and this one's answer is ready
        pass


def _record_forged(state: str) -> None:
    """End and record what has answered in the place of the gate. What it said was not followed."""
    if not _GATE or _ASKED[0].event is None:
        return
    from lockgate.clients.hook.replace_resident import end_forger

    try:
        _GATE[0].record_forged_answer(_ASKED[0].event.context, end_forger(state))
    except Exception as error:  # noqa: BLE001 - the decision is right without it
        _log(state, error)


def _gate(client: ClientAdapter, where: Folders, deadline: Deadline) -> Monitor:
    from lockgate.clients.hook.answer import has_rule
    from lockgate.gate.host.assembly import open_gate

    rule = has_rule(client, where)
    files = client.parents_of, client.has_history
    asking = client.turn_reader, client.why_unattended

    def prolong(seconds: float) -> float:
        client.load_answers()
        return deadline.prolong(seconds)

    told = client.make_reader_of_newer(where.state), client.make_reader_of_older(where.state)
    gate = open_gate(where, deadline.bring_forward, *files, rule, prolong, *asking, *told, client.ASKING_TOOL)
    if client.OBJECTS:
        from lockgate.clients.hook.answer import with_objections

        return with_objections(gate, client.objections)
    return gate


def _remote_gate(client: ClientAdapter, options: HookOptions, where: Folders, deadline: Deadline) -> RemoteGate:
    """The gate outside of the container that this hook runs in."""
    from lockgate.clients.hook.answer import has_rule
    from lockgate.clients.remote.gate import HookServices, HostAddress, RemoteGate

    place = HostAddress(options.remote, options.key_file, where, options.ca_file)
    objections = client.objections if client.OBJECTS else None
    hands = HookServices(deadline.prolong, has_rule(client, where), objections)
    return RemoteGate(place, options.deadline, hands)


def main(
    arguments: Sequence[str],
    data: bytes = b"",
    began: float | None = None,
    forged: bool = False,
) -> NoReturn:
    """Answer one event and end the process.

    Args:
        arguments: The client's name, then options (see :mod:`lockgate.hook`).
        data: What was read from stdin already. It may be a part.
        began: When the hook began, by the monotonic clock.
        forged: Whether something has answered that is not the gate.
    """
    state = ""
    began = time.monotonic() if began is None else began
    try:
        _occupy_descriptors()
        _keep_output()
        from lockgate.clients.hook.deadline import Deadline
        from lockgate.clients.hook.options import parse, read_announced_event

        _EVENT[0] = read_announced_event(arguments)
        _speak_for(arguments)
        options = parse(arguments)
        state = options.state
        if state and not options.remote:
            from lockgate.store.audit.refusals import Refusal

            _REFUSAL.append(Refusal(state, "hook"))
        deadline = Deadline(_refuse)
        deadline.start(options.deadline, _EVENT[0], began - options.asked - options.missed)
        given = _read_input(data)
        _name_call()
        from lockgate.clients.hook.answer import EventRequest

        asked = EventRequest(options, options.where(os.environ))
        _ASKED.append(asked)
        _look_for_home(asked.where.home)
        _leave_unread()
        output = _decide(asked, given, deadline)
        deadline.stop()
        if forged:
            _record_forged(asked.where.state)
        _record_refusals(state)
        if _REFUSAL:
            _REFUSAL[0].drop()
    except BaseException as error:  # noqa: BLE001 - a gate that fails must refuse, whatever it was
        _fail(state, error)
    _leave(*output)


def _leave_unread() -> None:
    """Stop waiting for a person once the client is gone: it would use up their word."""
    from lockgate.system.caller import leave_when

    parent = os.getppid()

    def is_gone() -> bool:
        if os.getppid() != parent:
            return True
        import select  # only who waits needs it

        reader = select.poll()
        reader.register(_ANSWER[0], 0)
        return any(seen & (select.POLLERR | select.POLLHUP) for _, seen in reader.poll(0))

    leave_when(is_gone)


def _look_for_home(home: str) -> None:
    """Refuse where the hooks name a home folder that is gone: a state that is made anew there would know no labels.

    Raises:
        BadInputError: It is gone.
    """
    if not os.path.isdir(home):
        from lockgate.core.errors import BadInputError

        raise BadInputError(f"the home folder {home!a} that these hooks name is gone; run: lockgate install")


def _speak_for(arguments: Sequence[str]) -> None:
    """Note whom a refusal is spelt for, read before anything can fail."""
    from lockgate.clients.adapter import CLIENTS

    if arguments and arguments[0] in CLIENTS:
        _SPEAKS[0] = arguments[0]


def _fail(state: str, error: BaseException) -> NoReturn:
    message = "an internal error; run: lockgate doctor"
    try:
        from lockgate.core.errors import LockgateError
        from lockgate.system.error_log import describe
        from lockgate.system.folders import folders

        message = str(error) if isinstance(error, LockgateError) else describe(error)
        _log(state or folders(os.environ).state, error)
    except BaseException:  # noqa: BLE001, S110 - the refusal matters more than its record
        pass
    _refuse(message)
