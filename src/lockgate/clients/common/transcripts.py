"""Reads what Claude Code says only in files beside its payloads: transcripts, sub-agents, settings.

Every read is bounded, and a file that is missing or not understood is the same as one that says nothing; only for the
settings, where silence would be the attack, it counts as harm.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence

from lockgate.core.record import TYPE_CHECKING
from lockgate.system import caller
from lockgate.system.files import open_regular, read_regular

if TYPE_CHECKING:
    from typing import Any, BinaryIO

EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionDenied",
    "PostToolBatch",
    "Stop",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "SubagentStart",
    "SubagentStop",
    "ConfigChange",
    "InstructionsLoaded",
)
"""The events that the gate is registered for."""

IGNORED = frozenset(
    {
        "CwdChanged",
        "DirectoryAdded",
        "Elicitation",
        "ElicitationResult",
        "FileChanged",
        "MessageDisplay",
        "Notification",
        "PermissionRequest",
        "PostCompact",
        "PostModelSwitch",
        "PreCompact",
        "PreModelSwitch",
        "Setup",
        "StopFailure",
        "TaskCompleted",
        "TaskCreated",
        "TeammateIdle",
        "UserPromptExpansion",
        "WorktreeCreate",
        "WorktreeRemove",
    },
)
"""Events that exist and need nothing from the gate."""

_TRANSCRIPT_PART = 2 * 1024 * 1024
_NEW_PART, _MOST_NEW = 32 * 1024, 4 * 1024 * 1024
"""How much of a transcript's end is looked at for results that are new, at first and at most."""
_HEAD = 1024 * 1024
_STAMP = len("2026-11-25T05:36:39.528Z")
_SETTINGS_MAX = 4 * 1024 * 1024
_META_MAX = 64 * 1024
_ANCESTORS = 12
_REJECTED = b"User rejected tool use"
_REJECTED_WITH_WORDS = b"user-rejected"
"""The kind of a no to which the person has added words, in a field of the client's own (Claude Code 2.1.329)."""


def read_file(path: str, limit: int) -> bytes | None:
    """Read a regular file of at most ``limit`` bytes, or ``None``."""
    try:
        return read_regular(path, limit)
    except (OSError, ValueError):
        return None


def parse_json(data: bytes | None) -> Any:
    """The value of a JSON text, or ``None``."""
    if data is None:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


# ---------------------------------------------------------------- processes
_SHELLS = frozenset({b"sh", b"bash", b"dash", b"zsh", b"ash", b"busybox", b"ksh"})
_NO_CLIENTS = frozenset(
    {b"init", b"launchd", b"login", b"screen", b"SCREEN", b"sshd", b"sshd-session"}
    | {b"systemd", b"tmux", b"tmux: client", b"tmux: server"}
    # What is process 1 in containers, and inherits the hook of a client that has died.
    | {b"catatonit", b"docker-init", b"dumb-init", b"podman-init", b"s6-svscan", b"tini"}
    # Terminals in which somebody tries a hook by hand; names as the kernel has them, of 15 bytes at most.
    | {b"alacritty", b"foot", b"ghostty", b"gnome-terminal-", b"kitty", b"konsole", b"wezterm-gui", b"xterm"}
)
"""What a person's own shells run below: taken for a client, it would make all of them look like an agent's."""
_FIRST_CLIENTS = frozenset(b"MainThread bun claude cline codex copilot kilo node node-MainThread opencode".split())
"""Process 1 in containers of a client alone. Any other inherits what a dead client, or a person, has left."""


_REMEMBER = 1.0
"""Seconds for which what is known of an ancestor holds: for one process that answers many hooks."""
_ANCESTORS_KNOWN = 256
_KNOWN: dict[int, tuple[float, caller.Process]] = {}
_ENVIRONS: dict[tuple[int, str, tuple[str, ...]], Mapping[str, str]] = {}
"""What clients were started with: it never changes."""


