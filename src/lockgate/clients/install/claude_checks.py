"""Checks whether Claude Code is guarded here: hooks, plugin, and settings that work against them."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from lockgate.clients.common.hook_command import (
    find_missing_entries,
    find_started_files,
    remote_words,
    valid_entries,
)
from lockgate.clients.common.transcripts import EVENTS
from lockgate.clients.install import claude
from lockgate.clients.install.claude_entries import find_weakened_events
from lockgate.clients.install.claude_hazards import hazards
from lockgate.clients.install.claude_settings_view import (
    CheckContext,
    DoctorCheck,
    SettingsLayer,
    find_enabled_plugins,
    hook_commands,
)
from lockgate.core.display_text import visible
from lockgate.core.errors import InstallError
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.folders import Folders, folders

if TYPE_CHECKING:
    from typing import Any

_INSTALL = "run: lockgate install claude-code"
_PLUGIN = (
    "if you want them: lockgate install claude-code --plugin, and in a checkout of Lockgate: claude plugin marketplace"
    " add ./ && claude plugin install lockgate@lockgate"
)


def checks(seen: CheckContext) -> Iterator[DoctorCheck]:
    """Look at everything that concerns the client, in the order in which a person would mend it."""
    yield _readable(seen)
    yield _hooks(seen)
    yield from _current(seen)
    yield _plugin(seen)
    yield from hazards(seen)


# ---------------------------------------------------------------- hooks
def _readable(seen: CheckContext) -> DoctorCheck:
    bad = [f"{layer.file} ({visible(layer.problem, 120)})" for layer in seen.layers if layer.problem]
    if bad:
        return DoctorCheck(
            "settings",
            "fail",
            f"cannot be read: {', '.join(bad)}",
            "let yourself read it, or mend its JSON; until then the client ignores it",
        )
    return DoctorCheck("settings", "ok", ", ".join(layer.file for layer in seen.layers) or "there are none")


def _hooks(seen: CheckContext) -> DoctorCheck:
    missing = [event for event in EVENTS if not hook_commands(seen, event)]
    if not missing:
        files = dict.fromkeys(layer.file for layer, _ in hook_commands(seen, "PreToolUse"))
        return DoctorCheck("hooks", "ok", f"registered for every event in {', '.join(files)}")
    if find_enabled_plugins(seen):
        return DoctorCheck("hooks", "ok", "the plugin's hooks do it")
    if len(missing) == len(EVENTS):
        return DoctorCheck("hooks", "fail", "no hooks are registered: nothing is guarded", _INSTALL)
    return DoctorCheck("hooks", "fail", f"not registered for {', '.join(missing)}", _INSTALL)


def _current(seen: CheckContext) -> Iterator[DoctorCheck]:
    layers = {layer.file: layer for layer, _ in hook_commands(seen, "PreToolUse")}
    if len({layer.scope == claude.MANAGED for layer in layers.values()}) == 2:
        says = "the administrator's settings and others have hooks, so every call is looked at twice"
        yield DoctorCheck("hooks (twice)", "warn", says, "run: lockgate uninstall claude-code")
    for layer in layers.values():
        name = f"hooks ({layer.scope})"
        remote = _remote(seen, layer)
        if layer.scope == claude.MANAGED:
            if not remote:
                yield from _check_managed(name, seen, layer)
            continue
        again = " ".join((f"{_INSTALL} --scope {layer.scope}", *map(visible, remote)))
        try:
            launch = claude.this_launch(seen.folders, layer.file)._replace(remote=remote)
        except InstallError as error:
            yield DoctorCheck(name, "fail", str(error))
            continue
        gone = _find_missing_program(seen, layer)
        entries = valid_entries(launch, EVENTS)
        weak = find_weakened_events(layer.settings, entries)
        stale = find_missing_entries(layer.settings, entries)
        if gone:
            yield DoctorCheck(name, "fail", f"{gone} does not exist, so every call is blocked", again)
        elif weak:
            says = f"changed, so that they do not hold every call ({', '.join(weak)})"
            yield DoctorCheck(name, "fail", says, again)
        elif stale:
            yield DoctorCheck(name, "warn", f"not as this version would register them ({', '.join(stale)})", again)
        else:
            yield DoctorCheck(name, "ok", "exactly as this version registers them")


def _check_managed(name: str, seen: CheckContext, layer: SettingsLayer) -> Iterator[DoctorCheck]:
    """The hooks for every user of the machine. What the administrator wrote is theirs: the self-test tries it."""
    if seen.folders != folders({}):
        says = "they have the folders below your home folder; HOME, XDG_STATE_HOME or XDG_CONFIG_HOME names others"
        yield DoctorCheck(name, "fail", says, "unset these variables")
        return
    launch = claude.this_launch(seen.folders, layer.file)._replace(for_everyone=True)
    stale = find_missing_entries(layer.settings, valid_entries(launch, EVENTS))
    if stale:
        says = f"not as this version would register them ({', '.join(stale)})"
        yield DoctorCheck(name, "warn", says, f"run: sudo {_INSTALL.removeprefix('run: ')} --managed")
    else:
        yield DoctorCheck(name, "ok", "exactly as this version registers them for every user")


def _remote(seen: CheckContext, layer: SettingsLayer) -> tuple[str, ...]:
    """The words by which the hooks of a layer ask a gate outside of this container; none where they do not."""
    commands = [command for own, command in hook_commands(seen, "PreToolUse") if own is layer]
    words = _words(commands[0]) if commands else []
    given = dict(pairwise(words))
    return remote_words(*(given.get(name, "") for name in ("--remote", "--key-file", "--ca-file")))


def _find_missing_program(seen: CheckContext, layer: SettingsLayer) -> str:
    for own, command in hook_commands(seen, "PreToolUse"):
        if own == layer:
            return next((path for path in find_started_files(_words(command)) if not os.access(path, os.R_OK)), "")
    return ""


def is_usual(seen: CheckContext) -> bool:
    """Whether the client's folder is where it is when no variable says otherwise."""
    return seen.claude == os.path.join(seen.folders.home, ".claude")


