"""Effects of tools of well-known MCP servers, by the table ``data/mcp_servers.yaml``.

A server is known by the name that its documentation has a person give it. Who adds one decides what runs under it, so
a file of the project that declares another server under that name takes the knowledge away.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache

from lockgate.core.lazy import lazy_re
from lockgate.core.model import PAGE_OPENED, Effect, EffectKind, Label, ToolCall, Variant
from lockgate.core.record import TYPE_CHECKING
from lockgate.core.version import resource_table
from lockgate.resources.host_view import HostView
from lockgate.resources.paths import read_effects, write_effects
from lockgate.system.digests import json_object

if TYPE_CHECKING:
    from typing import Any

PAGE, PAGE_HERE, OPENED_HERE = "mcp:page", "mcp:page-here", "mcp:page-opened-here"
"""Rules: an act on the page that is open, one on a page of this machine, and the opening of such a page."""
BECAUSE_HERE = "a page of this machine can pass on what it is given"
_LONGEST = 4096
_ELEMENT = lazy_re(r"e\d{1,9}")
"""How Playwright names an element of the page itself; ``f1e2`` is one of a frame, which may be another site's."""
_FIELD = {"name": "text", "type": "text", "element": "text", "value": "text", "ref": "element", "target": "element"}
_DECLARING = (".mcp.json", ".claude/.mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".gemini/settings.json",
              "opencode.json", "opencode.jsonc", "kilo.json", "kilo.jsonc", ".codex/config.toml",
              ".github/mcp.json")  # fmt: skip
"""Files of a project in which clients find servers."""
_RUNNERS = frozenset({"npx", "bunx", "pnpx"})
_PASSED = frozenset({"-y", "--yes", "-q", "--quiet"})
"""Options of theirs that say nothing of what is run."""
_LISTS = ("mcpServers", "servers", "mcp", "mcp_servers")


def find_known_effects(server: str, tool: str, call: ToolCall, around: HostView) -> tuple[Effect, ...] | None:
    """Effects of a call of a server that the table knows; ``None`` where it says nothing of it.

    Args:
        server: The server's name.
        tool: The tool's name there.
        call: The call.
        around: The view of this machine.
    """
    row = _rows().get((server, tool))
    if row is None or not _fits(row, call.tool_input) or _is_another(server, row["known_by"], around):
        return None
    because = row["because"]
    looks = Effect(EffectKind.INGEST, call.tool, "mcp:shown", because, gives=Label.UNTRUSTED)
    found: list[Effect] = [] if row["does"] == "compute" else [looks]
    if row["does"] == "page":
        found.append(Effect(EffectKind.EGRESS, call.tool, PAGE, because, gives=Label.UNTRUSTED))
    if row["does"] == "ask":
        full = any("://" in text for text in _texts(call.tool_input))
        variant = Variant.PLAIN if full else Variant.KNOWN
        found.append(Effect(EffectKind.FETCH, call.tool, "mcp:asked", because, variant, gives=Label.UNTRUSTED))
    for name, role in row["input"].items():
        found += _effects_of_parameter(role, call.tool_input.get(name), call, around)
    return tuple(dict.fromkeys(found))


def is_browser(server: str) -> bool:
    """Whether a server drives a browser in which a page stays open from one call to the next."""
    return server in _browsers()


def does(server: str, tool: str) -> str:
    """What a tool does, as the table says; empty where it does not."""
    row = _rows().get((server, tool))
    return row["does"] if row else ""


def _effects_of_parameter(role: str, value: Any, call: ToolCall, around: HostView) -> Sequence[Effect]:
    if value is None:
        return ()
    if role == "address":
        return _open_effects(value, around)
    if role in ("read", "reads"):
        paths = [value] if role == "read" else value
        return [effect for path in paths for effect in read_effects(path, call.cwd, around)]
    return write_effects(value, call.cwd, around) if role == "write" else ()


