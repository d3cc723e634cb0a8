"""Tells whether Claude Code shows a question whole to the person at its terminal, and nobody else can answer.

What it does was observed with 2.1.197 and 2.1.329 in a terminal: in each of the modes below its dialog shows the first
ten lines of the reason, with *yes* and *no*. A hook for ``PermissionRequest`` can answer in the person's place. Another
hook for ``PreToolUse`` can change the call after it was looked at. A permission-prompt tool is asked instead. Whatever
cannot be read counts as one of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from lockgate.clients.common import transcripts
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.clients.install.claude_settings_view import SettingsLayer
    from lockgate.core.events import Context
    from lockgate.system.folders import Folders
    from lockgate.system.process_arguments import CommandLine

_ENTRYPOINT = "cli"
"""What the client says of itself in a terminal (``CLAUDE_CODE_ENTRYPOINT``)."""
_MODES = frozenset({"default", "acceptEdits", "dontAsk", "bypassPermissions", "auto"})
"""Permission modes in which the dialog was seen. Which calls keep their question in the last two: ``asks_person``."""
WITHOUT_ASKING = frozenset({"dontAsk"})
"""Those of them in which the client refuses the tool by which an agent asks its person."""
_OLDEST, _NEXT = (2, 1, 197), (3,)
"""The oldest version that was observed, and the first of those of which nobody knows anything."""
_SHOWN = frozenset({"Bash", "WebFetch", "WebSearch", "Agent", "ScheduleWakeup", "AskUserQuestion"})
"""Tools in whose dialog the reason of a hook was seen, beside those of MCP servers. Those for files show none.

The one that asks the person shows what a hook puts into it.
"""
_DIGITS = 9
"""The most digits of each part of a version: Python refuses to parse very long numbers."""
_TAIL = 256 * 1024
_SETTINGS_MAX = 4 * 1024 * 1024
_ELSEWHERE = frozenset(
    {"--permission-prompt-tool", "-p", "--print", "--input-format", "--sdk-url", "--bg", "--background"}
    | {"--channels", "--dangerously-load-development-channels", "--remote-control", "--rc", "--agents", "--plugin-url"}
)
"""Options by which somebody else may be asked than the person in the terminal, or that bring hooks of their own."""


def why_unattended(context: Context, folders: Folders, environ: Mapping[str, str]) -> str:
    """Why a question may be answered by somebody else, or be seen by nobody; empty where the person before it answers.

    Args:
        context: The call's context.
        folders: The gate's folders.
        environ: The environment of the client's hook.
    """
    if environ.get("CLAUDE_CODE_ENTRYPOINT") != _ENTRYPOINT:
        return "nobody is known to sit before the client"
    if context.mode not in _MODES:
        return f"what the client does with a question in the permission mode {context.mode or '(none)'} is not known"
    version = client_version(context.transcript)
    if not _OLDEST <= version < _NEXT:
        return "what this version of the client does with a question is not known"
    from lockgate.system.process_arguments import command_line

    started = command_line(context.process)
    if not any(started.words[:1]):
        return "how the client was started cannot be told"
    option = next((name for name in sorted(_ELSEWHERE) if started.has(name)), "")
    if option:
        return f"the client was started with {option}"
    return _foreign(context, folders, environ, started)


def shows_reason(tool: str) -> bool:
    """Whether the client's dialog about a tool shows why a hook asks."""
    return tool in _SHOWN or tool.startswith("mcp__")


def client_version(transcript: str) -> tuple[int, ...]:
    """The version that wrote the end of a transcript, none where it does not say."""
    for line in reversed(list(transcripts.ends_of(transcript, _TAIL, only_end=True))):
        record = transcripts.parse_json(line) if b'"version"' in line else None
        said = record.get("version") if isinstance(record, dict) else None
        if isinstance(said, str) and said.isascii():
            parts = said.split(".")
            return tuple(map(int, parts)) if all(part.isdigit() and len(part) <= _DIGITS for part in parts) else ()
    return ()


def _foreign(context: Context, folders: Folders, environ: Mapping[str, str], started: CommandLine) -> str:
    """What of the client's settings could answer or change a call."""
    from lockgate.clients.claude.extensions import foreign_extensions
    from lockgate.clients.claude.foreign_hooks import foreign_hooks
    from lockgate.clients.install import claude_settings_view

    given = list(_option_layers(started, context.cwd))
    # A project can set variables for hooks: the folder that one names may not be the client's.
    usual = {name: value for name, value in environ.items() if name != "CLAUDE_CONFIG_DIR"}
    for named in (environ, usual) if len(usual) < len(environ) else (usual,):
        seen = claude_settings_view.look(folders, context.workspace, named, "")
        seen = seen._replace(layers=(*seen.layers, *_read_served_layers(seen.claude), *given))
        for layer in seen.layers:
            if layer.problem:
                return f"{layer.file} cannot be read ({layer.problem})"
            if found := foreign_hooks(layer.settings.get("hooks"), folders, layer.file):
                return f"{found} (in {layer.file})"
        if found := foreign_extensions(seen, started):
            return found
    return ""


def _read_served_layers(claude: str) -> Iterator[SettingsLayer]:
    """The settings that a server has given the client, which keeps them beside the person's."""
    from lockgate.clients.install.claude_settings_view import SettingsLayer

    file = os.path.join(claude, "remote-settings.json")
    if not os.path.lexists(file):
        return
    loaded = transcripts.parse_json(transcripts.read_file(file, _SETTINGS_MAX))
    if not isinstance(loaded, dict):
        yield SettingsLayer("served", file, {}, "it is no object")
        return
    inner = loaded.get("settings")
    yield from (SettingsLayer("served", file, each) for each in (loaded, inner) if isinstance(each, dict))


def _option_layers(started: CommandLine, cwd: str) -> Iterator[SettingsLayer]:
    """The settings on the command line: a file, or JSON as it stands."""
    from lockgate.clients.install.claude_settings_view import SettingsLayer

    for text in started.values("--settings"):
        name = "the client's option --settings"
        if not started.exact:
            yield SettingsLayer("option", name, {}, "the system does not tell it exactly")
            continue
        data: bytes | None = text.encode("utf-8", "surrogateescape")
        if not text.lstrip().startswith("{"):
            data = transcripts.read_file(os.path.join(cwd, text), _SETTINGS_MAX)
        loaded = transcripts.parse_json(data)
        yield (
            SettingsLayer("option", name, loaded)
            if isinstance(loaded, dict)
            else SettingsLayer("option", name, {}, "it is no object")
        )
