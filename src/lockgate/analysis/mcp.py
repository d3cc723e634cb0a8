"""Effects of MCP tools: what any server can do, and what a person declares of one.

Nothing is known of an MCP tool but its name. So it is both source and sink, and in some profiles more, until the
configuration says otherwise: by a category (Lockbox's words) or by a service's flags. Where both speak, both hold: the
flags decide the effects and the category is applied to them. Where neither does, a table says what the tools of a few
well-known servers do (:mod:`.mcp_servers`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from lockgate.core.model import Category, Effect, EffectKind, ToolCall
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.categories import overrule
from lockgate.resources.host_view import HostView, Service
from lockgate.resources.paths import read_effects, write_effects

if TYPE_CHECKING:
    from typing import Any

PREFIX = "mcp__"
_PATH_STARTS = ("/", "~/", "./", "../")
_PATH_NAMES = frozenset(
    {"path", "paths", "file", "files", "file_path", "filepath", "filename", "file_name", "uri", "source", "src"}
    | {"destination", "dest", "target", "dir", "directory", "folder", "old_path", "new_path", "output", "output_path"},
)
_MOST_PATHS = 200
_LONGEST = 4096
"""Characters of a value that may be a path: PATH_MAX of Linux."""


def is_mcp(tool: str) -> bool:
    """Whether a tool's name is that of an MCP tool."""
    return tool.startswith(PREFIX)


def service_of(tool: str, around: HostView) -> Service | None:
    """What is declared for an MCP tool: its own entry, else its server's."""
    declared = around.rules.service(tool)
    if declared is not None or not is_mcp(tool):
        return declared
    server, _ = split_name(tool)
    return around.rules.service(PREFIX + server) if server else None


def split_name(tool: str) -> tuple[str, str]:
    """The server and the tool that an MCP tool's name says; both empty where it does not say which server it is."""
    server, separator, rest = tool[len(PREFIX) :].partition("__") if is_mcp(tool) else ("", "", "")
    # Where the name can be parted in two ways, what is known of one of those servers is not for the other.
    return (server, rest) if separator and "__" not in f"_{rest}" else ("", "")


def mcp_effects(call: ToolCall, around: HostView) -> tuple[Effect, ...]:
    """Effects of calling an MCP tool."""
    from lockgate.resources.services import effects_of_unknown_tool, service_effects

    rule = around.rules.tool_category(call.tool)
    service = service_of(call.tool, around)
    # A category is a declaration too, in Lockbox's words; what it does not speak of is as Lockbox has it.
    everything = around.rules.unknown_has_all and rule is None
    known = None
    if service is None and rule is None and not everything:
        from lockgate.analysis.mcp_servers import find_known_effects

        known = find_known_effects(*split_name(call.tool), call, around)
    if known is not None:
        effects = known
    elif service is None:
        effects = effects_of_unknown_tool(call.tool, "tool:mcp", everything=everything)
    else:
        effects = service_effects(call.tool, service, everything=everything)
    if rule is not None:
        effects = overrule(effects, rule, call.tool, service)
    only_reads = rule is not None and rule.category in {Category.SAFE, Category.UNSAFE}
    return (*effects, *effects_of_named_paths(call, around, only_reads=only_reads))


def effects_of_named_paths(call: ToolCall, around: HostView, *, only_reads: bool) -> tuple[Effect, ...]:
    """Effects of the paths that an input names, for a tool of which it is not known what it does with them.

    Whatever a person says about a tool: what binds the agent is not to be reached through it, and a secret is a secret.
    """
    kinds = {EffectKind.TAMPER, EffectKind.READ_SECRET} | (set() if only_reads else {EffectKind.PERSIST})
    paths = list(dict.fromkeys(_paths(call.tool_input)))
    found: dict[Effect, None] = {}
    for path in paths[:_MOST_PATHS]:
        for effect in (*read_effects(path, call.cwd, around), *write_effects(path, call.cwd, around)):
            if effect.kind in kinds or effect.rule.startswith("file:"):
                found[effect] = None
    if len(paths) > _MOST_PATHS:
        because = f"the input names more than {_MOST_PATHS} paths, and only these are looked at"
        found[Effect(EffectKind.EXECUTE, call.tool, "tool:many-paths", because)] = None
    return tuple(found)


def find_paths(tool_input: Mapping[str, Any]) -> tuple[str, ...]:
    """The paths that an input names: a tool of which nobody knows what it does with them may write there."""
    return tuple(dict.fromkeys(_paths(tool_input)))[:_MOST_PATHS]


def _paths(tool_input: Mapping[str, Any]) -> Iterator[str]:
    """The texts of an input that are paths, by the name of their parameter or by how they begin."""
    todo: list[tuple[str, Any]] = [("", tool_input)]
    while todo:
        name, value = todo.pop()
        if isinstance(value, Mapping):
            todo += [(str(key), item) for key, item in value.items()]
        elif isinstance(value, list | tuple):
            todo += [(name, item) for item in value]
        elif isinstance(value, str):
            text = _without_scheme(value.strip())
            named = name.lower() in _PATH_NAMES
            one_line = "\n" not in text or "/../" in text
            if (named or (one_line and text.startswith(_PATH_STARTS))) and len(_shorten(text)) <= _LONGEST:
                yield text


def _without_scheme(text: str) -> str:
    """The path of a ``file:`` address, with or without a host and escapes; any other text as it is."""
    if text[:5].lower() != "file:":
        return text
    from urllib.parse import unquote

    rest = text[5:]
    if rest.startswith("//"):
        _, slash, path = rest[2:].partition("/")
        rest = slash + path
    return unquote(rest)


def _shorten(text: str) -> str:
    """A text as a program opens it that takes ``./`` and ``x/..`` out of a path."""
    return text if len(text) <= _LONGEST else posixpath.normpath(text)
