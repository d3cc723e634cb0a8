"""Registers the gate with the clients beside Claude Code, each in its own way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lockgate.clients.adapter import adapter
from lockgate.clients.common.folders import client_folder
from lockgate.clients.common.hook_command import HookLaunch, either_client, hook_command, hook_timeout, hook_words
from lockgate.clients.install import claude, toml_hooks
from lockgate.clients.install.claude import SettingsChange
from lockgate.clients.install.settings_text import FormerFile
from lockgate.core.errors import InstallError
from lockgate.system.folders import Folders

_GATE = "ask_gate.js"
"""The part of all shims that asks the gate."""
_MARKS = ("__LOCKGATE_GATE__", "__LOCKGATE_COMMAND__", "__LOCKGATE_WAITS__")


class ClientHooks(NamedTuple):
    """The way in which a client is told of its hooks."""

    user: tuple[str, ...]
    """The user's file, below the home folder."""
    project: tuple[str, ...]
    """The project's file, below its root; empty where there is none."""
    moved_by: str = ""
    """The variable that holds another folder for the first part of ``user``."""
    entry: Callable[[str, str], Mapping[str, Any]] | None = None
    """The entry of an event, of its command; ``None`` where the whole file is the gate's."""
    whole: Callable[[str, HookLaunch], str] | None = None
    """The text of a file that holds nothing but the gate's hooks."""
    grouped: bool = True
    toml: bool = False
    """Whether the file is TOML, and each entry a table of it."""
    empty: str = "{}"
    own: int = 1
    """How many first parts of ``user`` name the client's own folder."""
    then: str = ""
    """What the person has to do afterwards."""


def _codex(command: str, event: str) -> Mapping[str, Any]:
    # Codex cuts a longer time of this event down to 3 s.
    timeout = 3 if event == "SessionEnd" else hook_timeout(event)
    return {"type": "command", "command": command, "timeout": timeout}


def _make_named_hook(command: str, event: str) -> Mapping[str, Any]:
    # In milliseconds: Qwen Code takes only numbers below 1000 for seconds.
    return {"type": "command", "name": "lockgate", "command": command, "timeout": hook_timeout(event) * 1000}


def _cursor(command: str, event: str) -> Mapping[str, Any]:
    return {"command": command, "timeout": hook_timeout(event), "failClosed": True}


def _kimi(command: str, event: str) -> Mapping[str, Any]:
    # The client refuses the whole configuration where a time is longer. Nobody is asked meanwhile.
    return {"event": event, "command": command, "timeout": min(hook_timeout(event), 600)}


def _copilot(client: str, launch: HookLaunch) -> str:
    import json

    hooks = {
        event: [{"type": "command", "bash": hook_command(launch, event, client), "timeoutSec": hook_timeout(event)}]
        for event in adapter(client).EVENTS
    }
    return json.dumps({"version": 1, "hooks": hooks}, indent=2) + "\n"


def _shim(name: str) -> Callable[[str, HookLaunch], str]:
    """A file that a client loads as its own code. It starts the hook, and obeys the answer."""

    def text(client: str, launch: HookLaunch) -> str:
        import json

        words = (json.dumps(hook_words(launch, client)), json.dumps(adapter(client).CALL_EVENT))
        shim, gate = (Path(__file__).with_name(file).read_text("utf-8") for file in (name, _GATE))
        for mark, value in zip(_MARKS, (gate, *words), strict=True):
            shim = shim.replace(mark, value)
        return shim

    return text


def _opencode_hooks(name: str) -> ClientHooks:
    """The hooks of OpenCode, or of a client that descends from it and loads the same plugin."""
    return ClientHooks(
        (".config", name, "plugins", "lockgate.js"),
        (f".{name}", "plugins", "lockgate.js"),
        "XDG_CONFIG_HOME",
        whole=_shim("opencode_plugin.js"),
        own=2,
    )


