"""What a prompt brings in beside its words: files and resources that it mentions with ``@``, skills, servers' prompts.

Claude Code attaches a mentioned file, runs what stands in a skill and asks an MCP server for its prompt without a tool,
so no other event tells of it. The forms are those of version 2.1.329.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from lockgate.analysis.paths import read_effects
from lockgate.analysis.surroundings import Surroundings
from lockgate.lazy import lazy_re
from lockgate.model import Effect, EffectKind, Label, ToolCall

_MENTION = lazy_re(r"""(?<![\w@/.])@(?:"([^"\n]+)"|([^\s"'`,;()<>]+))""")
_RESOURCE = lazy_re(r"[\w.-]+:[a-z][a-z0-9+.-]*://|[\w-]+:(?!//|\d[\d:,-]*$).", re.IGNORECASE)
"""``SERVER:URI``; what stands behind a file's name as a line of it is none, and an address of the web is none."""
_SERVERS_PROMPT = lazy_re(r"\s*/(?:(?P<tool>mcp__\S+)|(?P<listed>\S+) \(MCP\))")
_LINES = lazy_re(r"#L?\d.*")


def mention_effects(prompt: str, cwd: str, around: Surroundings) -> tuple[Effect, ...]:
    """The effects of what a prompt mentions.

    Args:
        prompt: The prompt's text.
        cwd: The folder that relative paths start at.
        around: The surroundings.
    """
    return tuple(dict.fromkeys((*_of_skill(prompt, cwd, around), *attached(prompt, cwd, around))))


def attached(text: str, cwd: str, around: Surroundings, most: int = 200) -> tuple[Effect, ...]:
    """The effects of what a text mentions with ``@``.

    Args:
        text: The text.
        cwd: The folder that relative paths start at.
        around: The surroundings.
        most: How many mentions are looked at.
    """
    found: dict[Effect, None] = {}
    for name in islice(mentioned(text), most):
        if _RESOURCE.match(name):
            found[
                Effect(
                    EffectKind.INGEST,
                    name,
                    "mention:resource",
                    "the prompt attaches a resource of an MCP server, which others may have written",
                    gives=Label.UNTRUSTED,
                )
            ] = None
            continue
        path = _LINES.sub("", name).rstrip(".!?:")
        found.update(dict.fromkeys(read_effects(path, cwd, around)))
    return tuple(found)


def mentioned(text: str) -> Iterator[str]:
    """What stands behind each ``@`` of a text, each once."""
    seen: set[str] = set()
    for match in _MENTION.finditer(text):
        name = match[1] or match[2]
        if name not in seen:
            seen.add(name)
            yield name


def _of_skill(prompt: str, cwd: str, around: Surroundings) -> tuple[Effect, ...]:
    tool = _servers_prompt(prompt)
    if tool:
        from lockgate.analysis.mcp import mcp_effects

        brought = mcp_effects(ToolCall(tool, {}, cwd), around)
        return tuple(effect for effect in brought if effect.kind in (EffectKind.INGEST, EffectKind.READ_SECRET))
    if not prompt.startswith("/"):
        return ()
    from lockgate.analysis.skills import skill_effects

    return skill_effects(prompt, "", cwd, around)


def from_outside() -> Effect:
    """The effect of a message that somebody sends into a session from elsewhere."""
    because = "nobody knows here what its sender has read"
    return Effect(EffectKind.INGEST, "a message from outside", "prompt:outside", because, gives=Label.UNTRUSTED)


def _servers_prompt(prompt: str) -> str:
    """The name of an MCP server's prompt in the form of a tool's, where that is asked for; else empty."""
    match = _SERVERS_PROMPT.match(prompt)
    if match is None or match["tool"]:
        return match["tool"] if match else ""
    listed = match["listed"]  # ``SERVER:PROMPT``; the server of a plugin has colons in its name
    colon = listed.rfind(":", 1, -1)
    return f"mcp__{listed[:colon]}__{listed[colon + 1 :]}" if colon > 0 else ""
