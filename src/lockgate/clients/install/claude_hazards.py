"""Finds what could work against the gate although its hooks are registered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lockgate.clients.common.hook_command import is_own_command
from lockgate.clients.install.claude_settings_view import (
    CheckContext,
    DoctorCheck,
    find_enabled_plugins,
    hook_commands,
    hook_entries,
)
from lockgate.core.display_text import visible
from lockgate.core.lazy import lazy_re

OLDEST_CLIENT = (2, 1, 197)
"""The oldest version that was tried."""
ON_FAILURE_CLIENT = (2, 1, 329)
"""The oldest version in which ``onFailure`` was seen to work."""

_VARIABLE = lazy_re(
    r"(?:LD_|DYLD_|PYTHON|XDG_|OPENSSL_|GIT_CONFIG|LOCKGATE_|BASH_FUNC_).*|PATH|HOME|ENV|BASH_ENV|SHELLOPTS|BASHOPTS|PS4"
    r"|GCONV_PATH|GLIBC_TUNABLES|NODE_OPTIONS|ANTHROPIC_BASE_URL|CLAUDE_CODE_SIMPLE|CLAUDE_CONFIG_DIR"
)
"""Variables by which settings could change what a hook loads, where it looks, or whom the client talks to."""


def hazards(seen: CheckContext) -> Iterator[DoctorCheck]:
    """Look for every one of them."""
    yield _check_switched_off(seen)
    yield _other_hooks(seen, "PermissionRequest", "could answer the approval in a person's place")
    yield _other_hooks(seen, "PreToolUse", "could change a call after it was looked at")
    yield _permissions(seen)
    yield _client(seen)
    yield _variables(seen)
    yield _agents(seen)
    yield _mods(seen)


def _check_switched_off(seen: CheckContext) -> DoctorCheck:
    for layer in seen.layers:
        settings = layer.settings
        if settings.get("disableAllHooks"):
            return DoctorCheck("switches", "fail", f"disableAllHooks is set in {layer.file}", "remove it")
        if layer.scope != "managed":
            continue
        plugin_only = settings.get("strictPluginOnlyCustomization")
        if settings.get("allowManagedHooksOnly") and not any(
            own == layer for own, _ in hook_commands(seen, "PreToolUse")
        ):
            return DoctorCheck(
                "switches", "fail", f"{layer.file} allows only managed hooks", "ask who manages this machine"
            )
        if (
            plugin_only is True or (isinstance(plugin_only, list) and "hooks" in plugin_only)
        ) and not find_enabled_plugins(seen):
            return DoctorCheck("switches", "fail", f"{layer.file} allows only hooks of plugins", "install the plugin")
    return DoctorCheck("switches", "ok", "no setting switches hooks off")


def _other_hooks(seen: CheckContext, event: str, harm: str) -> DoctorCheck:
    name = f"other {event} hooks"
    others = {
        layer.file: None for layer, entry in hook_entries(seen, event) if not is_own_command(entry.get("command"))
    }
    if others:
        return DoctorCheck(name, "warn", f"hooks in {', '.join(others)} {harm}", "make sure that you know what they do")
    return DoctorCheck(name, "ok", "none")


def _permissions(seen: CheckContext) -> DoctorCheck:
    found = []
    for layer in seen.layers:
        permissions = layer.settings.get("permissions")
        rules = permissions.get("allow") if isinstance(permissions, dict) else None
        for rule in rules if isinstance(rules, list) else ():
            named = isinstance(rule, str) and "lockgate" in rule.lower()
            found += [f"{visible(rule, 60)} in {layer.file}"] if named else []
    if found:
        return DoctorCheck("permissions", "fail", f"allowed without asking: {', '.join(found)}", "remove these rules")
    return DoctorCheck("permissions", "ok", "no rule lets an agent use lockgate unasked")


def _client(seen: CheckContext) -> DoctorCheck:
    if seen.environ.get("CLAUDE_CODE_SIMPLE"):
        return DoctorCheck("client", "fail", "CLAUDE_CODE_SIMPLE is set: the client runs no hooks", "unset it")
    match = re.search(r"(?<!\d)(\d+)\.(\d+)\.(\d+)", seen.version)
    if not match:
        return DoctorCheck("client", "warn", "claude was not found, so its version is not known", "put it on PATH")
    version = tuple(int(part) for part in match.groups())
    if version < OLDEST_CLIENT:
        oldest = ".".join(map(str, OLDEST_CLIENT))
        return DoctorCheck(
            "client", "fail", f"{match.group()} is older than {oldest}, the oldest that was tried", "update it"
        )
    if version < ON_FAILURE_CLIENT:
        says = (
            f"{match.group()} knows no onFailure: a hook that the client itself ends at its time limit lets a call run"
        )
        return DoctorCheck("client", "warn", says, "update it; everything else fails closed here too")
    return DoctorCheck("client", "ok", f"{match.group()}; do not start it with --bare or --safe-mode, which skip hooks")


def _variables(seen: CheckContext) -> DoctorCheck:
    found, worst = [], "ok"
    for layer in seen.layers:
        values = layer.settings.get("env")
        for name in values if isinstance(values, dict) else ():
            if _VARIABLE.fullmatch(name):
                found.append(f"{visible(name, 40)} in {layer.file}")
                worst = "fail" if worst == "fail" or layer.scope in {"project", "local"} else "warn"
    if found:
        return DoctorCheck(
            "variables", worst, f"settings change the hooks' environment: {', '.join(found)}", "remove them"
        )
    return DoctorCheck("variables", "ok", "no settings change what the hooks load")


def _agents(seen: CheckContext) -> DoctorCheck:
    found = []
    for folder in (Path(seen.claude, "agents"), Path(seen.project, ".claude", "agents")):
        for file in sorted(folder.rglob("*.md")):
            head = _read_head(file)
            if re.search(r"^name:\s*[\"']?(lockgate:)?delegate[\"']?\s*$", head, re.MULTILINE | re.IGNORECASE):
                found.append(str(file))
    if found:
        return DoctorCheck("agents", "warn", f"named like the delegate: {', '.join(found)}", "rename or remove them")
    return DoctorCheck("agents", "ok", "no agent has the delegate's name")


def _read_head(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(4096).decode("utf-8", "replace")
    except OSError:
        return ""


def _mods(seen: CheckContext) -> DoctorCheck:
    folder = Path(seen.claude, "dev-mods")
    if folder.is_dir() and any(folder.iterdir()):
        return DoctorCheck(
            "mods", "fail", f"{folder} holds code that runs inside the client", "look at it, then remove it"
        )
    return DoctorCheck("mods", "ok", "no code runs inside the client")