WAYS: Mapping[str, ClientHooks] = {
    "codex": ClientHooks(
        (".codex", "hooks.json"),
        (".codex", "hooks.json"),
        "CODEX_HOME",
        _codex,
        then="Codex runs no hook that you have not trusted, and says nothing: open it, type /hooks and trust them,"
        " or run this again with --trust. Then: lockgate doctor",
    ),
    "gemini-cli": ClientHooks((".gemini", "settings.json"), (".gemini", "settings.json"), "", _make_named_hook),
    "copilot-cli": ClientHooks(
        (".copilot", "hooks", "lockgate.json"),
        (".github", "hooks", "lockgate.json"),
        "COPILOT_HOME",
        whole=_copilot,
    ),
    "opencode": _opencode_hooks("opencode"),
    "kilo": _opencode_hooks("kilo"),
    "cursor": ClientHooks(
        (".cursor", "hooks.json"), (".cursor", "hooks.json"), "", _cursor, grouped=False, empty='{"version": 1}'
    ),
    "pi": ClientHooks(
        (".pi/agent", "extensions", "lockgate.js"),
        (),
        "PI_CODING_AGENT_DIR",
        whole=_shim("pi_extension.js"),
    ),
    "cline": ClientHooks(
        (".cline", "plugins", "lockgate.js"),
        (".cline", "plugins", "lockgate.js"),
        "CLINE_DIR",
        whole=_shim("cline_plugin.js"),
    ),
    "kimi-code": ClientHooks(
        (".kimi-code", "config.toml"),
        (),
        "KIMI_CODE_HOME",
        _kimi,
        toml=True,
        then="Kimi Code obeys refusals, and nothing else: a secret in a result reaches its model, and nobody is asked."
        " docs/kimi-code.md says more.",
    ),
    "qwen-code": ClientHooks((".qwen", "settings.json"), (".qwen", "settings.json"), "QWEN_HOME", _make_named_hook),
}
"""How each client is told, by its name."""


def scopes(client: str) -> tuple[str, ...]:
    """The settings that a client reads hooks from: ``user``, and ``project`` where it has settings of a project."""
    return ("user", "project") if WAYS[client].project else ("user",)


def hooks_file(client: str, scope: str, folders: Folders, project: str, environ: Mapping[str, str]) -> str:
    """The file that a client's hooks stand in.

    Args:
        client: Its name.
        scope: ``user`` or ``project``.
        folders: Where the user's home is.
        project: The project's root folder, absolute.
        environ: The environment.

    Raises:
        InstallError: The client has no such scope.
    """
    way = WAYS[client]
    if scope == "user":
        base = client_folder(way.moved_by, os.path.join(folders.home, way.user[0]), environ)
        return os.path.join(base, *way.user[1:])
    if scope not in scopes(client):
        raise InstallError(f"{client} has no settings of the scope {scope}; take {' or '.join(scopes(client))}")
    return os.path.join(project, *way.project)


def entries_of(client: str, launch: HookLaunch) -> dict[str, Mapping[str, Any]]:
    """The entry of each event, where a client's file holds entries; else none."""
    entry = WAYS[client].entry
    events = adapter(client).EVENTS if entry else ()
    return {event: entry(hook_command(launch, event, client), event) for event in events} if entry else {}


def valid_entries_of(client: str, launch: HookLaunch) -> dict[str, list[Mapping[str, Any]]]:
    """The entries of each event of which one must stand in a client's file: those of either hook client."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for each in either_client(launch):
        for event, entry in entries_of(client, each).items():
            found.setdefault(event, []).append(entry)
    return found


def plan_install(client: str, file: str, launch: HookLaunch) -> SettingsChange:
    """Work out what installing changes, and change nothing yet.

    Raises:
        InstallError: The file cannot be read, or holds something else.
    """
    way, state = WAYS[client], launch.folders.state
    if way.whole is None and not way.toml:
        return claude.plan_entries(file, entries_of(client, launch), state, grouped=way.grouped, empty=way.empty)
    before = claude.read_text(file)
    known = claude.find_record(claude.read_records(state), file, before)
    record = known or FormerFile(file=before is None or not way.toml, folder=not os.path.isdir(os.path.dirname(file)))
    after = way.whole(client, launch) if way.whole else _with_tables(file, before, entries_of(client, launch).values())
    return SettingsChange(file, before, after, record)


def plan_uninstall(client: str, file: str, folders: Folders) -> SettingsChange:
    """Work out what uninstalling changes, and change nothing yet.

    Raises:
        InstallError: The file cannot be read, or holds something else.
    """
    way = WAYS[client]
    if way.whole is None and not way.toml:
        return claude.plan_uninstall(file, folders, way.empty)
    before = claude.read_text(file)
    known = claude.find_record(claude.read_records(folders.state), file, before)
    rest = _with_tables(file, before, ()) if way.toml and before is not None else ""
    after = rest if rest.strip() or (known and not known.file) else None
    return SettingsChange(file, before, after, None, new_folder=known.folder if known else False)


def _with_tables(file: str, before: str | None, entries: Iterable[Mapping[str, Any]]) -> str:
    """The text of a TOML file with these hooks of the gate, or without any."""
    wanted = list(entries)
    try:
        return toml_hooks.put_in(before or "", wanted) if wanted else toml_hooks.take_out(before or "")
    except InstallError as error:
        raise InstallError(f"{file}: {error}; it was not changed") from None
