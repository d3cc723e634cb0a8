"""What it means that a client loads a file of instructions by itself."""

from __future__ import annotations

import posixpath

from lockgate.core.model import Effect, EffectKind, Label
from lockgate.resources.host_view import Surroundings
from lockgate.resources.path_spelling import absolute, inside, outside_workspace
from lockgate.resources.paths import read_effects


def instructions_effects(path: str, cwd: str, around: Surroundings) -> tuple[Effect, ...]:
    """Effects of a client loading a file of instructions by itself.

    Instructions in the project and in the person's own client configuration are the person's; those that came with a
    package, or lie anywhere else, may be a stranger's. What they include may be a secret.
    """
    found = tuple(effect for effect in read_effects(path, cwd, around) if effect.gives is not None)
    if any(effect.kind is EffectKind.INGEST for effect in found):
        return found
    full = absolute(path, cwd, around) or ""
    if not outside_workspace(path, cwd, around) or _is_client_configuration(full, around):
        return found
    because = "these instructions lie outside the project and the person's own configuration"
    return (*found, Effect(EffectKind.INGEST, path, "place:instructions/foreign", because, gives=Label.UNTRUSTED))


def _is_client_configuration(full: str, around: Surroundings) -> bool:
    folders = [posixpath.join(around.home, name) for name in (".claude", ".codex", ".gemini", ".copilot", ".config")]
    system = ["/etc/claude-code", "/Library/Application Support/ClaudeCode", "/etc/codex"]
    parents = posixpath.dirname(around.workspace) if around.workspace else ""
    # A client also reads CLAUDE.md of the folders above the project; they are the person's when below the home folder.
    above = inside(full, around.home) and inside(parents, posixpath.dirname(full)) if parents else False
    return above or any(inside(full, folder) for folder in folders + system)
