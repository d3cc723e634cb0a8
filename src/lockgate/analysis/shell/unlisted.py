"""The closed world: what no table names counts as code that nobody has seen.

In a session with labels a command runs outside of the sandbox only where all of it is known: each option, each
variable that is set for it, each name that it writes. What is not known becomes an effect of the row
``execute_unlisted``. A clean session is let do it; any other runs it contained, or asks where that cannot be.
"""

from __future__ import annotations

from lockgate.analysis.shell.marks import shown
from lockgate.model import Effect, EffectKind, Label, Variant
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.analysis.shell.invoke import Invocation

OPTION, VARIABLE, TARGET = "shell:unlisted-option", "shell:unlisted-variable", "shell:unlisted-target"
_MOST = 3
"""How many options of one command are named to a person."""
_READING = frozenset({"read", "read-below", "read-but", "read-below-but", "look", "paged"})
"""Roles of operands whose content is printed."""
_HELD = frozenset({EffectKind.EGRESS, EffectKind.EXECUTE, EffectKind.TAMPER})
"""What may send, run or loosen anything as it is: an option more changes nothing."""


def unlisted(what: str, rule: str, because: str) -> Effect:
    """The effect of something about a command that no table lists."""
    return Effect(EffectKind.EXECUTE, what, rule, because, Variant.UNLISTED)


def variable(name: str, text: str) -> Effect:
    """The effect of a variable that programs get and of which no table says what they do with it."""
    because = f"no table says what the variable `{shown(name)[:80]}` does to the programs that get it"
    return unlisted(f"{name}={text}", VARIABLE, because)


def heed_options(call: Invocation) -> None:
    """Keep that a command has options of which no table says what they do."""
    kinds = {own.kind for own in call.own}
    if not kinds.isdisjoint(_HELD):
        return
    because = _because(call)
    if EffectKind.FETCH in kinds:
        # In the sandbox it could reach nobody. Outside, the option may add anything to the address.
        call.own = [_not_known(own, because) if own.kind is EffectKind.FETCH else own for own in call.own]
        return
    effect = unlisted(call.what, OPTION, because)
    if any("=" in word.text for word in call.not_listed) and _reads(call):
        # The value may be the address or the file that it reads, and it prints that.
        effect = effect._replace(gives=Label.UNTRUSTED)
    call.own.append(effect)


def _reads(call: Invocation) -> bool:
    return not _READING.isdisjoint(role.removesuffix("...") for role in call.entry.operands)


def _because(call: Invocation) -> str:
    names = list(dict.fromkeys(f"`{shown(word.text.partition('=')[0])[:80]}`" for word in call.not_listed))
    told = " ".join(names[:_MOST]) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")
    return f"no table says what {told} does to `{call.what}`"


def _not_known(fetch: Effect, because: str) -> Effect:
    return fetch._replace(variant=Variant.PLAIN, address="", because=f"{fetch.because}; {because}")