def may_be_tried(seen: CheckContext, layer: SettingsLayer, command: str) -> bool:
    """Whether a registered command may be run, to see whether it refuses.

    A project's settings are anybody's text, also where they name the gate, and a variable can call any folder the
    client's: of those only what this version registers is run, and nobody is asked whom they name. No agent may write
    to the administrator's settings, nor to the person's own in their usual place. They may start the gate in another
    way, and still have to refuse.
    """
    usual = is_usual(seen) and layer.file == os.path.join(seen.claude, "settings.json")
    if usual or layer.scope == "managed":
        return True
    try:
        launch = claude.this_launch(seen.folders, layer.file)
    except InstallError:
        return False
    return command in [entry["command"] for entry in valid_entries(launch, ["PreToolUse"])["PreToolUse"]]


def _words(command: str) -> list[str]:
    """The words that start a hook; none where they cannot be told: a project can have written anything."""
    try:
        return shlex.split(command.partition("||")[0])
    except ValueError:
        return []


# ---------------------------------------------------------------- the plugin
def _plugin(seen: CheckContext) -> DoctorCheck:
    enabled = find_enabled_plugins(seen)
    if not enabled:
        return DoctorCheck("plugin", "warn", "not installed: there is no delegate and no skill", _PLUGIN)
    if len(enabled) > 1:
        return DoctorCheck(
            "plugin", "fail", f"there are several: {', '.join(enabled)}", "remove all but the one you installed"
        )
    rogue = _rogue_files(seen)
    if rogue:
        return DoctorCheck(
            "plugin", "fail", f"its installed copy was changed: {', '.join(rogue)}", "install it again: /plugin"
        )
    problem = _launch_record_problem(seen.folders)
    if problem:
        return DoctorCheck("plugin", "fail", problem, "run: lockgate install claude-code --plugin")
    if hook_commands(seen, "PreToolUse"):
        return DoctorCheck(
            "plugin", "warn", "hooks are in the settings too, so every call is looked at twice", "keep one of them"
        )
    return DoctorCheck("plugin", "ok", f"{enabled[0]} is switched on and knows where the program is")


def plugin_copies(seen: CheckContext) -> list[Path]:
    """Return the installed copies of the plugin, of every market and version."""
    return sorted(Path(seen.claude, "plugins", "cache").glob("*/lockgate/*"))


def _rogue_files(seen: CheckContext) -> list[str]:
    """Files in an installed copy that could do what the plugin does not do."""
    found = []
    for copy in plugin_copies(seen):
        found += [str(copy / name) for name in ("settings.json", ".mcp.json", ".lsp.json") if (copy / name).exists()]
        agents = {path.name for path in copy.glob("agents/*")}
        found += [str(copy / "agents" / name) for name in sorted(agents - {"delegate.md"})]
        try:
            hooks = json.loads((copy / "hooks" / "hooks.json").read_bytes())
        except (OSError, ValueError):
            hooks = None
        if not _are_plugin_hooks_whole(hooks):
            found.append(str(copy / "hooks" / "hooks.json"))
    return found


def _are_plugin_hooks_whole(loaded: Any) -> bool:
    hooks = loaded.get("hooks") if isinstance(loaded, dict) else None
    if not isinstance(hooks, dict) or set(loaded) - {"description", "hooks"}:
        return False
    texts = (json.dumps(hooks.get(event)) for event in EVENTS)
    return all(f'hooks/run.sh\\" {event} ' in text for event, text in zip(EVENTS, texts, strict=True))


def _launch_record_problem(folders: Folders) -> str:
    file = claude.launch_record(folders)
    try:
        python, hook, *rest = Path(file).read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return "it does not know where the program is"
    gone = next((path for path in (python, hook) if not os.access(path, os.R_OK)), "")
    if gone:
        return f"{file} names {gone}, which does not exist"
    # A sixth line names the native client; the plugin does without one that is gone.
    return "" if rest[:3] == list(folders) else f"{file} names other folders than yours"
