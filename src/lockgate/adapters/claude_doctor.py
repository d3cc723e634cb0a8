"""Every way in which Claude Code might not be guarded, looked for on this machine."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lockgate.adapters import claude_install
from lockgate.adapters.claude_code import EVENTS
from lockgate.adapters.claude_command import hook_entry, is_own_command, missing_entries
from lockgate.errors import InstallError
from lockgate.folders import Folders
from lockgate.text import visible

OLDEST_CLIENT = (2, 1, 197)
"""The oldest version that was tried."""
ON_FAILURE_CLIENT = (2, 1, 329)
"""The oldest version in which ``onFailure`` was seen to work."""

_VARIABLE = re.compile(
    r"(?:LD_|DYLD_|PYTHON|XDG_).*|PATH|HOME|ENV|BASH_ENV|NODE_OPTIONS|ANTHROPIC_BASE_URL|CLAUDE_CODE_SIMPLE"
)
"""Variables by which settings could change what a hook loads, where it looks, or whom the client talks to."""
_INSTALL = "run: lockgate install claude-code"


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    state: str
    """``ok``, ``warn`` or ``fail``."""
    says: str
    mend: str = ""


class Layer(NamedTuple):
    """One of the client's settings files."""

    scope: str
    file: str
    settings: Mapping[str, Any]
    problem: str = ""


class Look(NamedTuple):
    """What the checks look at."""

    folders: Folders
    project: str
    layers: tuple[Layer, ...]
    environ: Mapping[str, str]
    version: str
    """What ``claude --version`` printed, empty where there is none."""

    @property
    def claude(self) -> str:
        """The client's folder."""
        return os.path.dirname(claude_install.settings_file("user", self.folders, self.project, self.environ))


def look(folders: Folders, project: str, environ: Mapping[str, str], version: str) -> Look:
    """Read the client's settings, all layers, strongest first."""
    named: dict[str, str] = {}
    for scope in claude_install.SCOPES:
        # In the home folder, a project's settings are the user's.
        named.setdefault(claude_install.settings_file(scope, folders, project, environ), scope)
    files = [("managed", file) for file in _managed_files()]
    files += [(scope, file) for file, scope in reversed(named.items())]
    layers = tuple(_layer(scope, file) for scope, file in files if os.path.lexists(file))
    return Look(folders, project, layers, environ, version)


def _managed_files() -> list[str]:
    mac = "/Library/Application Support/ClaudeCode"
    folder = Path(mac if sys.platform == "darwin" else "/etc/claude-code")
    return [str(folder / "managed-settings.json"), *sorted(map(str, folder.glob("managed-settings.d/*.json")))]


def _layer(scope: str, file: str) -> Layer:
    try:
        loaded = json.loads(Path(file).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        return Layer(scope, file, {}, f"{type(error).__name__}: {error}")
    return Layer(scope, file, loaded) if isinstance(loaded, dict) else Layer(scope, file, {}, "it is not an object")


def checks(seen: Look) -> Iterator[Check]:
    """Look at everything that concerns the client, in the order in which a person would mend it."""
    yield _readable(seen)
    yield _hooks(seen)
    yield from _current(seen)
    yield _plugin(seen)
    yield _switched_off(seen)
    yield _other_hooks(seen, "PermissionRequest", "could answer the approval in a person's place")
    yield _other_hooks(seen, "PreToolUse", "could change a call after it was looked at")
    yield _permissions(seen)
    yield _client(seen)
    yield _variables(seen)
    yield _agents(seen)
    yield _mods(seen)


# ---------------------------------------------------------------- hooks
def hook_commands(seen: Look, event: str) -> list[tuple[Layer, str]]:
    """Return the gate's own commands for an event, with the layer that each stands in."""
    return [(layer, entry["command"]) for layer, entry in _entries(seen, event) if is_own_command(entry.get("command"))]


def _entries(seen: Look, event: str) -> Iterator[tuple[Layer, Mapping[str, Any]]]:
    for layer in seen.layers:
        hooks = layer.settings.get("hooks")
        groups = hooks.get(event) if isinstance(hooks, dict) else None
        for group in groups if isinstance(groups, list) else ():
            entries = group.get("hooks") if isinstance(group, dict) else None
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, dict):
                    yield layer, entry


def _readable(seen: Look) -> Check:
    bad = [f"{layer.file} ({visible(layer.problem, 120)})" for layer in seen.layers if layer.problem]
    if bad:
        return Check("settings", "fail", f"cannot be read: {', '.join(bad)}", "mend the JSON; the client ignores it")
    return Check("settings", "ok", f"{len(seen.layers)} settings files read")


