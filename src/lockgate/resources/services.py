"""Finds the effects of a service (an MCP server, a tool, a host) by what is declared about it.

A flag that is not declared has the value that it has for a service of which nothing is declared. So saying more about a
service never makes it stricter than saying nothing. Which value that is says the profile: Lockbox takes an unknown tool
for a source and a sink; others take it for all that a service can be.
"""

from __future__ import annotations

from collections.abc import Sequence

from lockgate.core.model import REACHING, Effect, EffectKind, Label, Variant
from lockgate.core.record import Record
from lockgate.resources.host_view import Service


class FlagMeaning(Record):
    """What a flag of a declaration says of an effect."""

    rule: str
    because: str
    gives: Label | None = None


_MEANINGS = {
    EffectKind.INGEST: FlagMeaning("service:public-source", "strangers can write what it returns", Label.UNTRUSTED),
    EffectKind.READ_SECRET: FlagMeaning("service:secret-data", "it returns private data", Label.SECRET),
    EffectKind.EGRESS: FlagMeaning("service:public-sink", "what is sent to it can reach strangers"),
    EffectKind.DESTROY: FlagMeaning("service:dangerous-writes", "it can change or delete what matters"),
}


def service_effects(what: str, service: Service, *, everything: bool) -> tuple[Effect, ...]:
    """Effects of using a service of which only the declaration is known.

    Args:
        what: The tool or the host.
        service: What is declared.
        everything: Whether a service of which nothing is declared also returns private data and changes what matters.
    """
    flags = {
        EffectKind.INGEST: service.public_source is not False,
        EffectKind.READ_SECRET: everything if service.secret_data is None else service.secret_data,
        EffectKind.EGRESS: service.public_sink is not False,
        EffectKind.DESTROY: everything if service.dangerous_writes is None else service.dangerous_writes,
    }
    return (
        *_forbidden_effects(what, service),
        *(_effect_of_declared(what, kind, service) for kind, has in flags.items() if has),
    )


def effects_of_unknown_tool(what: str, rule: str, *, everything: bool) -> tuple[Effect, ...]:
    """Effects of a tool of which nothing is declared and nothing is known.

    Args:
        what: The tool.
        rule: The rule that says so.
        everything: As for :func:`service_effects`.
    """
    found = [
        Effect(EffectKind.EGRESS, what, rule, "an unknown tool may act outside this machine", gives=Label.UNTRUSTED),
        Effect(EffectKind.INGEST, what, rule, "an unknown tool may return what strangers wrote", gives=Label.UNTRUSTED),
    ]
    if everything:
        because = "an unknown tool may return private data"
        found.append(Effect(EffectKind.READ_SECRET, what, rule, because, gives=Label.SECRET))
        found.append(Effect(EffectKind.DESTROY, what, rule, "an unknown tool may change or delete what matters"))
    return tuple(found)


def apply_declaration(what: str, effects: Sequence[Effect], service: Service) -> tuple[Effect, ...]:
    """The effects of a tool that Lockgate knows, with what is declared about it: what is not said stays as it is.

    Like a category, a declaration cannot take away that a call reads a secret, persists, destroys or tampers.
    """
    if service.public_source is False:
        effects = [
            effect._replace(gives=None) if effect.gives is Label.UNTRUSTED else effect
            for effect in effects
            if effect.kind is not EffectKind.INGEST
        ]
    if service.public_sink is False:
        effects = [effect for effect in effects if effect.kind not in REACHING]
    flags = {
        EffectKind.INGEST: service.public_source,
        EffectKind.READ_SECRET: service.secret_data,
        EffectKind.EGRESS: service.public_sink,
        EffectKind.DESTROY: service.dangerous_writes,
    }
    kinds = {effect.kind for effect in effects}
    added = [_effect_of_declared(what, kind, service) for kind, has in flags.items() if has and kind not in kinds]
    return (*effects, *_forbidden_effects(what, service), *added)


def _effect_of_declared(what: str, kind: EffectKind, service: Service) -> Effect:
    flag = _MEANINGS[kind]
    return Effect(kind, what, flag.rule, flag.because + _source_of(service), gives=flag.gives)


def _forbidden_effects(what: str, service: Service) -> tuple[Effect, ...]:
    """The effect of what is forbidden: ``tamper`` with the variant *self*, which every profile denies in every state.

    No configuration opens it, which is what a person means who forbids something.
    """
    if not service.forbidden:
        return ()
    because = f"the configuration forbids agents to use it{_source_of(service)}"
    return (Effect(EffectKind.TAMPER, what, "service:forbidden", because, Variant.SELF),)


def _source_of(service: Service) -> str:
    return f" ({service.rule})" if service.rule else ""
