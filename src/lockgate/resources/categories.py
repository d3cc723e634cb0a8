"""Applies a person's category for a command or a tool to the effects that were found.

Lockbox asks its lists in a fixed order: ``override_safe``, ``unsafe_acting``, ``unsafe``, ``acting``, ``safe``, then
*acting* by default; its shipped patterns stand in the same lists as a person's own. Here the shipped knowledge is
structural. It keeps its place in that order, so that ``safe`` makes an unknown program safe but not ``git push``.
"""

from __future__ import annotations

from collections.abc import Iterable

from lockgate.core.model import Category, Effect, EffectKind, Label
from lockgate.resources.host_view import CategoryRule, Service

_READS = frozenset({EffectKind.INGEST, EffectKind.FETCH})
_ACTS = frozenset({EffectKind.EGRESS, EffectKind.EXECUTE})
# Never taken away: what a category cannot speak about.
_FIRM = frozenset({EffectKind.READ_SECRET, EffectKind.PERSIST, EffectKind.DESTROY, EffectKind.TAMPER})


def find_shipped_category(effects: Iterable[Effect]) -> Category | None:
    """Lockbox's category of effects; ``None`` where nothing but code that cannot be seen through acts."""
    kinds = {effect.kind for effect in effects}
    if EffectKind.EGRESS in kinds:
        return Category.UNSAFE_ACTING if kinds & _READS else Category.ACTING
    if EffectKind.EXECUTE in kinds:
        return None
    return Category.UNSAFE if kinds & _READS else Category.SAFE


def overrule(
    effects: Iterable[Effect], rule: CategoryRule, what: str, declared: Service | None = None
) -> tuple[Effect, ...]:
    """Apply a person's category to the effects of one command or tool.

    Args:
        effects: What our own knowledge found for this one command (not for its redirections or substitutions).
        rule: The rule that matched.
        what: The command or tool, for the evidence.
        declared: What is declared about the tool: where strangers write what it returns, it does not only act.

    Returns:
        The effects that are left, and those that the category adds. Reading secrets, persisting, destroying and
        tampering stay whatever a rule says.
    """
    found = tuple(effects)
    acts = rule.category in (Category.ACTING, Category.UNSAFE_ACTING)
    public = acts and declared is not None and declared.public_source is True
    reads = public or rule.category in (Category.UNSAFE, Category.UNSAFE_ACTING)
    if find_shipped_category(found) in rule.overrules:
        keep = _FIRM | (_READS if reads else frozenset()) | (_ACTS if acts else frozenset())
        found = tuple(effect for effect in found if effect.kind in keep)
        if rule.vouched and acts and not reads:
            found = tuple(map(_no_source, found))
    kinds = {effect.kind for effect in found}
    because = f"the configuration says that it is {rule.category.value} ({rule.rule})"
    name = f"config:{rule.category.value}"
    added = []
    if reads and not any(effect.gives is Label.UNTRUSTED for effect in found):
        added.append(Effect(EffectKind.INGEST, what, name, because, gives=Label.UNTRUSTED))
    if acts and EffectKind.EGRESS not in kinds:
        added.append(Effect(EffectKind.EGRESS, what, name, because))
    return (*found, *added)


def _no_source(effect: Effect) -> Effect:
    return effect._replace(gives=None) if effect.kind is EffectKind.EGRESS else effect
