"""Describes what a prompt attaches: mentioned files and resources, skills, prompts of MCP servers.

Claude Code attaches a mentioned file, runs what stands in a skill and asks an MCP server for its prompt. It does so
without a tool, so no other event tells of it. The forms are those of version 2.1.329. Below also stands what it means
that a client loads a file of instructions by itself.
"""

from __future__ import annotations

import posixpath

from lockgate.analysis.prompts.mentions import mention_effects_of
from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Label, ToolCall
from lockgate.resources.host_view import HostView
from lockgate.resources.path_spelling import absolute, is_inside, is_outside_workspace
from lockgate.resources.paths import read_effects

_CLIENT_FOLDERS = (
    ".claude",
    ".codex",
    ".gemini",
    ".copilot",
    ".pi/agent",
    ".config/claude",
    ".config/kilo",
    ".config/opencode",
)
"""Folders in the home folder where a person keeps instructions for clients."""
_PACKAGE_FOLDERS = (
    ".claude/plugins",
    ".gemini/extensions",
    ".copilot/installed-plugins",
    ".pi/agent/git",
    ".pi/agent/npm",
)
"""Folders in those where clients unpack what strangers publish: marketplaces, plugins, extensions."""
_SYSTEM_FOLDERS = ("/etc/claude-code", "/Library/Application Support/ClaudeCode", "/etc/codex")
_SERVERS_PROMPT = lazy_re(r"\s*/(?:(?P<tool>mcp__\S+)|(?P<listed>\S+) \(MCP\))")


def mention_effects(prompt: str, cwd: str, around: HostView) -> tuple[Effect, ...]:
    """The effects of what a prompt mentions.

    Args:
        prompt: The prompt's text.
        cwd: The folder that relative paths start at.
        around: The view of this machine.
    """
    return tuple(dict.fromkeys((*_skill_effects(prompt, cwd, around), *mention_effects_of(prompt, cwd, around))))


def _skill_effects(prompt: str, cwd: str, around: HostView) -> tuple[Effect, ...]:
    tool = _name_server_prompt(prompt)
    if tool:
        from lockgate.analysis.mcp import mcp_effects

        brought = mcp_effects(ToolCall(tool, {}, cwd), around)
        return tuple(effect for effect in brought if effect.kind in (EffectKind.INGEST, EffectKind.READ_SECRET))
    if not prompt.startswith("/"):
        return ()
    from lockgate.analysis.prompts.skills import skill_effects

    return skill_effects(prompt, "", cwd, around)


def outside_message_effect() -> Effect:
    """The effect of a message that somebody sends into a session from elsewhere."""
    because = "nobody knows here what its sender has read"
    return Effect(EffectKind.INGEST, "a message from outside", "prompt:outside", because, gives=Label.UNTRUSTED)


def stranger_effect(source: str) -> Effect:
    """The effect of a stranger's words in a prompt.

    Args:
        source: Where they come from.
    """
    because = "somebody else's words stand in the prompt"
    return Effect(EffectKind.INGEST, source or "a stranger's words", "prompt:stranger", because, gives=Label.UNTRUSTED)


def _name_server_prompt(prompt: str) -> str:
    """The name of an MCP server's prompt in the form of a tool's, where that is asked for; else empty."""
    match = _SERVERS_PROMPT.match(prompt)
    if match is None or match["tool"]:
        return match["tool"] if match else ""
    listed = match["listed"]  # ``SERVER:PROMPT``; the server of a plugin has colons in its name
    colon = listed.rfind(":", 1, -1)
    return f"mcp__{listed[:colon]}__{listed[colon + 1 :]}" if colon > 0 else ""


# ---------------------------------------------------------------- files of instructions
def instructions_effects(path: str, cwd: str, around: HostView) -> tuple[Effect, ...]:
    """Effects of a client loading a file of instructions by itself.

    Instructions in the project and in the person's own client configuration are the person's; those that came with a
    package, or lie anywhere else, may be a stranger's. What they include may be a secret.
    """
    found = tuple(effect for effect in read_effects(path, cwd, around) if effect.gives is not None)
    if any(effect.kind is EffectKind.INGEST for effect in found):
        return found
    full = absolute(path, cwd, around) or ""
    if not is_outside_workspace(path, cwd, around) or _is_client_configuration(full, around):
        return found
    because = "these instructions lie outside the project and the person's own configuration"
    return (*found, Effect(EffectKind.INGEST, path, "place:instructions/foreign", because, gives=Label.UNTRUSTED))


def _is_client_configuration(full: str, around: HostView) -> bool:
    if any(is_inside(full, posixpath.join(around.home, name)) for name in _PACKAGE_FOLDERS):
        return False
    folders = [posixpath.join(around.home, name) for name in _CLIENT_FOLDERS]
    if any(is_inside(full, folder) for folder in (*folders, *_SYSTEM_FOLDERS)):
        return True
    # A client also reads CLAUDE.md of the folders above the project; they are the person's when below the home folder.
    parents = posixpath.dirname(around.workspace) if around.workspace else ""
    return bool(parents) and is_inside(full, around.home) and is_inside(parents, posixpath.dirname(full))
