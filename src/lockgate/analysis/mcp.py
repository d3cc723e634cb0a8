"""MCP tools: what anybody's server can do, and what a person says about one.

Nothing is known of an MCP tool but its name, so it is both source and sink, until the configuration says otherwise:
by a category (Lockbox's words) or by a service's flags. Where both speak, both hold: the flags decide the effects and
the category is applied to them.
"""

from __future__ import annotations

from lockgate.analysis.categories import overrule
from lockgate.analysis.surroundings import Service, Surroundings
from lockgate.model import Effect, EffectKind, Label, Variant

PREFIX = "mcp__"


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


def mcp_effects(tool: str, around: Surroundings) -> tuple[Effect, ...]:
    """Effects of calling an MCP tool."""
    effects = service_effects(tool, service_of(tool, around))
    rule = around.rules.tool_category(tool)
    return effects if rule is None else overrule(effects, rule, tool)


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