def _hooks(seen: Look) -> Check:
    missing = [event for event in EVENTS if not hook_commands(seen, event)]
    if not missing:
        files = dict.fromkeys(layer.file for layer, _ in hook_commands(seen, "PreToolUse"))
        return Check("hooks", "ok", f"registered for every event in {', '.join(files)}")
    if enabled_plugins(seen):
        return Check("hooks", "ok", "the plugin's hooks do it")
    if len(missing) == len(EVENTS):
        return Check("hooks", "fail", "no hooks are registered: nothing is guarded", _INSTALL)
    return Check("hooks", "fail", f"not registered for {', '.join(missing)}", _INSTALL)


def _current(seen: Look) -> Iterator[Check]:
    layers = {layer.file: layer for layer, _ in hook_commands(seen, "PreToolUse") if layer.scope != "managed"}
    for layer in layers.values():
        name = f"hooks ({layer.scope})"
        again = f"{_INSTALL} --scope {layer.scope}"
        try:
            launch = claude_install.this_launch(seen.folders, layer.file)
        except InstallError as error:
            yield Check(name, "fail", str(error))
            continue
        gone = _gone(seen, layer)
        stale = missing_entries(layer.settings, {event: hook_entry(launch, event) for event in EVENTS})
        if gone:
            yield Check(name, "fail", f"{gone} does not exist, so every call is blocked", again)
        elif stale:
            yield Check(name, "warn", f"not as this version would register them ({', '.join(stale)})", again)
        else:
            yield Check(name, "ok", "exactly as this version registers them")


def _gone(seen: Look, layer: Layer) -> str:
    for own, command in hook_commands(seen, "PreToolUse"):
        words = shlex.split(command.partition("||")[0])
        if own == layer:
            return next((path for path in (words[0], words[3]) if not os.access(path, os.R_OK)), "")
    return ""


# ---------------------------------------------------------------- the plugin
def enabled_plugins(seen: Look) -> list[str]:
    """Name the plugins called lockgate that are switched on, as ``lockgate@market``."""
    switched: dict[str, bool] = {}
    for layer in seen.layers:
        plugins = layer.settings.get("enabledPlugins")
        for name, enabled in plugins.items() if isinstance(plugins, dict) else ():
            if name.startswith("lockgate@"):
                switched.setdefault(name, bool(enabled))
    return [name for name, enabled in switched.items() if enabled]


def _plugin(seen: Look) -> Check:
    enabled = enabled_plugins(seen)
    if not enabled:
        return Check("plugin", "warn", "not installed: there is no delegate and no skill", "see docs/claude-code.md")
    if len(enabled) > 1:
        return Check(
            "plugin", "fail", f"there are several: {', '.join(enabled)}", "remove all but the one you installed"
        )
    rogue = _rogue_files(seen)
    if rogue:
        return Check(
            "plugin", "fail", f"its installed copy was changed: {', '.join(rogue)}", "install it again: /plugin"
        )
    problem = _launch_record_problem(seen.folders)
    if problem:
        return Check("plugin", "fail", problem, "run: lockgate install claude-code --plugin")
    if hook_commands(seen, "PreToolUse"):
        return Check(
            "plugin", "warn", "hooks are in the settings too, so every call is looked at twice", "keep one of them"
        )
    return Check("plugin", "ok", f"{enabled[0]} is switched on and knows where the program is")


def plugin_copies(seen: Look) -> list[Path]:
    """Return the installed copies of the plugin, of every market and version."""
    return sorted(Path(seen.claude, "plugins", "cache").glob("*/lockgate/*"))


def _rogue_files(seen: Look) -> list[str]:
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
        if not _plugin_hooks_whole(hooks):
            found.append(str(copy / "hooks" / "hooks.json"))
    return found


def _plugin_hooks_whole(loaded: Any) -> bool:
    hooks = loaded.get("hooks") if isinstance(loaded, dict) else None
    if not isinstance(hooks, dict) or set(loaded) - {"description", "hooks"}:
        return False
    texts = (json.dumps(hooks.get(event)) for event in EVENTS)
    return all(f'hooks/run.sh\\" {event} ' in text for event, text in zip(EVENTS, texts, strict=True))


def _launch_record_problem(folders: Folders) -> str:
    file = claude_install.launch_record(folders)
    try:
        python, hook, *where = Path(file).read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return "it does not know where the program is"
    gone = next((path for path in (python, hook) if not os.access(path, os.R_OK)), "")
    if gone:
        return f"{file} names {gone}, which does not exist"
    return "" if where == list(folders) else f"{file} names other folders than yours"


