"""Reads all layers of Claude Code's settings on this machine, for the doctor."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from lockgate.clients.common.hook_command import is_own_command
from lockgate.clients.install import claude
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.folders import Folders

if TYPE_CHECKING:
    from typing import Any


class DoctorCheck(Record):
    """The outcome of one check of the doctor."""

    name: str
    state: str
    """``ok``, ``warn`` or ``fail``."""
    says: str
    mend: str = ""


class SettingsLayer(Record):
    """One of the client's settings files."""

    scope: str
    file: str
    settings: Mapping[str, Any]
    problem: str = ""


class CheckContext(Record):
    """The context of the checks."""

    folders: Folders
    project: str
    layers: tuple[SettingsLayer, ...]
    environ: Mapping[str, str]
    version: str
    """What ``claude --version`` printed, empty where there is none."""

    @property
    def claude(self) -> str:
        """The client's folder."""
        return os.path.dirname(claude.settings_file("user", self.folders, self.project, self.environ))

    @property
    def has_hooks(self) -> bool:
        """Whether Claude Code's settings, or a plugin that they switch on, register the gate for calls."""
        return bool(hook_commands(self, "PreToolUse") or find_enabled_plugins(self))


def look(folders: Folders, project: str, environ: Mapping[str, str], version: str) -> CheckContext:
    """Read the client's settings, all layers, strongest first."""
    named: dict[str, str] = {}
    for scope in claude.SCOPES:
        # In the home folder, a project's settings are the user's.
        named.setdefault(claude.settings_file(scope, folders, project, environ), scope)
    files = [("managed", file) for file in find_managed_files()]
    files += [(scope, file) for file, scope in reversed(named.items())]
    layers = tuple(_layer(scope, file) for scope, file in files if os.path.lexists(file))
    return CheckContext(folders, project, layers, environ, version)


def find_managed_files() -> list[str]:
    """The settings files that only an administrator can write."""
    folder = Path(claude.find_managed_folder())
    return [str(folder / "managed-settings.json"), *sorted(map(str, folder.glob("managed-settings.d/*.json")))]


def _layer(scope: str, file: str) -> SettingsLayer:
    try:
        loaded = json.loads(Path(file).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        return SettingsLayer(scope, file, {}, f"{type(error).__name__}: {error}")
    return (
        SettingsLayer(scope, file, loaded)
        if isinstance(loaded, dict)
        else SettingsLayer(scope, file, {}, "it is not an object")
    )


def hook_commands(seen: CheckContext, event: str) -> list[tuple[SettingsLayer, str]]:
    """Return the gate's own commands for an event, with the layer that each stands in."""
    return [
        (layer, entry["command"]) for layer, entry in hook_entries(seen, event) if is_own_command(entry.get("command"))
    ]


def hook_entries(seen: CheckContext, event: str) -> Iterator[tuple[SettingsLayer, Mapping[str, Any]]]:
    """Go through all hook entries of an event, whoever they belong to, with the layer that each stands in."""
    for layer in seen.layers:
        hooks = layer.settings.get("hooks")
        groups = hooks.get(event) if isinstance(hooks, dict) else None
        for group in groups if isinstance(groups, list) else ():
            entries = group.get("hooks") if isinstance(group, dict) else None
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, dict):
                    yield layer, entry


def find_enabled_plugins(seen: CheckContext) -> list[str]:
    """Name the plugins called lockgate that are switched on, as ``lockgate@market``."""
    switched: dict[str, bool] = {}
    for layer in seen.layers:
        plugins = layer.settings.get("enabledPlugins")
        for name, enabled in plugins.items() if isinstance(plugins, dict) else ():
            if name.startswith("lockgate@"):
                switched.setdefault(name, bool(enabled))
    return [name for name, enabled in switched.items() if enabled]