def _open_effects(url: str, around: HostView) -> list[Effect]:
    """Opening a page in a browser. One of this machine runs what its server hands out, and may send it on."""
    from lockgate.analysis.web import fetch_effects

    found = [
        effect._replace(rule=PAGE_OPENED, gives=effect.gives or Label.UNTRUSTED)
        if effect.kind is EffectKind.FETCH
        else effect
        for effect in fetch_effects(url, around)
    ]
    return found or [Effect(EffectKind.FETCH, url, OPENED_HERE, BECAUSE_HERE, Variant.SEARCH, gives=Label.UNTRUSTED)]


# ---------------------------------------------------------------- the input
def _fits(row: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Whether each parameter is one of the table, and is what the table says."""
    if any(given.get(name) is None for name in row.get("required", ())):
        return False
    roles = row["input"]
    return all(name in roles and (value is None or _is(roles[name], value)) for name, value in given.items())


def _is(role: str, value: Any) -> bool:
    if role == "number":
        return isinstance(value, bool | int | float)
    if role in ("texts", "reads"):
        return isinstance(value, list) and all(_is("read" if role == "reads" else "text", item) for item in value)
    if role == "fields":
        return isinstance(value, list) and all(_is_field(field) for field in value)
    if not isinstance(value, str):
        return False
    if role == "element":
        return _ELEMENT.fullmatch(value) is not None
    return role == "text" or len(value) <= _LONGEST


def _is_field(field: Any) -> bool:
    return isinstance(field, Mapping) and all(key in _FIELD and _is(_FIELD[key], item) for key, item in field.items())


def _texts(given: Mapping[str, Any]) -> list[str]:
    return [json.dumps(value, ensure_ascii=False, default=str) for value in given.values()]


# ---------------------------------------------------------------- which server it is
def _is_another(server: str, known_by: Sequence[str], around: HostView) -> bool:
    """Whether a file of the project declares a server of this name that is not the one of the table, or may."""
    root = around.workspace
    return bool(root) and any(_declares(f"{root}/{name}", server, known_by, around) for name in _DECLARING)


def _declares(path: str, server: str, known_by: Sequence[str], around: HostView) -> bool:
    if not around.is_there(path):
        return False
    file = around.read_script(path)
    held = None if file is None else _parse(file.text, path)
    if held is None:
        return True  # what cannot be read here may be read by its client
    lists = [held[name] for name in _LISTS if held.get(name) is not None]
    entries = [servers.get(server) if isinstance(servers, Mapping) else "unreadable" for servers in lists]
    return not all(entry is None or _starts(entry, known_by) for entry in entries)


def _parse(text: str, path: str) -> Mapping[str, Any] | None:
    try:
        if path.endswith(".toml"):
            import tomllib

            return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
    return json_object(text)


def _starts(entry: Any, known_by: Sequence[str]) -> bool:
    """Whether a declaration starts the package that is meant, or names the address at which that server lies."""
    if not isinstance(entry, Mapping) or entry.get("env") or entry.get("environment"):
        return False
    command, args, url = entry.get("command"), entry.get("args"), entry.get("url", entry.get("httpUrl"))
    if isinstance(command, list) and command:
        command, *args = command
    if command is None:
        return url in known_by
    words = [arg for arg in args if arg not in _PASSED] if isinstance(args, list) else []
    package = words[0] if command in _RUNNERS and words else command
    return url is None and isinstance(package, str) and any(_names(package, known) for known in known_by)


def _names(word: str, known: str) -> bool:
    """Whether a word is what a server is known by, with or without a version."""
    name, at, version = word[1:].partition("@")
    return word[:1] + name == known and (not at or version.replace(".", "").replace("-", "").isalnum())


@lru_cache(maxsize=1)
def _rows() -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (server, tool): row
        for row in resource_table("mcp_servers")
        for server in row["servers"]
        for tool in row["tools"]
    }


@lru_cache(maxsize=1)
def _browsers() -> frozenset[str]:
    return frozenset(server for (server, _), row in _rows().items() if row["does"] == "page")