def _ancestor(pid: int) -> caller.Process | None:
    """The process of an id that others come from: of a hook's client, which lives on, and of what started it.

    They may be a second old. An id names another process only after all others were used up. Then the hook below the
    new one would be taken for one of the old client: no more than any hook can claim, whose word its parent's id is.
    The hook's own process is new each time; it is always looked at.
    """
    now = time.monotonic()
    seen, known = _KNOWN.get(pid, (0.0, None))
    if known is not None and now - seen < _REMEMBER:
        return known
    found = caller.process(pid)
    if len(_KNOWN) >= _ANCESTORS_KNOWN:
        _KNOWN.clear()
    if found is not None:
        _KNOWN[pid] = now, found
    return found


def client_process(claimed: str) -> str:
    """Identify the client's process as ``pid:start-time``.

    Args:
        claimed: ``CLAUDE_PID`` from the environment. A project's settings can set variables for hooks, so where the
            system can tell, it is believed only for an ancestor of this process. Version 2.1.197 does not set it: then
            the client is the nearest ancestor that is no shell.

    Returns:
        The identity; ``pid:`` where the system tells no start times; empty where there is no (credible) client.
    """
    if not claimed:
        return _nearest_client()
    if not claimed.isascii() or not claimed.isdigit() or len(claimed) > 10:
        return ""
    wanted = int(claimed)
    pid = caller.pid()
    process = caller.process(pid)
    if process is None:
        return f"{wanted}:"
    for _ in range(_ANCESTORS):
        if process is None:
            return ""
        if pid == wanted:
            return f"{pid}:{process.started}"
        pid = process.parent
        process = _ancestor(pid)
    return ""


def _find_client() -> tuple[int, caller.Process] | None:
    """The nearest ancestor that is no shell, with its id."""
    pid = caller.parent()
    for _ in range(_ANCESTORS):
        process = _ancestor(pid)
        if process is None or process.name not in _SHELLS:
            return (pid, process) if process is not None else None
        pid = process.parent
    return None


def _nearest_client() -> str:
    found = _find_client()
    if found is None:
        return ""
    pid, process = found
    if process.name in _NO_CLIENTS or (pid == 1 and process.name not in _FIRST_CLIENTS):
        return ""
    return f"{pid}:{process.started}"


def client_environ(names: tuple[str, ...]) -> Mapping[str, str]:
    """Some variables that the client was started with: what neither it nor a project's settings can take from a hook.

    The client is the nearest ancestor that is no shell. What it claims to be does not count: a project's settings can
    set that too.
    """
    found = _find_client()
    return _environ(found[0], found[1].started, names) if found is not None else {}


def _environ(pid: int, started: str, names: tuple[str, ...]) -> Mapping[str, str]:
    key = pid, started, names
    if key not in _ENVIRONS:
        if len(_ENVIRONS) >= _ANCESTORS_KNOWN:
            _ENVIRONS.clear()
        _ENVIRONS[key] = caller.environ_of(pid, names)
    return _ENVIRONS[key]


# ---------------------------------------------------------------- transcripts
def find_spawning_call(transcript: str, agent: str) -> str:
    """Return the id of the call that started a sub-agent, empty where the client has not written it (yet).

    The record beside the transcript is there at the sub-agent's first tool call, but not at its start.
    """
    if not transcript.endswith(".jsonl") or not agent.replace("-", "").replace("_", "").isalnum():
        return ""
    meta = parse_json(read_file(f"{transcript[: -len('.jsonl')]}/subagents/agent-{agent}.meta.json", _META_MAX))
    call = meta.get("toolUseId") if isinstance(meta, dict) else None
    return call if isinstance(call, str) else ""


def _open(path: str) -> BinaryIO | None:
    """A regular file to be read, or ``None``."""
    try:
        return os.fdopen(open_regular(path), "rb")
    except (OSError, ValueError):
        return None


def ends_of(path: str, part: int = _TRANSCRIPT_PART, *, only_end: bool = False) -> Iterator[bytes]:
    """The whole lines in the first and the last ``part`` bytes of a file, or only in the last."""
    file = _open(path)
    if file is None:
        return
    with file:
        size = os.fstat(file.fileno()).st_size
        if size <= 2 * part:
            yield from file.read(2 * part).split(b"\n")
            return
        if not only_end:
            yield from file.read(part).split(b"\n")[:-1]
        file.seek(size - part)
        yield from file.read(part).split(b"\n")[1:]


