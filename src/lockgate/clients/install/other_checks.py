"""Checks whether the clients beside Claude Code are guarded here, as far as their files tell."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lockgate.clients.adapter import OwnDialect, adapter
from lockgate.clients.common.hook_command import either_client, find_missing_entries, hook_command, hook_words
from lockgate.clients.install import codex_trust, others, toml_hooks
from lockgate.clients.install.claude import this_launch
from lockgate.clients.install.claude_settings_view import CheckContext, DoctorCheck
from lockgate.core.errors import InstallError

PROGRAMS = {
    "codex": "codex",
    "gemini-cli": "gemini",
    "copilot-cli": "copilot",
    "opencode": "opencode",
    "cursor": "cursor-agent",
    "qwen-code": "qwen",
    "pi": "pi",
    "kilo": "kilo",
    "cline": "cline",
    "kimi-code": "kimi",
}
"""The program of each client, as it lies in PATH."""


def find_guarded(seen: CheckContext) -> list[tuple[str, str]]:
    """The clients whose files hold hooks of the gate, each with its file."""
    found = []
    for client in others.WAYS:
        for scope in others.scopes(client):
            file = others.hooks_file(client, scope, seen.folders, seen.project, seen.environ)
            if "lockgate/hook.py" in _text(file):
                found.append((client, file))
    return list(dict.fromkeys(found))


def checks(seen: CheckContext) -> Iterator[DoctorCheck]:
    """Look at each client that is guarded, or could be."""
    there = find_guarded(seen)
    for client, file in there:
        yield from checks_of(client, file, seen)
    for client, program in PROGRAMS.items():
        if client not in dict(there) and shutil.which(program, path=seen.environ.get("PATH")):
            yield DoctorCheck(
                client, "warn", f"{program} is in PATH, and not guarded", f"run: lockgate install {client}"
            )


def checks_of(client: str, file: str, seen: CheckContext) -> Iterator[DoctorCheck]:
    """Look at one client that is guarded, by the file that its hooks stand in."""
    yield _current(client, file, seen)
    yield from _HAZARDS[client](file, seen) if client in _HAZARDS else ()


def trial(client: str, seen: CheckContext, session: str) -> tuple[str, Mapping[str, Any]] | None:
    """The registered command, and a payload of a session that it must refuse; ``None`` for another client."""
    dialect = adapter(client)
    target = os.path.join(seen.folders.state, "lockgate.db")
    patch = f"*** Begin Patch\n*** Delete File: {target}\n*** End Patch"
    ids = {"session_id": session, "cwd": seen.project, dialect.EVENT_FIELD: dialect.CALL_EVENT}
    payloads: dict[str, dict[str, Any]] = {
        "codex": {**ids, "tool_name": "apply_patch", "tool_input": {"command": patch}},
        "gemini-cli": {**ids, "tool_name": "write_file", "tool_input": {"file_path": target, "content": ""}},
        "qwen-code": {**ids, "tool_name": "write_file", "tool_input": {"file_path": target, "content": ""}},
        "copilot-cli": {
            "sessionId": session,
            "cwd": seen.project,
            "toolName": "create",
            "toolArgs": {"path": target},
        },
        "opencode": {**ids, "tool_name": "write", "tool_input": {"filePath": target, "content": ""}},
        "kilo": {**ids, "tool_name": "write", "tool_input": {"filePath": target, "content": ""}},
        "pi": {**ids, "tool_name": "write", "tool_input": {"path": target, "content": ""}},
        "cline": {**ids, "tool_name": "editor", "tool_input": {"path": target, "new_text": ""}},
        "kimi-code": {**ids, "tool_name": "Write", "tool_input": {"path": target, "content": ""}},
        "cursor": {**ids, "conversation_id": session, "tool_name": "Write", "tool_input": {"file_path": target}},
    }
    if client not in payloads:
        return None
    launch = this_launch(seen.folders, dict(find_guarded(seen))[client])
    if isinstance(dialect, OwnDialect):  # which starts the hook from a file of their own
        return shlex.join([*hook_words(launch, client), "--event", dialect.CALL_EVENT]), payloads[client]
    return hook_command(launch, dialect.CALL_EVENT, client), payloads[client]


def _current(client: str, file: str, seen: CheckContext) -> DoctorCheck:
    again = f"run: lockgate install {client}"
    try:
        launch = this_launch(seen.folders, file)
    except InstallError as error:
        return DoctorCheck(client, "fail", str(error))
    way = others.WAYS[client]
    if way.whole is not None:
        same = _text(file) in [way.whole(client, each) for each in either_client(launch)]
        missing = [] if same else ["the whole file"]
    else:
        try:
            missing = _find_missing(client, _text(file), others.valid_entries_of(client, launch))
        except (ValueError, InstallError):
            says = f"{file} is not {'TOML' if way.toml else 'JSON'}, so that its hooks are not in force"
            return DoctorCheck(client, "fail", says, f"mend {file}")
    if missing:
        return DoctorCheck(
            client, "warn", f"{file} is not as this version would write it ({', '.join(missing)})", again
        )
    return DoctorCheck(client, "ok", f"{file} holds every hook, exactly as this version writes them")


def _find_missing(client: str, text: str, entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """The events of which no valid entry stands in a client's file.

    Raises:
        ValueError: The file is not JSON.
        InstallError: It is not TOML.
    """
    way = others.WAYS[client]
    if way.toml:
        found = toml_hooks.hooks_in(text)
        return [event for event, valid in entries.items() if not any(each in found for each in valid)]
    settings = json.loads(text.removeprefix("\ufeff"))
    return find_missing_entries(settings, entries) if way.grouped else _find_missing_flat(settings, entries)


def _find_missing_flat(settings: Any, entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    hooks = settings.get("hooks") if isinstance(settings, dict) else None
    found = hooks if isinstance(hooks, dict) else {}
    return [event for event, valid in entries.items() if not any(each in (found.get(event) or []) for each in valid)]


# ---------------------------------------------------------------- what works against it
def _codex(file: str, seen: CheckContext) -> Iterator[DoctorCheck]:
    name = "codex trust"
    try:
        ours = [hook for hook in codex_trust.hooks(seen.project, seen.folders.home) if _is_same(hook.file, file)]
    except InstallError as error:
        yield DoctorCheck(name, "warn", str(error), "see docs/codex.md")
    else:
        lacking = len(adapter("codex").EVENTS) - sum(hook.trusted for hook in ours)
        if lacking > 0:
            says = f"Codex leaves out {lacking} of the hooks without a word: they are not trusted"
            yield DoctorCheck(name, "fail", says, "open Codex and type /hooks, or run: lockgate install codex --trust")
        else:
            yield DoctorCheck(name, "ok", "Codex trusts every hook")
    try:
        config = tomllib.loads(_text(os.path.join(os.path.dirname(file), "config.toml")))
    except tomllib.TOMLDecodeError:
        return
    features = config.get("features")
    if isinstance(features, dict) and features.get("hooks") is False:
        yield DoctorCheck("codex features", "fail", "features.hooks = false switches all hooks off", "take it out")
    if config.get("web_search") not in (None, "disabled"):
        says = "web search is on: Codex runs no hook for it; its label comes with the next call"
        yield DoctorCheck("codex web search", "warn", says, "see docs/codex.md")


def _gemini(file: str, seen: CheckContext) -> Iterator[DoctorCheck]:
    switches = _settings(file).get("hooksConfig")
    if not isinstance(switches, dict):
        return
    if switches.get("enabled") is False or "lockgate" in (switches.get("disabled") or ()):
        yield DoctorCheck("gemini-cli switch", "fail", f"hooksConfig in {file} switches the gate off", "take it out")


def _qwen(file: str, seen: CheckContext) -> Iterator[DoctorCheck]:
    files = (file, os.path.join(seen.project, ".qwen", "settings.json"))
    for each in dict.fromkeys(files):
        if _settings(each).get("disableAllHooks"):
            says = f"disableAllHooks in {each} switches the gate off"
            yield DoctorCheck("qwen-code switch", "fail", says, "take it out")


def _cline(file: str, seen: CheckContext) -> Iterator[DoctorCheck]:
    if not shutil.which("node", path=seen.environ.get("PATH")):
        says = "node is not in PATH: Cline loads no plugin without it, and says nothing"
        yield DoctorCheck("cline node", "fail", says, "install Node, or start Cline where it is in PATH")


_HAZARDS = {"codex": _codex, "gemini-cli": _gemini, "qwen-code": _qwen, "cline": _cline}


def _settings(file: str) -> dict[str, Any]:
    """A file's settings; none where it is no JSON object, which another check tells."""
    try:
        found = json.loads(_text(file).removeprefix("\ufeff"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _is_same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _text(file: str) -> str:
    try:
        return Path(file).read_text("utf-8")
    except (OSError, ValueError):
        return ""
