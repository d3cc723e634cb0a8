"""Finds hooks of others in Claude Code's settings that could answer or change a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from lockgate.system.folders import Folders

_PLUGIN_COMMAND = '/bin/sh "${CLAUDE_PLUGIN_ROOT}/hooks/run.sh" PreToolUse "${CLAUDE_PLUGIN_DATA}" || exit 2'
"""How the plugin of this package registers the gate (``plugin/hooks/hooks.json``)."""


def foreign_hooks(hooks: Any, folders: Folders, file: str = "", *, own_plugin: bool = False) -> str:
    """Name a hook that could answer a question, or change a call; empty where there is none.

    Args:
        hooks: The value of ``hooks`` in settings.
        folders: The gate's folders.
        file: The settings file.
        own_plugin: Whether these are the hooks of the gate's own plugin.
    """
    if hooks is None:
        return ""
    if not isinstance(hooks, dict):
        return "hooks that are not understood"
    if any(True for _ in _entries(hooks.get("PermissionRequest"))):
        return "a hook for PermissionRequest that could answer in your place"
    own = _list_own_hooks(folders, file, own_plugin=own_plugin)
    for entry in _entries(hooks.get("PreToolUse")):
        if entry not in own and not _watches_only(entry):
            return "another hook for PreToolUse that could change a call after you have seen it"
    return ""


def _entries(groups: Any) -> Iterator[Any]:
    """All hooks of an event; what is not understood is one, too."""
    for group in groups if isinstance(groups, list) else [groups] if groups else []:
        inside = group.get("hooks") if isinstance(group, dict) else None
        yield from inside if isinstance(inside, list) else [group]


def _watches_only(entry: Any) -> bool:
    """Whether a hook cannot hold or change a call: the client does not wait for one that is asynchronous."""
    return isinstance(entry, Mapping) and entry.get("async") is True and entry.get("type") == "command"


def _list_own_hooks(folders: Folders, file: str, *, own_plugin: bool) -> Sequence[Any]:
    from lockgate.clients.common import hook_command
    from lockgate.clients.install import claude
    from lockgate.core.errors import InstallError

    if own_plugin:
        timeout = hook_command.hook_timeout("PreToolUse")
        return [{"type": "command", "command": _PLUGIN_COMMAND, "timeout": timeout, "onFailure": "block"}]
    try:
        launch = claude.this_launch(folders, file)
    except InstallError:
        return []
    return hook_command.valid_entries(launch, ["PreToolUse"])["PreToolUse"]
