"""Holds the closed world: what no table names counts as code that nobody has seen.

In a session with labels a command runs outside of the sandbox only where all of it is known: each option, each
variable that is set for it, each name that it writes. What is not known becomes an effect of the row
``execute_unlisted``. A clean session is let do it; any other runs it contained, or asks where that cannot be.
"""

from __future__ import annotations

from lockgate.core.model import Effect, EffectKind, Label, Variant
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.knowledge.lookup import is_listed
from lockgate.shell.state.abstract_text import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockgate.shell.state.machine import Machine
    from lockgate.shell.state.scope import Arg, ScopeHistory

OPTION, VARIABLE, TARGET = "shell:unlisted-option", "shell:unlisted-variable", "shell:unlisted-target"
_MOST = 3
"""How many options of one command are named to a person."""
_READING = frozenset({"read", "read-below", "read-but", "read-below-but", "look", "paged"})
"""Roles of operands whose content is printed."""
_HELD = frozenset({EffectKind.EGRESS, EffectKind.EXECUTE, EffectKind.TAMPER})
"""What may send, run or loosen anything as it is: an option more changes nothing."""


def effect_of_unlisted(what: str, rule: str, because: str) -> Effect:
    """The effect of something about a command that no table lists."""
    return Effect(EffectKind.EXECUTE, what, rule, because, Variant.UNLISTED)


def variable(name: str, text: str) -> Effect:
    """The effect of a variable that programs get and of which no table says what they do with it."""
    because = f"no table says what the variable `{show(name)[:80]}` does to the programs that get it"
    return effect_of_unlisted(f"{name}={text}", VARIABLE, because)


def record_variable(name: str, text: str, machine: Machine) -> None:
    """Record that programs get a variable of which no table says what they do with it."""
    if not is_listed(name):
        machine.findings.add(variable(name, text))


def record_exported(machine: Machine, ever: ScopeHistory) -> None:
    """Record that a program gets the variables that were exported before."""
    while ever.exported:
        record_variable(*ever.exported.popitem(), machine)


def with_options(own: list[Effect], what: str, words: Sequence[Arg], operands: Sequence[str]) -> list[Effect]:
    """The effects of a command with options of which no table says what they do.

    Args:
        own: What it does by all that is listed.
        what: The command in short.
        words: The options, and the words whose place no table names.
        operands: The roles of its operands.
    """
    kinds = {effect.kind for effect in own}
    if not kinds.isdisjoint(_HELD):
        return own
    because = _because(what, words)
    if EffectKind.FETCH in kinds:
        # In the sandbox it could reach nobody. Outside, the option may add anything to the address.
        return [_not_known(effect, because) if effect.kind is EffectKind.FETCH else effect for effect in own]
    effect = effect_of_unlisted(what, OPTION, because)
    if any("=" in word.text for word in words) and any(role.removesuffix("...") in _READING for role in operands):
        # The value may be the address or the file that it reads, and it prints that.
        effect = effect._replace(gives=Label.UNTRUSTED)
    return [*own, effect]


def _because(what: str, words: Sequence[Arg]) -> str:
    names = list(dict.fromkeys(f"`{show(word.text.partition('=')[0])[:80]}`" for word in words))
    told = " ".join(names[:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")
    return f"no table says what {told} does to `{what}`"


def _not_known(fetch: Effect, because: str) -> Effect:
    return fetch._replace(variant=Variant.PLAIN, address="", because=f"{fetch.because}; {because}")