def lines_of(path: str) -> Iterator[bytes]:
    """The lines of a file from its beginning, as far as somebody wants them; a mebibyte at most."""
    file = _open(path)
    if file is None:
        return
    with file:
        while file.tell() < _HEAD and (line := file.readline(_HEAD)):
            yield line


def parent_sessions(transcript: str, own: str) -> tuple[str, ...]:
    """Return the other sessions that a transcript's lines were copied from, in order of appearance.

    A forked session has a new id and its payload names no parent, but the copied lines keep theirs. Only a line's own
    fields count: what stands inside a message could have been written by anyone.
    """
    found: dict[str, None] = {}
    for line in ends_of(transcript, _TRANSCRIPT_PART):
        if b"essionId" not in line:
            continue
        record = parse_json(line)
        if isinstance(record, dict):
            for field in ("sessionId", "requestSessionId", "parentSessionId", "forkedFrom"):
                found.update(dict.fromkeys(_session_ids(record.get(field))))
    found.pop(own, None)
    return tuple(found)


def find_rejected_calls(transcript: str) -> tuple[str, ...]:
    """Return the ids of calls that the person answered with no in the client's dialog, as far as its end tells.

    No hook is run for that answer; the next event after it is the person's next prompt. The client writes a line of its
    own, of which no tool can make the fields that are looked at.
    """
    found: dict[str, None] = {}
    for line in ends_of(transcript, _TRANSCRIPT_PART, only_end=True):
        record = parse_json(line) if _REJECTED in line or _REJECTED_WITH_WORDS in line else None
        if isinstance(record, dict) and _is_rejection(record):
            message = record.get("message")
            found.update(dict.fromkeys(_result_ids(message.get("content") if isinstance(message, dict) else None)))
    return tuple(found)


def _is_rejection(record: dict[str, Any]) -> bool:
    """Whether a line of a transcript is the client's own about a no before a call ran."""
    if record.get("type") != "user" or record.get("toolDenialBeforeRun") is False:
        return False
    if record.get("toolUseResult") == _REJECTED.decode():
        return True
    decided = record.get("permissionDecision")
    with_words = record.get("toolDenialKind") == _REJECTED_WITH_WORDS.decode()
    return with_words and isinstance(decided, dict) and decided.get("decision") == "reject"


def has_history(transcript: str) -> bool:
    """Whether a transcript holds the result of a tool, or the summary of a conversation that was compacted.

    Only a line's own fields count: what stands inside a message could be about transcripts.
    """
    for line in ends_of(transcript, _TRANSCRIPT_PART):
        record = parse_json(line) if b"tool_result" in line or b"isCompactSummary" in line else None
        if not isinstance(record, dict):
            continue
        message = record.get("message")
        if record.get("isCompactSummary") is True or any(
            _result_ids(message.get("content") if isinstance(message, dict) else None)
        ):
            return True
    return False


def results_since(transcript: str, since: float) -> tuple[str, ...]:
    """The ids of calls whose results a transcript holds that are newer than a time, in seconds since the epoch.

    Not those that no hook is run for: calls that the client could not make sense of, and calls to which a person said
    no before they ran.
    """
    after, part = _format_time(since), _NEW_PART
    while True:
        records = [record for line in ends_of(transcript, part, only_end=True) if (record := _parse_stamped(line))]
        if part >= _MOST_NEW or (records and records[0]["timestamp"] <= after):
            break
        part *= 8
    new = (record for record in records if record["timestamp"] > after)
    return tuple(dict.fromkeys(call for record in new for call in find_finished_calls(record)))


def results_before(transcript: str, until: float) -> tuple[str, ...]:
    """The first calls whose results a transcript holds that are older than a time, in seconds since the epoch.

    It is read from its beginning to the first line that is not older. So a transcript that begins then costs one look.
    """
    before = _format_time(until)
    for line in lines_of(transcript):
        record = _parse_stamped(line)
        if record and record["timestamp"] >= before:
            return ()
        if record and (calls := find_finished_calls(record)):
            return calls
    return ()


def find_finished_calls(record: dict[str, Any]) -> tuple[str, ...]:
    """The ids of the calls that ran, and whose results a line of a transcript holds."""
    return () if _is_rejection(record) else tuple(_read_ids(record))


