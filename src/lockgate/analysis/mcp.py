"""MCP tools: what anybody's server can do, and what a person says about one.

Nothing is known of an MCP tool but its name, so it is both source and sink, until the configuration says otherwise:
by a category (Lockbox's words) or by a service's flags. Where both speak, both hold: the flags decide the effects and
the category is applied to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lockgate.analysis.categories import overrule
from lockgate.analysis.paths import read_effects, write_effects
from lockgate.analysis.surroundings import Service, Surroundings
from lockgate.model import Category, Effect, EffectKind, Label, ToolCall, Variant
from lockgate.record import TYPE_CHECKING

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


def service_of(tool: str, around: Surroundings) -> Service | None:
    """What is declared for an MCP tool: its own entry, else its server's."""
    declared = around.rules.service(tool)
    if declared is not None or not is_mcp(tool):
        return declared
    server, separator, _ = tool[len(PREFIX) :].partition("__")
    return around.rules.service(PREFIX + server) if separator else None


def mcp_effects(call: ToolCall, around: Surroundings) -> tuple[Effect, ...]:
    """Effects of calling an MCP tool."""
    effects = service_effects(call.tool, service_of(call.tool, around))
    rule = around.rules.tool_category(call.tool)
    if rule is not None:
        effects = overrule(effects, rule, call.tool)
    only_reads = rule is not None and rule.category in {Category.SAFE, Category.UNSAFE}
    return (*effects, *named_places(call, around, only_reads=only_reads))


def named_places(call: ToolCall, around: Surroundings, *, only_reads: bool) -> tuple[Effect, ...]:
    """Effects of the paths that an input names, for a tool of which it is not known what it does with them.

    Whatever a person says about a tool: what binds the agent is not to be reached through it, and a secret is a secret.
    """
    kinds = {EffectKind.TAMPER, EffectKind.READ_SECRET} | (set() if only_reads else {EffectKind.PERSIST})
    paths = list(dict.fromkeys(_paths(call.tool_input)))
    found: dict[Effect, None] = {}
    for path in paths[:_MOST_PATHS]:
        for effect in (*read_effects(path, call.cwd, around), *write_effects(path, call.cwd, around)):
            if effect.kind in kinds:
                found[effect] = None
    if len(paths) > _MOST_PATHS:
        because = f"the input names more than {_MOST_PATHS} paths, and only these are looked at"
        found[Effect(EffectKind.EXECUTE, call.tool, "tool:many-paths", because)] = None
    return tuple(found)


def _paths(tool_input: Mapping[str, Any]) -> Iterator[str]:
    """The texts of an input that are paths, by the name of their parameter or by how they begin."""
    todo: list[tuple[str, Any]] = [("", tool_input)]
    while todo:
        name, value = todo.pop()
        if isinstance(value, Mapping):
            todo += [(str(key), item) for key, item in value.items()]
        elif isinstance(value, list | tuple):
            todo += [(name, item) for item in value]
        elif isinstance(value, str) and len(value) <= _LONGEST:
            text = value.strip().removeprefix("file://")
            if "\n" not in text and (text.startswith(_PATH_STARTS) or name.lower() in _PATH_NAMES):
                yield text


def service_effects(what: str, service: Service | None) -> tuple[Effect, ...]:
    """Effects of using a service. A flag that is not declared counts as the dangerous value.

    A *forbidden* service gives ``tamper`` with the variant *self*: the one row that every profile denies in every
    state and no configuration opens, which is what a person means who forbids something.
    """
    if service is None:
        return (
            Effect(
                EffectKind.EGRESS,
                what,
                "tool:mcp",
                "an unknown MCP tool may act outside this machine",
                gives=Label.UNTRUSTED,
            ),
            Effect(
                EffectKind.INGEST,
                what,
                "tool:mcp",
                "an unknown MCP tool may return what strangers wrote",
                gives=Label.UNTRUSTED,
            ),
        )
    said = f" ({service.rule})" if service.rule else ""
    found: list[Effect] = []
    if service.forbidden:
        because = f"the configuration forbids agents to use it{said}"
        found.append(Effect(EffectKind.TAMPER, what, "service:forbidden", because, Variant.SELF))
    if service.public_source is not False:
        because = f"strangers can write what it returns{said}"
        found.append(Effect(EffectKind.INGEST, what, "service:public-source", because, gives=Label.UNTRUSTED))
    if service.secret_data is not False:
        because = f"it returns private data{said}"
        found.append(Effect(EffectKind.READ_SECRET, what, "service:secret-data", because, gives=Label.SECRET))
    if service.public_sink is not False:
        because = f"what is sent to it can reach strangers{said}"
        found.append(Effect(EffectKind.EGRESS, what, "service:public-sink", because))
    if service.dangerous_writes is not False:
        because = f"it can change or delete what matters{said}"
        found.append(Effect(EffectKind.DESTROY, what, "service:dangerous-writes", because))
    return tuple(found)