# ---------------------------------------------------------------- what works against it
def _switched_off(seen: Look) -> Check:
    for layer in seen.layers:
        settings = layer.settings
        if settings.get("disableAllHooks"):
            return Check("switches", "fail", f"disableAllHooks is set in {layer.file}", "remove it")
        if layer.scope != "managed":
            continue
        plugin_only = settings.get("strictPluginOnlyCustomization")
        if settings.get("allowManagedHooksOnly") and not any(
            own == layer for own, _ in hook_commands(seen, "PreToolUse")
        ):
            return Check("switches", "fail", f"{layer.file} allows only managed hooks", "ask who manages this machine")
        if (plugin_only is True or (isinstance(plugin_only, list) and "hooks" in plugin_only)) and not enabled_plugins(
            seen
        ):
            return Check("switches", "fail", f"{layer.file} allows only hooks of plugins", "install the plugin")
    return Check("switches", "ok", "no setting switches hooks off")


def _other_hooks(seen: Look, event: str, harm: str) -> Check:
    name = f"other {event} hooks"
    others = {layer.file: None for layer, entry in _entries(seen, event) if not is_own_command(entry.get("command"))}
    if others:
        return Check(name, "warn", f"hooks in {', '.join(others)} {harm}", "make sure that you know what they do")
    return Check(name, "ok", "none")


def _permissions(seen: Look) -> Check:
    found = []
    for layer in seen.layers:
        permissions = layer.settings.get("permissions")
        rules = permissions.get("allow") if isinstance(permissions, dict) else None
        for rule in rules if isinstance(rules, list) else ():
            named = isinstance(rule, str) and "lockgate" in rule.lower()
            found += [f"{visible(rule, 60)} in {layer.file}"] if named else []
    if found:
        return Check("permissions", "fail", f"allowed without asking: {', '.join(found)}", "remove these rules")
    return Check("permissions", "ok", "no rule lets an agent use lockgate unasked")


def _client(seen: Look) -> Check:
    if seen.environ.get("CLAUDE_CODE_SIMPLE"):
        return Check("client", "fail", "CLAUDE_CODE_SIMPLE is set: the client runs no hooks", "unset it")
    match = re.search(r"(\d+)\.(\d+)\.(\d+)", seen.version)
    if not match:
        return Check("client", "warn", "claude was not found, so its version is not known", "put it on PATH")
    version = tuple(int(part) for part in match.groups())
    if version < OLDEST_CLIENT:
        oldest = ".".join(map(str, OLDEST_CLIENT))
        return Check(
            "client", "fail", f"{match.group()} is older than {oldest}, the oldest that was tried", "update it"
        )
    if version < ON_FAILURE_CLIENT:
        says = (
            f"{match.group()} knows no onFailure: a hook that the client itself ends at its time limit lets a call run"
        )
        return Check("client", "warn", says, "update it; everything else fails closed here too")
    return Check("client", "ok", f"{match.group()}; do not start it with --bare or --safe-mode, which skip hooks")


def _variables(seen: Look) -> Check:
    found, worst = [], "ok"
    for layer in seen.layers:
        values = layer.settings.get("env")
        for name in values if isinstance(values, dict) else ():
            if _VARIABLE.fullmatch(name):
                found.append(f"{visible(name, 40)} in {layer.file}")
                worst = "fail" if worst == "fail" or layer.scope in {"project", "local"} else "warn"
    if found:
        return Check("variables", worst, f"settings change the hooks' environment: {', '.join(found)}", "remove them")
    return Check("variables", "ok", "no settings change what the hooks load")


def _agents(seen: Look) -> Check:
    found = []
    for folder in (Path(seen.claude, "agents"), Path(seen.project, ".claude", "agents")):
        for file in sorted(folder.rglob("*.md")):
            head = _read_head(file)
            if re.search(r"^name:\s*[\"']?(lockgate:)?delegate[\"']?\s*$", head, re.MULTILINE | re.IGNORECASE):
                found.append(str(file))
    if found:
        return Check("agents", "warn", f"named like the delegate: {', '.join(found)}", "rename or remove them")
    return Check("agents", "ok", "no agent has the delegate's name")


def _read_head(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(4096).decode("utf-8", "replace")
    except OSError:
        return ""


def _mods(seen: Look) -> Check:
    folder = Path(seen.claude, "dev-mods")
    if folder.is_dir() and any(folder.iterdir()):
        return Check("mods", "fail", f"{folder} holds code that runs inside the client", "look at it, then remove it")
    return Check("mods", "ok", "no code runs inside the client")