def moment_of(written: object) -> float | None:
    """When a line was written, in seconds since the epoch, by the text of its time; ``None`` where it does not tell."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(written).timestamp() if isinstance(written, str) else None
    except (ValueError, OverflowError, OSError):
        return None


def _parse_stamped(line: bytes) -> dict[str, Any] | None:
    """A line that says when it was written, as the client writes times; ``None`` for all others."""
    record = parse_json(line) if line else None
    at = record.get("timestamp") if isinstance(record, dict) else None
    return record if isinstance(at, str) and len(at) == _STAMP and at.endswith("Z") else None


def _format_time(at: float) -> str:
    """A time as the client writes it, so that later ones sort behind earlier ones."""
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at))}.{int(at % 1 * 1000):03d}Z"


def _read_ids(record: dict[str, Any]) -> Iterator[str]:
    message = record.get("message") if record.get("type") == "user" else None
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        if not _is_no_call(block):
            yield from _result_ids([block])


def _is_no_call(block: Any) -> bool:
    """Whether a result is the client's own word that it could not make the call."""
    if not isinstance(block, dict) or block.get("is_error") is not True:
        return False
    said = block.get("content")
    return isinstance(said, str) and said.startswith("<tool_use_error>") and said.endswith("</tool_use_error>")


def _result_ids(content: Any) -> Iterator[str]:
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str):
            yield block["tool_use_id"]


def _session_ids(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = value.get("sessionId")
    if isinstance(value, str) and 0 < len(value) <= 256 and value.isprintable():
        yield value


# ---------------------------------------------------------------- settings
def harm_of_change(file: str, installed_in: str, entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Say what a settings file, as it is now, does to the protection; empty where it does nothing to it.

    Args:
        file: The settings file that changed, empty where the client did not say.
        installed_in: The settings file that the gate's hooks stand in, empty where that is not known.
        entries: The hook entries of each event, of which one must stand in that file.
    """
    if not file:
        return ""
    ours = bool(installed_in) and os.path.realpath(file) == os.path.realpath(installed_in)
    data = read_file(file, _SETTINGS_MAX)
    if data is None:
        if os.path.lexists(file):
            return "the settings file cannot be read"
        return "the settings file that the gate's hooks stand in is gone" if ours else ""
    settings = parse_json(data)
    if not isinstance(settings, dict):
        return "the settings file is not a JSON object, so its hooks are not in force" if ours else ""
    if settings.get("disableAllHooks"):
        return "disableAllHooks switches the gate off"
    if ours:
        from lockgate.clients.common.hook_command import find_missing_entries

        missing = find_missing_entries(settings, entries)
        if missing:
            return f"the gate's hooks are gone or changed for {', '.join(missing)}"
    off = [name for name, enabled in _plugin_switches(settings) if not enabled]
    return f"the plugin {off[0]} is switched off" if off else ""


def harm_to_plugin(file: str, data: str, workspace: str) -> str:
    """Say whether a changed settings file was the last one that switched the installed plugin on.

    Args:
        file: The settings file that changed.
        data: The plugin's data folder, ``<client's folder>/plugins/data/lockgate-<market>``.
        workspace: The project's folder.
    """
    base, found, name = data.rpartition("/plugins/data/")
    if not found or name.endswith("-inline"):
        return ""
    project = os.path.join(workspace, ".claude")
    ours = [os.path.join(base, "settings.json")]
    ours += [os.path.join(project, "settings.json"), os.path.join(project, "settings.local.json")]
    if os.path.realpath(file) not in map(os.path.realpath, ours):
        return ""
    for path in (*ours, "/etc/claude-code/managed-settings.json"):
        if any(enabled for _, enabled in _plugin_switches(parse_json(read_file(path, _SETTINGS_MAX)))):
            return ""
    return "no settings switch the plugin on any more"


def _plugin_switches(settings: Any) -> list[tuple[str, bool]]:
    plugins = settings.get("enabledPlugins") if isinstance(settings, dict) else None
    switches = plugins.items() if isinstance(plugins, dict) else ()
    return [(name, bool(enabled)) for name, enabled in switches if name.startswith("lockgate@")]
